"""Commands over HTTP: run, wait, look, stop, type into; clients that leave; complete outputs."""

import asyncio
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hermitty.model import new_command_id
from tests.server.conftest import StartServer
from tests.server.talking import Client
from tests.support.runtimes import Gate
from tests.support.shells import PATIENCE_S

RESULT_FIELDS = [
    *("id", "command", "session", "terminal", "provider", "shell", "state", "exit_code", "signal", "quality", "text"),
    *("truncated", "omitted_bytes", "total_bytes", "artifact", "stdout", "stderr", "cwd", "duration_s"),
    *("needs_input", "warnings"),
]


async def test_a_command_runs_and_its_result_has_the_promised_fields(api: Client, work: Path) -> None:
    result = await api.run("printf 'a\\nb\\n'; false", cwd=str(work), session="fix-1", workspace="w")
    assert list(result) == RESULT_FIELDS
    wanted: dict[str, object] = {
        "command": "printf 'a\\nb\\n'; false",
        "session": "fix-1",
        "provider": "pty",
        "shell": "bash",
        "state": "done",
        "exit_code": 1,
        "signal": None,
        "quality": "rich",
        "text": "a\nb\n",
        "truncated": False,
        "omitted_bytes": 0,
        "total_bytes": 6,
        "artifact": None,
        "stdout": None,
        "stderr": None,
        "cwd": str(work),
        "needs_input": None,
        "warnings": [],
    }
    assert {name: result[name] for name in wanted} == wanted
    shown = await api.get(f"/api/commands/{result['id']}")
    assert shown.json == result


async def test_the_same_session_gets_the_same_terminal(api: Client, work: Path) -> None:
    first = await api.run("cd /; X=5", cwd=str(work), session="s")
    second = await api.run("pwd; echo $X", session="s")
    assert (second["terminal"], second["text"]) == (first["terminal"], "/\n5\n")


async def test_a_list_is_a_program_with_exactly_these_arguments(api: Client, work: Path) -> None:
    result = await api.run(["printf", "%s|", "a b", "$HOME", ";"], cwd=str(work))
    assert (result["provider"], result["stdout"], result["exit_code"]) == ("pipe", "a b|$HOME|;|", 0)


async def test_the_pipe_provider_keeps_output_and_errors_apart(api: Client, work: Path) -> None:
    result = await api.run("echo out; echo err >&2; exit 3", cwd=str(work), provider="pipe", env={"A": "1"})
    assert (result["stdout"], result["stderr"], result["exit_code"]) == ("out\n", "err\n", 3)
    assert result["terminal"] is None


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid_request"),
        ({"command": ""}, "invalid_command"),
        ({"command": "  "}, "invalid_command"),
        ({"command": "a\0b"}, "invalid_command"),
        ({"command": []}, "invalid_command"),
        ({"command": [1]}, "invalid_request"),
        ({"command": 5}, "invalid_request"),
        ({"command": "true", "wait_s": -1}, "invalid_request"),
        ({"command": "true", "wait_s": "5"}, "invalid_request"),
        ({"command": "true", "kill_after_s": 1e99}, "invalid_request"),
        ({"command": "true", "id": "c_xyz"}, "invalid_request"),
        ({"command": "true", "cwd": "/nowhere/at/all"}, "invalid_directory"),
        ({"command": "true", "shell": "nosh"}, "unknown_shell"),
        ({"command": "true", "provider": "carrier-pigeon"}, "invalid_request"),
        ({"command": "true", "answers": [{"prompt": "("}]}, "invalid_request"),
        ({"command": "true", "answers": [{"prompt": "(", "reply": "x"}]}, "invalid_pattern"),
        ({"command": "true", "session": ""}, "invalid_request"),
        ({"command": "true", "timeout": 5}, "invalid_request"),
    ],
)
async def test_what_makes_no_sense_is_refused(api: Client, body: dict[str, object], code: str) -> None:
    answer = await api.post("/api/run", body)
    assert (answer.status, answer.code) == (400, code)


