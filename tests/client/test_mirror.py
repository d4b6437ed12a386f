"""The mirror of a server: what is told late changes nothing that is known better."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty import errors, events
from hermitty.client.mirror import Mirror
from hermitty.model import CommandId, CommandResult, Quality, State, TerminalId


def terminal(terminal_id: str = "t_1", **changes: Any) -> dict[str, Any]:
    return {
        "id": terminal_id,
        "number": 1,
        "name": None,
        "workspace": None,
        "session": None,
        "shell": "bash",
        "cwd": "/",
        "cols": 80,
        "rows": 24,
        "quality": "rich",
        "state": "idle",
        "command": None,
        "last": None,
        "unknown to us": 1,
        **changes,
    }


def running(command_id: str = "c_1") -> dict[str, Any]:
    return terminal(
        state="running",
        command={"id": command_id, "command": "make", "source": "agent", "started_at": 5.0},
    )


def result(command_id: str = "c_1", state: State = State.DONE) -> CommandResult:
    return CommandResult(
        *(CommandId(command_id), "make", TerminalId("t_1"), "pty", "bash", state, 0, None, Quality.RICH),
        *("", 0, "/work", 1.0),
    )


def told(name: str, view: dict[str, Any], **command: Any) -> tuple[str, dict[str, Any]]:
    about = {"id": "c_1", "terminal": "t_1", "command": "make", "source": "agent", **command}
    return name, {"type": name, "at": 6.0, "terminal": view, "command": about}


def test_events_are_those_of_a_runtime() -> None:
    mirror = Mirror()
    mirror.load([terminal()], [], [])
    assert mirror.apply(*told("command_started", running())) == events.CommandStarted(
        TerminalId("t_1"), CommandId("c_1"), "make", "agent"
    )
    assert mirror.terminal("t_1").state == "running"
    assert mirror.command("c_1").state == "running"
    last = {"id": "c_1", "command": "make", "exit_code": 3, "state": "done", "duration_s": 1.5}
    finished = mirror.apply(*told("command_finished", terminal(last=last), exit_code=3))
    assert finished == events.CommandFinished(TerminalId("t_1"), CommandId("c_1"), "make", "agent", 3)
    assert (mirror.command("c_1").exit_code, mirror.command("c_1").duration_s) == (3, 1.5)
    ended = mirror.apply("terminal_ended", {"terminal": {"id": "t_1"}, "reason": "it was closed"})
    assert ended == events.TerminalEnded(TerminalId("t_1"), "it was closed")
    with pytest.raises(errors.TerminalNotFound):
        mirror.terminal("t_1")
    with pytest.raises(errors.TerminalClosed, match="it was closed"):
        mirror.check_open("t_1")


def test_an_event_that_is_late_does_not_bring_a_command_back() -> None:
    mirror = Mirror()
    mirror.load([terminal()], [], [])
    mirror.note_result(result())
    mirror.apply(*told("command_started", running()))
    assert (mirror.terminal("t_1").state, mirror.terminal("t_1").command) == ("idle", None)
    assert "c_1" not in mirror.commands


def test_an_event_that_is_late_does_not_bring_a_terminal_back() -> None:
    mirror = Mirror()
    mirror.load([terminal()], [], [])
    mirror.forget("t_1", "it was closed")
    mirror.apply("terminal_changed", {"terminal": terminal()})
    assert mirror.terminals == {}


def test_what_was_gone_through_while_nobody_was_connected_is_known() -> None:
    mirror = Mirror()
    mirror.load([terminal("t_1"), terminal("t_2")], [{"id": "s", "cwd": "/s"}], [])
    assert mirror.load([terminal("t_2")], [], []) == ["t_1"]
    assert mirror.why_gone("t_1") is not None
    assert mirror.sessions == {}


def test_a_session_is_where_its_terminal_is_and_ends_with_its_release() -> None:
    mirror = Mirror()
    mirror.apply("terminal_changed", {"terminal": terminal(session="fix", cwd="/a")})
    mirror.apply("cwd_changed", {"terminal": terminal(session="fix", cwd="/b"), "cwd": "/b"})
    assert mirror.sessions == {"fix": "/b"}
    mirror.apply("session_ended", {"session": "fix"})
    assert (mirror.sessions, mirror.terminal("t_1").session) == ({}, None)
    with pytest.raises(errors.SessionNotFound):
        mirror.check_session("fix")


def test_only_the_newest_commands_are_remembered() -> None:
    mirror = Mirror()
    for number in range(1500):
        mirror.apply(*told("command_started", terminal(), id=f"c_{number}"))
    assert len(mirror.commands) == 1000
    with pytest.raises(errors.CommandNotFound):
        mirror.command("c_0")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(
    ["command_started", "command_finished", "terminal_opened", "approval_asked", "cwd_changed", "x"]
)


@given(names, st.dictionaries(st.sampled_from(["terminal", "command", "approval", "cwd", "reason"]), values))
def test_whatever_a_server_tells_the_mirror_stays_usable(name: str, data: dict[str, Any]) -> None:
    mirror = Mirror()
    mirror.load([terminal()], [], [])
    json.dumps(data)
    # The connection tells these as an event that was not understood.
    with contextlib.suppress(errors.HermittyError, ValueError, KeyError, TypeError, AttributeError):
        mirror.apply(name, data)
    assert mirror.terminal("t_1").shell == "bash"
