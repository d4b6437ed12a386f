"""Sessions, permissions, displays and files, with an agent that the test plays."""

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from acp._transport import memory_transport_pair

from hermitty.adapters.acp.audience import Offers
from hermitty.adapters.acp.client import AcpClient, connected
from hermitty.adapters.acp.permissions import Option, chosen, essence, granted, meaning, options_of, with_grants
from hermitty.adapters.acp.terminals import TerminalEvent
from hermitty.adapters.acp.updates import Change, Other, Said, ToolCall
from hermitty.errors import AgentFailed, HermittyError, InvalidRequest, NotSupported, SessionNotFound
from hermitty.runtime.api import Runtime
from hermitty.runtime.approvals import Approval, Scope
from tests.adapters.acp.conftest import Peer, Person, Play, is_alive
from tests.support.runtimes import Dial
from tests.support.shells import PATIENCE_S

OPTIONS = [
    {"optionId": "always!", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes!", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no!", "name": "No", "kind": "reject_once"},
    {"optionId": "never!", "name": "Never", "kind": "reject_always"},
]


class Heard:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.raw: list[Mapping[str, Any]] = []
        self.events: list[str] = []
        self.answers: list[tuple[str, str | None]] = []

    def on_update(self, session_id: str, raw: Mapping[str, Any], change: Change) -> None:
        self.raw.append(raw)
        self.changes.append(change)

    def on_terminal(self, event: TerminalEvent) -> None:
        self.events.append(event.what)

    def on_permission(self, session_id: str, call: ToolCall, options: Sequence[Option], answer: str | None) -> None:
        self.answers.append((call.title, answer))


def execute(command: object, **more: Any) -> dict[str, Any]:
    """A tool call that runs a command."""
    return {"toolCallId": "t1", "title": "Run it", "kind": "execute", "rawInput": {"command": command}, **more}


async def permission(peer: Peer, call: dict[str, Any], options: list[dict[str, str]] = OPTIONS) -> str:
    """Ask for permission; return the option that was chosen, or `cancelled`."""
    outcome = (await peer.result("session/request_permission", toolCall=call, options=options))["outcome"]
    return str(outcome["optionId"] if outcome["outcome"] == "selected" else outcome["outcome"])


# Hello.


async def test_only_what_is_offered_is_advertised_and_answered(play: Play, tmp_path: Path) -> None:
    (tmp_path / "work" / "file").write_text("text")
    file = {"path": str(tmp_path / "work" / "file")}
    async with play(offers=Offers(terminal=False, display=False)) as peer:
        assert Offers(terminal=False, display=False).capabilities() == {
            "fs": {"readTextFile": False, "writeTextFile": False},
            "terminal": False,
        }
        assert await peer.error("terminal/create", command="true") == -32601
        assert await peer.error("fs/read_text_file", **file) == -32601
        assert await peer.error("fs/write_text_file", content="", **file) == -32601
        assert await peer.error("elicitation/create", message="") == -32601
        assert await peer.error("_vendor/extension") == -32601
        assert await peer.error("no/such/method") == -32601
    assert (tmp_path / "work" / "file").read_text() == "text"


@pytest.mark.parametrize("hello", [{"protocolVersion": 2}, {}, {"protocolVersion": "1"}])
async def test_another_version_is_the_end(rt: Runtime, hello: dict[str, Any]) -> None:
    ours, theirs = memory_transport_pair()
    peer = Peer(theirs)
    peer.hello = hello
    try:
        with pytest.raises(NotSupported, match="version"):
            async with connected(rt, ours):
                pass
    finally:
        await peer.close()


async def test_a_session_needs_an_absolute_directory(peer: Peer) -> None:
    with pytest.raises(InvalidRequest):
        await peer.client.new_session("here")


# Turns.


@contextlib.asynccontextmanager
async def turn(peer: Peer, text: str = "do it") -> Any:
    """A turn: what it asks is there; the answer has to be given before the end."""
    asking = asyncio.ensure_future(peer.client.prompt("s1", text))
    async with asyncio.timeout(PATIENCE_S):
        yield await peer.prompts.get(), asking
        with contextlib.suppress(HermittyError):
            await asking


