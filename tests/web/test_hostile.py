"""Names, directories and commands that somebody made to mislead, or that are just very long."""

import asyncio
from pathlib import Path

from playwright.async_api import expect

from tests.server.conftest import OWN_TOKEN
from tests.server.talking import Client
from tests.support.shells import PATIENCE_S
from tests.web.browsing import PATIENCE_MS, Person
from tests.web.conftest import NewPerson

TURNED = "in\u202egpj.exe"
SHOWN = "inU+202Egpj.exe"
OVERFLOWS = """() => {
  const root = document.scrollingElement;
  root.scrollTop = root.scrollLeft = 1000;
  return [root.scrollTop, root.scrollLeft, document.body.scrollTop, document.body.scrollLeft];
}"""


async def test_what_turns_the_writing_around_is_shown_as_a_sign(person: Person, server: Client, work: Path) -> None:
    place = work / f"{TURNED}\x1b[31m"
    place.mkdir()
    await person.open_terminal()
    opened = await server.post("/api/terminals", {"name": TURNED, "cwd": str(place), "session": TURNED})
    item = person.page.locator(f"[data-terminal='{opened.json['id']}']")
    await expect(item).to_contain_text(SHOWN, timeout=PATIENCE_MS)
    await item.click()
    await expect(person.page.locator(".tab-title", has_text=SHOWN)).to_be_visible(timeout=PATIENCE_MS)
    await expect(person.page.locator(".head-cwd:visible")).to_have_text(
        f"…/{work.name}/{SHOWN}^[[31m", timeout=PATIENCE_MS
    )
    await expect(person.page.get_by_role("heading", name=f"Session {SHOWN}")).to_be_visible(timeout=PATIENCE_MS)
    assert "\u202e" not in await person.page.evaluate("document.body.innerText + document.title")


async def test_many_terminals_with_long_names_leave_the_page_in_its_place(
    server: Client, new_person: NewPerson, work: Path
) -> None:
    long = work / ("long-name-" * 20)
    long.mkdir()
    for number in range(30):
        await server.post("/api/terminals", {"name": f"{number} " + "x" * 150, "cwd": str(long), "shell": "sh"})
    person = await new_person(server.url, viewport={"width": 800, "height": 500})
    await person.log_in(OWN_TOKEN)
    await expect(person.page.locator(".terminal-item")).to_have_count(30, timeout=PATIENCE_MS)
    await person.page.locator(".terminal-item").last.click()
    await person.page.locator(".terminal-panel .xterm-screen").first.wait_for()
    # Nothing lies outside of the window, where the focus could scroll it to.
    assert await person.page.evaluate(OVERFLOWS) == [0, 0, 0, 0]
    wide = "(all) => all.filter((each) => each.getBoundingClientRect().right > innerWidth).length"
    assert await person.page.locator(".topbar *, .sidebar *, .terminal-head *").evaluate_all(wide) == 0


async def test_the_grave_part_of_a_long_command_is_in_sight(asking: Client, new_person: NewPerson, work: Path) -> None:
    person = await new_person(asking.url)
    await person.page.goto(f"{person.url}/?token={OWN_TOKEN}")
    await person.page.locator("body[data-ready]").wait_for()
    command = f"echo {'word ' * 2000}; git push --force origin main"
    run = asyncio.ensure_future(asking.post("/api/run", {"command": command, "cwd": str(work), "session": "s"}))
    shown = person.page.locator(".ask-command:visible")
    await expect(shown.locator("mark").first).to_be_in_viewport(timeout=PATIENCE_MS)
    whole = person.page.get_by_role("button", name=f"show all {len(command)} characters")
    await whole.click()
    await expect(whole).to_be_hidden(timeout=PATIENCE_MS)
    assert await shown.evaluate("(each) => each.scrollHeight - each.clientHeight") <= 1
    [question] = (await asking.get("/api/approvals")).json["approvals"]
    await asking.post(f"/api/approvals/{question['id']}", {"answer": "deny"})
    await run


async def test_a_layout_has_its_titles_in_the_language_of_the_page(server: Client, new_person: NewPerson) -> None:
    english = await new_person(server.url)
    await english.log_in(OWN_TOKEN)
    await english.open_terminal()
    await english.page.evaluate("location.hash = '#/commands'")
    await expect(english.page.locator(".tab-title", has_text="Commands and output")).to_be_visible(timeout=PATIENCE_MS)
    async with asyncio.timeout(PATIENCE_S):
        while "commands" not in str((await server.get("/api/workspaces/default/layout")).json):
            await asyncio.sleep(0.05)  # the layout is kept a moment after a change
    chinese = await new_person(server.url, locale="zh-CN")
    await chinese.page.goto(f"{server.url}/?token={OWN_TOKEN}")
    await expect(chinese.page.locator(".tab-title", has_text="命令与输出")).to_be_visible(timeout=PATIENCE_MS)
