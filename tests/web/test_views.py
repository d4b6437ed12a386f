"""The views of the page: commands, outputs, recordings, settings, numbers, links, the palette and help."""

import json
import re
from pathlib import Path

import pytest
from playwright.async_api import expect

from hermitty.runtime.api import Runtime
from hermitty.runtime.places import Places
from hermitty.runtime.recording.recordings import Recordings
from hermitty.server.parts import SettingsPlace
from hermitty.server.serving import Options, in_process, serving
from tests.server.conftest import OWN_TOKEN, gate, source_for
from tests.server.talking import Client
from tests.support.runtimes import Gate
from tests.web.browsing import PATIENCE_MS, Person
from tests.web.conftest import NewPerson
from tests.web.test_page import AXE, violations

__all__ = ["gate"]

REFUSED = re.compile(r"the server responded with a status of 4\d\d")
VIEWS = ("approvals", "commands", "artifact", "dashboard", "settings", "recordings", "rules", "links", "help")


@pytest.fixture
async def ann(server: Client, new_person: NewPerson) -> Person:
    """Somebody at a page that shows no panel."""
    await server.open(name="idle")  # so that the page does not open a terminal by itself
    person = await new_person(server.url, permissions=["clipboard-read", "clipboard-write"])
    await person.log_in(OWN_TOKEN)
    return person


async def open_view(person: Person, place: str) -> None:
    """Go to a view by its address, and wait until it is there."""
    await person.page.evaluate("(place) => { location.hash = place; }", f"#/{place}")
    await person.page.locator(".view:visible .view-title").wait_for()


async def test_a_command_that_fails_is_seen_as_it_happens(ann: Person, server: Client, work: Path) -> None:
    await open_view(ann, "commands")
    await expect(ann.page.locator(".nothing")).to_contain_text("No commands yet", timeout=PATIENCE_MS)
    done = await server.run("echo some output; exit_with() { return 3; }; exit_with", cwd=str(work), session="fix-42")
    row = ann.page.locator(f"[data-command={done['id']}]")
    await expect(row.locator(".state")).to_have_text("exit 3", timeout=PATIENCE_MS)
    await expect(row.locator(".command-main")).to_contain_text("fix-42")
    await row.locator(".command-summary").press("Enter")
    await expect(row.locator(".output-preview")).to_have_text("some output", timeout=PATIENCE_MS)
    await expect(row.locator(".row-facts")).to_contain_text(str(work))
    await row.get_by_role("button", name="Copy output").click()
    await expect(ann.page.locator(".toast")).to_contain_text("Copied")
    assert (await ann.page.evaluate("() => navigator.clipboard.readText()")).strip() == "some output"
    await server.run("true", cwd=str(work), session="other")
    await expect(ann.page.locator("[data-command]")).to_have_count(2, timeout=PATIENCE_MS)
    await ann.page.get_by_role("button", name="Failed", exact=True).click()
    await expect(ann.page.locator("[data-command]")).to_have_count(1, timeout=PATIENCE_MS)
    await ann.page.get_by_role("button", name="All", exact=True).click()
    await ann.page.get_by_label("Session", exact=True).select_option("other")
    await expect(ann.page.locator("[data-command] code").first).to_have_text("true", timeout=PATIENCE_MS)
    await expect(ann.page.locator("[data-command]")).to_have_count(1)


async def test_a_command_is_run_again_after_a_question(ann: Person, server: Client, work: Path) -> None:
    done = await server.run("echo x >> count", cwd=str(work), session="fix-42")
    await open_view(ann, f"commands?command={done['id']}")
    row = ann.page.locator(f"[data-command={done['id']}]")
    await row.get_by_role("button", name="Run again").click()
    dialog = ann.page.get_by_role("dialog")
    await expect(dialog).to_contain_text("echo x >> count")
    await dialog.get_by_role("button", name="Cancel").click()
    await row.get_by_role("button", name="Run again").click()
    await dialog.get_by_role("button", name="Run again").click()
    await expect(ann.page.locator("[data-command]")).to_have_count(2, timeout=PATIENCE_MS)
    await expect(ann.page.locator("[data-command] .state.ok")).to_have_count(2, timeout=PATIENCE_MS)
    assert (work / "count").read_text() == "x\nx\n"


async def test_a_command_that_runs_is_interrupted(ann: Person, server: Client, work: Path, gate: Gate) -> None:
    running = await server.run("echo begun; cat gate", cwd=str(work), session="fix-42", wait_s=0)
    await open_view(ann, "commands?show=running")
    row = ann.page.locator(f"[data-command={running['id']}]")
    await expect(row.locator(".state")).to_have_text("Running", timeout=PATIENCE_MS)
    await row.locator(".command-summary").click()
    await row.get_by_role("button", name="Interrupt").click()
    await expect(row).to_have_count(0, timeout=PATIENCE_MS)
    await ann.page.get_by_role("button", name="All", exact=True).click()
    await expect(row.locator(".state.failed")).to_have_text("Interrupted", timeout=PATIENCE_MS)


