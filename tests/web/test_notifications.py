"""Notifications of the browser about questions: wanted by somebody, and only for a page that is hidden."""

import asyncio
from pathlib import Path

from playwright.async_api import expect

from tests.server.conftest import OWN_TOKEN
from tests.server.talking import Client
from tests.web.browsing import PATIENCE_MS, Person
from tests.web.conftest import NewPerson

# A headless browser shows none: what the page asks for is written down instead.
RECORDED = """
globalThis.shown = [];
globalThis.Notification = class {
  static permission = localStorage.getItem('test.permission') ?? 'default';
  static async requestPermission() {
    localStorage.setItem('test.permission', ANSWER);
    return (this.permission = ANSWER);
  }
  constructor(title, options) {
    Object.assign(this, { title, ...options, isClosed: false });
    shown.push(this);
  }
  close() { this.isClosed = true; }
};
globalThis.hide = (isHidden) => {
  const get = () => (isHidden ? 'hidden' : 'visible');
  Object.defineProperty(document, 'visibilityState', { get, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
};
"""
COMMAND = "git push --force origin main"


async def sit(server: Client, new_person: NewPerson, answer: str) -> Person:
    """Somebody at the approvals, whose browser gives this answer to the page."""
    person: Person = await new_person(server.url)
    await person.page.add_init_script(RECORDED.replace("ANSWER", f"'{answer}'"))
    await person.page.goto(f"{person.url}/?token={OWN_TOKEN}")
    await person.page.locator("body[data-ready]").wait_for()
    await person.page.evaluate("location.hash = '#/approvals'")
    return person


async def test_a_hidden_page_notifies_if_somebody_wants_that(asking: Client, new_person: NewPerson, work: Path) -> None:
    person = await sit(asking, new_person, "granted")
    wanted = person.page.get_by_role("button", name="Notify me")
    await expect(wanted).to_have_attribute("aria-pressed", "false", timeout=PATIENCE_MS)
    await wanted.click()
    await expect(person.page.get_by_role("button", name="Notifications on")).to_have_attribute(
        "aria-pressed", "true", timeout=PATIENCE_MS
    )
    await person.page.reload()  # it is remembered
    await person.page.locator("body[data-ready]").wait_for()
    await person.page.evaluate("hide(true)")
    run = asyncio.ensure_future(asking.post("/api/run", {"command": COMMAND, "cwd": str(work), "session": "s"}))
    await person.page.wait_for_function("() => shown.length === 1")
    found = await person.page.evaluate("shown.map(({ title, body, isClosed }) => [title, body, isClosed])")
    assert found == [["hermitty", f"Approval needed (critical risk): {COMMAND}", False]]
    # Whoever clicks it is led to the question, and it goes when the question is answered.
    await person.page.evaluate("hide(false); shown[0].onclick()")
    await expect(person.page.locator(".ask:visible")).to_be_visible(timeout=PATIENCE_MS)
    [question] = (await asking.get("/api/approvals")).json["approvals"]
    await asking.post(f"/api/approvals/{question['id']}", {"answer": "deny"})
    await run
    await person.page.wait_for_function("() => shown[0].isClosed")


async def test_a_page_that_is_seen_or_whose_browser_says_no_notifies_nobody(
    asking: Client, new_person: NewPerson, work: Path
) -> None:
    seen = await sit(asking, new_person, "granted")
    await seen.page.get_by_role("button", name="Notify me").click()
    refused = await sit(asking, new_person, "denied")
    await refused.page.get_by_role("button", name="Notify me").click()
    await expect(refused.page.locator(".toast", has_text="blocks notifications")).to_be_visible(timeout=PATIENCE_MS)
    await refused.page.evaluate("hide(true)")
    run = asyncio.ensure_future(asking.post("/api/run", {"command": COMMAND, "cwd": str(work), "session": "s"}))
    for person in (seen, refused):
        await expect(person.page.locator(".ask:visible")).to_be_visible(timeout=PATIENCE_MS)
        assert await person.page.evaluate("shown.length") == 0
    [question] = (await asking.get("/api/approvals")).json["approvals"]
    await asking.post(f"/api/approvals/{question['id']}", {"answer": "deny"})
    await run
