"""The nodes of a cluster on the page: real agents, a real browser."""

import re
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.async_api import expect

from hermitty.cluster.host import ClusterHost
from hermitty.cluster.local import LocalPlacement, node_state
from hermitty.runtime.api import Runtime
from hermitty.runtime.clustered import open_clustered
from hermitty.runtime.places import Places
from hermitty.server.parts import SettingsPlace
from hermitty.server.serving import Options, serving
from tests.cluster.conftest import PATIENT, EndLater, hosts_end
from tests.server.conftest import OWN_TOKEN, source_for
from tests.server.talking import Client
from tests.web.browsing import PATIENCE_MS, Person
from tests.web.conftest import NewPerson
from tests.web.test_page import AXE, violations

__all__ = ["hosts_end"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

# A node that is away is lost soon; one that is there is never cut off because a machine is busy.
SOON_LOST = replace(PATIENT, lost_s=0.05)
CHINESE = "localStorage.setItem('hermitty', JSON.stringify({language: 'zh'}))"


@pytest.fixture
async def gateway(home: Path, places: Places, hosts_end: EndLater) -> AsyncIterator[Client]:
    """A server whose terminals are on two nodes of this machine."""

    async def make(settings: SettingsPlace) -> Runtime:
        return await open_clustered("local:2", settings.current, times=SOON_LOST)

    for number in (1, 2):
        hosts_end(node_state(places.state, number))
    settings = source_for(home, places, policy__mode="off")
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(
            serving(Options(port=0, token=OWN_TOKEN), places=places, settings=settings, make_runtime=make)
        )
        yield await stack.enter_async_context(Client(server, OWN_TOKEN))


def placement_of(client: Client) -> LocalPlacement:
    host = client.parts.runtime._host
    assert isinstance(host, ClusterHost)
    assert isinstance(host._placement, LocalPlacement)
    return host._placement


async def test_a_page_without_a_cluster_shows_no_nodes(person: Person) -> None:
    await expect(person.page.locator(".sidebar")).to_be_visible(timeout=PATIENCE_MS)
    await expect(person.page.locator(".nodes")).to_be_hidden()
    await expect(person.page.locator(".head-facts .fact")).to_have_count(0)


async def test_nodes_are_seen_and_drained_with_the_keyboard(gateway: Client, new_person: NewPerson) -> None:
    opened = await gateway.open(name="there", workspace="default")
    nodes = (await gateway.get("/api/cluster")).json["nodes"]
    (used,) = (node["name"] for node in nodes if node["terminals"] == 1)
    person = await new_person(gateway.url)
    await person.log_in(OWN_TOKEN)
    page = person.page
    section = page.locator(".nodes")

    await expect(section).to_contain_text("2 live", timeout=PATIENCE_MS)
    item = page.locator(f"[data-terminal={opened['id']}]")
    await expect(item.locator(".item-detail")).to_contain_text(used)
    assert f"On node {used}" in (await item.get_attribute("title") or "")
    await item.click()
    await expect(page.locator(".head-facts .fact").first).to_have_attribute(
        "title", f"On node {used}: live", timeout=PATIENCE_MS
    )
    # The terminal takes the focus when it is there, and not later.
    await person.prompt()
    await person.has_focus_in_terminal()
    row = section.locator(f"[data-node={used}]")
    await row.locator("summary").focus()
    await page.keyboard.press("Enter")
    await expect(row.locator("dl")).to_contain_text(re.compile(r"Processors\s*\d"))
    await page.keyboard.press("Tab")
    await expect(row.get_by_role("button", name="Drain")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(section.locator(".nodes-counts")).to_have_text("1 live, 1 draining", timeout=PATIENCE_MS)
    # What was open and had the focus still is, and has it.
    await expect(row.get_by_role("button", name="Use again")).to_be_focused()
    (state,) = (each["state"] for each in (await gateway.get("/api/cluster")).json["nodes"] if each["name"] == used)
    assert state == "draining"
    await page.keyboard.press("Enter")
    await expect(section.locator(".nodes-counts")).to_have_text("2 live", timeout=PATIENCE_MS)


async def test_a_node_that_goes_away_is_shown_and_so_is_its_return(gateway: Client, new_person: NewPerson) -> None:
    await gateway.open(name="there", workspace="default")
    person = await new_person(gateway.url)
    await person.log_in(OWN_TOKEN)
    section = person.page.locator(".nodes")
    await expect(section).to_contain_text("2 live", timeout=PATIENCE_MS)
    # The terminal must not be on it: a page tells of terminals that end, too.
    (unused,) = (each for each in (await gateway.get("/api/cluster")).json["nodes"] if each["terminals"] == 0)
    agent = placement_of(gateway).agent(unused["id"])

    await agent.aclose()
    row = section.locator(f"[data-node={unused['name']}]")
    await expect(row.locator(".node-state")).to_have_text("lost", timeout=PATIENCE_MS)
    await row.locator("summary").click()
    await expect(row.locator("dl")).to_contain_text("Problem")
    await expect(row.get_by_role("button")).to_have_count(0)
    agent.start()
    await expect(section.locator(".nodes-counts")).to_have_text("2 live", timeout=PATIENCE_MS)


async def test_who_may_only_watch_does_not_drain(gateway: Client, new_person: NewPerson) -> None:
    await gateway.open(workspace="default")
    made = await gateway.post("/api/tokens", {"name": "watcher", "scopes": ["view"]})
    person = await new_person(gateway.url)
    await person.page.goto(f"{person.url}/?token={made.json['token']}")
    row = person.page.locator("[data-node=node-1]")
    await row.locator("summary").click()
    await expect(row.locator("dl")).to_be_visible(timeout=PATIENCE_MS)
    await expect(row.get_by_role("button")).to_have_count(0)


async def test_nodes_fit_a_small_window_in_chinese(gateway: Client, new_person: NewPerson) -> None:
    await gateway.open(workspace="default")
    person = await new_person(gateway.url, viewport={"width": 360, "height": 640})
    await person.page.add_init_script(CHINESE)
    await person.log_in(OWN_TOKEN)
    page = person.page
    await page.locator(".topbar button").first.click()
    section = page.locator(".nodes")
    await expect(section).to_contain_text("节点", timeout=PATIENCE_MS)
    await expect(section).to_contain_text("2 在线")
    for name in ("node-1", "node-2"):
        await section.locator(f"[data-node={name}] summary").click()
    await expect(section.get_by_role("button", name="排空").first).to_be_visible()
    wide = await section.evaluate(
        "(each) => [each.scrollWidth - each.clientWidth, document.documentElement.scrollWidth]"
    )
    assert wide == [0, 360]


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed (npm ci in web/)")
async def test_nodes_are_accessible_in_every_look(gateway: Client, new_person: NewPerson) -> None:
    await gateway.open(workspace="default")
    await gateway.post("/api/cluster/nodes/node-2/drain", {})
    # Colours that are on their way from one look to the next are neither.
    person = await new_person(gateway.url, reduced_motion="reduce")
    await person.log_in(OWN_TOKEN)
    section = person.page.locator(".nodes")
    await expect(section).to_contain_text("1 draining", timeout=PATIENCE_MS)
    for name in ("node-1", "node-2"):
        await section.locator(f"[data-node={name}] summary").click()
    for look in ("light", "dark", "contrast"):
        await person.page.evaluate("(look) => { document.documentElement.dataset.look = look; }", look)
        assert await violations(person) == [], look