@pytest.mark.parametrize(
    "data", [b"{", b"nope", b"\xff\xfe", b'{"command": "\xff"}', b"[" * 50_000, b'{"command": "\\ud800"}']
)
async def test_what_is_not_json_is_said_to_be_none(api: Client, data: bytes) -> None:
    answer = await api.post("/api/run", data=data)
    assert answer.status == 400
    assert answer.code in ("invalid_json", "invalid_request")


async def test_after_the_wait_a_command_goes_on_and_can_be_waited_for(api: Client, work: Path, gate: Gate) -> None:
    result = await api.run("echo first; cat gate; exit_code() { return 7; }; exit_code", cwd=str(work), wait_s=0.2)
    assert (result["state"], result["exit_code"]) == ("running", None)
    listed = (await api.get("/api/commands")).json["commands"]
    assert [(each["id"], each["state"]) for each in listed] == [(result["id"], "running")]
    waiting = asyncio.ensure_future(api.get(f"/api/commands/{result['id']}?wait_s=30"))
    gate.let("second\n")
    done = (await waiting).json
    assert (done["state"], done["exit_code"], done["text"]) == ("done", 7, "first\nsecond\n")


async def test_a_client_that_leaves_does_not_stop_its_command(api: Client, work: Path, gate: Gate) -> None:
    command_id = new_command_id()
    address = urlsplit(api.url)
    body = json.dumps({"command": "cat gate; echo after", "cwd": str(work), "id": command_id}).encode()
    async with api.events() as events:
        _, writer = await asyncio.open_connection(address.hostname, address.port)
        head = f"POST /api/run HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {api.token}\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await events.until("command_started")
        writer.close()
        await writer.wait_closed()
        gate.let("before\n")
        assert (await events.until("command_finished")).data["command"]["id"] == command_id
    result = (await api.get(f"/api/commands/{command_id}?wait_s=30")).json
    assert (result["state"], result["text"], result["exit_code"]) == ("done", "before\nafter\n", 0)


async def test_the_same_id_waits_for_the_same_command(api: Client, work: Path, gate: Gate) -> None:
    command_id = new_command_id()
    body = {"command": "cat gate; echo x >> count", "cwd": str(work), "id": command_id}
    async with api.events() as events:
        first = asyncio.ensure_future(api.post("/api/run", body))
        await events.until("command_started")
        second = asyncio.ensure_future(api.post("/api/run", body))
        gate.let()
        answers = await asyncio.gather(first, second)
    assert [answer.json["id"] for answer in answers] == [command_id, command_id]
    assert (await api.post("/api/run", body)).json == answers[0].json
    assert (work / "count").read_text() == "x\n"
    other = await api.post("/api/run", {**body, "command": "echo other"})
    assert (other.status, other.code) == (409, "command_id_taken")


async def test_the_same_id_waits_again_for_a_command_that_outlived_its_wait(
    api: Client, work: Path, gate: Gate
) -> None:
    command_id = new_command_id()
    body = {"command": "cat gate", "cwd": str(work), "id": command_id}
    assert (await api.run(wait_s=0, **body))["state"] == "running"
    again = asyncio.ensure_future(api.post("/api/run", body))
    gate.let("late\n")
    assert (await again).json["text"] == "late\n"


async def test_a_wait_is_bounded_by_the_settings(start: StartServer, work: Path, gate: Gate) -> None:
    api = await start(policy__mode="off", server__longest_wait_s=0.1)
    result = await api.run("cat gate", cwd=str(work), wait_s=3600)
    assert result["state"] == "running"
    assert (await api.post(f"/api/commands/{result['id']}/kill")).json["state"] == "killed"


