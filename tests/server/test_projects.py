"""Sessions, workspaces, history, recordings, tools, settings and numbers over HTTP."""

import json
import re
from pathlib import Path

import pytest

from hermitty.config import all_settings
from hermitty.runtime.api import Runtime
from hermitty.runtime.places import Places
from hermitty.runtime.recording.recordings import Recordings
from hermitty.server.parts import SettingsPlace
from hermitty.server.serving import Options, in_process, serving
from tests.server.conftest import OWN_TOKEN, StartServer, source_for
from tests.server.talking import Client


async def test_sessions_are_listed_reported_released_and_ended(api: Client, work: Path) -> None:
    first = await api.run("echo hello", cwd=str(work), session="one")
    await api.run("true", cwd=str(work), session="two")
    listed = (await api.get("/api/sessions")).json["sessions"]
    assert [(each["id"], each["cwd"], each["terminals"], each["running"]) for each in listed] == [
        ("one", str(work), 1, 0),
        ("two", str(work), 1, 0),
    ]
    report = await api.get("/api/sessions/one/report?edited=false&reader=me")
    assert report.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert "# Inactive terminals" in report.body.decode()
    assert (await api.post("/api/sessions/one/release")).status == 204
    assert (await api.get(f"/api/terminals/{first['terminal']}")).json["session"] is None
    assert (await api.post("/api/sessions/two/end")).status == 204
    assert [each["id"] for each in (await api.get("/api/terminals")).json["terminals"]] == [first["terminal"]]
    for action in ("release", "end"):
        answer = await api.post(f"/api/sessions/two/{action}")
        assert (answer.status, answer.code) == (404, "session_not_found")


async def test_workspaces_are_described_and_known_by_their_terminals(api: Client, work: Path) -> None:
    assert (await api.get("/api/workspaces")).json == {"workspaces": []}
    assert (await api.get("/api/workspaces/shop")).code == "workspace_not_found"
    put = await api.ask("PUT", "/api/workspaces/shop", {"name": "The shop", "root": str(work)})
    assert put.json == {"id": "shop", "name": "The shop", "root": str(work), "terminals": 0}
    assert (await api.get("/api/workspaces/shop/terminals")).json == {"terminals": []}
    await api.open(workspace="other", cwd=str(work))
    listed = (await api.get("/api/workspaces")).json["workspaces"]
    assert [(each["id"], each["terminals"]) for each in listed] == [("shop", 0), ("other", 1)]
    assert (await api.ask("PUT", "/api/workspaces/shop", {"name": "Shop"})).json["root"] == str(work)
    assert (await api.ask("PUT", "/api/workspaces/shop", {"title": "x"})).status == 400
    assert (await api.ask("PUT", "/api/workspaces/a%0Ab", {})).status == 400


async def test_whoever_only_types_makes_no_workspaces(api: Client) -> None:
    made = (await api.post("/api/tokens", {"name": "guest", "scopes": ["view", "type"]})).json
    async with Client(api.server, made["token"]) as guest:
        assert (await guest.ask("PUT", "/api/workspaces/junk/layout", data=b"{}")).status == 404
        assert (await api.ask("PUT", "/api/workspaces/shop/layout", data=b"{}")).status == 204
        assert (await guest.ask("PUT", "/api/workspaces/shop/layout", data=b"[]")).status == 204


async def test_a_layout_is_any_json_and_comes_back_as_it_was(api: Client) -> None:
    path = "/api/workspaces/shop/layout"
    assert (await api.get(path)).code == "workspace_not_found"
    layout = b'{ "tabs": [1, 2.50, null], "name": "\xc3\xa4" }'
    assert (await api.ask("PUT", path, data=layout)).status == 204
    assert (await api.get(path)).body == layout
    assert (await api.ask("PUT", path, data=b"{broken")).code == "invalid_json"
    assert (await api.ask("PUT", path, data=b"[" * 100_000)).code == "invalid_json"
    large = await api.ask("PUT", path, data=json.dumps("x" * 256 * 1024).encode())
    assert (large.status, large.code) == (413, "too_large")
    assert (await api.get(path)).body == layout
    await api.ask("PUT", "/api/workspaces/empty", {})
    assert (await api.get("/api/workspaces/empty/layout")).body == b"null"


