"""Questions on the page: they come at once, are answered with keys, and are the same on all pages."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, expect

from hermitty.runtime.places import Places
from hermitty.server.serving import Options, serving
from tests.server.conftest import OWN_TOKEN, source_for
from tests.server.talking import Answer, Client
from tests.web.browsing import PATIENCE_MS, Person
from tests.web.conftest import NewPerson

# What a browser says by itself about an answer that is an error.
REFUSED = re.compile(r"the server responded with a status of 4\d\d")
# Blocked by the policy, and if it runs it ends before it does anything.
BLOCKED = "false && mkfs.ext4 /dev/hermitty-nowhere"


@pytest.fixture
async def asking(home: Path, places: Places) -> AsyncIterator[Client]:
    """A server that asks people, and a client with the owner's token."""
    async with AsyncExitStack() as stack:
        ready = await stack.enter_async_context(
            serving(Options(port=0, token=OWN_TOKEN), places=places, settings=source_for(home, places))
        )
        client = await stack.enter_async_context(Client(ready, OWN_TOKEN))
        await client.open(name="idle")  # so that a page does not open a terminal by itself
        yield client


@pytest.fixture
async def ann(asking: Client, new_person: NewPerson) -> Person:
    """Somebody who is logged in and may answer."""
    person = await new_person(asking.url)
    await person.log_in(OWN_TOKEN)
    return person


@contextmanager
def running(server: Client, command: str, work: Path, session: str = "fix-42") -> Iterator[asyncio.Task[Answer]]:
    """Run a command as an agent does; its answer comes when the question is over."""
    body = {"command": command, "cwd": str(work), "session": session}
    task = asyncio.create_task(server.post("/api/run", body))
    try:
        yield task
    finally:
        task.cancel()


def card(person: Person, text: str) -> Locator:
    """The question about a command."""
    found = person.page.locator(".ask:not(.over)", has=person.page.locator(".ask-command", has_text=text))
    return found.filter(visible=True)


async def open_view(person: Person, place: str) -> None:
    """Go to a view by its address."""
    await person.page.evaluate("(place) => { location.hash = place; }", f"#/{place}")


async def test_a_question_appears_and_a_key_allows_it(ann: Person, asking: Client, work: Path) -> None:
    with running(asking, "touch made", work) as answer:
        asked = card(ann, "touch made")
        await expect(asked).to_be_visible(timeout=PATIENCE_MS)
        await expect(ann.page).to_have_title("(1) hermitty")
        await expect(ann.page.locator("[data-view=approvals] .badge")).to_have_text("1")
        await expect(asked.locator(".level")).to_have_text("Low risk")
        await expect(asked.locator(".reasons")).to_contain_text("touches made")
        await expect(asked.locator(".chip").first).to_have_text("creates or changes files")
        await expect(asked.locator("mark.named").last).to_have_text("made")
        await expect(asked.locator(".ask-who")).to_have_text("An agent asks in fix-42")
        await expect(asked.locator(".ask-facts")).to_contain_text(str(work))
        await expect(asked.locator(".ask-left")).to_contain_text("left")
        await ann.page.keyboard.press("Control+Shift+A")
        await expect(asked).to_be_focused()
        await ann.page.keyboard.press("a")
        result = await answer
    assert (result.status, result.json["exit_code"]) == (200, 0)
    assert (work / "made").is_file()
    await expect(ann.page.locator(".ask .outcome")).to_have_text("Allowed by owner")
    await expect(ann.page).to_have_title("hermitty", timeout=PATIENCE_MS)
    await expect(ann.page.locator(".drawer")).to_be_hidden(timeout=PATIENCE_MS)


async def test_who_types_in_a_terminal_goes_on_typing(ann: Person, asking: Client, work: Path) -> None:
    await ann.open_terminal()
    await ann.has_focus_in_terminal()
    with running(asking, "touch made", work) as answer:
        await expect(ann.page.locator(".toast")).to_contain_text("Approval needed (low risk): touch made")
        await ann.types("echo ad")  # neither an answer nor lost
        await ann.runs("s")
        await ann.sees("^ads$")
        await ann.page.keyboard.press("Control+Shift+A")
        await expect(card(ann, "touch made")).to_be_focused(timeout=PATIENCE_MS)
        await ann.page.keyboard.press("d")
        denied = await answer
    assert (denied.status >= 400, denied.code) == (True, "command_denied")
    assert not (work / "made").exists()
    await expect(ann.page.locator(".toast")).to_have_count(0)
    await ann.has_focus_in_terminal()  # when the question has gone
    await ann.runs("echo back")
    await ann.sees("^back$")


async def test_a_question_is_skipped_with_a_note(ann: Person, asking: Client, work: Path) -> None:
    with running(asking, "touch made", work) as answer:
        await expect(card(ann, "touch made")).to_be_visible(timeout=PATIENCE_MS)
        await ann.page.keyboard.press("Control+Shift+A")
        await card(ann, "touch made").get_by_placeholder("Note for whoever asked").fill("das ist später dran")
        await ann.page.keyboard.press("Escape")  # leaves the field, not the question
        await ann.page.keyboard.press("s")
        skipped = await answer
    assert skipped.code == "command_skipped"
    assert "das ist später dran" in skipped.json["error"]["message"]