async def test_commands_are_interrupted_and_killed(api: Client, work: Path) -> None:
    first = await api.run("sleep 1000", cwd=str(work), wait_s=0)
    interrupted = await api.post(f"/api/commands/{first['id']}/interrupt", {"wait_s": 30})
    assert (interrupted.json["state"], interrupted.json["exit_code"]) == ("interrupted", 130)
    second = await api.run("trap '' INT TERM; sleep 1000; true", cwd=str(work), wait_s=0)
    killed = await api.post(f"/api/commands/{second['id']}/kill")
    assert killed.json["state"] == "killed"
    over = await api.post(f"/api/commands/{second['id']}/kill")
    assert (over.status, over.code) == (409, "command_ended")
    third = await api.run("sleep 1000", cwd=str(work), provider="pipe", wait_s=0)
    stopped = await api.post(f"/api/commands/{third['id']}/interrupt", {"wait_s": 30})
    assert stopped.json["state"] == "interrupted"


async def test_a_question_of_a_program_is_told_and_answered(api: Client, work: Path) -> None:
    line = "read -p 'Name: ' name; echo hello $name"
    result = await api.run(line, cwd=str(work))
    assert result["state"] == "needs_input"
    assert result["needs_input"]["prompt"] == "Name: "
    shown = (await api.get(f"/api/commands/{result['id']}")).json
    assert shown["state"] == "needs_input"
    assert (await api.post(f"/api/commands/{result['id']}/input", {"text": "Ada\r"})).status == 204
    done = (await api.get(f"/api/commands/{result['id']}?wait_s=30")).json
    assert done["state"] == "done"
    assert "hello Ada" in done["text"]
    late = await api.post(f"/api/commands/{result['id']}/input", {"text": "x"})
    assert (late.status, late.code) == (409, "command_ended")


async def test_prompts_are_answered_by_the_request(api: Client, work: Path) -> None:
    answers = [{"prompt": "Name: ", "reply": "Ada"}]
    result = await api.run("read -p 'Name: ' name; echo hello $name", cwd=str(work), answers=answers)
    assert result["exit_code"] == 0
    assert "hello Ada" in result["text"]


async def test_a_command_without_a_terminal_cannot_be_typed_into(api: Client, work: Path) -> None:
    result = await api.run("sleep 1000", cwd=str(work), provider="pipe", wait_s=0)
    answer = await api.post(f"/api/commands/{result['id']}/input", {"text": "x"})
    assert (answer.status, answer.code) == (422, "not_supported")
    assert (await api.post(f"/api/commands/{result['id']}/kill")).json["state"] == "killed"


@pytest.mark.parametrize(
    ("method", "path"), [("GET", ""), ("POST", "/interrupt"), ("POST", "/kill"), ("POST", "/input")]
)
async def test_a_command_that_is_not_known_is_not_found(api: Client, method: str, path: str) -> None:
    body = {"text": "a"} if path == "/input" else {} if method == "POST" else None
    answer = await api.ask(method, f"/api/commands/c_0000000000000000{path}", body)
    assert (answer.status, answer.code) == (404, "command_not_found")


async def test_a_command_that_waits_for_a_terminal_can_be_looked_at_and_stopped(
    start: StartServer, work: Path, gate: Gate
) -> None:
    api = await start(policy__mode="off", reuse__terminals_per_workspace=1)
    first = await api.run("cat gate", cwd=str(work), wait_s=0)
    command_id = new_command_id()
    waiting = asyncio.ensure_future(
        api.post("/api/run", {"command": "echo x > made", "cwd": str(work), "id": command_id})
    )
    async with asyncio.timeout(PATIENCE_S):
        while (shown := await api.get(f"/api/commands/{command_id}")).status == 404:  # it is on its way
            await asyncio.sleep(0)
    assert (shown.json["state"], shown.json["terminal"]) == ("running", None)
    assert "not started" in shown.json["warnings"][0]
    stopped = await api.post(f"/api/commands/{command_id}/kill")
    assert stopped.json["state"] == "killed"
    assert (await waiting).json == stopped.json
    gate.let()
    assert (await api.get(f"/api/commands/{first['id']}?wait_s=30")).json["state"] == "done"
    assert not (work / "made").exists()


