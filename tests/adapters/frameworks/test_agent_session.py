"""The way of an agent's commands into a runtime of this process or of a server: one policy, and nothing left behind."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import hermitty
from hermitty.adapters.agent_session import AgentSession
from hermitty.adapters.tooling import Reply
from hermitty.errors import InvalidRequest, InvalidTime
from hermitty.events import ApprovalAnswered, ApprovalAsked, Event
from hermitty.model import State
from hermitty.runtime.api import Runtime, build_runtime
from hermitty.runtime.approvals import Approval, Question
from tests.adapters.frameworks.conftest import NOT_RUN, Person, Work
from tests.client.conftest import TOKEN, started_server
from tests.support.runtimes import Dial
from tests.support.shells import PATIENCE_S

# Refused in every mode; and the device is not there.
BLOCKED = "mkfs.ext4 /dev/hermitty-none"


class Silent:
    """A person who never answers."""

    async def __call__(self, question: Question) -> Approval:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")


@pytest.fixture(params=["own", "server"])
def kind(request: pytest.FixtureRequest) -> str:
    """Whose terminals they are."""
    return str(request.param)


@pytest.fixture
def approver(person: Person) -> Any:
    """Who is asked; a test may have somebody else."""
    return person


@pytest.fixture
async def any_rt(
    kind: str, dial: Dial, approver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Any]:
    """A runtime of this process, or of a server."""
    if kind == "own":
        async with build_runtime(dial, approver=approver) as own:
            yield own
        return
    extra: dict[str, object] = {"policy.mode": "normal"}
    async with started_server(tmp_path, monkeypatch, extra) as server, server.client(approver=approver) as remote:
        yield remote


@pytest.fixture
async def any_session(any_rt: Any, work: Work) -> AsyncIterator[AgentSession]:
    """A session in the project; at its end nothing of it is left."""
    async with asyncio.timeout(3 * PATIENCE_S), AgentSession(any_rt, cwd=work.path) as session:
        yield session
    assert any_rt.terminals(session=session.name) == []
    assert session.name not in any_rt.sessions()


async def opened(session: AgentSession) -> str:
    reply = await session.call("open_persistent_terminal", {})
    return str(reply.data["persistent_terminal_id"])


async def heard(runtime: Any, kind: type[Event]) -> Event:
    """Wait for an event of a kind."""
    async with asyncio.timeout(PATIENCE_S):
        async for event in runtime.events():
            if isinstance(event, kind):
                return event
    raise AssertionError("the runtime has ended")


# What runs.


async def test_a_command_has_its_text_and_its_data(any_session: AgentSession, work: Work) -> None:
    reply = await any_session.call("run_command", {"command": "echo hello; (exit 3)"})
    assert (reply.text, reply.is_error) == ("hello\n[exit code 3]", False)
    data = reply.data
    assert (data["state"], data["exit_code"], data["text"].strip(), data["cwd"]) == ("done", 3, "hello", str(work.path))
    json.dumps(data)


async def test_a_terminal_keeps_directory_and_variables(any_session: AgentSession, work: Work) -> None:
    terminal = await opened(any_session)
    for command in ("cd sub", "x=kept"):
        await any_session.call("run_persistent_command", {"command": command, "persistent_terminal_id": terminal})
    reply = await any_session.call(
        "run_persistent_command", {"command": "echo $x; pwd", "persistent_terminal_id": terminal}
    )
    assert reply.text == f"kept\n{work.path}/sub\n[exit code 0]"


async def test_the_own_terminal_keeps_directory_and_variables(any_session: AgentSession, work: Work) -> None:
    assert (await any_session.run("cd sub; x=kept")).text == "[exit code 0]"
    assert (await any_session.run("echo $x; pwd")).text == f"kept\n{work.path}/sub\n[exit code 0]"


async def test_a_relative_directory_is_meant_from_the_session(any_session: AgentSession, work: Work) -> None:
    reply = await any_session.call("run_command", {"command": "pwd", "cwd": "sub"})
    assert reply.text == f"{work.path}/sub\n[exit code 0]"


async def test_output_that_is_no_text_can_be_sent(any_session: AgentSession) -> None:
    reply = await any_session.call("run_command", {"command": r"printf 'a\377b\n'"})
    assert "a" in reply.text
    assert json.dumps(reply.data, ensure_ascii=False).encode()
    assert reply.text.encode()


async def test_a_program_that_asks_is_answered(any_session: AgentSession) -> None:
    terminal = await opened(any_session)
    at = {"persistent_terminal_id": terminal}
    asked = await any_session.call("run_persistent_command", {"command": "read -p 'name? ' x; echo got $x", **at})
    assert asked.data["state"] == State.NEEDS_INPUT
    told = await any_session.call("type_into_persistent_terminal", {"text": "me", **at})
    assert told.text.endswith("got me\n[exit code 0]")


async def test_nobody_types_for_a_shell_at_its_prompt(any_session: AgentSession, work: Work) -> None:
    terminal = await opened(any_session)
    at = {"persistent_terminal_id": terminal}
    never = await any_session.call("type_into_persistent_terminal", {"text": "touch unwanted", **at})
    await any_session.call("run_persistent_command", {"command": "true", **at})
    over = await any_session.call("type_into_persistent_terminal", {"text": "touch unwanted", **at})
    assert (never.is_error, over.is_error) == (True, True)
    assert "nothing runs in terminal" in over.text
    await any_session.call("run_persistent_command", {"command": "true", **at})
    work.check_files_are("sub", "gate")


async def test_what_takes_too_long_in_a_temporary_terminal_is_killed(
    kind: str, dial: Dial, work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, person: Person
) -> None:
    short = {"tools.wait_temporary_s": 0.2}
    dial.turn(tools__wait_temporary_s=0.2)

    async def killed(runtime: Any) -> Reply:
        async with AgentSession(runtime, cwd=work.path) as session:
            reply = await session.call("run_command", {"command": "cat gate"})
            assert runtime.terminals(session=session.name) == []
            return reply

    if kind == "own":
        async with build_runtime(dial, approver=person) as own:
            reply = await killed(own)
    else:
        async with (
            started_server(tmp_path, monkeypatch, {"policy.mode": "normal", **short}) as server,
            server.client(approver=person) as remote,
        ):
            reply = await killed(remote)
    assert "[killed: it took too long]" in reply.text
    assert "[killed: it ran longer than 0.2 s]" in reply.text


# Going on in the background.


async def test_a_command_goes_on_and_is_waited_for(any_rt: Any, work: Work) -> None:
    async with AgentSession(any_rt, cwd=work.path, wait_s=0) as session, asyncio.timeout(PATIENCE_S):
        terminal = await opened(session)
        at = {"persistent_terminal_id": terminal}
        running = await session.call("run_persistent_command", {"command": "cat gate", **at})
        assert running.text == f"[still running in terminal {terminal}]"
        looked = await session.call("wait_persistent_command", at)
        assert looked.text == f"[`cat gate` is still running in terminal {terminal}]"
        work.let()
        ended = await session.call("wait_persistent_command", {"wait_s": PATIENCE_S, **at})
        assert ended.text == "through\n[exit code 0]"


async def test_the_own_terminal_is_not_shared_by_two_commands(
    any_session: AgentSession, any_rt: Any, work: Work
) -> None:
    first = await any_session.run("cat gate", wait_s=0)
    assert first.data["state"] == State.RUNNING
    second = await any_session.run("echo early", wait_s=0)
    assert second.is_error
    assert second.text.endswith(NOT_RUN)
    work.let()
    third = await any_session.run("echo late", wait_s=PATIENCE_S)
    assert third.text == "late\n[exit code 0]"
    assert len(any_rt.terminals(session=any_session.name)) == 1


async def test_commands_at_once_take_turns_in_the_own_terminal(any_session: AgentSession, any_rt: Any) -> None:
    replies = await asyncio.gather(*(any_session.run(f"echo {number}") for number in range(5)))
    assert [reply.text for reply in replies] == [f"{number}\n[exit code 0]" for number in range(5)]
    assert len(any_rt.terminals(session=any_session.name)) == 1


async def test_tools_at_once_have_terminals_of_their_own(any_session: AgentSession) -> None:
    calls = (any_session.call("run_command", {"command": f"echo {number}"}) for number in range(4))
    assert [reply.text for reply in await asyncio.gather(*calls)] == [f"{number}\n[exit code 0]" for number in range(4)]


async def test_a_restart_ends_what_runs(any_session: AgentSession, any_rt: Any) -> None:
    await any_session.run("cat gate", wait_s=0)
    assert not (await any_session.restart()).is_error
    assert any_rt.terminals(session=any_session.name) == []
    assert (await any_session.run("echo new")).text == "new\n[exit code 0]"


async def test_a_shell_that_has_left_is_replaced_and_that_is_told(any_session: AgentSession) -> None:
    await any_session.run("exit 7")
    reply = await any_session.run("echo back")
    assert reply.text == "back\n[exit code 0]\n[a new terminal: the shell of the one before has ended]"


# The policy.


async def test_a_person_allows_and_denies(any_session: AgentSession, work: Work, person: Person) -> None:
    assert (await any_session.call("run_command", {"command": "touch allowed"})).text == "[exit code 0]"
    denied = await any_session.call("run_command", {"command": "touch unwanted"})
    assert denied.is_error
    assert denied.data["error"]["code"] == "command_denied"
    assert "said no" in denied.text
    assert (await any_session.run("touch unwanted")).is_error
    assert (await any_session.run_apart("touch unwanted")).is_error
    assert (await any_session.run_apart(["touch", "unwanted"])).is_error
    work.check_files_are("sub", "gate", "allowed")
    assert person.asked == ["touch allowed", *["touch unwanted"] * 4]


async def test_a_block_is_not_lifted(any_session: AgentSession) -> None:
    reply = await any_session.call("run_command", {"command": BLOCKED})
    assert reply.is_error
    assert reply.data["error"]["code"] == "command_denied"


@pytest.mark.parametrize("way", ["temporary", "persistent", "own", "apart"])
async def test_a_question_that_nobody_answers_is_withdrawn(
    kind: str, dial: Dial, work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    async def unanswered(runtime: Any) -> Reply:
        async with AgentSession(runtime, cwd=work.path, approval_wait_s=0.1) as session, asyncio.timeout(PATIENCE_S):
            over = asyncio.create_task(heard(runtime, ApprovalAnswered))
            match way:
                case "temporary":
                    reply = await session.call("run_command", {"command": "touch allowed"})
                case "persistent":
                    at = {"persistent_terminal_id": await opened(session)}
                    reply = await session.call("run_persistent_command", {"command": "touch allowed", **at})
                case "own":
                    reply = await session.run("touch allowed")
                case _:
                    reply = await session.run_apart("touch allowed")
            event = await over
            assert isinstance(event, ApprovalAnswered)
            assert event.outcome == "cancelled"
            return reply

    if kind == "own":
        dial.turn(policy__question_timeout_s=None)
        async with build_runtime(dial, approver=Silent()) as own:
            reply = await unanswered(own)
    else:
        extra: dict[str, object] = {"policy.mode": "normal"}
        async with started_server(tmp_path, monkeypatch, extra) as server, server.client(approver=Silent()) as remote:
            reply = await unanswered(remote)
            assert server.runtime.gate.approvals.pending() == []
    assert reply.is_error
    assert reply.data["error"]["code"] == "approval_timeout"
    assert "nobody answered within 0.1 s, which means no" in reply.text
    work.check_files_are("sub", "gate")


@pytest.mark.parametrize("way", ["temporary", "persistent", "own", "apart", "argv"])
async def test_a_model_is_not_trusted_as_the_program_is(dial: Dial, work: Work, tmp_path: Path, way: str) -> None:
    async with build_runtime(dial) as rt, AgentSession(rt, cwd=work.path) as session:
        match way:
            case "temporary":
                reply = await session.call("run_command", {"command": "touch unwanted"})
            case "persistent":
                at = {"persistent_terminal_id": await opened(session)}
                reply = await session.call("run_persistent_command", {"command": "touch unwanted", **at})
            case "own":
                reply = await session.run("touch unwanted")
            case "apart":
                reply = await session.run_apart("touch unwanted")
            case _:
                reply = await session.run_apart(["touch", "unwanted"])
        assert reply.is_error
        assert "it needs an approval, and nobody is here to ask. A person can allow it: with an approver" in reply.text
        assert (await session.run("echo safe")).text == "safe\n[exit code 0]"
        # What the program itself does is its own affair, before and after.
        assert (await rt.run("touch own", cwd=work.path)).exit_code == 0
    work.check_files_are("sub", "gate", "own")
    audit = [json.loads(line) for line in (tmp_path / "state" / "audit.jsonl").read_text().splitlines()]
    assert [(each["command"], each["outcome"]) for each in audit] == [("touch unwanted", "deny")]


async def test_a_model_is_not_trusted_in_a_terminal_that_it_has_changed(dial: Dial, work: Work) -> None:
    async with build_runtime(dial) as rt, AgentSession(rt, cwd=work.path) as session:
        assert (await rt.run("true", session=session.name)).exit_code == 0
        first = await session.run("alias ls='touch unwanted'")
        second = await session.run("ls")
        assert first.is_error or second.is_error
    work.check_files_are("sub", "gate")


async def test_with_the_policy_off_everything_runs(dial: Dial, work: Work) -> None:
    dial.turn(policy__mode="off")
    async with build_runtime(dial) as rt, AgentSession(rt, cwd=work.path) as session:
        assert (await session.run("touch allowed")).text == "[exit code 0]"
    work.check_files_are("sub", "gate", "allowed")


# Ends.


@pytest.mark.parametrize("way", ["temporary", "own", "apart"])
async def test_cancelling_a_call_kills_the_command(any_session: AgentSession, work: Work, way: str) -> None:
    match way:
        case "temporary":
            doing = any_session.call("run_command", {"command": "cat gate"})
        case "own":
            doing = any_session.run("cat gate")
        case _:
            doing = any_session.run_apart("cat gate")
    call = asyncio.create_task(doing)
    async with work.reader() as left:
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await left()


async def test_cancelling_a_call_withdraws_its_question(dial: Dial, work: Work) -> None:
    async with build_runtime(dial, approver=Silent()) as rt, AgentSession(rt, cwd=work.path) as session:
        asked = asyncio.create_task(heard(rt, ApprovalAsked))
        call = asyncio.create_task(session.call("run_command", {"command": "touch allowed"}))
        await asked
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert rt.gate.approvals.pending() == []
    work.check_files_are("sub", "gate")


async def test_what_takes_too_long_without_a_terminal_is_killed(any_session: AgentSession) -> None:
    reply = await any_session.run_apart("echo begun; cat gate", wait_s=0.2)
    assert reply.data["state"] == State.KILLED
    assert "[killed]" in reply.text


async def test_a_session_with_a_name_is_left_to_who_named_it(any_rt: Any, work: Work) -> None:
    async with AgentSession(any_rt, name="mine", cwd=work.path) as session:
        await session.run("cd sub")
    assert len(any_rt.terminals(session="mine")) == 1
    await any_rt.end("mine")


@pytest.mark.parametrize("name", [None, "mine"])
async def test_the_end_of_a_session_ends_the_calls_that_still_wait(any_rt: Any, work: Work, name: str | None) -> None:
    async with AgentSession(any_rt, name=name, cwd=work.path) as session:
        call = asyncio.create_task(session.call("run_command", {"command": "cat gate"}))
        async with work.reader() as left:
            await session.aclose()
            await left()
        assert (await call).text == "[not done: the session is over; begin another one]"
        assert any_rt.terminals(session=session.name) == []


async def test_a_session_that_is_over_says_so(rt: Runtime, work: Work) -> None:
    async with AgentSession(rt, cwd=work.path) as session:
        pass
    for reply in (await session.call("run_command", {"command": "echo"}), await session.run("echo")):
        assert reply.text == "[not done: the session is over; begin another one]"
    await session.aclose()


async def test_a_session_that_has_not_begun_says_so(rt: Runtime) -> None:
    reply = await AgentSession(rt).call("run_command", {"command": "echo"})
    assert reply.text == "[not done: the session has not begun: use `async with`, or `with`]"


async def test_a_session_is_entered_as_its_runtime_is(rt: Runtime, dial: Dial) -> None:
    with pytest.raises(InvalidRequest, match="use `async with`"):
        AgentSession(rt).__enter__()
    sync_rt = await asyncio.to_thread(hermitty.sync.open, dial.settings)
    with pytest.raises(InvalidRequest, match="use `with`"):
        await AgentSession(sync_rt).__aenter__()
    await asyncio.to_thread(sync_rt.close)


def test_times_are_checked(sync_session: AgentSession) -> None:
    with hermitty.sync.open() as rt:
        for options in ({"wait_s": -1}, {"approval_wait_s": float("nan")}):
            with pytest.raises(InvalidTime):
                AgentSession(rt, **options)


# Threads.


async def test_a_plain_thread_waits_for_the_event_loop(any_session: AgentSession) -> None:
    said: list[str] = []

    def call() -> None:
        said.append(any_session.blocking(any_session.call("run_command", {"command": "echo hi"})).text)

    thread = threading.Thread(target=call)
    thread.start()
    await asyncio.to_thread(thread.join)
    assert said == ["hi\n[exit code 0]"]


async def test_a_call_from_another_event_loop_can_be_cancelled(session: AgentSession, work: Work) -> None:
    """As when a framework has an event loop of its own in a thread."""

    async def elsewhere() -> None:
        call = asyncio.create_task(session.call("run_command", {"command": "cat gate"}))
        async with work.reader() as left:
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await left()

    await asyncio.to_thread(asyncio.run, elsewhere())


async def test_a_server_without_an_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dial: Dial, work: Work
) -> None:
    def use(url: str) -> list[str]:
        def ask(question: Question) -> Approval:
            return Approval("allow" if "allowed" in question.line else "deny", by="me")

        with (
            hermitty.sync.open(url=url, token=TOKEN, approver=ask) as rt,
            AgentSession(rt, cwd=work.path) as session,
        ):
            lines = ["cd sub", "pwd", "touch ../allowed", "touch ../unwanted"]
            return [session.blocking(session.run(line)).text for line in lines]

    async with started_server(tmp_path, monkeypatch, {"policy.mode": "normal"}) as server:
        texts = await asyncio.to_thread(use, server.url)
        assert server.runtime.terminals() == []
    assert texts[:3] == ["[exit code 0]", f"{work.path}/sub\n[exit code 0]", "[exit code 0]"]
    assert "said no" in texts[3]
    work.check_files_are("sub", "gate", "allowed")