async def test_everything_that_was_told_is_heard_before_the_turn_is_over(play: Play) -> None:
    heard = Heard()
    async with play(listener=heard, is_tame=True) as peer, turn(peer) as (request, asking):
        assert request["params"]["prompt"] == [{"type": "text", "text": "do it"}]
        for word in ("one", "two", "three"):
            peer.update("agent_message_chunk", content={"type": "text", "text": word})
        peer.reply(request, stopReason="end_turn")
        assert await asking == "end_turn"
        assert heard.changes == [Said("agent", "one"), Said("agent", "two"), Said("agent", "three")]


async def test_updates_that_nobody_knows_are_handed_on_as_they_are(play: Play) -> None:
    heard = Heard()
    async with play(listener=heard) as peer:
        odd: list[dict[str, Any]] = [{"sessionUpdate": "hologram", "x": [1]}, {"sessionUpdate": 5}, {}]
        for update in odd:
            peer.notify("session/update", sessionId="s1", update=update)
        formless: list[dict[str, Any]] = [{"sessionId": "s1"}, {"update": {}}, {"sessionId": 1, "update": {}}]
        for params in formless:
            peer.notify("session/update", **params)
        await peer.error("no/such/method")
        assert heard.raw == odd
        assert heard.changes == [Other("hologram", odd[0]), Other("", odd[1]), Other("", odd[2])]


async def test_a_refused_turn_says_why(peer: Peer) -> None:
    async with turn(peer) as (request, asking):
        error = {"code": -32603, "message": "no model", "data": {"details": "pay first"}}
        peer.write({"jsonrpc": "2.0", "id": request["id"], "error": error})
        with pytest.raises(AgentFailed, match=r"no model .*pay first"):
            await asking


async def test_an_agent_that_wants_a_login_names_its_ways(rt: Runtime, work: Path) -> None:
    ours, theirs = memory_transport_pair()
    peer = Peer(theirs)
    peer.hello = {"protocolVersion": 1, "authMethods": [{"id": "token", "name": "Token"}, "odd", {"name": "x"}]}
    try:
        async with connected(rt, ours) as client:
            await client.new_session(str(work))
            asking = asyncio.ensure_future(client.prompt("s1", "x"))
            request = await peer.prompts.get()
            peer.write({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32000, "message": "login"}})
            with pytest.raises(AgentFailed, match="token"):
                await asking
    finally:
        await peer.close()


async def test_an_agent_that_leaves_in_the_middle_is_an_error(play: Play) -> None:
    async with play() as peer:
        asking = asyncio.ensure_future(peer.client.prompt("s1", "x"))
        await peer.prompts.get()
        await peer.transport.close()
        with pytest.raises(AgentFailed, match="session/prompt"):
            await asking


async def test_the_terminals_of_an_agent_that_is_gone_end_at_once(play: Play) -> None:
    class Ends(Heard):
        """Tells when a terminal was let go of."""

        def __init__(self) -> None:
            super().__init__()
            self.released = asyncio.Event()

        def on_terminal(self, event: TerminalEvent) -> None:
            super().on_terminal(event)
            if event.what == "released":
                self.released.set()

    heard = Ends()
    async with play(listener=heard) as peer:
        await peer.create("sleep", "1000")
        await peer.transport.close()
        async with asyncio.timeout(PATIENCE_S):
            await heard.released.wait()
        assert heard.events == ["created", "exited", "released"]
        with pytest.raises(AgentFailed, match="session/prompt"):
            await peer.client.prompt("s1", "x")
        await peer.client.cancel("s1")


