"""The page around the terminals: keyboard, dialogs, languages, small windows, accessibility."""

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.server.conftest import OWN_TOKEN
from tests.server.talking import Client
from tests.web.browsing import PATIENCE_MS, Person
from tests.web.conftest import NewPerson

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"


async def violations(person: Person) -> list[str]:
    """What is not accessible, by rule and element."""
    # Evaluated by the driver, as a developer would in the console: the page's policy lets no other script in.
    await person.page.evaluate(AXE.read_text())
    found = await person.page.evaluate(
        "async () => (await axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})).violations"
    )
    return [f"{each['id']}: {node['html'][:150]}" for each in found for node in each["nodes"]]


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed (npm ci in web/)")
@pytest.mark.parametrize("look", ["light", "dark", "contrast"])
async def test_the_page_is_accessible(server: Client, new_person: NewPerson, look: str) -> None:
    await server.open(session="fix-42", workspace="default")
    person = await new_person(server.url)
    await person.page.add_init_script(f"localStorage.setItem('hermitty', JSON.stringify({{theme: '{look}'}}))")
    await person.log_in(OWN_TOKEN)
    assert await violations(person) == []
    await person.open_terminal()
    await person.runs("false")
    await expect(person.page.locator(".terminal-head .status.failed")).to_be_visible(timeout=PATIENCE_MS)
    await person.page.keyboard.press("Control+Shift+D")
    await person.expect_tabs(2)
    await person.prompt(1)
    assert await violations(person) == []
    await person.page.keyboard.press("Control+Shift+F")
    await person.page.locator(".find:visible").wait_for()
    assert await violations(person) == []
    await person.page.keyboard.press("Escape")
    await person.page.keyboard.press("Control+Shift+Slash")
    await person.page.get_by_role("dialog").wait_for()
    assert await violations(person) == []


async def test_everything_can_be_done_with_the_keyboard(person: Person, server: Client) -> None:
    press = person.page.keyboard.press
    await press("Enter")  # the invitation has the focus
    await person.prompt()
    await person.has_focus_in_terminal()
    await person.runs("echo one")
    await person.sees("^one$")
    await press("Control+Shift+Enter")
    await person.expect_tabs(2)
    await person.prompt(1)
    await person.has_focus_in_terminal()
    await press("Control+Shift+O")
    await expect(person.page.locator(".terminal-item").nth(1)).to_be_focused(timeout=PATIENCE_MS)
    await press("F2")
    await person.page.get_by_role("dialog").wait_for()
    await person.types("second")
    await press("Enter")
    await expect(person.page.locator(".tab-title").nth(1)).to_have_text("second", timeout=PATIENCE_MS)
    await press("ArrowUp")
    await press("Enter")
    await person.has_focus_in_terminal()
    await person.runs("echo first again")
    await person.sees("^first again$")
    await press("Control+Shift+BracketRight")
    await person.has_focus_in_terminal()
    await press("Control+Shift+X")
    await person.expect_tabs(1)
    await press("Control+Shift+K")
    dialog = person.page.get_by_role("dialog")
    await dialog.wait_for()
    await press("Tab")
    await press("Control+A")
    await person.types("/")
    await press("Enter")
    await person.expect_tabs(2)
    await person.has_focus_in_terminal()
    await person.runs("pwd")
    await expect(person.page.locator(".head-cwd").last).to_have_text("/", timeout=PATIENCE_MS)


async def test_the_focus_stays_in_a_dialog_and_comes_back(person: Person) -> None:
    await person.open_terminal()
    await person.page.keyboard.press("Control+Shift+Slash")
    dialog = person.page.get_by_role("dialog")
    await dialog.wait_for()
    for _ in range(8):
        await person.page.keyboard.press("Tab")
        outside = "() => document.activeElement !== document.body && document.activeElement.closest('dialog') === null"
        assert not await person.page.evaluate(outside)
    await person.page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0, timeout=PATIENCE_MS)
    await person.has_focus_in_terminal()


async def test_commands_are_marked_and_their_output_can_be_copied(server: Client, new_person: NewPerson) -> None:
    person = await new_person(server.url, permissions=["clipboard-read", "clipboard-write"])
    await person.log_in(OWN_TOKEN)
    await person.open_terminal()
    await person.runs("seq -f 'row %g' 3")
    await person.sees("^row 3$")
    await expect(person.page.locator(".gutter-mark.ok")).to_have_count(1, timeout=PATIENCE_MS)
    await person.runs("false")
    await expect(person.page.locator(".gutter-mark.failed")).to_have_count(1, timeout=PATIENCE_MS)
    await person.page.locator(".gutter-mark.ok").click()
    await person.page.get_by_role("menuitem", name="Copy output").click()
    await expect(person.page.locator(".toast")).to_contain_text("Copied", timeout=PATIENCE_MS)
    assert await person.page.evaluate("() => navigator.clipboard.readText()") == "row 1\nrow 2\nrow 3"
    await person.page.locator(".gutter-mark.ok").first.click()
    await person.page.get_by_role("menuitem", name="Run again").click()
    await expect(person.page.locator(".gutter-mark.ok")).to_have_count(2, timeout=PATIENCE_MS)
    assert (await person.rows()).count("row 2") == 2


async def test_one_can_go_from_command_to_command(person: Person) -> None:
    await person.open_terminal()
    for name in ("first", "second", "third"):
        await person.runs(f"seq -f '{name} %g' 100")
        await person.sees(f"^{name} 100$")
    top = "() => { const b = [...hermitty.terminals.values()][0].buffer.active; "
    top += "return b.getLine(b.viewportY).translateToString(true); }"
    await person.page.keyboard.press("Control+Shift+ArrowUp")
    assert "seq -f 'third" in await person.page.evaluate(top)
    await person.page.keyboard.press("Control+Shift+ArrowUp")
    assert "seq -f 'second" in await person.page.evaluate(top)
    await person.page.keyboard.press("Control+Shift+ArrowDown")
    assert "seq -f 'third" in await person.page.evaluate(top)


