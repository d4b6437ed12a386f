"""Terminals over HTTP: open, look, change, type, destroy."""

import asyncio
import base64
import os
from pathlib import Path

import pytest

from hermitty.wire.attach import Error
from tests.server.attach.watching import Watcher
from tests.server.conftest import OWN_TOKEN, StartServer
from tests.server.talking import Client
from tests.support.runtimes import Gate
from tests.support.shells import PATIENCE_S

FIELDS = {
    *("id", "number", "name", "workspace", "session", "kind", "provider", "shell", "cwd", "cols", "rows", "pid"),
    *(
        "quality",
        "state",
        "command",
        "last",
        "title",
        "offset",
        "start",
        "opened_at",
        "paused_by",
        "viewers",
        "sandbox",
    ),
}


async def until_screen(api: Client, terminal_id: str, text: str) -> str:
    """Wait until a terminal shows something, and return its screen."""
    terminal = api.parts.runtime.terminal(terminal_id)
    changed = asyncio.Event()
    stop = terminal.watch(changed.set)
    try:
        async with asyncio.timeout(PATIENCE_S):
            while text not in terminal.screen.text():
                await changed.wait()
                changed.clear()
    finally:
        stop()
    return terminal.screen.text()


async def test_a_terminal_is_opened_as_it_was_asked_for(api: Client, work: Path) -> None:
    opened = await api.open(
        workspace="shop", name="server", cwd=str(work), shell="bash", env={"GREETING": "hi"}, cols=100, rows=20
    )
    assert set(opened) == FIELDS
    assert opened["id"].startswith("t_")
    wanted = {
        "workspace": "shop",
        "session": None,
        "name": "server",
        "kind": "user",
        "provider": "pty",
        "shell": "bash",
        "cwd": str(work),
        "cols": 100,
        "rows": 20,
        "quality": "rich",
        "state": "idle",
        "command": None,
        "last": None,
        "paused_by": None,
        "viewers": 0,
        "sandbox": None,
        "start": 0,
        "number": 1,
    }
    assert {name: opened[name] for name in wanted} == wanted
    os.kill(opened["pid"], 0)
    result = await api.post(f"/api/terminals/{opened['id']}/commands", {"command": "echo $GREETING"})
    assert (result.json["text"], result.json["exit_code"]) == ("hi\n", 0)
    shown = (await api.get(f"/api/terminals/{opened['id']}")).json
    assert shown["last"]["command"] == "echo $GREETING"
    assert shown["last"]["exit_code"] == 0
    assert shown["last"]["id"] == result.json["id"]
    assert shown["offset"] > 0


async def test_terminals_are_listed_by_workspace_and_session(api: Client, work: Path) -> None:
    first = await api.open(workspace="a", cwd=str(work))
    second = await api.open(workspace="b", session="fix", cwd=str(work))
    assert (first["kind"], second["kind"]) == ("user", "agent")

    async def ids(path: str) -> list[str]:
        return [each["id"] for each in (await api.get(path)).json["terminals"]]

    assert await ids("/api/terminals") == [first["id"], second["id"]]
    assert await ids("/api/terminals?session=fix") == [second["id"]]
    assert await ids("/api/workspaces/a/terminals") == [first["id"]]
    missing = await api.get("/api/workspaces/none/terminals")
    assert (missing.status, missing.code) == (404, "workspace_not_found")


async def test_a_workspace_may_be_named_by_its_path(api: Client, work: Path) -> None:
    opened = await api.open(workspace=str(work), cwd=str(work))
    path = str(work).replace("/", "%2F")
    listed = (await api.get(f"/api/workspaces/{path}/terminals")).json["terminals"]
    assert [each["id"] for each in listed] == [opened["id"]]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"cwd": "/nowhere/at/all"}, 400, "invalid_directory"),
        ({"shell": "no-such-shell"}, 400, "unknown_shell"),
        ({"cols": 0}, 400, "invalid_request"),
        ({"cols": 5000}, 400, "invalid_request"),
        ({"provider": "pipe"}, 400, "invalid_request"),
        ({"env": {"A=B": "1"}}, 400, "invalid_request"),
        ({"env": {"A": "\0"}}, 400, "invalid_request"),
        ({"cwd": "a\0b"}, 400, "invalid_request"),
        ({"workspace": "a\nb"}, 400, "invalid_request"),
        ({"colls": 80}, 400, "invalid_request"),
        ({"sandbox": True}, 400, "invalid_request"),
        ({"sandbox": "loose"}, 400, "invalid_request"),
        ({"sandbox": {"network": "proxy"}}, 400, "invalid_request"),
        ({"sandbox": {"mode": "workspace"}, "cwd": "/usr"}, 400, "sandbox_refused"),
    ],
)
async def test_what_cannot_be_opened_is_refused_by_name(
    api: Client, body: dict[str, object], status: int, code: str
) -> None:
    answer = await api.post("/api/terminals", body)
    assert (answer.status, answer.code) == (status, code)
    assert (await api.get("/api/terminals")).json == {"terminals": []}