async def test_cancelling_a_turn_withdraws_questions_stops_terminals_and_tells_the_agent(
    play: Play, rt: Runtime, dial: Dial, person: Person, work: Path
) -> None:
    heard = Heard()
    async with play(listener=heard) as peer:
        before = await peer.create("sleep", "1000")
        async with turn(peer) as (request, asking):
            during = await peer.create("sh", "-c", "echo $$; exec sleep 1000")
            while not (pid := (await peer.result("terminal/output", terminalId=during))["output"].strip()):
                pass
            dial.turn(policy__mode="normal")
            person.answer = None
            _, permit = peer.begin(
                "session/request_permission", sessionId="s1", toolCall=execute("touch made"), options=OPTIONS
            )
            await person.was_asked.wait()
            _, start = peer.begin("terminal/create", sessionId="s1", command="touch made")
            while len(person.asked) < 2:
                person.was_asked.clear()
                await person.was_asked.wait()
            await peer.client.cancel("s1")
            assert (await peer.told("session/cancel"))["params"] == {"sessionId": "s1"}
            assert (await permit)["result"] == {"outcome": {"outcome": "cancelled"}}
            assert (await start)["error"]["code"] == -32800
            assert rt.gate.approvals.pending() == []
            assert not is_alive(int(pid))
            assert "exitStatus" in await peer.result("terminal/output", terminalId=during)
            assert "exitStatus" not in await peer.result("terminal/output", terminalId=before)
            # An agent that has not heard of it yet starts nothing more.
            assert await peer.error("terminal/create", command="true") == -32800
            assert await permission(peer, execute("ls")) == "cancelled"
            peer.reply(request, stopReason="cancelled")
            assert await asking == "cancelled"
        async with turn(peer) as (request, _):
            await peer.create("true")
            peer.reply(request, stopReason="end_turn")
        assert heard.answers == [("Run it", None), ("Run it", None)]
        assert os.listdir(work) == []


async def test_a_session_is_closed_with_the_agent_that_can(play: Play) -> None:
    async with play() as peer:
        peer.client.agent = {"agentCapabilities": {"sessionCapabilities": {"close": {}}}}
        await peer.client.close_session("s1")
        await peer.client.close_session("s1")
        with pytest.raises(SessionNotFound):
            await peer.client.prompt("s1", "x")


# Permissions.


@pytest.mark.parametrize(
    ("kinds", "allow", "index"),
    [
        (["allow_once", "reject_once"], True, 0),
        (["allow_always", "allow_once"], True, 1),
        (["allow_always", "reject_once"], True, None),
        (["allow_once", "reject_always", "reject_once"], False, 2),
        (["allow_once", "reject_always"], False, 1),
        (["allow_once"], False, None),
        (["hologram"], False, None),
        ([], True, None),
    ],
)
def test_an_option_is_chosen_by_its_kind_and_never_invented(kinds: list[str], allow: bool, index: int | None) -> None:
    options = [Option(f"id{number}", "", kind) for number, kind in enumerate(kinds)]
    assert chosen(options, allow=allow) == (None if index is None else options[index].id)


def test_options_without_form_are_left_out() -> None:
    raw = [None, {}, {"optionId": 1, "kind": "allow_once"}, {"optionId": "a", "kind": "allow_once"}]
    assert options_of(raw) == [Option("a", "", "allow_once")]
    assert options_of("x") == []


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("ls -a", "ls -a"),
        (["bash", "-lc", "ls -a"], "ls -a"),
        (["/bin/sh", "-c", "ls"], "ls"),
        (["ls", "a b"], "ls 'a b'"),
        (["bash", "-c", "x", "y"], "bash -c x y"),
        (["/ws/tools/bash", "-c", "ls"], "/ws/tools/bash -c ls"),
        (["./sh", "-c", "ls"], "./sh -c ls"),
        (["zsh", "-lc", "ls"], "ls"),
    ],
)
def test_a_shell_that_runs_a_line_is_that_line(command: str | list[str], line: str) -> None:
    assert essence(command) == line


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("touch 'a b'", "touch 'a b'"),
        ("touch made", ["touch", "made"]),
        ("make CC=gcc @all", ["make", "CC=gcc", "@all"]),
        ("./configure --prefix=/x", ["./configure", "--prefix=/x"]),
        ("touch 'a b'", ["bash", "-c", "touch 'a b'"]),
        ("ls | wc", ["/usr/local/bin/bash", "-lc", "ls | wc"]),
        (["sh", "-c", "ls"], ["/bin/dash", "-c", "ls"]),
        (["zsh", "-c", "ls"], ["/usr/bin/zsh", "-c", "ls"]),
        (["touch", "a b"], ["touch", "a b"]),
    ],
)
def test_what_runs_the_same_is_the_same(one: str | list[str], other: str | list[str]) -> None:
    assert meaning(one) == meaning(other)


