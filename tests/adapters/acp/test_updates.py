"""What an agent tells, as a state."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.adapters.acp.updates import (
    CallChanged,
    DiffPart,
    Other,
    PlanChanged,
    Said,
    SessionState,
    TerminalPart,
    TextPart,
    ToolCall,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
FIELDS = st.sampled_from(
    ["sessionUpdate", "toolCallId", "title", "kind", "status", "content", "rawInput", "locations", "entries", "_meta"]
)
VALUES = JSON | st.sampled_from(
    ["tool_call", "tool_call_update", "plan", "agent_message_chunk", "completed", "execute", "text"]
)


@given(st.lists(st.dictionaries(FIELDS, VALUES)))
def test_nothing_that_comes_raises(updates: list[dict[str, Any]]) -> None:
    state = SessionState()
    for update in updates:
        change = state.apply(update)
        if isinstance(change, CallChanged):
            assert change.call.command is None or change.call.kind == "execute"


@pytest.mark.parametrize(
    ("update", "change"),
    [
        ({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}}, Said("agent", "hi")),
        ({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}}, Said("thought", "hm")),
        ({"sessionUpdate": "user_message_chunk", "content": {"type": "image"}}, Said("user", "[image]")),
        (
            {"sessionUpdate": "agent_message_chunk", "content": {"type": "resource_link", "name": "a", "uri": "b"}},
            Said("agent", "[a: b]"),
        ),
        (
            {"sessionUpdate": "plan", "entries": [{"content": "do", "status": "completed"}, 5, {"content": "x"}]},
            PlanChanged((("do", "completed"), ("x", "pending"))),
        ),
        ({"sessionUpdate": "usage_update", "n": 1}, Other("usage_update", {"sessionUpdate": "usage_update", "n": 1})),
        ({"sessionUpdate": "tool_call"}, Other("tool_call", {"sessionUpdate": "tool_call"})),
    ],
)
def test_an_update_is_a_change(update: dict[str, Any], change: object) -> None:
    assert SessionState().apply(update) == change


def test_what_an_update_gives_replaces_and_the_rest_stays() -> None:
    state = SessionState()
    begun = state.apply(
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "t",
            "title": "Run",
            "kind": "execute",
            "rawInput": {"command": ["ls", "-a"]},
            "content": [
                {"type": "content", "content": {"type": "text", "text": "one"}},
                {"type": "diff", "path": "/a", "newText": ""},
                {"type": "terminal", "terminalId": "x"},
                {"type": "hologram"},
            ],
        }
    )
    call = ToolCall(
        "t",
        "Run",
        "execute",
        parts=(TextPart("one"), DiffPart("/a"), TerminalPart("x")),
        raw_input={"command": ["ls", "-a"]},
    )
    assert begun == CallChanged(call, None)
    assert call.command == ("ls", "-a")
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed", "title": None, "kind": 5}
    changed = state.apply(update)
    assert isinstance(changed, CallChanged)
    assert (changed.before, changed.call.status, changed.call.title) == (call, "completed", "Run")
    assert changed.call.is_over
    state.apply({"sessionUpdate": "tool_call_update", "toolCallId": "t", "content": []})
    assert state.calls["t"].parts == ()


@pytest.mark.parametrize("raw", [None, "ls", {"command": ""}, {"command": [1]}, {"command": []}, {"path": "x"}])
def test_without_a_command_there_is_none(raw: object) -> None:
    assert ToolCall("t", kind="execute", raw_input=raw).command is None


@pytest.mark.parametrize(
    ("raw", "command"),
    [
        ({"command": "make", "args": ["-n", "test"]}, ("make", "-n", "test")),
        ({"command": ["make"], "args": ["test"]}, ("make", "test")),
        ({"cmd": "make", "args": []}, "make"),
        ({"command": "make", "args": None, "env": {}}, "make"),
        ({"command": "make", "args": "test"}, None),
        ({"command": "make", "args": ["test", 1]}, None),
        ({"command": "make test", "env": {"MAKEFLAGS": "-f evil.mk"}}, None),
        ({"command": "make test", "env": [{"name": "PATH", "value": "."}]}, None),
    ],
)
def test_a_command_is_all_that_runs_or_it_is_not_known(raw: object, command: object) -> None:
    assert ToolCall("t", kind="execute", raw_input=raw).command == command


def test_only_what_executes_has_a_command() -> None:
    assert ToolCall("t", kind="edit", raw_input={"command": "view"}).command is None


def test_an_input_beyond_measure_is_none() -> None:
    state = SessionState()
    raw = {"command": "ls", "x": "y" * 2_000_000}
    parts = [{"type": "content", "content": {"type": "text", "text": "z" * 100_000 + "end"}}] * 200
    update = {"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "execute", "rawInput": raw, "content": parts}
    change = state.apply(update)
    assert isinstance(change, CallChanged)
    assert change.call.command is None
    assert len(change.call.parts) == 100
    assert change.call.parts[0] == TextPart("z" * (64 * 1024 - 3) + "end")


def test_a_flood_of_calls_and_terminals_is_bounded() -> None:
    state = SessionState()
    for number in range(5000):
        meta = {"terminal_output": {"terminal_id": f"x{number}", "data": "y"}}
        state.apply({"sessionUpdate": "tool_call", "toolCallId": f"t{number}", "_meta": meta})
    assert len(state.calls) == 500
    assert state.displays.get("x0") is None
    assert state.displays.get("x4999") is not None