async def test_an_answer_for_the_session_is_a_rule_that_can_be_removed(ann: Person, asking: Client, work: Path) -> None:
    with running(asking, "touch made", work) as answer:
        asked = card(ann, "touch made")
        await expect(asked).to_be_visible(timeout=PATIENCE_MS)
        await expect(asked.locator(".scope")).to_have_text(
            ["Once1", "In this session2", "In this workspace3", "Always4"]
        )
        await ann.page.keyboard.press("Control+Shift+A")
        await ann.page.keyboard.press("2")
        await expect(asked.locator(".ask-rule")).to_contain_text("Remembers: touch")
        await ann.page.keyboard.press("a")
        assert (await answer).status == 200
    assert (await asking.run("touch again", cwd=str(work), session="fix-42"))["exit_code"] == 0
    await open_view(ann, "rules")
    rule = ann.page.locator("[data-rule]")
    await expect(rule).to_contain_text("touch", timeout=PATIENCE_MS)
    await expect(rule).to_contain_text("Session: fix-42")
    await rule.get_by_role("button", name="Remove rule").click()
    await ann.page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(rule).to_have_count(0, timeout=PATIENCE_MS)
    with running(asking, "touch more", work) as answer:
        await expect(card(ann, "touch more")).to_be_visible(timeout=PATIENCE_MS)
        await card(ann, "touch more").get_by_role("button", name="Deny").click()
        assert (await answer).code == "command_denied"


async def test_a_blocked_command_needs_a_typed_confirmation(ann: Person, asking: Client, work: Path) -> None:
    ann.may_complain_about = REFUSED
    with running(asking, BLOCKED, work) as answer:
        asked = card(ann, "mkfs")
        await expect(asked.locator(".level")).to_have_text("Blocked · Critical risk", timeout=PATIENCE_MS)
        await expect(asked.locator(".ask-answers .primary, .ask-answers .danger")).to_contain_text(["Deny"])
        typed = asked.get_by_label("Confirmation")
        await asked.get_by_role("button", name="Allow").click()
        await expect(asked.locator(".ask-trouble")).to_have_text("Type the text above to allow it.")
        await expect(typed).to_be_focused()
        await typed.fill("yes")
        await ann.page.keyboard.press("Enter")
        await expect(asked.locator(".ask-trouble")).to_contain_text("type exactly", timeout=PATIENCE_MS)
        await typed.fill(await asked.locator(".confirmation").inner_text())
        await ann.page.keyboard.press("Enter")
        result = await answer
    assert (result.status, result.json["exit_code"]) == (200, 1)


async def test_what_one_page_answers_goes_from_the_other(
    ann: Person, asking: Client, work: Path, new_person: NewPerson
) -> None:
    ben = await new_person(asking.url)
    await ben.log_in(OWN_TOKEN)
    with running(asking, "touch made", work) as answer:
        await expect(card(ann, "touch made")).to_be_visible(timeout=PATIENCE_MS)
        await expect(card(ben, "touch made")).to_be_visible(timeout=PATIENCE_MS)
        await card(ann, "touch made").get_by_role("button", name="Allow").click()
        assert (await answer).status == 200
    await expect(ben.page.locator(".ask.over .outcome")).to_have_text("Allowed by owner", timeout=PATIENCE_MS)
    await expect(ben.page.locator(".ask")).to_have_count(0, timeout=PATIENCE_MS)
    await expect(ben.page).to_have_title("hermitty")


async def test_somebody_was_faster(ann: Person, asking: Client, work: Path) -> None:
    ann.may_complain_about = REFUSED
    with running(asking, "touch made", work) as answer:
        await expect(card(ann, "touch made")).to_be_visible(timeout=PATIENCE_MS)
        [question] = (await asking.get("/api/approvals")).json["approvals"]
        release = asyncio.Event()

        async def late(route: Any) -> None:
            await asking.post(f"/api/approvals/{question['id']}", {"answer": "deny"})
            await route.continue_()
            release.set()

        await ann.page.route("**/api/approvals/*", late)
        await card(ann, "touch made").get_by_role("button", name="Allow").click()
        async with asyncio.timeout(PATIENCE_MS / 1000):
            await release.wait()
        assert (await answer).code == "command_denied"
    await expect(ann.page.locator(".toast")).to_contain_text("answered already: deny, by owner")


async def test_what_cannot_be_seen_is_shown(ann: Person, asking: Client, work: Path) -> None:
    with running(asking, "touch 'a\u202eb'", work):
        asked = card(ann, "touch")
        await expect(asked.locator(".sign").first).to_have_text("U+202E", timeout=PATIENCE_MS)
        await expect(asked.locator(".ask-facts")).to_contain_text("not visible")
        await asked.get_by_role("button", name="Deny").click()
        await expect(asked).to_have_count(0, timeout=PATIENCE_MS)


