"""The layout of panels: kept on the server, restored in any browser, repaired when terminals are gone."""

import asyncio
from typing import Any

from playwright.async_api import expect

from tests.server.conftest import OWN_TOKEN
from tests.server.talking import Client
from tests.web.browsing import PATIENCE_MS, Person
from tests.web.conftest import NewPerson


async def stored(server: Client, *, panels: int) -> Any:
    """Wait until the layout on the server has so many panels; it is sent a moment after a change."""
    async with asyncio.timeout(15):
        while True:
            answer = await server.get("/api/workspaces/default/layout")
            layout = answer.json if answer.status == 200 else None
            if layout is not None and len(layout["dock"]["panels"]) == panels:
                return layout
            await asyncio.sleep(0.05)


async def test_a_split_is_restored_in_another_browser(person: Person, server: Client, new_person: NewPerson) -> None:
    await person.open_terminal()
    await person.page.keyboard.press("Control+Shift+D")
    await person.expect_tabs(2)
    await person.prompt(1)
    await person.has_focus_in_terminal()
    await person.runs("echo on the right")
    await person.sees("^on the right$", 1)
    await stored(server, panels=2)
    other = await new_person(server.url, viewport={"width": 1400, "height": 900})
    await other.log_in(OWN_TOKEN)
    await other.expect_tabs(2)
    boxes = [await group.bounding_box() for group in await other.page.locator(".dv-groupview").all()]
    assert len(boxes) == 2
    left, right = (box for box in boxes if box is not None)
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    await other.page.wait_for_function("() => hermitty.terminals.size === 2")
    shown = [await other.rows(0), await other.rows(1)]
    await other.page.wait_for_function(
        """() => [...hermitty.terminals.values()].some((terminal) => {
          const buffer = terminal.buffer.active;
          for (let y = 0; y < buffer.length; y++) {
            if (buffer.getLine(y).translateToString(true) === 'on the right') return true;
          }
        })"""
    )
    assert len(shown) == 2


async def test_a_layout_with_a_dead_terminal_gets_a_new_one(server: Client, new_person: NewPerson) -> None:
    ann = await new_person(server.url)
    await ann.log_in(OWN_TOKEN)
    await ann.open_terminal()
    layout = await stored(server, panels=1)
    await ann.page.goto("about:blank")
    [terminal] = (await server.get("/api/terminals")).json["terminals"]
    assert (await server.ask("DELETE", f"/api/terminals/{terminal['id']}")).status == 204
    answer = await server.ask("PUT", "/api/workspaces/default/layout", layout)
    assert answer.status == 204
    ben = await new_person(server.url)
    await ben.log_in(OWN_TOKEN)
    await ben.prompt()
    await ben.has_focus_in_terminal()
    await ben.runs("echo alive")
    await ben.sees("^alive$")
    [replacement] = (await server.get("/api/terminals")).json["terminals"]
    assert replacement["id"] != terminal["id"]
    assert (replacement["shell"], replacement["workspace"]) == (terminal["shell"], "default")


async def test_a_layout_of_no_use_is_none(server: Client, new_person: NewPerson) -> None:
    damaged = {
        "version": 1,
        "dock": {"grid": {"root": 7}, "panels": {"p": {"id": "p", "params": {"kind": "terminal", "terminal": "x"}}}},
    }
    assert (await server.ask("PUT", "/api/workspaces/default/layout", damaged)).status == 204
    person = await new_person(server.url)
    await person.log_in(OWN_TOKEN)
    await person.open_terminal()
    await stored(server, panels=1)


async def test_a_terminal_that_another_page_closes_leaves_the_layout(
    person: Person, server: Client, new_person: NewPerson
) -> None:
    await person.open_terminal()
    await stored(server, panels=1)
    other = await new_person(server.url)
    await other.log_in(OWN_TOKEN)
    await other.expect_tabs(1)
    await other.prompt()
    await person.page.keyboard.press("Control+Shift+X")
    await person.page.locator(".toast .icon-button").click()
    await other.expect_tabs(0)
    await expect(other.page.locator(".terminal-item")).to_have_count(0, timeout=PATIENCE_MS)


async def test_workspaces_have_layouts_of_their_own(person: Person, server: Client) -> None:
    await person.open_terminal()
    await stored(server, panels=1)
    await person.page.get_by_role("button", name="default").click()
    await person.page.get_by_role("menuitem", name="New workspace").click()
    await person.page.locator("dialog input").fill("elsewhere")
    await person.page.keyboard.press("Enter")
    await person.expect_tabs(0)
    await person.page.keyboard.press("Control+Shift+Enter")
    await person.expect_tabs(1)
    await expect(person.page.locator(".other-workspace")).to_contain_text("default", timeout=PATIENCE_MS)
    terminals = (await server.get("/api/terminals")).json["terminals"]
    assert sorted(each["workspace"] for each in terminals) == ["default", "elsewhere"]
    await person.page.locator(".other-workspace").click()
    await expect(person.page.locator(".workspace-button")).to_have_text("default", timeout=PATIENCE_MS)
    await person.expect_tabs(1)
