"""Terminals on the page: typing, reloading, several pages, closing, sizes, characters."""

import asyncio
from pathlib import Path

from playwright.async_api import expect

from tests.server.conftest import OWN_TOKEN
from tests.server.talking import Client
from tests.support.shells import PATIENCE_S
from tests.web.browsing import PATIENCE_MS, Person
from tests.web.conftest import NewPerson


def runs(pid: str) -> bool:
    """Tell whether a process runs; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_person_opens_a_terminal_and_types(person: Person, server: Client) -> None:
    await person.open_terminal()
    await person.runs("echo sum $((40 + 2))")
    await person.sees("^sum 42$")
    [terminal] = (await server.get("/api/terminals")).json["terminals"]
    assert (terminal["kind"], terminal["workspace"], terminal["viewers"]) == ("user", "default", 1)
    rows = await person.rows()
    assert rows.count("sum 42") == 1


async def test_a_reload_restores_what_was_printed_and_goes_on(person: Person, server: Client) -> None:
    await person.open_terminal()
    await person.runs("seq -f 'row %g' 60")
    await person.sees("^row 60$")
    before = [row.rstrip() for row in await person.rows() if row.rstrip()]
    await person.page.reload()
    await person.sees("^row 60$")
    assert [row for row in await person.rows() if row.startswith("row ")] == [f"row {n}" for n in range(1, 61)]
    assert [row.rstrip() for row in await person.rows()][: len(before)] == before
    await person.has_focus_in_terminal()
    await person.runs("echo going on")
    await person.sees("^going on$")
    assert len((await server.get("/api/terminals")).json["terminals"]) == 1


async def test_two_pages_are_in_step(server: Client, new_person: NewPerson) -> None:
    ann, ben = await new_person(server.url), await new_person(server.url)
    await ann.log_in(OWN_TOKEN)
    await ann.open_terminal()
    await ben.log_in(OWN_TOKEN)
    # Ben's list knows Ann's terminal; his layout is the one that is kept on the server.
    await ben.page.locator(".terminal-item").click()
    await ben.prompt()
    await ann.runs("echo from ann")
    await ben.sees("^from ann$")
    await ben.page.locator(".xterm-screen").click()
    await ben.runs("echo from ben")
    await ann.sees("^from ben$")
    await expect(ann.page.locator(".fact", has_text="2 people watch")).to_be_visible(timeout=PATIENCE_MS)
    await ben.page.locator(".terminal-item").press("F2")
    await ben.page.locator("dialog input").fill("shared")
    await ben.page.keyboard.press("Enter")
    await expect(ann.page.locator(".tab-title")).to_have_text("shared", timeout=PATIENCE_MS)


async def test_a_smaller_window_decides_when_it_types_and_the_other_shows_it_whole(
    server: Client, new_person: NewPerson
) -> None:
    wide = await new_person(server.url, viewport={"width": 1300, "height": 800})
    small = await new_person(server.url, viewport={"width": 700, "height": 500})
    await wide.log_in(OWN_TOKEN)
    await wide.open_terminal()
    await small.log_in(OWN_TOKEN)
    await small.page.keyboard.press("Control+Shift+O")
    await small.page.locator(".terminal-item").click()
    await small.prompt()
    await small.has_focus_in_terminal()
    await small.runs("tput cols; tput lines")
    cols = "[...hermitty.terminals.values()][0].cols"
    narrow = await small.page.evaluate(cols)
    await wide.page.wait_for_function(f"() => {cols} === {narrow}")
    await wide.sees(rf"^{narrow}$")
    await expect(wide.page.locator(".fact", has_text="the size of another window")).to_be_visible(timeout=PATIENCE_MS)
    await wide.page.locator(".xterm-screen").click()
    await wide.runs("true")
    await small.page.wait_for_function(f"() => {cols} > {narrow}")
    # Letters are smaller, and nothing of the grid is outside.
    await small.page.wait_for_function("""() => {
      const [screen, room] = ['.xterm-screen', '.terminal-view'].map((name) =>
        document.querySelector(name).getBoundingClientRect());
      return screen.right <= room.right && screen.bottom <= room.bottom;
    }""")


async def test_closing_a_panel_ends_its_processes(person: Person, server: Client) -> None:
    await person.open_terminal()
    await person.runs("sleep 1000 & echo pid=$!")
    await person.sees(r"^pid=\d+$")
    pid = next(row for row in await person.rows() if row.startswith("pid=")).removeprefix("pid=")
    await person.page.locator(".dv-active-tab .tab-close").click()
    await person.expect_tabs(0)
    assert runs(pid), "it can still be undone"
    [terminal] = (await server.get("/api/terminals")).json["terminals"]
    async with asyncio.timeout(PATIENCE_S):
        async with person.page.expect_response(lambda answer: answer.request.method == "DELETE") as deleted:
            await person.page.locator(".toast .icon-button").click()
        assert (await deleted.value).status == 204
    assert not runs(pid)
    assert (await server.get(f"/api/terminals/{terminal['id']}")).status == 404
    await expect(person.page.locator(".terminal-item")).to_have_count(0, timeout=PATIENCE_MS)


async def test_a_closed_panel_can_be_brought_back(person: Person, server: Client) -> None:
    await person.open_terminal()
    await person.runs("echo still here")
    await person.sees("^still here$")
    # As long as a command seems to run, closing asks first.
    await expect(person.page.locator(".terminal-head .status.running")).to_have_count(0, timeout=PATIENCE_MS)
    await person.page.keyboard.press("Control+Shift+X")
    await person.expect_tabs(0)
    await person.page.get_by_role("button", name="Undo").click()
    await person.expect_tabs(1)
    await person.sees("^still here$")
    assert len((await server.get("/api/terminals")).json["terminals"]) == 1


async def test_closing_is_undone_with_keys(person: Person, server: Client) -> None:
    await person.open_terminal()
    await person.page.keyboard.press("Control+Shift+X")
    await person.expect_tabs(0)
    await person.page.keyboard.press("Control+Shift+Z")
    await person.expect_tabs(1)
    await expect(person.page.locator(".toast")).to_have_count(0)
    await person.has_focus_in_terminal()
    await person.runs("echo kept")
    await person.sees("^kept$")
    assert len((await server.get("/api/terminals")).json["terminals"]) == 1


async def test_tab_leaves_a_terminal_that_has_ended(person: Person) -> None:
    await person.open_terminal()
    await person.runs("exit 3")
    notice = person.page.locator(".terminal-notice")
    await expect(notice).to_be_visible(timeout=PATIENCE_MS)
    await person.has_focus_in_terminal()
    await person.page.keyboard.press("Tab")
    await expect(notice.get_by_role("button").first).to_be_focused()


async def test_closing_asks_first_when_something_runs(person: Person, server: Client) -> None:
    await person.open_terminal()
    await person.runs("cat")
    await expect(person.page.locator(".terminal-head .status.running")).to_be_visible(timeout=PATIENCE_MS)
    await person.page.keyboard.press("Control+Shift+X")
    dialog = person.page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Cancel").click()
    await person.expect_tabs(1)
    await person.has_focus_in_terminal()
    await person.page.keyboard.press("Control+Shift+X")
    await dialog.get_by_role("button", name="Keep it").click()
    await person.expect_tabs(0)
    assert len((await server.get("/api/terminals")).json["terminals"]) == 1


async def test_the_question_about_closing_hides_nothing_and_enter_ends_nothing(person: Person, server: Client) -> None:
    await person.open_terminal()
    [terminal] = (await server.get("/api/terminals")).json["terminals"]
    command = "cat # \u202eyas ot\u202c\necho second"
    await server.post(f"/api/terminals/{terminal['id']}/commands", {"command": command, "wait_s": 0})
    await expect(person.page.locator(".terminal-head .status.running")).to_be_visible(timeout=PATIENCE_MS)
    await person.page.keyboard.press("Control+Shift+X")
    dialog = person.page.get_by_role("dialog")
    await expect(dialog.locator("p")).to_have_text(
        "“cat # U+202Eyas otU+202C …” is still running. Close anyway?", timeout=PATIENCE_MS
    )
    await expect(dialog.get_by_role("button", name="Keep it")).to_be_focused()
    await person.page.keyboard.press("Enter")
    await person.expect_tabs(0)
    await expect(person.page.locator(".toast")).to_have_count(0)
    assert len((await server.get("/api/terminals")).json["terminals"]) == 1


AUTO_OPEN = "localStorage.setItem('hermitty', JSON.stringify({autoOpen: true}))"
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"


async def test_an_agents_terminal_that_opens_by_itself_takes_no_keys(server: Client, new_person: NewPerson) -> None:
    person = await new_person(server.url)
    await person.page.add_init_script(AUTO_OPEN)
    await person.log_in(OWN_TOKEN)
    await person.open_terminal()
    await person.has_focus_in_terminal()
    await person.types("echo mi")
    agents = await server.open(session="fix-42", workspace="default")
    assert agents["kind"] == "agent"
    await person.expect_tabs(2)
    await person.page.evaluate(FRAMES)
    await person.runs("ne")
    await person.sees("^mine$")
    screen = (await server.get(f"/api/terminals/{agents['id']}/screen")).body.decode()
    assert "ne" not in screen.split()
    # Its tab is there for whoever wants to see it.
    await person.page.locator(".tab").nth(1).click()
    await person.sees("[#$]", 1)


async def test_an_agents_terminal_in_an_empty_dock_is_shown_and_takes_no_keys(
    server: Client, new_person: NewPerson
) -> None:
    await server.open(workspace="default")  # else the page opens one
    person = await new_person(server.url)
    await person.page.add_init_script(AUTO_OPEN)
    await person.log_in(OWN_TOKEN, workspace="empty")
    await person.page.locator(".topbar button").first.focus()
    await server.open(session="fix-42", workspace="empty")
    await person.expect_tabs(1)
    await person.sees("[#$]")
    await person.page.evaluate(FRAMES)
    await expect(person.page.locator(".topbar button").first).to_be_focused()
    # It is in front: what is opened now comes beside it.
    await person.page.keyboard.press("Control+Shift+J")
    await person.has_focus_in_terminal()


async def test_leaving_the_page_ends_what_was_being_closed(person: Person, server: Client) -> None:
    await person.open_terminal()
    await person.page.keyboard.press("Control+Shift+X")
    await person.expect_tabs(0)
    parts = server.parts
    ended = asyncio.Event()
    stop = parts.runtime.subscribe(lambda event: ended.set() if type(event).__name__ == "TerminalEnded" else None)
    await person.page.goto("about:blank")
    async with asyncio.timeout(PATIENCE_S):
        await ended.wait()
    stop()


async def test_a_shell_that_exits_is_told_and_can_be_followed_by_another(person: Person) -> None:
    await person.open_terminal()
    await person.runs("exit 3")
    notice = person.page.locator(".terminal-notice")
    await expect(notice).to_contain_text("Exited with 3", timeout=PATIENCE_MS)
    await notice.get_by_role("button", name="New terminal here").click()
    await expect(notice).to_be_hidden(timeout=PATIENCE_MS)
    await person.has_focus_in_terminal()
    await person.runs("echo again")
    await person.sees("^again$")
    await person.expect_tabs(1)


async def test_wide_characters_have_the_cells_that_the_server_gives_them(person: Person, server: Client) -> None:
    await person.open_terminal()
    await person.runs(r"printf '\n中文|\n😀|\ne\u0301|\n한글|\nab|\n'")
    await person.sees(r"^한글\|$")
    widths = """() => {
      const buffer = [...hermitty.terminals.values()][0].buffer.active;
      const found = {};
      for (let y = 0; y < buffer.length; y++) {
        const line = buffer.getLine(y);
        const text = line.translateToString(true);
        if (!/^[^|]+\\|$/.test(text)) continue;
        for (let x = 0; x < line.length; x++) if (line.getCell(x).getChars() === '|') found[text] = x;
      }
      return found;
    }"""
    assert await person.page.evaluate(widths) == {"中文|": 4, "😀|": 2, "e\u0301|": 1, "한글|": 4, "ab|": 2}
    [terminal] = (await server.get("/api/terminals")).json["terminals"]
    await person.page.reload()  # what the server painted has the same cells
    await person.sees(r"^한글\|$")
    assert await person.page.evaluate(widths) == {"中文|": 4, "😀|": 2, "e\u0301|": 1, "한글|": 4, "ab|": 2}
    assert terminal["cols"] > 20


async def test_five_megabytes_leave_the_page_responsive(person: Person) -> None:
    acks: list[str] = []
    person.page.on(
        "websocket",
        lambda socket: socket.on(
            "framesent", lambda frame: acks.append(str(frame)) if isinstance(frame, str) and '"ack"' in frame else None
        ),
    )
    await person.page.reload()  # and attach again, now that somebody listens
    await person.ready()
    await person.open_terminal()
    await person.page.evaluate("""() => {
      let last = performance.now();
      globalThis.longest = 0;
      setInterval(() => {
        const now = performance.now();
        longest = Math.max(longest, now - last);
        last = now;
      }, 10);
    }""")
    await person.runs("head -c 3700000 /dev/urandom | base64; echo 'the en''d'")
    await person.sees("^the end$")
    # The page was never away for as long as a frozen one is, and told the server what it had shown.
    assert await person.page.evaluate("longest") < 10_000
    assert len(acks) >= 2
    await person.runs("echo awake")
    await person.sees("^awake$")


async def test_what_programs_ask_is_not_answered_by_the_page(person: Person) -> None:
    await person.open_terminal()
    answers = await person.page.evaluate("""() => new Promise((resolve) => {
      const terminal = [...hermitty.terminals.values()][0];
      const said = [];
      const listener = terminal.onData((data) => said.push(data));
      const asked = '\\x1b[c\\x1b[>c\\x1b[=c\\x1b[5n\\x1b[6n\\x1b[?6n\\x1b[?2004$p\\x1b[4$p\\x1bP$qm\\x1b\\\\\\x1b[>q'
        + '\\x1b]4;1;?\\x07\\x1b]10;?\\x07\\x1b]11;?\\x07\\x1b]12;?\\x1b\\\\\\x1b[14t'
        + '\\x1b[16t\\x1b[18t\\x1b[21t\\x1b[?u';
      terminal.write(asked, () => {
        listener.dispose();
        resolve(said);
      });
    })""")
    assert answers == []


async def test_a_terminal_of_an_agent_is_taken_over_and_handed_back(person: Person, server: Client) -> None:
    await person.open_terminal()
    opened = await server.post("/api/terminals", {"session": "fix-42", "workspace": "default"})
    terminal = opened.json["id"]
    item = person.page.locator(f"[data-terminal='{terminal}']")
    await expect(item.get_by_label("Agent")).to_be_visible(timeout=PATIENCE_MS)
    await item.click()
    await person.prompt(1)
    await person.page.get_by_role("button", name="Take over").click()
    back = person.page.get_by_role("button", name="Hand back")
    await expect(back).to_be_visible(timeout=PATIENCE_MS)
    assert (await server.get(f"/api/terminals/{terminal}")).json["paused_by"] is not None
    refused = await server.post(f"/api/terminals/{terminal}/commands", {"command": "true", "session": "fix-42"})
    assert refused.status >= 400
    await person.has_focus_in_terminal()
    await person.runs("echo mine")
    await person.sees("^mine$", 1)
    await back.click()
    await expect(person.page.get_by_role("button", name="Take over")).to_be_visible(timeout=PATIENCE_MS)
    assert (await server.get(f"/api/terminals/{terminal}")).json["paused_by"] is None


async def test_who_may_only_watch_cannot_type(server: Client, new_person: NewPerson) -> None:
    made = await server.post("/api/tokens", {"name": "guest", "scopes": ["view"]})
    opened = await server.post("/api/terminals", {"workspace": "default"})
    guest = await new_person(server.url)
    await guest.page.goto(f"{guest.url}/?token={made.json['token']}")
    await guest.page.locator(".terminal-item").click()
    await guest.prompt()
    await expect(guest.page.locator(".fact", has_text="View only")).to_be_visible(timeout=PATIENCE_MS)
    await guest.types("echo guest")
    await server.post(f"/api/terminals/{opened.json['id']}/input", {"text": "echo owner\n"})
    await guest.sees("^owner$")
    assert not any("guest" in row for row in await guest.rows())