@pytest.mark.parametrize(
    ("read", "run"),
    [
        # A program that is only called like a shell.
        ("make test", ["/ws/tools/bash", "-c", "make test"]),
        ("make test", ["./bash", "-c", "make test"]),
        ("make test", ["tools/bash", "-c", "make test"]),
        ("make test", ["/bash", "-c", "make test"]),
        ("make test", ["/bin/../ws/bash", "-c", "make test"]),
        ("make test", ["/usr/bin//bash", "-c", "make test"]),
        ("make test", ["Bash", "-c", "make test"]),
        ("make test", ["bash ", "-c", "make test"]),
        # More than a shell and a line, or a line that is an option to it.
        ("make test", ["bash", "-c", "make test", "x"]),
        ("make test", ["bash", "-ic", "make test"]),
        ("make test", ["bash", "make test"]),
        ("-x", ["bash", "-c", "-x"]),
        ("+x", ["bash", "-c", "+x"]),
        # A program behind another one.
        ("make test", ["env", "make", "test"]),
        ("make test", ["env", "PATH=.", "make", "test"]),
        ("make test", ["sudo", "make", "test"]),
        ("make test", ["command", "make", "test"]),
        ("make test", ["exec", "make", "test"]),
        ("make test", ["env", "bash", "-c", "make test"]),
        # What is a variable in a line is a file as a program.
        ("CC=./gcc make", ["CC=./gcc", "make"]),
        (["CC=./gcc", "make"], "CC=./gcc make"),
        # Another language.
        ("echo =ls", ["zsh", "-c", "echo =ls"]),
        ("echo (ls)", ["fish", "-c", "echo (ls)"]),
        (["bash", "-c", "echo =ls"], ["zsh", "-c", "echo =ls"]),
        (["echo", "=ls"], "echo =ls"),
        (["kill", "%1"], "kill %1"),
        (["touch", "a\\'b"], "touch 'a\\'\"'\"'b'"),
        # Other words, other quotes, other letters.
        ("touch a b", ["touch", "a b"]),
        ("touch 'a' b", ["touch", "a", "b"]),
        ("touch $HOME", ["touch", "$HOME"]),
        ("touch ~", ["touch", "~"]),
        ("touch *", ["touch", "*"]),
        ("touch a", ["touch", "a", ""]),
        ("touch a", "touch  a"),
        ("touch a", "touch A"),
        ("touch a", "touch a\n"),
        ("touch a", "TOUCH a"),
        (["touch", "a"], ["touch", "a", "b"]),
    ],
)
def test_what_may_run_something_else_is_another_command(read: str | list[str], run: str | list[str]) -> None:
    assert meaning(read) != meaning(run)


async def test_commands_are_judged_by_the_policy(peer: Peer, dial: Dial, person: Person) -> None:
    dial.turn(policy__mode="normal")
    assert await permission(peer, execute("ls -a")) == "yes!"
    assert await permission(peer, execute(["ls", "-a"])) == "yes!"
    assert person.asked == []
    assert await permission(peer, execute("touch made")) == "no!"
    assert await permission(peer, execute("touch made"), OPTIONS[:2]) == "cancelled"
    person.answer = Approval("allow", by="a person")
    assert await permission(peer, execute("touch made")) == "yes!"
    assert await permission(peer, execute("touch made"), [OPTIONS[0], OPTIONS[2]]) == "no!"
    assert [question.line for question in person.asked] == ["touch made"] * 4


async def test_the_whole_command_is_shown_with_its_control_characters(peer: Peer, dial: Dial, person: Person) -> None:
    dial.turn(policy__mode="normal")
    line = "touch made \x1b[2K\r" + "x" * 5000 + "; ls"
    await permission(peer, execute(line, title="ls"))
    (question,) = person.asked
    assert question.command == line.replace("\x1b", "\\x1b").replace("\r", "\\x0d")