async def test_temporary_commands_and_batches(api: Client, work: Path) -> None:
    temporary = await api.post("/api/temporary", {"command": "echo once", "cwd": str(work)})
    assert (temporary.json["text"], temporary.json["exit_code"]) == ("once\n", 0)
    assert (await api.get("/api/terminals")).json == {"terminals": []}
    batch = await api.post("/api/batch", {"commands": ["echo 1", "false", "echo 3"], "cwd": str(work)})
    assert [(each["text"], each["exit_code"]) for each in batch.json["results"]] == [("1\n", 0), ("", 1), ("3\n", 0)]
    stopped = await api.post("/api/batch", {"commands": ["false", "echo 2"], "cwd": str(work), "stop_on_error": True})
    assert [each["exit_code"] for each in stopped.json["results"]] == [1]
    assert (await api.post("/api/batch", {"commands": []})).status == 400
    assert (await api.post("/api/batch", {"commands": "ls"})).status == 400


async def test_recent_commands_are_listed_newest_first_and_those_that_run_before_them(
    api: Client, work: Path, gate: Gate
) -> None:
    running = await api.run("cat gate", cwd=str(work), session="a", wait_s=0)
    done = [await api.run(f"echo {number}", cwd=str(work), session="b") for number in range(3)]
    listed = (await api.get("/api/commands")).json["commands"]
    assert [each["id"] for each in listed] == [running["id"], *(each["id"] for each in reversed(done))]
    of_session = (await api.get("/api/commands?session=b&limit=2")).json["commands"]
    assert [each["command"] for each in of_session] == ["echo 2", "echo 1"]
    of_terminal = (await api.get(f"/api/commands?terminal={running['terminal']}")).json["commands"]
    assert [each["source"] for each in of_terminal] == ["agent"]
    assert (await api.get("/api/commands?limit=0")).status == 400
    gate.let()
    await api.get(f"/api/commands/{running['id']}?wait_s=30")


async def test_a_complete_output_is_read_in_pages_and_searched(api: Client, work: Path) -> None:
    result = await api.run("seq 1 20000", cwd=str(work))
    assert result["truncated"]
    path = f"/api/artifacts/{result['artifact']}"
    page = (await api.get(path)).json
    assert (page["offset"], page["line"], page["starts_inside"]) == (0, 1, False)
    assert page["text"].startswith("1\r\n2\r\n")
    following = (await api.get(f"{path}?offset={page['next']}&limit=100")).json
    assert following["offset"] == page["next"]
    assert len(following["text"]) <= 100
    found = (await api.get(f"{path}?search=1999%5B89%5D%24")).json
    assert [match["text"] for match in found["matches"]] == ["19998", "19999"]
    raw = await api.get(f"{path}?format=raw&limit=6")
    assert raw.body == b"1\r\n2\r\n"
    assert (await api.get(f"{path}?offset={page['size']}")).code == "invalid_offset"
    assert (await api.get(f"{path}?offset=-1")).status == 400
    assert (await api.get("/api/artifacts/a_0000000000000000")).status == 404
    assert (await api.get("/api/artifacts/..%2F..%2Ftoken")).code == "invalid_artifact"


async def test_check_says_what_the_policy_makes_of_a_command(api: Client, work: Path) -> None:
    safe = (await api.post("/api/check", {"command": "ls -la", "cwd": str(work)})).json
    assert (safe["decision"], safe["level"], safe["commands"]) == ("allow", "low", [["ls", "-la"]])
    asked = (await api.post("/api/check", {"command": ["touch", "a b"], "cwd": str(work)})).json
    assert asked["decision"] == "ask"
    assert asked["suggested_rule"]["command"][0] == "touch"
    assert (await api.post("/api/check", {"command": 1})).status == 400


async def test_an_incomplete_command_is_a_mistake_of_the_request(api: Client, work: Path) -> None:
    answer = await api.post("/api/run", {"command": "echo 'open", "cwd": str(work)})
    assert (answer.status, answer.code) == (400, "incomplete_command")
