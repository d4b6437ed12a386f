"""Commands marked beside their lines: jumps between them, their output, and what a reload leaves of that."""

import re
from typing import Any

from playwright.async_api import expect

from tests.server.talking import Client
from tests.web.browsing import PATIENCE_MS, Person

IS_SHOWN = """(end) => {
  const { buffer: { active }, rows } = [...hermitty.terminals.values()].at(-1);
  return Array.from({ length: rows }, (_, y) => active.getLine(active.viewportY + y).translateToString(true))
    .some((row) => row.endsWith(end));
}"""
LINES = ["seq 1 40", "cat no-such-file", "seq 41 60"]


async def jump(person: Person, direction: str, line: str) -> None:
    """Go to another command, which is then told, and its line shown."""
    await person.page.keyboard.press(f"Control+Shift+{direction}")
    said = person.page.locator(".terminal-panel > [role=status].visually-hidden").last
    await expect(said).to_have_text(re.compile("^" + re.escape(line)), timeout=PATIENCE_MS)
    assert await person.page.evaluate(IS_SHOWN, line)


async def copied(person: Person) -> str:
    """Copy the output of the command gone to."""
    await person.page.evaluate("""() => {
      delete globalThis.copied;
      navigator.clipboard.writeText = async (text) => { globalThis.copied = text; };
    }""")
    await person.page.keyboard.press("Control+Shift+Y")
    await person.page.wait_for_function("() => globalThis.copied !== undefined")
    text: str = await person.page.evaluate("copied")
    return text


async def test_a_reload_keeps_the_marks_of_what_is_still_there(person: Person) -> None:
    await person.open_terminal()
    for line in LINES:
        await person.runs(line)
        await person.prompt_after(line)
    await person.page.reload()
    await person.sees("^60$")
    await expect(person.page.locator(".gutter-mark.ok").first).to_be_attached(timeout=PATIENCE_MS)
    await person.has_focus_in_terminal()
    for line in reversed(LINES):
        await jump(person, "ArrowUp", line)
    failed = person.page.locator(".gutter-mark.failed")
    await jump(person, "ArrowDown", LINES[1])
    await expect(failed).to_have_count(1, timeout=PATIENCE_MS)
    assert await failed.get_attribute("title") == "cat no-such-file: failed with 1"
    assert await copied(person) == "cat: no-such-file: No such file or directory"
    await jump(person, "ArrowDown", LINES[2])
    assert (await copied(person)).split() == [str(number) for number in range(41, 61)]
    await person.runs("echo more")
    await person.prompt_after("echo more")
    # What the page says of a command that runs would come after what it says of the jump.
    await expect(person.page.locator(".terminal-head .status.running")).to_have_count(0, timeout=PATIENCE_MS)
    await jump(person, "ArrowUp", "echo more")
    await jump(person, "ArrowUp", LINES[2])


async def test_commands_that_nobody_watched_are_marked_too(person: Person, server: Client) -> None:
    await person.open_terminal()
    opened = await server.post("/api/terminals", {"session": "s", "workspace": "default"})
    for line in LINES:
        await server.post(f"/api/terminals/{opened.json['id']}/commands", {"command": line, "session": "s"})
    await person.page.locator(f"[data-terminal='{opened.json['id']}']").click()
    await person.sees("^60$", 1)
    await expect(person.page.locator(".gutter-mark.ok").first).to_be_attached(timeout=PATIENCE_MS)
    await person.has_focus_in_terminal()
    for line in reversed(LINES):
        await jump(person, "ArrowUp", line)


async def test_what_runs_during_a_reload_is_marked_and_gets_its_end(person: Person) -> None:
    await person.open_terminal()
    await person.runs("echo wai''ting; read -r line; (exit 3)")
    await person.sees("^waiting$")
    await person.page.reload()
    await person.sees("^waiting$")
    await expect(person.page.locator(".gutter-mark.running")).to_have_count(1, timeout=PATIENCE_MS)
    await person.has_focus_in_terminal()
    await person.page.keyboard.press("Enter")
    await expect(person.page.locator(".gutter-mark.failed")).to_have_count(1, timeout=PATIENCE_MS)
    await expect(person.page.locator(".gutter-mark.running")).to_have_count(0, timeout=PATIENCE_MS)


async def test_what_was_cleared_has_no_mark(person: Person) -> None:
    await person.open_terminal()
    await person.runs("echo gone")
    await person.sees("^gone$")
    await person.runs("clear")
    await person.page.wait_for_function("() => document.querySelectorAll('.gutter-mark').length <= 1")
    await person.runs("echo there")
    await person.sees("^there$")
    await person.page.reload()
    await person.sees("^there$")
    await expect(person.page.locator(".gutter-mark[title^='echo there']")).to_have_count(1, timeout=PATIENCE_MS)
    found: list[Any] = await person.page.locator(".gutter-mark").evaluate_all("(all) => all.map((each) => each.title)")
    assert not [title for title in found if title.startswith("echo gone")]
