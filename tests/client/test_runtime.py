"""The runtime of a server: the same calls, the same results, the same errors."""

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hermitty
from hermitty import errors, events
from hermitty.client.command import RemoteCommand, RemoteKnown
from hermitty.client.runtime import RemoteRuntime
from hermitty.client.terminal import RemoteTerminal
from hermitty.model import Size, State
from hermitty.runtime.api import Command, Runtime, Terminal
from hermitty.runtime.commands import Known
from hermitty.runtime.history.entry import HistoryQuery
from tests.client.conftest import TOKEN, Server, until
from tests.support.kernel import gone, so
from tests.support.runtimes import Gate
from tests.support.shells import PATIENCE_S


def parameters_of(function: Callable[..., Any]) -> list[tuple[str, Any, bool]]:
    """Names, kinds and whether there is a default: which one that is may differ."""
    return [
        (each.name, each.kind, each.default is not inspect.Parameter.empty)
        for each in inspect.signature(function).parameters.values()
    ]


# Those of the engine are for the runtime itself.
_TERMINAL = ["start", "run", "write", "send_key", "resize", "environment", "size", "is_open", "is_busy", "close",
             "pause", "unpause"]  # fmt: skip
_COMMAND = ["wait", "wait_for", "events", "output", "write", "send_key", "interrupt", "kill", "is_running", "result",
            "duration_s"]  # fmt: skip


@pytest.mark.parametrize(
    ("mirror", "original", "names"),
    [
        (RemoteRuntime, Runtime, [name for name in dir(Runtime) if not name.startswith("_") and name != "artifacts"]),
        (RemoteTerminal, Terminal, _TERMINAL),
        (RemoteCommand, Command, _COMMAND),
        (RemoteKnown, Known, ["result"]),
    ],
)
def test_everything_is_there_with_the_same_parameters(mirror: type, original: type, names: list[str]) -> None:
    assert [name for name in names if not hasattr(mirror, name)] == []
    for name in names:
        ours, theirs = getattr(mirror, name), getattr(original, name)
        if callable(theirs) and name != "result":
            assert parameters_of(ours) == parameters_of(theirs), name


async def test_commands_terminals_and_results(rt: RemoteRuntime, tmp_path: Path) -> None:
    assert (await rt.run("echo hi; sh -c 'exit 3'", cwd=tmp_path)).exit_code == 3
    assert (await rt.run(["printf", "%s", "a b"], cwd=tmp_path)).stdout == "a b"
    terminal = await rt.open_terminal(cwd=tmp_path, cols=90, rows=20, env={"A": "1"}, name="mine", session="s")

    assert (terminal.shell, terminal.cwd, terminal.size) == ("bash", str(tmp_path), Size(90, 20))
    assert (await terminal.run("echo $A; cd /; B=2; export B")).text == "1\n"
    assert terminal.cwd == "/"
    assert (await terminal.environment())["A"] == "1"
    assert (await rt.environment_changes(terminal.id)).added["B"] == "2"
    await terminal.resize(70, 10)
    assert (await terminal.run("stty size")).text == "10 70\n"
    assert "10 70" in await terminal.screen.text()
    assert (await terminal.screen.svg()).startswith("<svg")
    assert rt.terminal(terminal.id) is terminal
    info = rt.info(terminal.id)
    assert (info.number, info.session, info.name) == (2, "s", "mine")
    assert [each.id for each in rt.terminals(session="s")] == [terminal.id]
    [first] = rt.background_terminals()
    assert rt.session_cwd("s") == "/"
    assert rt.sessions() == ["s"]

    await rt.close_terminal(first.id)
    assert [each.id for each in rt.terminals()] == [terminal.id]
    await terminal.close()
    assert rt.terminals() == []
    assert not terminal.is_open
    with pytest.raises(errors.TerminalClosed):
        await terminal.run("true")
    with pytest.raises(errors.TerminalClosed):
        terminal.write("x")
    with pytest.raises(errors.TerminalNotFound):
        rt.terminal(terminal.id)


