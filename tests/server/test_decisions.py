"""Questions to people over HTTP: they wait, are answered once, and are remembered; rules and the audit."""

import asyncio
from pathlib import Path

import pytest

from hermitty.model import new_command_id
from tests.server.conftest import StartServer
from tests.server.talking import Answer, Client
from tests.support.runtimes import found


async def asked(api: Client, command: str, **fields: object) -> tuple["asyncio.Future[Answer]", str]:
    """Run something that needs an approval, and return the request and the id of the question."""
    async with api.events() as events:
        waiting = asyncio.ensure_future(api.post("/api/run", {"command": command, **fields}))
        question = (await events.until("approval_asked")).data["approval"]
    return waiting, question["id"]


async def test_a_question_waits_and_the_answer_lets_the_command_run(start: StartServer, work: Path) -> None:
    api = await start()
    waiting, question_id = await asked(api, "touch made", cwd=str(work), session="s")
    (question,) = (await api.get("/api/approvals")).json["approvals"]
    assert (question["id"], question["command"], question["session"]) == (question_id, "touch made", "s")
    assert question["scopes"] == ["once", "session", "workspace", "user"]
    assert (await api.get(f"/api/approvals/{question_id}")).json == question
    assert not waiting.done()
    said = await api.post(f"/api/approvals/{question_id}", {"answer": "allow"})
    assert (said.json["outcome"], said.json["by"]) == ("allow", "owner")
    assert (await waiting).json["exit_code"] == 0
    assert (work / "made").exists()
    late = await api.post(f"/api/approvals/{question_id}", {"answer": "deny"})
    assert (late.status, late.code, late.json["error"]["by"]) == (409, "already_answered", "owner")
    listed = (await api.get("/api/approvals?history=true")).json
    assert listed["approvals"] == []
    assert [(each["outcome"], each["question"]["id"]) for each in listed["history"]] == [("allow", question_id)]


async def test_no_and_skip_are_errors_of_their_own(start: StartServer, work: Path) -> None:
    api = await start()
    denied, question_id = await asked(api, "touch no", cwd=str(work))
    await api.post(f"/api/approvals/{question_id}", {"answer": "deny", "note": "not today"})
    answer = await denied
    assert (answer.status, answer.code) == (403, "command_denied")
    assert "not today" in answer.json["error"]["message"]
    skipped, question_id = await asked(api, "touch skip", cwd=str(work))
    await api.post(f"/api/approvals/{question_id}", {"answer": "skip"})
    answer = await skipped
    assert (answer.status, answer.code) == (409, "command_skipped")
    assert found(work, "*") == []


async def test_nobody_answers_in_time(start: StartServer, work: Path) -> None:
    api = await start(policy__question_timeout_s=0.05)
    command_id = new_command_id()
    answer = await api.post("/api/run", {"command": "touch late", "cwd": str(work), "id": command_id})
    assert (answer.status, answer.code) == (504, "approval_timeout")
    # What became of it can still be asked for.
    assert (await api.get(f"/api/commands/{command_id}")).code == "approval_timeout"


async def test_a_blocked_command_needs_its_confirmation(start: StartServer, work: Path) -> None:
    api = await start()
    line = "mkfs.ext4 /dev/nothing-like-this"
    waiting, question_id = await asked(api, line, cwd=str(work))
    question = (await api.get(f"/api/approvals/{question_id}")).json
    assert (question["decision"], question["confirmation"]) == ("block", line)
    plain = await api.post(f"/api/approvals/{question_id}", {"answer": "allow"})
    assert (plain.status, plain.code) == (400, "invalid_request")
    assert not waiting.done()
    await api.post(f"/api/approvals/{question_id}", {"answer": "deny"})
    assert (await waiting).status == 403