async def test_several_questions_are_walked_through(ann: Person, asking: Client, work: Path) -> None:
    with running(asking, "touch one", work) as one, running(asking, "touch two", work, "other") as two:
        await expect(card(ann, "touch one")).to_be_visible(timeout=PATIENCE_MS)
        await expect(card(ann, "touch two")).to_be_visible(timeout=PATIENCE_MS)
        await ann.page.keyboard.press("Control+Shift+A")
        await ann.page.keyboard.press("ArrowDown")
        focused = ann.page.locator(".ask:focus .ask-command")
        text = await focused.inner_text()
        other = "touch one" if text == "touch two" else "touch two"
        await ann.page.keyboard.press("d")
        await expect(card(ann, text)).to_have_count(0, timeout=PATIENCE_MS)
        # The next one has the focus, and takes no key that came too early for it.
        await expect(card(ann, other)).to_be_focused(timeout=PATIENCE_MS)
        await ann.page.keyboard.press("Escape")
        await expect(ann.page.locator(".drawer")).to_be_hidden()
        await open_view(ann, "approvals")
        await expect(card(ann, other)).to_be_visible(timeout=PATIENCE_MS)
        await ann.page.locator(".view-panel").get_by_role("button", name="Deny").click()
        assert [(await each).code for each in (one, two)] == ["command_denied", "command_denied"]


async def test_a_key_that_is_held_answers_one_question(ann: Person, asking: Client, work: Path) -> None:
    keyboard = ann.page.keyboard
    with running(asking, "touch one", work) as one, running(asking, "touch two", work, "other") as two:
        await expect(card(ann, "touch one")).to_be_visible(timeout=PATIENCE_MS)
        await expect(card(ann, "touch two")).to_be_visible(timeout=PATIENCE_MS)
        await keyboard.press("Control+Shift+A")
        text = await ann.page.locator(".ask:focus .ask-command").inner_text()
        other = "touch one" if text == "touch two" else "touch two"
        await keyboard.down("a")
        await expect(card(ann, other)).to_be_focused(timeout=PATIENCE_MS)
        await expect(card(ann, text)).to_have_count(0, timeout=PATIENCE_MS)
        # Long after it has come, too: the key is still down.
        now = await ann.page.evaluate("() => performance.now()")
        await ann.page.wait_for_function("(then) => performance.now() > then", arg=now + 500)
        for _ in range(3):
            await keyboard.down("a")
        await keyboard.down("s")
        await keyboard.up("s")
        await keyboard.up("a")
        await keyboard.press("d")
        answers = {"touch one": await one, "touch two": await two}
    assert (answers[text].status, answers[other].code) == (200, "command_denied")


async def test_the_history_is_filtered(ann: Person, asking: Client, work: Path) -> None:
    for name, session, said in (("one", "s1", "allow"), ("two", "s2", "deny")):
        with running(asking, f"touch {name}", work, session) as answer:
            await expect(card(ann, f"touch {name}")).to_be_visible(timeout=PATIENCE_MS)
            [question] = (await asking.get("/api/approvals")).json["approvals"]
            await asking.post(f"/api/approvals/{question['id']}", {"answer": said, "note": "because"})
            await answer
    await open_view(ann, "approvals?tab=history")
    rows = ann.page.locator("#panel-history .row-card")
    await expect(rows).to_have_count(2, timeout=PATIENCE_MS)
    await expect(rows.first).to_contain_text("Denied by owner")
    await expect(rows.first).to_contain_text("because")
    await ann.page.get_by_label("Outcome").select_option("allow")
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("touch one")
    await ann.page.get_by_label("Outcome").select_option("")
    await ann.page.get_by_label("Session", exact=True).select_option("s2")
    await expect(rows).to_contain_text("touch two")
    await ann.page.get_by_label("Search commands").fill("one")
    await expect(rows).to_have_count(0)


async def test_who_may_only_watch_sees_questions_and_answers_none(
    asking: Client, work: Path, new_person: NewPerson
) -> None:
    made = await asking.post("/api/tokens", {"name": "guest", "scopes": ["view"]})
    guest = await new_person(asking.url)
    await guest.page.goto(f"{guest.url}/?token={made.json['token']}")
    await guest.page.locator(".topbar").wait_for()
    with running(asking, "touch made", work):
        await expect(guest.page).to_have_title("(1) hermitty", timeout=PATIENCE_MS)
        await expect(guest.page.locator(".drawer")).to_be_hidden()
        await open_view(guest, "approvals")
        await expect(card(guest, "touch made")).to_contain_text("Your token is for watching", timeout=PATIENCE_MS)
        await expect(card(guest, "touch made").get_by_role("button", name="Allow")).to_have_count(0)
        [question] = (await asking.get("/api/approvals")).json["approvals"]
        await asking.post(f"/api/approvals/{question['id']}", {"answer": "deny"})
        await expect(guest.page).to_have_title("hermitty", timeout=PATIENCE_MS)
