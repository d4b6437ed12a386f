"""What happens to terminals on the page when the network or the server goes away."""

import asyncio
import re
from pathlib import Path

from playwright.async_api import expect

from hermitty.runtime.places import Places
from hermitty.server.serving import Options, serving
from tests.server.conftest import OWN_TOKEN, source_for
from tests.server.talking import Client
from tests.support.shells import PATIENCE_S
from tests.web.browsing import NETWORK_TROUBLE, PATIENCE_MS
from tests.web.conftest import NewPerson
from tests.web.proxy import Network

LINES = 4000
ALIVE = """() => new Promise((done) => {
  const source = new EventSource('/api/events');
  source.addEventListener('alive', () => { source.close(); done(); });
})"""


async def test_a_cut_network_loses_and_doubles_no_line(server: Client, new_person: NewPerson) -> None:
    async with Network(server.server.port) as network:
        person = await new_person(network.url)
        person.may_complain_about = NETWORK_TROUBLE
        await person.log_in(OWN_TOKEN)
        await person.open_terminal()
        await person.runs(f"for n in $(seq {LINES}); do echo line $n; [ $((n % 20)) = 0 ] && sleep 0.02; done")
        for seen in (200, 1200, 2400):
            await person.sees(f"^line {seen}$")
            network.cut()
            # A person whose network is back does not wait for the next try.
            await person.page.evaluate("dispatchEvent(new Event('online'))")
        await person.sees(f"^line {LINES}$")
        rows = [row for row in await person.rows() if row.startswith("line ")]
        assert rows == [f"line {n}" for n in range(1, LINES + 1)]
        assert "disconnected" not in "".join(await person.rows()).lower()


async def test_a_network_that_is_away_is_shown_quietly_and_what_is_typed_is_kept(
    server: Client, new_person: NewPerson
) -> None:
    async with Network(server.server.port) as network:
        person = await new_person(network.url)
        person.may_complain_about = NETWORK_TROUBLE
        await person.log_in(OWN_TOKEN)
        await person.open_terminal()
        before = [row.rstrip() for row in await person.rows()]
        network.is_down = True
        network.cut()
        await expect(person.page.locator(".terminal-head .pulse")).to_be_visible(timeout=PATIENCE_MS)
        await expect(person.page.locator(".connection.lost")).to_be_visible(timeout=PATIENCE_MS)
        assert [row.rstrip() for row in await person.rows()] == before
        await person.runs("echo typed while away")
        network.is_down = False
        await person.page.evaluate("dispatchEvent(new Event('online'))")
        await person.sees("^typed while away$")
        await expect(person.page.locator(".terminal-head .pulse")).to_have_count(0, timeout=PATIENCE_MS)
        await expect(person.page.locator(".connection.open")).to_be_visible(timeout=PATIENCE_MS)


async def test_what_is_pasted_without_a_network_is_taken_whole_or_refused_with_a_word(
    server: Client, new_person: NewPerson
) -> None:
    async with Network(server.server.port) as network:
        person = await new_person(network.url)
        person.may_complain_about = NETWORK_TROUBLE
        await person.log_in(OWN_TOKEN)
        await person.open_terminal()
        network.is_down = True
        network.cut()
        await expect(person.page.locator(".terminal-head .pulse")).to_be_visible(timeout=PATIENCE_MS)
        await person.types("echo kept ")
        await person.pastes("x" * 100_000)
        await expect(person.page.locator(".toast.error")).to_contain_text("too many to keep", timeout=PATIENCE_MS)
        await person.runs("hole")  # would end a line that lacks its middle
        await expect(person.page.locator(".toast.error")).to_have_count(1)
        network.is_down = False
        await person.page.evaluate("dispatchEvent(new Event('online'))")
        await person.sees("echo kept")
        await person.runs("whole")
        await person.sees("^kept whole$")
        assert not any("xx" in row or row.strip() == "hole" for row in await person.rows())


async def test_a_network_that_falls_silent_leaves_no_page_deaf(server: Client, new_person: NewPerson) -> None:
    async with Network(server.server.port) as network:
        person = await new_person(network.url)
        person.may_complain_about = NETWORK_TROUBLE
        await server.open(name="idle")
        await person.log_in(OWN_TOKEN, workspace="empty")
        await server.ask("PUT", "/api/settings", {"server.heartbeat_s": 1})
        # The stream of the page is older than this one, and has been told as well.
        await person.page.evaluate(ALIVE)
        network.freeze()
        await server.open(name="seen", workspace="empty")
        await expect(person.page.locator(".sidebar")).to_contain_text("seen", timeout=PATIENCE_MS)