async def test_a_longer_answer_is_a_rule_of_ours_and_the_agent_hears_once(
    peer: Peer, rt: Runtime, dial: Dial, person: Person
) -> None:
    dial.turn(policy__mode="normal")
    person.answer = Approval("allow", Scope.SESSION, by="a person")
    assert await permission(peer, execute("touch made")) == "yes!"
    assert await permission(peer, execute("touch made")) == "yes!"
    assert len(person.asked) == 1
    session = person.asked[0].session
    assert session is not None
    (rule,) = [each for each in rt.gate.rules.rules(session=session).rules if "touch" in each.pattern]
    assert "a person" in (rule.reason or "")


async def test_what_a_person_allowed_is_not_asked_about_again_by_the_terminal(
    peer: Peer, dial: Dial, person: Person, work: Path
) -> None:
    dial.turn(policy__mode="normal")
    person.answer = Approval("allow", by="a person")
    assert await permission(peer, execute("touch made")) == "yes!"
    person.answer = Approval("deny", by="a person")
    # Another command, variables or another directory are another matter.
    assert await peer.error("terminal/create", command="touch other") == -32001
    env = [{"name": "LD_PRELOAD", "value": "evil.so"}]
    assert await peer.error("terminal/create", command="touch made", env=env) == -32001
    assert await peer.error("terminal/create", command="touch made", cwd="/tmp") == -32001
    await peer.over(await peer.create("/bin/bash", "-c", "touch made"))
    # Once is once.
    assert await peer.error("terminal/create", command="touch made") == -32001
    assert os.listdir(work) == ["made"]
    assert len(person.asked) == 5


def pretender(work: Path, name: str) -> str:
    """A program of the agent that leaves a trace, whatever it is told."""
    program = work / name
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\n: > ran\n")
    program.chmod(0o755)
    return str(program)


async def test_leave_for_a_line_is_not_for_a_program_that_is_called_like_a_shell(
    peer: Peer, dial: Dial, person: Person, work: Path
) -> None:
    pretended = pretender(work, "tools/bash")
    dial.turn(policy__mode="normal")
    person.answer = Approval("allow", by="a person")
    assert await permission(peer, execute("touch made")) == "yes!"
    person.answer = Approval("deny", by="a person")
    for command in (pretended, "tools/bash", "./tools/bash"):
        assert await peer.error("terminal/create", command=command, args=["-c", "touch made"]) == -32001
        assert person.asked[-1].line == f"{command} -c 'touch made'"
    # The leave is still there for what was meant.
    await peer.over(await peer.create("bash", "-c", "touch made"))
    assert sorted(os.listdir(work)) == ["made", "tools"]


async def test_leave_for_a_line_with_a_variable_is_not_for_a_file_of_that_name(
    peer: Peer, dial: Dial, person: Person, work: Path
) -> None:
    pretender(work, "X=a/b")
    dial.turn(policy__mode="normal")
    person.answer = Approval("allow", by="a person")
    assert await permission(peer, execute("X=a/b touch made")) == "yes!"
    person.answer = Approval("deny", by="a person")
    assert await peer.error("terminal/create", command="X=a/b", args=["touch", "made"]) == -32001
    assert os.listdir(work) == ["X=a"]


async def test_leave_is_for_the_directory_that_was_shown(peer: Peer, dial: Dial, person: Person, work: Path) -> None:
    for name in ("one", "two"):
        (work / name).mkdir()
    link = work / "here"
    link.symlink_to("one")
    dial.turn(policy__mode="normal")
    person.answer = Approval("allow", by="a person")
    for given in (str(link), "here"):
        call = execute("touch made", rawInput={"command": "touch made", "cwd": given})
        assert await permission(peer, call) == "yes!"
        assert person.asked[-1].cwd == str(link)
    person.answer = Approval("deny", by="a person")
    for cwd in (None, str(work), f"{link}/../one", str(work / "one"), "/a\0b"):
        assert "error" in await peer.ask("terminal/create", sessionId="s1", command="touch made", cwd=cwd)
    link.unlink()
    link.symlink_to("two")
    assert await peer.error("terminal/create", command="touch made", cwd=str(link)) == -32001
    link.unlink()
    link.symlink_to("one")
    await peer.over(await peer.create("touch made", cwd=str(link)))
    assert (os.listdir(work / "one"), os.listdir(work / "two")) == (["made"], [])