async def test_a_command_is_followed_and_answered(rt: RemoteRuntime, tmp_path: Path) -> None:
    terminal = await rt.open_terminal(cwd=tmp_path)
    command = await terminal.start("echo begun; printf 'Name? '; read x; echo \"<$x>\"; sh -c 'exit 4'")
    found = await command.wait_for("beg(.*)", PATIENCE_S)
    assert found is not None
    assert found[1] == "un"
    asked = await command.wait(PATIENCE_S)
    assert (asked.state, asked.needs_input and asked.needs_input.prompt) == (State.NEEDS_INPUT, "Name? ")
    assert command.is_running
    await until(rt, lambda: terminal.current is command)
    assert rt.last_command(terminal.id) is command

    command.write("Ann")
    command.send_key("enter")

    result = await command.wait(PATIENCE_S)
    assert (result.exit_code, result.text.splitlines()[-1]) == (4, "<Ann>")
    assert command.output().text == result.text
    assert command.result() == result
    assert not terminal.is_busy
    assert (await rt.result(command.id)) == result
    assert rt.command(command.id).handle is command
    assert await command.wait_for("never") is None


async def test_events_of_a_command(rt: RemoteRuntime, tmp_path: Path) -> None:
    terminal = await rt.open_terminal(cwd=tmp_path)
    command = await terminal.start("echo one; printf 'more? '; read x; echo two; sh -c 'exit 5'")
    seen: list[events.CommandEvent] = []
    async for event in command.events(0):
        seen.append(event)
        if isinstance(event, events.InputWanted):
            command.write("yes\r")
    texts = "".join(event.text for event in seen if isinstance(event, events.OutputArrived))
    assert texts == "one\nmore? yes\ntwo\n"
    assert [event.needs_input.prompt for event in seen if isinstance(event, events.InputWanted)] == ["more? "]
    assert isinstance(seen[-1], events.Completed)
    assert seen[-1].result.exit_code == 5


async def test_a_command_is_interrupted_and_killed(rt: RemoteRuntime, tmp_path: Path) -> None:
    terminal = await rt.open_terminal(cwd=tmp_path)
    first = await terminal.start("echo $((6 * 7)); sleep 1000")
    assert await first.wait_for("42", PATIENCE_S)
    assert (await first.wait(0)).state is State.RUNNING
    await first.interrupt()
    assert (await first.wait(PATIENCE_S)).state is State.INTERRUPTED
    assert (await (await terminal.start("sleep 1000")).kill()).state is State.KILLED
    with pytest.raises(errors.CommandEnded):
        first.interrupt()