async def test_a_command_leads_to_its_terminal(ann: Person, server: Client, work: Path) -> None:
    done = await server.run("echo from the agent", cwd=str(work), session="fix-42", workspace="default")
    await open_view(ann, f"commands?command={done['id']}")
    await ann.page.get_by_role("button", name="Go to terminal").click()
    await ann.has_focus_in_terminal()
    await ann.sees("from the agent")
    assert "#" not in ann.page.url, "the address named the view, which is hidden now"


async def test_a_line_is_found_in_a_long_output(ann: Person, server: Client, work: Path) -> None:
    done = await server.run("seq -f 'row %g' 30000", cwd=str(work), session="fix-42")
    assert done["artifact"] is not None
    await open_view(ann, f"commands?command={done['id']}")
    await ann.page.get_by_role("button", name="Whole output").click()
    lines = ann.page.locator(".line")
    await expect(lines.first).to_contain_text("row 1", timeout=PATIENCE_MS)
    await expect(ann.page.locator(".filters [role=status]")).to_contain_text("30,000 lines")
    assert await lines.count() < 1000, "only what can be seen is in the page"
    await ann.page.get_by_label("Find in the output").fill("row 2999[78]$")
    await ann.page.keyboard.press("Enter")
    await expect(ann.page.locator(".matches")).to_contain_text("2 matches", timeout=PATIENCE_MS)
    await expect(ann.page.locator(".line.here")).to_have_text("29997row 29997")
    await expect(ann.page.locator(".line.here mark")).to_have_text("row 29997")
    await expect(ann.page.locator(".line.here")).to_be_in_viewport()
    await ann.page.keyboard.press("Enter")
    await expect(ann.page.locator(".line.here")).to_have_text("29998row 29998")
    await ann.page.keyboard.press("Escape")
    await expect(ann.page.locator(".matches")).to_be_hidden()
    await ann.page.get_by_label("Go to line").fill("12345")
    await ann.page.get_by_label("Go to line").press("Enter")
    await expect(ann.page.locator(".line.here")).to_have_text("12345row 12345", timeout=PATIENCE_MS)
    await expect(ann.page.locator(".line.here")).to_be_in_viewport()
    async with ann.page.expect_download() as download:
        await ann.page.get_by_role("button", name="Download").click()
    path = await (await download.value).path()
    assert path.read_bytes().splitlines() == [f"row {number}".encode() for number in range(1, 30_001)]
    await ann.page.reload()
    await expect(lines.first).to_contain_text("row 1", timeout=PATIENCE_MS)


async def test_a_short_output_is_shown_without_an_artifact(ann: Person, server: Client, work: Path) -> None:
    done = await server.run(r"printf '\033[31mred\033[0m <b>plain</b>\n'", cwd=str(work), session="fix-42")
    await open_view(ann, f"artifact?command={done['id']}")
    await expect(ann.page.locator(".line-text")).to_have_text("red <b>plain</b>", timeout=PATIENCE_MS)


async def test_a_setting_is_kept_and_a_wrong_one_refused(ann: Person, server: Client) -> None:
    ann.may_complain_about = REFUSED
    await open_view(ann, "settings")
    setting = ann.page.locator("[data-setting='terminal.cols']")
    field = setting.get_by_label("terminal.cols")
    await expect(field).to_have_value("120", timeout=PATIENCE_MS)
    await field.fill("0")
    await field.press("Enter")
    await expect(setting.locator(".ask-trouble")).to_contain_text(
        "terminal.cols is 0; it must be a whole number from 1 to 4096", timeout=PATIENCE_MS
    )
    await expect(field).to_have_attribute("aria-invalid", "true")
    await field.fill("99")
    await field.press("Enter")
    await expect(setting.locator(".saved")).to_contain_text("Saved", timeout=PATIENCE_MS)
    await expect(setting.locator(".origin")).to_have_text("File")
    await expect(setting.locator(".ask-trouble")).to_be_empty()
    settings = {each["name"]: each for each in (await server.get("/api/settings")).json["settings"]}
    assert settings["terminal.cols"]["value"] == 99
    await ann.page.reload()
    await expect(field).to_have_value("99", timeout=PATIENCE_MS)
    await setting.get_by_role("button", name="Reset to default").click()
    await expect(field).to_have_value("120", timeout=PATIENCE_MS)
    await expect(setting.locator(".origin")).to_be_hidden()
    await ann.page.get_by_label("Search settings").fill("recorded asciicasts")
    await expect(ann.page.locator("[data-setting]")).to_have_count(1)
    switch = ann.page.get_by_role("switch")
    await switch.press("Space")
    await expect(ann.page.locator(".saved")).to_contain_text("Saved", timeout=PATIENCE_MS)
    fixed = {each["name"]: each for each in (await server.get("/api/settings")).json["settings"]}
    assert fixed["recording.enabled"]["value"] is False