async def test_leave_that_is_not_used_ends_with_its_turn(peer: Peer, dial: Dial, person: Person, work: Path) -> None:
    dial.turn(policy__mode="normal")

    async def allowed() -> None:
        person.answer = Approval("allow", by="a person")
        assert await permission(peer, execute("touch made")) == "yes!"
        person.answer = Approval("deny", by="a person")

    await allowed()
    async with turn(peer) as (request, _):  # it was not for this one
        assert await peer.error("terminal/create", command="touch made") == -32001
        await allowed()
        peer.reply(request, stopReason="end_turn")
    assert await peer.error("terminal/create", command="touch made") == -32001
    async with turn(peer) as (request, _):
        assert await peer.error("terminal/create", command="touch made") == -32001
        await allowed()
        await peer.over(await peer.create("touch made"))
        peer.reply(request, stopReason="end_turn")
    assert os.listdir(work) == ["made"]


async def test_leave_that_comes_after_its_turn_is_for_nothing(
    play: Play, rt: Runtime, dial: Dial, person: Person, work: Path
) -> None:
    async with play() as peer:
        dial.turn(policy__mode="normal")
        person.answer = None
        async with turn(peer) as (request, _):
            _, permit = peer.begin(
                "session/request_permission", sessionId="s1", toolCall=execute("touch made"), options=OPTIONS
            )
            await person.was_asked.wait()
            peer.reply(request, stopReason="end_turn")
        async with turn(peer) as (request, _):
            (waiting,) = rt.gate.approvals.pending()
            rt.gate.approvals.answer(waiting.id, Approval("allow", by="a person"))
            assert (await permit)["result"]["outcome"]["optionId"] == "yes!"
            person.answer = Approval("deny", by="a person")
            assert await peer.error("terminal/create", command="touch made") == -32001
            peer.reply(request, stopReason="end_turn")
    assert os.listdir(work) == []


async def test_leave_answers_only_the_question_about_its_command(peer: Peer, dial: Dial, person: Person) -> None:
    dial.turn(policy__mode="normal")
    await permission(peer, execute("touch made"))
    (question,) = person.asked
    assert question.session is not None
    yes = Approval("allow", by="somebody before")
    approve = with_grants(person)
    with granted(question.session, "touch made", yes):
        assert await approve(question) == yes
        assert await approve(replace(question, line="touch other")) == person.answer
        assert await approve(replace(question, session="s9")) == person.answer
        assert await approve(replace(question, decision="block")) == person.answer
    assert await approve(question) == person.answer


async def test_what_is_told_with_variables_is_asked_about_with_them(peer: Peer, dial: Dial, person: Person) -> None:
    dial.turn(policy__mode="normal")
    raw = {"command": "ls", "env": {"LD_PRELOAD": "./evil.so"}}
    assert await permission(peer, execute("ls", rawInput=raw)) == "no!"
    assert "./evil.so" in person.asked[0].command
    assert await permission(peer, execute("ls", rawInput={"command": "touch", "args": ["made"]})) == "no!"
    assert person.asked[1].line == "touch made"


async def test_what_is_no_command_is_asked_about_as_the_agent_tells_it(peer: Peer, dial: Dial, person: Person) -> None:
    dial.turn(policy__mode="normal")
    peer.update("tool_call", toolCallId="e1", title="Edit\x1b[8m file", kind="edit", locations=[{"path": "/a/b"}])
    assert await permission(peer, {"toolCallId": "e1", "rawInput": {"command": "view"}}) == "no!"
    person.answer = Approval("allow", by="a person")
    assert await permission(peer, {"toolCallId": "e1"}) == "yes!"
    first, second = person.asked
    assert first.command == 'edit: Edit\\x1b[8m file\n/a/b\n{\n "command": "view"\n}'
    assert second.scopes == (Scope.ONCE,)
    assert await permission(peer, execute(None)) == "yes!"