async def test_an_unknown_field_is_named_with_the_one_that_may_be_meant(api: Client) -> None:
    answer = await api.post("/api/terminals", {"shel": "bash"})
    assert answer.json["error"]["message"] == "the body has no field 'shel'; did you mean 'shell'?"
    assert answer.json["error"]["field"] == "shel"


async def test_deleting_destroys_the_process_and_is_fine_twice(api: Client, work: Path) -> None:
    opened = await api.open(cwd=str(work))
    path = f"/api/terminals/{opened['id']}"
    assert (await api.ask("DELETE", path)).status == 204
    with pytest.raises(ProcessLookupError):
        os.kill(opened["pid"], 0)
    assert (await api.ask("DELETE", path)).status == 204
    assert (await api.get(path)).code == "terminal_not_found"
    never = await api.ask("DELETE", "/api/terminals/t_000000000000")
    assert (never.status, never.code) == (404, "terminal_not_found")


async def test_a_terminal_whose_shell_left_by_itself_can_be_deleted(api: Client, work: Path) -> None:
    opened = await api.open(cwd=str(work))
    async with api.events() as events:
        await api.post(f"/api/terminals/{opened['id']}/input", {"text": "exit\r"})
        assert (await events.until("terminal_ended")).data["terminal"] == {"id": opened["id"]}
    assert (await api.ask("DELETE", f"/api/terminals/{opened['id']}")).status == 204


async def test_input_is_typed_as_text_as_bytes_or_as_a_key(api: Client, work: Path) -> None:
    terminal_id = (await api.open(cwd=str(work)))["id"]
    path = f"/api/terminals/{terminal_id}/input"
    assert (await api.post(path, {"text": "echo te"})).status == 204
    assert (await api.post(path, {"base64": base64.b64encode(b"st$((1+1))").decode()})).status == 204
    assert (await api.post(path, {"key": "enter"})).status == 204
    await until_screen(api, terminal_id, "test2")


@pytest.mark.parametrize(
    "body", [{}, {"text": "a", "key": "enter"}, {"base64": "%%%"}, {"base64": "ä"}, {"key": "no-such-key"}, {"text": 1}]
)
async def test_input_must_be_one_thing_that_can_be_typed(api: Client, work: Path, body: dict[str, object]) -> None:
    terminal_id = (await api.open(cwd=str(work)))["id"]
    answer = await api.post(f"/api/terminals/{terminal_id}/input", body)
    assert answer.status == 400
    assert answer.code in ("invalid_request", "unknown_key")


async def test_resizing_is_told_to_programs(api: Client, work: Path) -> None:
    terminal_id = (await api.open(cwd=str(work)))["id"]
    answer = await api.post(f"/api/terminals/{terminal_id}/resize", {"cols": 77, "rows": 11})
    assert (answer.json["cols"], answer.json["rows"]) == (77, 11)
    result = await api.post(f"/api/terminals/{terminal_id}/commands", {"command": "stty size"})
    assert result.json["text"] == "11 77\n"
    for body in ({"cols": 0, "rows": 1}, {"cols": 80}, {"cols": 80, "rows": 4097}, {"cols": 80.5, "rows": 24}):
        assert (await api.post(f"/api/terminals/{terminal_id}/resize", body)).status == 400


async def test_the_screen_is_shown_as_text_bytes_and_pictures(api: Client, work: Path) -> None:
    terminal_id = (await api.open(cwd=str(work), cols=60, rows=8))["id"]
    await api.post(f"/api/terminals/{terminal_id}/commands", {"command": "printf 'one\\ntwo\\n'"})
    path = f"/api/terminals/{terminal_id}/screen"
    text = await api.get(path)
    assert "one\ntwo" in text.body.decode()
    assert text.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert "one\ntwo" in (await api.get(f"{path}?format=text&history=true")).body.decode()
    ansi = await api.get(f"{path}?format=ansi")
    assert b"two" in ansi.body
    svg = await api.get(f"{path}?format=svg")
    assert svg.headers["Content-Type"] == "image/svg+xml"
    assert svg.body.startswith(b"<svg")
    png = await api.get(f"{path}?format=png")
    assert png.headers["Content-Type"] == "image/png"
    assert png.body.startswith(b"\x89PNG")
    assert (await api.get(f"{path}?format=gif")).code == "invalid_request"
    assert (await api.get(f"{path}?nothing=1")).code == "invalid_request"


async def test_the_log_is_read_by_offset_and_tells_what_it_is(api: Client, work: Path) -> None:
    terminal_id = (await api.open(cwd=str(work)))["id"]
    await api.post(f"/api/terminals/{terminal_id}/commands", {"command": "printf 0123456789"})
    path = f"/api/terminals/{terminal_id}/log"
    whole = await api.get(path)
    end = int(whole.headers["X-Hermitty-End"])
    assert len(whole.body) == end == int(whole.headers["X-Hermitty-Next"])
    assert b"0123456789" in whole.body
    piece = await api.get(f"{path}?since=5&limit=7")
    assert piece.body == whole.body[5:12]
    assert (piece.headers["X-Hermitty-Offset"], piece.headers["X-Hermitty-Next"]) == ("5", "12")
    assert (await api.get(f"{path}?since={end}")).body == b""
    assert (await api.get(f"{path}?since={end + 1}")).status == 400
    assert (await api.get(f"{path}?since=-1")).status == 400
    assert (await api.get(f"{path}?since=x")).status == 400