async def test_a_setting_of_somebody_else_is_shown_but_not_changed(ann: Person) -> None:
    await open_view(ann, "settings")
    setting = ann.page.locator("[data-setting='policy.mode']")
    await expect(setting.get_by_label("policy.mode")).to_be_disabled(timeout=PATIENCE_MS)
    await expect(setting.locator(".origin")).to_have_text("Argument")


async def test_the_palette_opens_a_terminal_with_keys_only(ann: Person, server: Client) -> None:
    await server.open(name="kitchen", workspace="default")
    await expect(ann.page.locator(".terminal-item")).to_have_count(2, timeout=PATIENCE_MS)
    press = ann.page.keyboard.press
    await press("Control+k")
    box = ann.page.get_by_role("combobox")
    await expect(box).to_be_focused(timeout=PATIENCE_MS)
    await ann.types("kitc")
    chosen = ann.page.locator("[role=option][aria-selected=true]")
    await expect(chosen).to_contain_text("kitchen")
    assert await box.get_attribute("aria-activedescendant") == await chosen.get_attribute("id")
    await press("Enter")
    await ann.prompt()
    await ann.has_focus_in_terminal()
    await expect(ann.page.locator(".tab-title")).to_have_text("kitchen")
    await press("Control+k")  # the shell's, here
    await expect(box).to_have_count(0)
    await press("Control+Shift+P")
    await expect(box).to_be_focused(timeout=PATIENCE_MS)
    await press("Escape")
    await ann.has_focus_in_terminal()
    await press("Control+Shift+P")
    await expect(box).to_be_focused(timeout=PATIENCE_MS)
    await ann.types("dashb")
    await press("Enter")
    await expect(ann.page.locator(".view-title")).to_have_text("Dashboard", timeout=PATIENCE_MS)
    assert ann.page.url.endswith("#/dashboard")


async def test_the_dashboard_counts(ann: Person, server: Client, work: Path) -> None:
    await server.run("true", cwd=str(work))
    await server.run("false", cwd=str(work))
    await open_view(ann, "dashboard")
    tile = ann.page.locator("[data-tile=commands] .tile-value")
    await expect(tile).to_have_text("2", timeout=PATIENCE_MS)
    await expect(ann.page.locator(".chart")).to_have_attribute("aria-label", re.compile("2 commands in the last hour"))
    await expect(ann.page.locator(".failure")).to_contain_text("false")
    await server.run("true", cwd=str(work))
    await expect(tile).to_have_text("3", timeout=PATIENCE_MS)
    await ann.page.locator(".failure").click()
    await expect(ann.page.locator("[data-command] .command-body:visible")).to_be_visible(timeout=PATIENCE_MS)


async def test_a_link_for_watching_is_made_used_and_revoked(ann: Person, server: Client, new_person: NewPerson) -> None:
    await open_view(ann, "links")
    await ann.page.get_by_label("For whom").fill("Ada")
    await ann.page.get_by_label("For whom").press("Enter")
    link = ann.page.get_by_label("Link for watching")
    await expect(link).to_be_focused(timeout=PATIENCE_MS)
    address = await link.input_value()
    guest = await new_person(server.url)
    await guest.page.goto(address)
    await guest.page.locator(".topbar").wait_for()
    await open_view(guest, "links")
    await expect(guest.page.locator(".nothing")).to_contain_text("does not allow")
    [token] = (await server.get("/api/tokens")).json["tokens"]
    assert (token["name"], token["scopes"]) == ("Ada", ["view"])
    assert token["expires_at"] - token["created_at"] == pytest.approx(86_400)
    await ann.page.get_by_role("button", name="Revoke").click()
    await ann.page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    await expect(ann.page.locator("[data-token]")).to_have_count(0, timeout=PATIENCE_MS)
    guest.may_complain_about = REFUSED
    await guest.page.reload()
    await guest.page.locator("input[name=token]").wait_for()