async def test_a_request_without_form_is_refused(peer: Peer) -> None:
    for params in ({}, {"toolCall": {}, "options": OPTIONS}, {"toolCall": execute("ls"), "options": "x"}):
        assert await peer.error("session/request_permission", **params) == -32602
    assert await peer.error("session/request_permission", sessionId="s9", toolCall=execute("ls"), options=[]) == -32002


# Terminals that the agent owns.


async def test_display_terminals_gather_output_in_any_order(peer: Peer) -> None:
    def meta(**told: Any) -> dict[str, Any]:
        return {name: {"terminal_id": "x1", **fields} for name, fields in told.items()}

    peer.update("tool_call_update", toolCallId="t1", _meta=meta(terminal_output={"data": "early \x1b[3"}))
    peer.update(
        "tool_call",
        toolCallId="t1",
        title="ls",
        content=[{"type": "terminal", "terminalId": "x1"}],
        _meta=meta(terminal_info={"cwd": "/w"}),
    )
    peer.update("tool_call_update", toolCallId="t1", _meta=meta(terminal_output={"data": "1mlate\r\n" + "y" * 9000}))
    peer.update("tool_call_update", toolCallId="t1", _meta=meta(terminal_exit={"exit_code": 2, "signal": None}))
    oddities: list[Any] = [5, {"terminal_output": 1}, {"terminal_exit": {}}, {"terminal_output": {"terminal_id": "x1"}}]
    for odd in oddities:
        peer.update("tool_call_update", toolCallId="t1", _meta=odd)
    await peer.error("no/such/method")
    display = peer.client.state("s1").displays.get("x1")
    assert display is not None
    assert display.tail.text() == "early late\n" + "y" * 9000
    assert (display.cwd, display.has_ended, display.exit_code, display.signal) == ("/w", True, 2, None)
    # It is none of ours.
    assert await peer.error("terminal/output", terminalId="x1") == -32002


# Files.


async def test_files_are_read_and_written_if_that_is_offered_and_allowed(
    play: Play, dial: Dial, person: Person, work: Path
) -> None:
    (work / "file").write_text("one\ntwo\nthree\n")
    secret = (work.parent / "elsewhere").resolve()
    (work / "link").symlink_to(secret)
    async with play(offers=Offers(files=True), is_tame=True) as peer:
        dial.turn(policy__mode="normal")
        path = str(work / "file")
        assert await peer.result("fs/read_text_file", path=path) == {"content": "one\ntwo\nthree\n"}
        assert await peer.result("fs/read_text_file", path=path, line=2, limit=1) == {"content": "two\n"}
        assert await peer.result("fs/read_text_file", path=path, line=9) == {"content": ""}
        assert person.asked == []
        assert await peer.error("fs/write_text_file", path=path, content="new") == -32001
        person.answer = Approval("allow", by="a person")
        assert await peer.result("fs/write_text_file", path=path, content="néw") == {}
        assert (work / "file").read_text() == "néw"
        assert [question.line for question in person.asked] == [f"tee -- {path}"] * 2
        assert await peer.error("fs/read_text_file", path="file") == -32602
        assert await peer.error("fs/read_text_file", path=str(work / "none")) == -32002
        assert await peer.error("fs/read_text_file", path=str(work)) == -32602
        (work / "binary").write_bytes(b"\xff\xfe")
        assert await peer.error("fs/read_text_file", path=str(work / "binary")) == -32602
        person.answer = Approval("deny", by="a person")
        assert await peer.error("fs/write_text_file", path=str(work / "link"), content="x") == -32001
        assert person.asked[-1].line == f"tee -- {secret}"


def test_a_client_has_the_methods_of_the_sdk() -> None:
    for name in ("create_terminal", "read_text_file", "write_text_file"):
        assert callable(getattr(AcpClient, name))