async def test_the_history_is_searched_and_paged(api: Client, work: Path) -> None:
    for number in range(5):
        await api.run(f"echo {number}; [ {number} -ne 3 ]", cwd=str(work), session="s")
    first = (await api.get("/api/history?limit=2")).json
    assert [each["command"] for each in first["entries"]] == ["echo 4; [ 4 -ne 3 ]", "echo 3; [ 3 -ne 3 ]"]
    second = (await api.get(f"/api/history?limit=2&before={first['next']}")).json
    assert [each["command"][:6] for each in second["entries"]] == ["echo 2", "echo 1"]
    last = (await api.get(f"/api/history?limit=2&before={second['next']}")).json
    assert ([each["command"][:6] for each in last["entries"]], last["next"]) == (["echo 0"], None)
    failed = (await api.get("/api/history?failed=true&session=s&search=echo")).json["entries"]
    assert [(each["command"][:6], each["exit_code"], each["state"]) for each in failed] == [("echo 3", 1, "done")]
    for query in ("limit=0", "limit=1001", "before=x", "since=nan", "since=inf", "failed=perhaps", "other=1"):
        assert (await api.get(f"/api/history?{query}")).status == 400, query


async def test_recordings_are_listed_and_read_as_asciicast(home: Path, places: Places, work: Path) -> None:
    kept: list[Recordings] = []

    def with_recordings(settings: SettingsPlace) -> Runtime:
        runtime = in_process(settings)
        kept.append(Recordings(places))
        runtime.recordings = kept[0]
        return runtime

    settings = source_for(home, places, policy__mode="off")
    options = Options(port=0, token=OWN_TOKEN)
    async with (
        serving(options, places=places, settings=settings, make_runtime=with_recordings) as server,
        Client(server, OWN_TOKEN) as api,
    ):
        terminal_id = (await api.open(cwd=str(work)))["id"]
        kept[0].follow(api.parts.runtime.terminal(terminal_id), name="mine")
        await api.post(f"/api/terminals/{terminal_id}/commands", {"command": "echo recorded-text"})
        cast = await api.get(f"/api/recordings/{terminal_id}.cast")
        assert cast.headers["Content-Type"] == "application/x-asciicast"
        lines = [json.loads(line) for line in cast.body.splitlines()]
        assert lines[0]["version"] == 3
        assert "recorded-text" in cast.body.decode()
        old = await api.get(f"/api/recordings/{terminal_id}.cast?version=2")
        assert json.loads(old.body.splitlines()[0])["version"] == 2
        (listed,) = (await api.get("/api/recordings")).json["recordings"]
        assert (listed["terminal"], listed["is_live"]) == (terminal_id, True)
        assert (await api.get("/api/recordings/t_000000000000.cast")).code == "recording_not_found"
        assert (await api.get(f"/api/recordings/{terminal_id}.cast?version=4")).status == 400
        await kept[0].close()


async def test_without_recordings_there_are_none(api: Client) -> None:
    api.parts.recordings = None
    assert (await api.get("/api/recordings")).json == {"recordings": []}
    missing = await api.get("/api/recordings/t_000000000000.cast")
    assert (missing.status, missing.code) == (404, "recording_not_found")


async def test_the_tools_of_models_are_listed_and_run(api: Client, work: Path) -> None:
    tools = {tool["name"]: tool for tool in (await api.get("/api/tools")).json["tools"]}
    assert set(tools) == {
        *("run_command", "open_persistent_terminal", "run_persistent_command", "kill_persistent_terminal"),
    }
    assert tools["run_command"]["parameters"]["required"] == ["command"]
    result = (await api.post("/api/tools/run_command", {"arguments": {"command": "echo 1", "cwd": str(work)}})).json
    assert result["text"] == "1\n[exit code 0]"
    assert result["command"]["exit_code"] == 0
    opened = (await api.post("/api/tools/open_persistent_terminal", {"arguments": {"cwd": str(work)}})).json
    terminal_id = opened["data"]["persistent_terminal_id"]
    assert opened["command"] is None
    assert (await api.get(f"/api/terminals/{terminal_id}")).status == 200
    assert (await api.post("/api/tools/nothing", {})).code == "tool_not_found"
    wrong = await api.post("/api/tools/run_command", {"arguments": {"line": "x"}})
    assert (wrong.status, wrong.code) == (400, "invalid_request")