async def test_a_terminal_that_a_person_took_over_is_theirs(api: Client, work: Path) -> None:
    terminal_id = (await api.open(cwd=str(work)))["id"]
    path = f"/api/terminals/{terminal_id}"
    made = (await api.post("/api/tokens", {"name": "agent", "scopes": ["view", "type", "run"]})).json
    await api.ask("PATCH", path, {"paused": True})
    async with Client(api.server, made["token"]) as agent:
        for method, place, body in (
            ("POST", f"{path}/input", {"text": "touch typed\r"}),
            ("POST", f"{path}/input", {"key": "ctrl-c"}),
            ("POST", f"{path}/resize", {"cols": 40, "rows": 10}),
            ("PATCH", path, {"paused": False}),
            ("DELETE", path, None),
        ):
            refused = await agent.ask(method, place, body)
            assert (refused.status, refused.code) == (409, "terminal_paused"), (method, place)
        headers = {"Authorization": f"Bearer {agent.token}"}
        async with agent.websocket(f"/ws/terminal/{terminal_id}", **headers) as ws, Watcher(ws) as watcher:
            await watcher.type("touch typed\r")
            await watcher.told(Error)
            assert [error.code for error in watcher.of(Error)] == ["terminal_paused"]

        assert (await api.post(f"{path}/input", {"text": "echo $((40 + 2))nd\r"})).status == 204
        assert (await api.ask("PATCH", path, {"paused": False})).status == 200
        assert (await agent.post(f"{path}/resize", {"cols": 40, "rows": 10})).status == 200
        assert (await agent.ask("DELETE", path)).status == 204
    assert not (work / "typed").exists()


async def test_a_terminal_is_renamed_bound_and_paused(api: Client, work: Path) -> None:
    terminal_id = (await api.open(cwd=str(work)))["id"]
    path = f"/api/terminals/{terminal_id}"
    changed = (await api.ask("PATCH", path, {"name": "mine", "session": "s1"})).json
    assert (changed["name"], changed["session"], changed["kind"]) == ("mine", "s1", "agent")
    paused = (await api.ask("PATCH", path, {"paused": True})).json
    assert (paused["paused_by"], paused["name"]) == ("owner", "mine")
    refused = await api.post(f"{path}/commands", {"command": "true"})
    assert (refused.status, refused.code) == (409, "terminal_paused")
    assert (await api.ask("PATCH", path, {"paused": False, "name": None, "session": None})).json["paused_by"] is None
    shown = (await api.get(path)).json
    assert (shown["name"], shown["session"], shown["kind"]) == (None, None, "user")
    assert (await api.post(f"{path}/commands", {"command": "true"})).json["exit_code"] == 0
    assert (await api.ask("PATCH", path, {"pauzed": True})).status == 400


async def test_a_terminal_shows_the_command_that_runs(api: Client, work: Path, gate: Gate) -> None:
    terminal_id = (await api.open(cwd=str(work)))["id"]
    answer = await api.post(f"/api/terminals/{terminal_id}/commands", {"command": "cat gate", "wait_s": 0})
    assert answer.json["state"] == "running"
    shown = (await api.get(f"/api/terminals/{terminal_id}")).json
    assert shown["state"] == "running"
    command = shown["command"]
    assert (command["id"], command["command"], command["source"]) == (answer.json["id"], "cat gate", "agent")
    busy = await api.post(f"/api/terminals/{terminal_id}/commands", {"command": "true"})
    assert (busy.status, busy.code) == (409, "terminal_busy")
    gate.let("open\n")
    done = await api.get(f"/api/commands/{answer.json['id']}?wait_s=30")
    assert (done.json["state"], done.json["text"]) == ("done", "open\n")


@pytest.mark.parametrize("path", ["", "/screen", "/log", "/input", "/resize", "/commands"])
async def test_a_terminal_that_is_not_there_is_not_found(api: Client, path: str) -> None:
    bodies: dict[str, object] = {
        "/input": {"text": "a"},
        "/resize": {"cols": 9, "rows": 9},
        "/commands": {"command": "ls"},
    }
    method = "POST" if path in bodies else "GET"
    answer = await api.ask(method, f"/api/terminals/t_nothing{path}", bodies.get(path))
    assert (answer.status, answer.code) == (404, "terminal_not_found")


async def test_terminals_end_with_the_server_of_one_process(start: StartServer, work: Path) -> None:
    api = await start(policy__mode="off")
    assert api.token == OWN_TOKEN
    assert (await api.open(cwd=str(work)))["state"] == "idle"
    # The guard of the tests looks for processes that are left.