async def test_a_wait_ends_and_the_command_goes_on(rt: RemoteRuntime, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    result = await rt.run("cat gate", cwd=tmp_path, wait_s=0.05, session="s")
    assert result.state is State.RUNNING
    assert result.terminal is not None
    await until(rt, lambda: rt.terminal(result.terminal or "").is_busy)
    gate.let("through\n")
    over = await rt.result(result.id, wait_s=PATIENCE_S)
    assert (over.text, over.exit_code, over.session) == ("through\n", 0, "s")


async def test_cancelling_a_run_kills_its_command(rt: RemoteRuntime, server: Server, tmp_path: Path) -> None:
    Gate(tmp_path / "gate")
    work = asyncio.ensure_future(rt.run("echo $$ > pid; cat gate", cwd=tmp_path))
    await until(rt, lambda: bool(rt.terminals(busy=True)))
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    await until(rt, lambda: not rt.terminals(busy=True))
    [known] = rt.commands()
    assert (await rt.result(known.handle.id)).state is State.KILLED


async def test_cancelling_kills_a_command_in_a_temporary_terminal(rt: RemoteRuntime, tmp_path: Path) -> None:
    written = tmp_path / "pid"
    work = asyncio.create_task(
        rt.run_temporary("echo $$ >pid; exec sleep 1000", cwd=tmp_path, command_id="c_00112233445566aa")
    )
    await so(lambda: written.exists() and written.read_text().endswith("\n"))
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    await gone(int(written.read_text()))
    assert (await rt.result("c_00112233445566aa", PATIENCE_S)).state is State.KILLED


async def test_batches_temporary_terminals_and_answers(rt: RemoteRuntime, tmp_path: Path) -> None:
    results = await rt.run_batch(["echo 1", "sh -c 'exit 7'", "echo 3"], cwd=tmp_path, stop_on_error=True)
    assert [result.exit_code for result in results] == [0, 7]
    before = {terminal.id for terminal in rt.terminals()}
    temporary = await rt.run_temporary("echo gone", cwd=tmp_path)
    assert temporary.text == "gone\n"
    answered = await rt.run(
        "printf 'sure? '; read x; echo \"it is $x\"", cwd=tmp_path, answers=[hermitty.Answer(r"sure\?", "so")]
    )
    assert answered.text.endswith("it is so\n")
    assert {terminal.id for terminal in rt.terminals()} >= before
    with pytest.raises(errors.InvalidRequest):
        await rt.run_batch("echo", cwd=tmp_path)


async def test_names_sessions_and_reports(rt: RemoteRuntime, server: Server, tmp_path: Path) -> None:
    terminal = await rt.open_terminal(cwd=tmp_path, session="fix")
    rt.rename(terminal.id, "builder")
    assert rt.info(terminal.id).name == "builder"
    await rt.pause(terminal.id, "Ann")
    with pytest.raises(errors.TerminalPaused):
        await terminal.run("true")
    await rt.unpause(terminal.id)
    await terminal.run("echo reported")
    assert "reported" in await rt.report("fix")
    assert server.runtime.info(terminal.id).name == "builder"

    await rt.release("fix")
    assert rt.info(terminal.id).session is None
    rt.bind(terminal.id, "other")
    assert [each.id for each in rt.terminals(session="other")] == [terminal.id]
    await terminal.run("true")  # behind what was sent before
    assert server.runtime.info(terminal.id).session == "other"
    await rt.end("other")
    assert rt.terminals() == []
    with pytest.raises(errors.SessionNotFound):
        rt.release("never")


async def test_complete_outputs_and_the_past(rt: RemoteRuntime, tmp_path: Path) -> None:
    result = await rt.run("seq 1 50000; printf 'caf\\351\\n'", cwd=tmp_path, session="s")
    assert result.artifact is not None
    assert (await rt.read_artifact(result.artifact, 0, 6)).data == b"1\r\n2\r\n"
    page = await rt.read_artifact_lines(result.artifact, 49_999, 3)
    assert [line for _, line in page.numbered()] == ["49999", "50000", "caf\ufffd"]
    found = await rt.search_artifact(result.artifact, "^4999[89]$")
    assert [match.text for match in found.matches] == ["49998", "49999"]
    tail = await rt.read_artifact(result.artifact, page.offset)
    assert tail.data.endswith(b"caf\xe9\r\n")
    entries = (await rt.history(HistoryQuery(session="s"))).entries
    assert [(entry.command_id, entry.exit_code, entry.state) for entry in entries] == [(result.id, 0, State.DONE)]
    assert (await rt.history(HistoryQuery(failed=True))).entries == []


async def test_events_of_the_runtime(rt: RemoteRuntime, tmp_path: Path) -> None:
    told: list[events.Event] = []
    stop = rt.subscribe(told.append)
    terminal = await rt.open_terminal(cwd=tmp_path)
    result = await terminal.run("cd /; sh -c 'exit 3'")
    finished = events.CommandFinished(terminal.id, result.id, "cd /; sh -c 'exit 3'", "agent", 3)
    await until(rt, lambda: finished in told)
    stop()
    assert events.CommandStarted(terminal.id, result.id, "cd /; sh -c 'exit 3'", "agent") in told
    assert events.CwdChanged(terminal.id, "/") in told
    stream = rt.events()
    following = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    await terminal.close()
    async with asyncio.timeout(PATIENCE_S):
        assert isinstance(await following, events.TerminalEnded)
    await stream.aclose()  # type: ignore[attr-defined]


async def test_what_others_do_is_known(rt: RemoteRuntime, server: Server, tmp_path: Path) -> None:
    theirs = await server.runtime.open_terminal(cwd=tmp_path, name="theirs")
    await until(rt, lambda: theirs.id in {each.id for each in rt.terminals()})
    gate = Gate(tmp_path / "gate")
    command = await theirs.start("cat gate; echo done")
    mine = rt.terminal(theirs.id)
    await until(rt, lambda: mine.current is not None and mine.current.id == command.id)
    assert mine.is_busy
    handle = mine.current
    assert handle is not None
    gate.let("let\n")
    assert await handle.wait_for("done", PATIENCE_S)
    assert (await handle.wait(PATIENCE_S)).text == "let\ndone\n"
    assert handle.output().text == "let\ndone\n"
    await server.runtime.close_terminal(theirs.id)
    await until(rt, lambda: not mine.is_open)
    assert mine.closed_because == "it was closed"


async def test_errors_come_through_with_their_type(rt: RemoteRuntime, tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidDirectory, match="'/no/such/place' does not exist"):
        await rt.run("true", cwd="/no/such/place")
    with pytest.raises(errors.UnknownShell) as unknown:
        await rt.open_terminal(shell="tcsh")
    assert unknown.value.name == "tcsh"
    with pytest.raises(errors.CommandNotFound):
        await rt.result("c_0000000000000000")
    with pytest.raises(errors.InvalidCommand):
        await rt.run("  ")
    with pytest.raises(errors.InvalidTime):
        await rt.run("true", wait_s=-1)
    terminal = await rt.open_terminal(cwd=tmp_path)
    with pytest.raises(errors.UnknownKey):
        await terminal.send_key("no such key")
    # What nobody awaits is raised by what comes next.
    terminal.send_key("no such key")
    with pytest.raises(errors.UnknownKey):
        await terminal.run("true")
    assert (await terminal.run("echo fine")).text == "fine\n"


async def test_what_a_server_cannot_do_is_said(rt: RemoteRuntime, tmp_path: Path) -> None:
    attempts: list[Callable[[], object]] = [
        lambda: rt.gate,
        lambda: rt.is_hot("t"),
        lambda: rt.context("t"),
        lambda: rt.contribute_path("x", "/x"),
    ]
    for attempt in attempts:
        with pytest.raises(errors.NotSupported):
            attempt()
    result = await rt.run("true", cwd=tmp_path)
    for waiting in (rt.adopt(), rt.explain(result), rt.run(["ls"], on_output=lambda stream, data: None)):
        with pytest.raises(errors.NotSupported):
            await waiting


async def test_the_policy_is_the_servers(rt: RemoteRuntime, tmp_path: Path) -> None:
    decision = await rt.check("echo hello", cwd=tmp_path)
    assert (decision.decision, decision.is_allowed) == ("allow", True)
    assert decision.to_dict()["commands"] == [["echo", "hello"]]
    assert rt.settings.policy.mode == "off"
    assert rt.settings.terminal.shell == "bash"


async def test_a_token_that_is_wrong_or_missing_is_told(server: Server, tmp_path: Path) -> None:
    with pytest.raises(errors.NotAuthenticated):
        async with hermitty.open(url=server.url, token="x" * 40):
            pass
    with pytest.raises(errors.NotAuthenticated, match="needs its token"):
        hermitty.open(url="http://127.0.0.1:1")
    (tmp_path / "state" / "token").write_text(TOKEN)
    async with hermitty.open(url=server.url) as rt:  # as the state directory has it
        assert rt.url == server.url


async def test_a_token_for_watching_watches(server: Server, rt: RemoteRuntime, tmp_path: Path) -> None:
    made = await rt._connection.http.send("POST", "/api/tokens", body={"name": "viewer", "scopes": ["view"]})
    terminal = await rt.open_terminal(cwd=tmp_path)
    async with hermitty.open(url=server.url, token=made.json()["token"]) as viewer:
        assert [each.id for each in viewer.terminals()] == [terminal.id]
        with pytest.raises(errors.MissingScope):
            await viewer.run("true")
    with pytest.raises(errors.MissingScope, match="approve"):
        async with hermitty.open(url=server.url, token=made.json()["token"], approver=lambda question: None):  # type: ignore[arg-type, return-value]
            pass


async def test_nobody_there_is_told_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(errors.ServerUnavailable, match=r"127\.0\.0\.1:1 .*hermitty serve"):
        async with hermitty.open(url="http://127.0.0.1:1", token="x" * 40):
            pass
    with pytest.raises(errors.InvalidRequest, match="has its own settings"):
        hermitty.open(hermitty.Settings(), url="http://127.0.0.1:1", token="x")  # type: ignore[call-overload]
    with pytest.raises(errors.InvalidRequest, match="name it with url="):
        hermitty.open(token="x")  # type: ignore[call-overload]


async def test_using_it_outside_of_its_block_is_an_error(server: Server, tmp_path: Path) -> None:
    runtime = server.client()
    with pytest.raises(errors.InvalidRequest, match="connect first"):
        await runtime.run("true")
    async with runtime:
        terminal = await runtime.open_terminal(cwd=tmp_path)
        await runtime.close()
        with pytest.raises(errors.InvalidRequest, match="closed already"):
            await runtime.close()
        with pytest.raises(errors.InvalidRequest, match="open another one"):
            runtime.terminals()
        with pytest.raises(errors.InvalidRequest, match="open another one"):
            terminal.write("x")
    # What it opened goes on.
    assert [each.id for each in server.runtime.terminals()] == [terminal.id]


@pytest.mark.parametrize("extra", [{"policy.mode": "ask_always"}])
async def test_an_approver_is_asked_about_our_own_commands_only(server: Server, tmp_path: Path) -> None:
    asked: list[str] = []

    async def approver(question: hermitty.Question) -> hermitty.Approval:
        asked.append(question.line)
        return hermitty.Approval("deny" if "no" in question.line else "allow")

    async with server.client(approver=approver) as mine, server.client() as other:
        theirs = asyncio.ensure_future(other.run("echo theirs", cwd=tmp_path))
        assert (await mine.run("echo yes", cwd=tmp_path)).text == "yes\n"
        with pytest.raises(errors.CommandDenied):
            await mine.run("echo no", cwd=tmp_path)
        terminal = await mine.open_terminal(cwd=tmp_path)
        command = await terminal.start("echo in a terminal")
        assert (await command.wait(PATIENCE_S)).exit_code == 0
        assert asked == ["echo yes", "echo no", "echo in a terminal"]
        [pending] = server.runtime.gate.approvals.pending()
        assert pending.line == "echo theirs"
        server.runtime.gate.approvals.answer(pending.id, hermitty.Approval("allow", by="a person"))
        assert (await theirs).text == "theirs\n"


@pytest.mark.parametrize("extra", [{"policy.mode": "ask_always"}])
async def test_an_approver_that_is_plain_is_asked_in_a_thread_and_one_that_fails_says_no(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def plain(question: hermitty.Question) -> hermitty.Approval:
        if "fail" in question.line:
            raise KeyError
        return hermitty.Approval("skip", note="not today")

    async with server.client(approver=plain) as rt:
        with pytest.raises(errors.CommandSkipped):
            await rt.run("echo skipped", cwd=tmp_path)
        with pytest.raises(errors.CommandDenied):
            await rt.run("echo fail", cwd=tmp_path)