async def test_a_network_that_comes_back_is_used_at_once(server: Client, new_person: NewPerson) -> None:
    async with Network(server.server.port) as network:
        person = await new_person(network.url)
        person.may_complain_about = NETWORK_TROUBLE
        await server.open(name="idle")
        await person.log_in(OWN_TOKEN, workspace="empty")
        await server.ask("PUT", "/api/settings", {"server.heartbeat_s": 3600})
        await server.open(name="first", workspace="empty")
        await expect(person.page.locator(".sidebar")).to_contain_text("first", timeout=PATIENCE_MS)
        network.freeze()
        await server.open(name="second", workspace="empty")
        await person.page.evaluate("dispatchEvent(new Event('online'))")
        await expect(person.page.locator(".sidebar")).to_contain_text("second", timeout=PATIENCE_MS)


async def test_a_terminal_that_nobody_answers_connects_again(server: Client, new_person: NewPerson) -> None:
    async with Network(server.server.port) as network:
        person = await new_person(network.url)
        person.may_complain_about = NETWORK_TROUBLE
        await person.log_in(OWN_TOKEN)
        await person.open_terminal()
        async with person.page.expect_websocket():
            network.is_silent = True
            network.cut()
        async with asyncio.timeout(PATIENCE_S):
            while network.swallowed < 2:  # the terminal, and the stream of events
                await asyncio.sleep(0.05)
        network.is_silent = False
        await person.runs("echo back")
        await person.sees("^back$")
        await expect(person.page.locator(".connection.open")).to_be_visible(timeout=PATIENCE_MS)


async def test_a_page_without_terminals_whose_token_is_revoked_asks_for_another(
    server: Client, new_person: NewPerson
) -> None:
    await server.open(name="idle")
    made = (await server.post("/api/tokens", {"name": "guest", "scopes": ["view"]})).json
    guest = await new_person(server.url)
    guest.may_complain_about = re.compile(r"status of 401")
    await guest.page.goto(f"{guest.url}/?token={made['token']}&workspace=empty")
    await expect(guest.page.locator(".connection.open")).to_be_visible(timeout=PATIENCE_MS)
    await server.ask("DELETE", f"/api/tokens/{made['id']}")
    await expect(guest.page.locator("form[action='/login']")).to_be_visible(timeout=PATIENCE_MS)


async def test_terminals_that_a_restart_has_ended_are_replaced_without_a_word(
    home: Path, places: Places, new_person: NewPerson
) -> None:
    settings = source_for(home, places, policy__mode="off")
    async with serving(Options(port=0, token=OWN_TOKEN), places=places, settings=settings) as ready:
        port = ready.port
        person = await new_person(ready.url)
        person.may_complain_about = NETWORK_TROUBLE
        await person.log_in(OWN_TOKEN)
        await person.open_terminal()
        await person.runs(f"cd {home}")
        await expect(person.page.locator(".head-cwd")).to_have_attribute("title", str(home), timeout=PATIENCE_MS)
        async with Client(ready, OWN_TOKEN) as client:
            [before] = (await client.get("/api/terminals")).json["terminals"]
        # The layout is kept a moment after a change.
        await asyncio.wait_for(_layout_names(ready.url, before["id"], str(home)), PATIENCE_S)
    options = Options(port=port, token=OWN_TOKEN)
    async with serving(options, places=places, settings=settings) as ready, Client(ready, OWN_TOKEN) as client:
        await person.page.reload()
        await person.sees("[#$]")
        await person.has_focus_in_terminal()
        await person.runs("echo new in $PWD")
        await person.sees(f"^new in {home}$")
        [after] = (await client.get("/api/terminals")).json["terminals"]
        assert after["id"] != before["id"]
        await person.expect_tabs(1)
        await person.page.goto("about:blank")


async def _layout_names(url: str, terminal: str, cwd: str) -> None:
    import aiohttp

    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {OWN_TOKEN}"}) as session:
        while True:
            async with session.get(f"{url}/api/workspaces/default/layout") as response:
                text = await response.text()
            if terminal in text and cwd in text:
                return
            await asyncio.sleep(0.05)