async def test_text_is_found(person: Person) -> None:
    await person.open_terminal()
    await person.runs("seq -f 'row %g' 200")
    await person.sees("^row 200$")
    await person.page.keyboard.press("Control+Shift+F")
    await person.types("row 1")
    await expect(person.page.locator(".find-count")).to_contain_text("of 111", timeout=PATIENCE_MS)
    await person.page.keyboard.press("Escape")
    await person.has_focus_in_terminal()


async def test_several_lines_are_pasted_only_after_a_question(server: Client, new_person: NewPerson) -> None:
    person = await new_person(server.url, permissions=["clipboard-read", "clipboard-write"])
    await person.log_in(OWN_TOKEN)
    await person.open_terminal()
    await person.runs("cat")  # turns brackets off
    await expect(person.page.locator(".terminal-head .status.running")).to_be_visible(timeout=PATIENCE_MS)
    await person.page.evaluate("() => navigator.clipboard.writeText('one\\ntwo\\u001b[201~\\nthree')")
    await person.page.keyboard.press("Control+Shift+V")
    dialog = person.page.get_by_role("dialog")
    await expect(dialog.locator(".preview")).to_have_text("one\ntwo[201~\nthree", timeout=PATIENCE_MS)
    await dialog.get_by_role("button", name="Cancel").click()
    await person.has_focus_in_terminal()
    await person.runs("nothing")
    await person.sees("^nothing$")
    assert "one" not in await person.rows()
    await person.page.keyboard.press("Control+Shift+V")
    await dialog.get_by_role("button", name="Paste").click()
    await person.page.keyboard.press("Enter")
    await person.sees("^three$")
    assert (await person.rows()).count("two[201~") == 2  # as it was typed, and as cat says it


async def test_the_preview_of_a_paste_hides_nothing(person: Person) -> None:
    await person.open_terminal()
    await person.runs("cat")  # turns brackets off
    await expect(person.page.locator(".terminal-head .status.running")).to_be_visible(timeout=PATIENCE_MS)
    await person.pastes("a\u202eb\n" + "x" * 5000)
    dialog = person.page.get_by_role("dialog")
    await expect(dialog.locator(".preview")).to_contain_text("aU+202Eb", timeout=PATIENCE_MS)
    await expect(dialog).to_contain_text("1004 more characters are pasted that are not shown here.")
    await dialog.get_by_role("button", name="Cancel").click()
    await person.has_focus_in_terminal()


async def test_it_speaks_chinese(server: Client, new_person: NewPerson) -> None:
    await server.open(workspace="default")  # else the page opens one
    person = await new_person(server.url, locale="zh-CN")
    await person.log_in(OWN_TOKEN, workspace="empty")
    await expect(person.page.locator(".watermark button.primary")).to_contain_text("新建终端")
    assert await person.page.evaluate("() => document.documentElement.lang") == "zh"
    await person.page.get_by_role("button", name="显示", exact=True).click()
    await person.page.get_by_label("语言").select_option("en")
    await person.page.keyboard.press("Escape")
    await expect(person.page.locator(".watermark button.primary")).to_contain_text("New terminal", timeout=PATIENCE_MS)


async def test_the_sign_of_the_connection_keeps_its_shape_in_a_small_window(
    server: Client, new_person: NewPerson
) -> None:
    await server.open(workspace="default")
    person = await new_person(server.url, viewport={"width": 320, "height": 640})
    await person.log_in(OWN_TOKEN, workspace="a workspace with a long name")
    box = await person.page.locator(".topbar .connection").bounding_box()
    assert box is not None
    assert (box["width"], box["height"]) == (9, 9)
    assert await person.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


async def test_a_phone_has_room(server: Client, new_person: NewPerson) -> None:
    await server.open(session="fix-42", workspace="default")
    person = await new_person(server.url, viewport={"width": 360, "height": 640}, has_touch=True)
    await person.log_in(OWN_TOKEN)
    assert await person.page.evaluate("() => document.documentElement.scrollWidth") == 360
    await person.page.get_by_role("button", name="Show or hide the list").click()
    await person.page.locator(".terminal-item").click()
    await person.prompt()
    await expect(person.page.locator(".sidebar")).to_be_hidden(timeout=PATIENCE_MS)
    assert await person.page.evaluate("() => document.documentElement.scrollWidth") == 360
    for control in await person.page.locator(".topbar button:visible, .terminal-head button:visible").all():
        box = await control.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360


async def test_somebody_without_a_token_is_asked_for_it(server: Client, new_person: NewPerson) -> None:
    person = await new_person(server.url)
    await person.page.goto(server.url)
    await person.page.locator("input[name=token]").fill(OWN_TOKEN)
    await person.page.keyboard.press("Enter")
    await person.ready()
    assert "token" not in person.page.url


async def test_questions_are_counted_in_the_title(server: Client, new_person: NewPerson) -> None:
    person = await new_person(server.url)
    await person.log_in(OWN_TOKEN)
    question = {
        "type": "approval_asked",
        "approval": {"id": "a_1", "command": "rm x", "level": "high", "reasons": [], "effects": []},
    }
    server.parts.feed.publish("approval_asked", {"approval": question["approval"]})
    await expect(person.page).to_have_title("(1) hermitty", timeout=PATIENCE_MS)
    server.parts.feed.publish("approval_answered", {"approval": {"id": "a_1"}})
    await expect(person.page).to_have_title("hermitty", timeout=PATIENCE_MS)
