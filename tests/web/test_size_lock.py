"""Keeping the size of a terminal that several windows show."""

from playwright.async_api import expect

from tests.server.conftest import OWN_TOKEN
from tests.server.talking import Client
from tests.web.browsing import PATIENCE_MS, Person
from tests.web.conftest import NewPerson

COLS = "[...hermitty.terminals.values()][0].cols"


async def two_windows(server: Client, new_person: NewPerson) -> tuple[Person, Person]:
    """A wide and a small window with the same terminal; the wide one has typed last."""
    wide = await new_person(server.url, viewport={"width": 1300, "height": 800})
    small = await new_person(server.url, viewport={"width": 700, "height": 500})
    await wide.log_in(OWN_TOKEN)
    await wide.open_terminal()
    await expect(wide.page.get_by_role("button", name="Keep the size of this window")).to_be_hidden()
    await small.log_in(OWN_TOKEN)
    await small.page.keyboard.press("Control+Shift+O")
    await small.page.locator(".terminal-item").click()
    await small.prompt()
    await small.has_focus_in_terminal()
    await wide.page.locator(".xterm-screen").click()
    await wide.runs("echo wide")
    await small.sees("^wide$")
    return wide, small


async def test_a_kept_size_does_not_change_when_others_type(server: Client, new_person: NewPerson) -> None:
    wide, small = await two_windows(server, new_person)
    before = await wide.page.evaluate(COLS)
    keep = wide.page.get_by_role("button", name="Keep the size of this window")
    await keep.click()
    for each in (wide, small):
        let_go = each.page.get_by_role("button", name="Let everybody’s window decide the size")
        await expect(let_go).to_have_attribute("aria-pressed", "true", timeout=PATIENCE_MS)
        await expect(each.page.locator(".fact", has_text="The size is kept as the window of")).to_be_visible(
            timeout=PATIENCE_MS
        )
    await small.page.locator(".xterm-screen").click()
    await small.runs("tput cols")
    await small.sees(f"^{before}$")
    assert (await wide.page.evaluate(COLS), await small.page.evaluate(COLS)) == (before, before)
    # The window that keeps it can still be made bigger or smaller.
    await wide.page.set_viewport_size({"width": 1000, "height": 800})
    await small.page.wait_for_function(f"() => {COLS} < {before}")
    # Anybody may let go of it; the one that typed last decides then.
    held = await small.page.evaluate(COLS)
    await small.page.get_by_role("button", name="Let everybody’s window decide the size").click()
    await wide.page.wait_for_function(f"() => {COLS} < {held}")
    await expect(keep).to_have_attribute("aria-pressed", "false", timeout=PATIENCE_MS)
    await expect(small.page.locator(".fact", has_text="The size is kept")).to_have_count(0, timeout=PATIENCE_MS)


async def test_a_size_is_kept_from_the_menu_and_free_when_its_window_leaves(
    server: Client, new_person: NewPerson
) -> None:
    wide, small = await two_windows(server, new_person)
    await wide.page.locator(".terminal-head").get_by_role("button", name="More").click()
    await wide.page.get_by_role("menuitem", name="Keep the size of this window").click()
    fact = small.page.locator(".fact", has_text="The size is kept as the window of")
    await expect(fact).to_be_visible(timeout=PATIENCE_MS)
    before = await small.page.evaluate(COLS)
    await wide.page.goto("about:blank")
    await expect(fact).to_have_count(0, timeout=PATIENCE_MS)
    await small.page.wait_for_function(f"() => {COLS} < {before}")