async def test_a_command_that_waits_for_an_answer_can_be_looked_at_and_stopped(start: StartServer, work: Path) -> None:
    api = await start()
    command_id = new_command_id()
    waiting, _ = await asked(api, "touch never", cwd=str(work), id=command_id)
    shown = (await api.get(f"/api/commands/{command_id}")).json
    assert (shown["state"], shown["terminal"], shown["command"]) == ("running", None, "touch never")
    stopped = (await api.post(f"/api/commands/{command_id}/interrupt")).json
    assert stopped["state"] == "interrupted"
    assert (await waiting).json["state"] == "interrupted"
    assert (await api.get("/api/approvals")).json["approvals"] == []


async def test_an_answer_is_remembered_as_a_rule_which_can_be_removed(start: StartServer, work: Path) -> None:
    api = await start()
    waiting, question_id = await asked(api, "touch made", cwd=str(work), session="s")
    await api.post(f"/api/approvals/{question_id}", {"answer": "allow", "scope": "session"})
    assert (await waiting).json["exit_code"] == 0
    (rule,) = (await api.get("/api/rules?session=s")).json["rules"]
    assert (rule["decision"], rule["command"][0], rule["layer"]) == ("allow", "touch", "session")
    assert (await api.run("touch made", session="s"))["exit_code"] == 0
    assert (await api.ask("DELETE", f"/api/rules/{rule['id']}?session=s")).status == 204
    assert (await api.get("/api/rules?session=s")).json == {"rules": [], "problems": []}
    gone = await api.ask("DELETE", f"/api/rules?id={rule['id']}&session=s")
    assert (gone.status, gone.code) == (404, "rule_not_found")
    assert (await api.ask("DELETE", "/api/rules")).status == 400


@pytest.mark.parametrize(
    "body", [{}, {"answer": "maybe"}, {"answer": "allow", "scope": "galaxy"}, {"answer": "allow", "typed": 1}]
)
async def test_an_answer_that_is_none_changes_nothing(start: StartServer, work: Path, body: dict[str, object]) -> None:
    api = await start()
    waiting, question_id = await asked(api, "touch x", cwd=str(work))
    assert (await api.post(f"/api/approvals/{question_id}", body)).status == 400
    assert len((await api.get("/api/approvals")).json["approvals"]) == 1
    await api.post(f"/api/approvals/{question_id}", {"answer": "deny"})
    await waiting


async def test_a_question_that_is_not_there(start: StartServer) -> None:
    api = await start()
    answer = await api.post("/api/approvals/q_nothing", {"answer": "allow"})
    assert (answer.status, answer.code) == (404, "approval_not_found")


async def test_the_audit_says_who_allowed_what(start: StartServer, work: Path) -> None:
    api = await start()
    waiting, question_id = await asked(api, "touch made", cwd=str(work), session="s")
    await api.post(f"/api/approvals/{question_id}", {"answer": "allow"})
    await waiting
    await api.run("ls", cwd=str(work), session="t")
    entries = (await api.get("/api/audit")).json["entries"]
    assert [(each["command"], each["outcome"], each["how"], each["by"]) for each in entries] == [
        ("ls", "allow", "safe", None),
        ("touch made", "allow", "answer", "owner"),
    ]
    only = (await api.get("/api/audit?session=s&limit=1")).json["entries"]
    assert [each["command"] for each in only] == ["touch made"]


async def test_callers_of_a_server_are_not_trusted_with_everything(start: StartServer, work: Path) -> None:
    api = await start(policy__question_timeout_s=0.01)
    assert (await api.run("ls", cwd=str(work)))["exit_code"] == 0
    assert (await api.post("/api/terminals", {"cwd": str(work)})).status == 201
    for path, body in (
        ("/api/run", {"command": "touch x", "cwd": str(work)}),
        ("/api/temporary", {"command": "touch x", "cwd": str(work)}),
        ("/api/batch", {"commands": ["touch x"], "cwd": str(work)}),
        ("/api/tools/run_command", {"arguments": {"command": "touch x", "cwd": str(work)}}),
        ("/api/run", {"command": ["touch", "x"], "cwd": str(work)}),
    ):
        answer = await api.post(path, body)
        assert (answer.status, answer.code) == (504, "approval_timeout"), path
    assert found(work, "*") == []