async def test_a_recording_is_played(home: Path, places: Places, work: Path, new_person: NewPerson) -> None:
    kept = Recordings(places)

    def with_recordings(settings: SettingsPlace) -> Runtime:
        runtime = in_process(settings)
        runtime.recordings = kept
        return runtime

    settings = source_for(home, places, policy__mode="off")
    options = Options(port=0, token=OWN_TOKEN)
    async with (
        serving(options, places=places, settings=settings, make_runtime=with_recordings) as ready,
        Client(ready, OWN_TOKEN) as server,
    ):
        terminal = (await server.open(cwd=str(work), name="mine"))["id"]
        kept.follow(server.parts.runtime.terminal(terminal), name="mine")
        await server.post(f"/api/terminals/{terminal}/commands", {"command": "echo recorded words"})
        await server.get(f"/api/recordings/{terminal}.cast")  # whoever reads one has it written
        person = await new_person(server.url)
        await person.log_in(OWN_TOKEN)
        await open_view(person, "recordings")
        row = person.page.locator(f"[data-recording={terminal}]")
        await expect(row).to_contain_text("Live", timeout=PATIENCE_MS)
        for version in (2, 3):
            async with person.page.expect_download() as download:
                await row.get_by_role("link", name=f"v{version}").click()
            cast = (await (await download.value).path()).read_text()
            assert json.loads(cast.splitlines()[0])["version"] == version
        await row.get_by_role("button", name="Play").click()
        screen = person.page.locator(".ap-terminal, .ap-term").first
        await expect(screen).to_contain_text("recorded words", timeout=PATIENCE_MS)
        await kept.close()


async def test_help_tells_keys_and_signs(ann: Person) -> None:
    await open_view(ann, "help")
    await expect(ann.page.locator(".view .help")).to_contain_text("Go to the questions that wait")
    await expect(ann.page.locator(".marks dd")).to_have_count(10)
    await ann.page.keyboard.press("Control+Shift+L")
    await expect(ann.page.locator(".view:visible .view-title")).to_have_text("Commands and output", timeout=PATIENCE_MS)


async def test_every_view_has_chinese_words_and_room_on_a_phone(
    server: Client, work: Path, new_person: NewPerson
) -> None:
    done = await server.run("echo a-rather-long-word-" + "x" * 200, cwd=str(work), session="fix-42")
    person = await new_person(server.url, locale="zh-CN", viewport={"width": 360, "height": 640}, has_touch=True)
    await person.page.goto(f"{person.url}/?token={OWN_TOKEN}")
    await person.page.locator(".topbar").wait_for()
    for view in VIEWS:
        await open_view(person, f"{view}?command={done['id']}")
        title = await person.page.locator(".view:visible .view-title").inner_text()
        assert re.search(r"[\u4e00-\u9fff]", title), view
        # Nothing but what scrolls by itself is wider than the window.
        wide = await person.page.evaluate("""() => {
          const view = [...document.querySelectorAll('.view')].find((each) => each.offsetParent !== null);
          return [view.scrollWidth - view.clientWidth, document.documentElement.scrollWidth];
        }""")
        assert wide == [0, 360], view


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed (npm ci in web/)")
@pytest.mark.parametrize("look", ["light", "dark", "contrast"])
async def test_every_view_is_accessible(server: Client, work: Path, new_person: NewPerson, look: str) -> None:
    done = await server.run("echo words; false", cwd=str(work), session="fix-42")
    await server.post("/api/tokens", {"name": "Ada", "scopes": ["view"], "expires_in_s": 60})
    person = await new_person(server.url)
    await person.page.add_init_script(f"localStorage.setItem('hermitty', JSON.stringify({{theme: '{look}'}}))")
    await person.log_in(OWN_TOKEN)
    for view in VIEWS:
        await open_view(person, f"{view}?command={done['id']}")
        if view == "commands":
            await person.page.locator(".output-preview").wait_for()
        assert await violations(person) == [], view
    await person.page.keyboard.press("Control+Shift+P")
    await person.page.get_by_role("combobox").wait_for()
    assert await violations(person) == []
    await person.page.keyboard.press("Escape")
    question = {
        "id": "q_1",
        "command": "touch 'a\u202eb'",
        "line": "touch 'a\u202eb'",
        "cwd": "/work",
        "shell": "bash",
        "decision": "block",
        "level": "critical",
        "effects": ["deletes files"],
        "reasons": ["touches a"],
        "scopes": ["once", "session"],
        "suggested_rule": None,
        "confirmation": "yes",
        "session": "fix-42",
        "workspace": None,
        "terminal": None,
        "origin": "agent",
        "asked_at": 1.0,
        "expires_at": None,
    }
    server.parts.feed.publish("approval_asked", {"approval": question})
    await person.page.locator(".drawer:visible .ask").wait_for()
    await person.page.locator(".ask mark").first.wait_for()
    assert await violations(person) == []
    server.parts.feed.publish("approval_answered", {"approval": {"id": "q_1", "outcome": "deny", "by": "ada"}})
    await person.page.locator(".ask.over").wait_for()
    assert await violations(person) == []