async def test_settings_are_shown_with_their_origins_and_without_secrets(start: StartServer) -> None:
    api = await start(terminal__env={"API_TOKEN": "geheim", "A": "1"})
    answer = (await api.get("/api/settings")).json
    shown = {each["name"]: each for each in answer["settings"]}
    assert set(shown) == set(all_settings())
    assert shown["terminal.env"]["value"] == {"API_TOKEN": "***", "A": "1"}
    assert (shown["terminal.cols"]["origin_kind"], shown["terminal.cols"]["can_change"]) == ("default", True)
    assert (shown["terminal.env"]["origin_kind"], shown["terminal.env"]["can_change"]) == ("argument", False)
    assert shown["policy.mode"]["choices"] == ["ask_always", "normal", "trust_workspace", "off"]
    assert (shown["terminal.cols"]["type"], shown["terminal.cols"]["most"]) == ("integer", 4096)
    assert shown["terminal.cols"]["explanation"] == "columns of a new terminal"


async def test_settings_are_changed_in_the_file_and_hold_at_once(
    start: StartServer, places: Places, work: Path
) -> None:
    places.config_file.parent.mkdir()
    places.config_file.write_text("# mine\n[terminal]\ncols = 90 # wide\n")
    api = await start(policy__mode="off")
    changed = await api.ask("PUT", "/api/settings", {"terminal.cols": 77, "history.keep_days": None})
    assert changed.status == 200, changed.body
    text = places.config_file.read_text()
    assert text == '# mine\n[terminal]\ncols = 77 # wide\n\n[history]\nkeep_days = "none"\n'
    assert (await api.open(cwd=str(work)))["cols"] == 77
    shown = {each["name"]: each for each in (await api.ask("DELETE", "/api/settings/terminal.cols")).json["settings"]}
    assert (shown["terminal.cols"]["value"], shown["terminal.cols"]["origin_kind"]) == (120, "default")
    assert (shown["history.keep_days"]["value"], shown["history.keep_days"]["origin_kind"]) == (None, "file")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"terminal.cols": 0}, 400, "invalid_settings"),
        ({"terminal.cols": "80"}, 400, "invalid_settings"),
        ({"terminal.cols": 80, "terminal.colour": "red"}, 400, "invalid_settings"),
        ({"policy.confirm_dangerous": "maybe"}, 400, "invalid_settings"),
        ({"terminal.env": {"A": "1"}}, 409, "setting_fixed"),
        ([], 400, "invalid_request"),
        ("x", 400, "invalid_request"),
    ],
)
async def test_settings_that_cannot_be_are_not_written(
    api: Client, places: Places, body: object, status: int, code: str
) -> None:
    answer = await api.ask("PUT", "/api/settings", body)
    assert (answer.status, answer.code) == (status, code)
    assert not places.config_file.exists()


async def test_a_server_without_a_file_says_so(start: StartServer, tmp_path: Path) -> None:
    api = await start()
    api.parts.settings = source_for(tmp_path, Places(Path("/dev/null"), tmp_path / "state"))
    assert (await api.get("/api/settings")).json["config_file"] is None
    assert (await api.ask("PUT", "/api/settings", {"terminal.cols": 80})).code == "invalid_request"


async def test_numbers_are_told_to_people_and_to_prometheus(api: Client, work: Path) -> None:
    await api.run("true", cwd=str(work), session="s")
    await api.run("false", cwd=str(work), session="s")
    stats = (await api.get("/api/stats")).json
    assert (stats["terminals"], stats["running"], stats["commands"], stats["sessions"]) == (1, 0, 2, 1)
    assert sum(stats["commands_per_minute"]) == 2
    assert len(stats["commands_per_minute"]) == 60
    assert stats["memory_bytes"] is None or stats["memory_bytes"] > 1_000_000
    assert (stats["requests"], stats["errors"]) == (2, 0)
    metrics = await api.get("/metrics")
    assert metrics.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = metrics.body.decode().splitlines()
    assert "hermitty_commands_total 2" in lines
    assert 'hermitty_http_requests_total{status="200"} 3' in lines
    sample = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"\})? -?[0-9.]+(e[+-]?[0-9]+)?')
    assert [line for line in lines if not line.startswith("#") and not sample.fullmatch(line)] == []


async def test_the_server_tells_what_it_is(api: Client) -> None:
    info = (await api.get("/api/info")).json
    assert info["me"] == {"name": "owner", "scopes": ["admin"], "how": "header"}
    assert "bash" in info["shells"]
    assert info["limits"]["body_bytes"] == 1024 * 1024
    health = (await api.get("/healthz", token=None)).json
    assert health == {"status": "ok", "version": info["version"]}
