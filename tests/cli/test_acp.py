"""`hermitty acp` as its users start it: with real agents, at a terminal and without one."""

import io
import json
import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermitty.adapters.acp.permissions import Option
from hermitty.adapters.acp.terminals import Exit, Shown, TerminalEvent
from hermitty.adapters.acp.updates import CallChanged, PlanChanged, Said, TerminalPart, TextPart, ToolCall
from hermitty.cli.acp_view import TextView, harmless
from tests.adapters.acp.conftest import agent, is_alive
from tests.cli.conftest import COMMAND, Run
from tests.support.shells import PATIENCE_S

BARE = agent("bare")


def script(*calls: tuple[str, dict[str, Any]]) -> str:
    """A prompt for the bare agent."""
    return json.dumps(calls)


# Without a terminal.


def test_what_the_agent_does_is_told_on_standard_error(hermitty: Run, tmp_path: Path) -> None:
    calls = script(
        ("update", {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "List", "kind": "execute"}),
        ("terminal/create", {"command": "echo out; ls no-such-file"}),
        ("terminal/wait_for_exit", {"terminalId": "$T"}),
        ("update", {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"}),
        ("say", {"text": "all \x1b[31mdone\x07"}),
    )
    done = hermitty("acp", "--prompt", calls, "--", *BARE)
    assert (done.returncode, done.stdout) == (0, b"all \\x1b[31mdone\\x07\n")
    assert done.stderr.decode().splitlines() == [
        "* running: List",
        "    $ echo out; ls no-such-file",
        "* ran: List",
    ]


def lines_of(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_json_has_every_update_and_ends_with_the_result(hermitty: Run, tmp_path: Path) -> None:
    calls = script(
        ("terminal/create", {"command": "pwd"}),
        ("terminal/wait_for_exit", {"terminalId": "$T"}),
        ("terminal/output", {"terminalId": "$T"}),
        ("update", {"sessionUpdate": "hologram", "x": "\u202e"}),
        ("say", {"text": "done"}),
    )
    done = hermitty("acp", "--json", "--prompt", calls, "--", *BARE)
    found = lines_of(done)
    assert [each["type"] for each in found] == [
        *("session", "terminal", "terminal", "update", "update", "terminal", "result"),
    ]
    assert found[0]["cwd"] == str(tmp_path)
    assert [each["event"] for each in found if each["type"] == "terminal"] == ["created", "exited", "released"]
    assert found[3]["update"] == {"sessionUpdate": "hologram", "x": "\u202e"}
    assert found[-1]["stop_reason"] == "end_turn"
    assert done.stdout.isascii()


def test_the_prompt_can_come_from_standard_input(environment: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "acp", "--", *BARE],
        cwd=tmp_path,
        env=environment,
        input=b"hi there",
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"you said: hi there\n")


TOUCH = script(
    (
        "session/request_permission",
        {
            "toolCall": {
                "toolCallId": "t",
                "title": "Make it",
                "kind": "execute",
                "rawInput": {"command": "touch made"},
            },
            "options": [
                {"optionId": "y", "name": "Yes", "kind": "allow_once"},
                {"optionId": "n", "name": "No", "kind": "reject_once"},
            ],
        },
    ),
    ("terminal/create", {"command": "touch made"}),
    ("terminal/wait_for_exit", {"terminalId": "$T"}),
)


def test_without_a_person_what_would_be_asked_about_is_refused(hermitty: Run, tmp_path: Path) -> None:
    done = hermitty("acp", "--prompt", TOUCH, "--", *BARE)
    assert done.returncode == 0
    asked, made, _ = json.loads(done.stdout)
    assert asked == {"outcome": {"outcome": "selected", "optionId": "n"}}
    assert made == {"error": -32001}
    assert b"* refused: Make it" in done.stderr
    assert not (tmp_path / "made").exists()


def test_yes_answers_and_lifts_no_block(hermitty: Run, tmp_path: Path) -> None:
    calls = [*json.loads(TOUCH), ("terminal/create", {"command": "mkfs.ext4 /dev/no-such-disk"})]
    done = hermitty("acp", "--yes", "--prompt", json.dumps(calls), "--", *BARE)
    assert json.loads(done.stdout)[2:] == [{"exitCode": 0}, {"error": -32001}]
    assert (tmp_path / "made").exists()


def test_what_goes_wrong_has_the_exit_code_125(hermitty: Run) -> None:
    for args, said in (
        (("--prompt", script(("die", {"code": 3})), "--", *BARE), b"ended with code 3"),
        (("--cwd", "/no/such/directory", "--prompt", "x", "--", "true"), b"--cwd"),
    ):
        done = hermitty("acp", *args)
        assert done.returncode == 125
        assert said in done.stderr, done.stderr


def test_files_are_offered_if_that_is_wanted(hermitty: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    calls = script(("fs/read_text_file", {"path": str(tmp_path / "file")}))
    assert json.loads(hermitty("acp", "--files", "--prompt", calls, "--", *BARE).stdout) == [{"content": "text"}]


def started(environment: dict[str, str], cwd: Path, *args: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*COMMAND, "acp", *args],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_everything(environment: dict[str, str], tmp_path: Path, number: signal.Signals) -> None:
    calls = script(
        ("spawn", {}),
        ("terminal/create", {"command": "sleep 1000"}),
        ("update", {"sessionUpdate": "ready"}),
        ("until_cancelled", {}),
    )
    running = started(environment, tmp_path, "--json", "--prompt", calls, "--", *BARE)
    children: set[int] = set()
    try:
        assert running.stdout is not None
        while json.loads(running.stdout.readline()).get("update") != {"sessionUpdate": "ready"}:
            pass
        children = descendants(running.pid)
        assert len(children) >= 3
        running.send_signal(number)
        rest = running.stdout.read()
        code = running.wait(PATIENCE_S)
        assert not any(map(is_alive, children))
    finally:
        running.kill()
        running.communicate()
        for pid in filter(is_alive, children):
            os.kill(pid, signal.SIGKILL)
    if number == signal.SIGINT:  # the turn is cancelled, and the agent says so
        assert json.loads(rest.splitlines()[-1])["stop_reason"] == "cancelled"
        assert code == 130
    else:
        assert code == 128 + number


def descendants(pid: int) -> set[int]:
    """The processes below a process, as parentage tells."""
    found: set[int] = set()
    left = [pid]
    while left:
        for path in Path(f"/proc/{left.pop()}/task").glob("*/children"):
            left += (new := [int(child) for child in path.read_text().split()])
            found.update(new)
    return found


def test_a_reader_who_leaves_ends_it(environment: dict[str, str], tmp_path: Path) -> None:
    calls = script(("update", {"sessionUpdate": "x", "y": "z" * 1000, "times": 500}), ("until_cancelled", {}))
    running = started(environment, tmp_path, "--json", "--prompt", calls, "--", *BARE)
    try:
        assert running.stdout is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.wait(PATIENCE_S) == 141
    finally:
        running.kill()
        running.wait()


# At a terminal.


class Conversation:
    """`hermitty acp` on a terminal that the test types into."""

    def __init__(self, environment: dict[str, str], cwd: Path) -> None:
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(COMMAND[0], [*COMMAND, "acp", "--", *BARE], {**environment, "TERM": "xterm"})
        self.seen = b""

    def until(self, text: bytes, *, count: int = 1) -> None:
        """Wait until something was shown so often."""
        deadline = time.monotonic() + PATIENCE_S
        while self.seen.count(text) < count:
            assert time.monotonic() < deadline, self.seen
            assert select.select([self._master], [], [], PATIENCE_S)[0], self.seen
            self.seen += os.read(self._master, 65536)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def end(self) -> int:
        """Wait for its end; return the exit code."""
        try:
            while data := os.read(self._master, 65536):
                self.seen += data
        except OSError:  # nobody has the other side open any more
            pass
        os.close(self._master)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def conversation(environment: dict[str, str], tmp_path: Path) -> Callable[[], Conversation]:
    """Starts a conversation."""
    return lambda: Conversation(environment, tmp_path)


def test_a_conversation_goes_on_until_the_end_of_the_input(conversation: Callable[[], Conversation]) -> None:
    talk = conversation()
    talk.until(b"> ")
    talk.type("one\r")
    talk.until(b"you said: one\r\n> ")
    talk.type("\x03")
    talk.until(b"(Ctrl-D ends)\r\n> ")
    talk.type("two\r")
    talk.until(b"you said: two\r\n> ")
    talk.type("\x04")
    assert talk.end() == 0


def test_a_person_is_asked_once_and_the_answer_counts_for_the_terminal(
    conversation: Callable[[], Conversation], tmp_path: Path
) -> None:
    talk = conversation()
    talk.until(b"> ")
    assert len(TOUCH) < 4000  # a line of a terminal can have so many
    talk.type(f"{TOUCH}\r")
    talk.until(b"skip it")
    assert b"may this command run?" in talk.seen
    talk.type("y\r")
    talk.until(b"exitCode")
    talk.type("\x04")
    assert talk.end() == 0
    assert talk.seen.count(b"may this command run?") == 1
    assert (tmp_path / "made").exists()


def test_ctrl_c_cancels_the_turn_and_a_question(conversation: Callable[[], Conversation], tmp_path: Path) -> None:
    talk = conversation()
    talk.until(b"> ")
    talk.type(script(("terminal/create", {"command": "touch made"}), ("until_cancelled", {})) + "\r")
    talk.until(b"skip it")
    talk.type("\x03")
    talk.until(b"the turn ended: cancelled\r\n> ")
    talk.type("still there\r")
    talk.until(b"you said: still there\r\n> ")
    talk.type("\x04")
    assert talk.end() == 0
    assert not (tmp_path / "made").exists()


def test_an_agent_that_dies_at_the_prompt_is_told_at_once(conversation: Callable[[], Conversation]) -> None:
    talk = conversation()
    talk.until(b"> ")
    (agent_pid,) = (pid for pid in descendants(talk.pid) if b"bare.py" in Path(f"/proc/{pid}/cmdline").read_bytes())
    os.kill(agent_pid, signal.SIGKILL)
    talk.until(b"the agent died of 9")
    assert talk.end() == 125


# What is shown.


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\ttext é 日本 🦀", "plain\n\ttext é 日本 🦀"),
        ("\x1b[2J\x07\r", "\\x1b[2J\\x07\\x0d"),
        ("a\r\nb", "a\nb"),
        ("\x9b31m\x7f\u202eevil\u2066", "\\x9b31m\\x7f\\u202eevil\\u2066"),
        ("\ud800", "\\ud800"),
    ],
)
def test_nothing_reaches_the_terminal_as_it_is(text: str, shown: str) -> None:
    assert harmless(text) == shown


def test_the_view_shows_calls_as_running_and_done_with_the_end_of_their_output() -> None:
    out = io.StringIO()
    shown = Shown("ls", "".join(f"line {number}\x1b\n" for number in range(12)), False, Exit(0))
    view = TextView(out, out, find=lambda session, terminal: shown if terminal == "x" else None, broken=print)
    call = ToolCall("t", "List\nfiles", "execute", raw_input={"command": "ls"}, parts=(TerminalPart("x"),))
    view.on_update("s", {}, Said("thought", "let me"))
    view.on_update("s", {}, Said("thought", " see"))
    view.on_update("s", {}, CallChanged(call, None))
    view.on_terminal(TerminalEvent("created", "s", "x", "ls"))
    view.on_terminal(TerminalEvent("created", "s", "y", "other"))
    done = ToolCall(
        "t", "List\nfiles", "execute", "completed", (TerminalPart("x"), TerminalPart("none"), TextPart("t"))
    )
    view.on_update("s", {}, CallChanged(done, call))
    view.on_update("s", {}, CallChanged(done, done))
    view.on_update("s", {}, PlanChanged((("one", "completed"), ("two", "in_progress"), ("three", "pending"))))
    view.on_permission("s", call, [Option("a", "", "allow_once")], "a")
    view.on_permission("s", call, [], None)
    view.on_update("s", {}, Said("agent", "It is "))
    view.on_update("s", {}, Said("agent", "done."))
    view.finish_line()
    assert out.getvalue().splitlines() == [
        "(thinking) let me see",
        "* running: List files",
        "    $ ls",
        "    $ other",
        "* ran: List files",
        "    | ... 2 more lines",
        *(f"    | line {number}\\x1b" for number in range(2, 12)),
        "    exit code 0",
        "    | t",
        "* plan:",
        "  [x] one",
        "  [~] two",
        "  [ ] three",
        "* allowed: List files",
        "* cancelled: List files",
        "It is done.",
    ]


def test_an_agent_of_the_draft_is_spoken_to_with_the_flag(hermitty: Run, tmp_path: Path) -> None:
    draft = ("--prompt", "echo out; exit 3", "--", *agent("draft_agent"))
    done = hermitty("acp", "--acp-v2", *draft)
    assert (done.returncode, done.stdout) == (0, b"out\n")
    assert done.stderr.decode().splitlines() == [
        "* running: echo out; exit 3",
        "    $ echo out; exit 3",
        "* failed: echo out; exit 3",
        "    | out",
        "    exit code 3",
    ]
    found = lines_of(hermitty("acp", "--acp-v2", "--json", *draft))
    assert (found[0]["agent"]["name"], found[-1]["stop_reason"]) == ("draft-agent", "end_turn")
    kinds = [each["update"]["sessionUpdate"] for each in found if each["type"] == "update"]
    assert kinds[:3] == ["state_update", "tool_call_update", "terminal_update"]

    refused = hermitty("acp", *draft)
    assert refused.returncode == 125
    assert b"hermitty speaks 1" in refused.stderr
