"""Version 2 of the protocol, a draft: what an agent tells there, as a state that updates change.

Terminals are the agent's own in this version, and we only show them; nothing runs here. The rules are those of the
schema in version 2.4.0 of the TypeScript SDK, and may change with it:

- `terminal_update` changes what it names: left out is unchanged, null clears, a value replaces. `output` is a snapshot.
- `terminal_output_chunk` adds bytes, which may cut a character or a sequence in two.
- An `exitStatus`, even an empty one, means that the terminal has ended.
- `state_update` says when the agent works and when it is done; an answer to a prompt says neither.

As with the first version nothing here raises, and everything has a limit.
"""

import base64
import binascii
import os
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hermitty.adapters.acp.plain_stream import PlainStream
from hermitty.adapters.acp.tail import TailText
from hermitty.adapters.acp.updates import (
    CallChanged,
    Change,
    Other,
    Part,
    PlanChanged,
    Said,
    SessionState,
    StateChanged,
    Status,
    TerminalChanged,
    ToolCall,
    entries_of,
    merged,
    parts_of,
)

_TERMINALS = 200
_TEXT_BYTES = 256 * 1024
_MESSAGES = 1000
_PARTS = 100
_COMMAND_CHARACTERS = 64 * 1024
_META_KEYS = 100

# What a status of this version is to viewers. One that nobody knows is work in progress.
_STATUSES: Mapping[str, Status] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "paused": "in_progress",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
}
_WHOLE: Mapping[str, Literal["user", "agent", "thought"]] = {
    "user_message": "user",
    "agent_message": "agent",
    "agent_thought": "thought",
}
_ACTIVITIES = ("running", "idle", "requires_action")


@dataclass(slots=True)
class AgentTerminal:
    """A terminal of the agent, as far as it has told."""

    command: str | None = None
    cwd: str | None = None
    cols: int | None = None
    rows: int | None = None
    can_be_cancelled: bool = False
    has_ended: bool = False
    exit_code: int | None = None  # negative ones are allowed here
    signal: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    tail: TailText = field(default_factory=lambda: TailText(_TEXT_BYTES))
    _stream: PlainStream = field(default_factory=PlainStream)

    def append(self, data: bytes) -> None:
        """Add output."""
        self.tail.append(self._stream.feed(data))

    def patch(self, update: Mapping[str, Any]) -> None:
        """Change what the update names. A value that makes no sense counts as null, as the schema wants it."""
        if "command" in update:
            command = update["command"]
            self.command = command[:_COMMAND_CHARACTERS] if isinstance(command, str) else None
        if "cwd" in update:
            cwd = update["cwd"]
            self.cwd = cwd if isinstance(cwd, str) and os.path.isabs(cwd) else None
        if "size" in update:
            self.cols, self.rows = _size(update["size"])
        if "capabilities" in update:
            abilities = update["capabilities"]
            self.can_be_cancelled = isinstance(abilities, Mapping) and isinstance(abilities.get("cancel"), Mapping)
        if "output" in update:
            self.tail, self._stream = TailText(_TEXT_BYTES), PlainStream()
            output = update["output"]
            self.append(_bytes(output.get("data")) if isinstance(output, Mapping) else b"")
        if "exitStatus" in update:
            status = update["exitStatus"]
            self.has_ended = isinstance(status, Mapping)
            told = status if isinstance(status, Mapping) else {}
            code, signal = told.get("exitCode"), told.get("signal")
            self.exit_code = code if isinstance(code, int) and not isinstance(code, bool) else None
            self.signal = signal if isinstance(signal, str) else None
        if "_meta" in update:
            meta = update["_meta"]
            known = {**self.meta, **meta} if isinstance(meta, Mapping) else {}
            kept = [(name, value) for name, value in known.items() if value is not None]  # null removes a key
            self.meta = dict(kept[-_META_KEYS:])


@dataclass(slots=True)
class DraftState(SessionState):
    """What one session of the draft looks like."""

    terminals: "OrderedDict[str, AgentTerminal]" = field(default_factory=OrderedDict)
    activity: str = ""  # the last that was told: running, idle, requires_action
    background: tuple[str, ...] = ()  # terminals that go on by themselves, if the agent says which
    _heard: "OrderedDict[str, None]" = field(default_factory=OrderedDict)

    def apply(self, update: Mapping[str, Any]) -> Change:
        """Take an update, and return what it changes."""
        kind = update.get("sessionUpdate")
        match kind, update:
            case "terminal_update", {"terminalId": str(terminal_id)}:
                return self._terminal(terminal_id, update, None)
            case "terminal_output_chunk", {"terminalId": str(terminal_id)}:
                return self._terminal(terminal_id, {}, _bytes(update.get("data")))
            case "state_update", {"state": str(state)} if state in _ACTIVITIES:
                return self._state(state, update)
            case "tool_call_update", {"toolCallId": str(call_id)}:
                before = self.calls.get(call_id)
                return CallChanged(self.store(patched(before or ToolCall(call_id), update)), before)
            case "tool_call_content_chunk", {"toolCallId": str(call_id), "content": content}:
                before = self.calls.get(call_id)
                call = before or ToolCall(call_id)
                parts: tuple[Part, ...] = (*call.parts, *parts_of([content]))
                return CallChanged(self.store(replace(call, parts=parts[-_PARTS:])), before)
            case "plan_update", {"plan": {"type": "items", "entries": entries}}:
                return PlanChanged(entries_of(entries))
            case "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk", _:
                self._hear(update.get("messageId"))
                return SessionState.apply(self, update)
            case str(name), _ if name in _WHOLE:
                return self._message(name, update)
            case "tool_call" | "plan", _:  # of the first version: means nothing here
                return Other(str(kind), update)
            case _:
                return SessionState.apply(self, update)

    def _terminal(self, terminal_id: str, update: Mapping[str, Any], chunk: bytes | None) -> Change:
        is_new = terminal_id not in self.terminals
        terminal = self.terminals.setdefault(terminal_id, AgentTerminal())
        self.terminals.move_to_end(terminal_id)
        if len(self.terminals) > _TERMINALS:
            self.terminals.popitem(last=False)
        had_ended, had_command = terminal.has_ended, terminal.command
        terminal.patch(update)
        if chunk is not None:
            terminal.append(chunk)
        begins = terminal.command if terminal.command != had_command else None
        return TerminalChanged(terminal_id, is_new, begins, terminal.has_ended and not had_ended)

    def _state(self, state: str, update: Mapping[str, Any]) -> Change:
        was_working = self.activity in ("running", "requires_action")
        self.activity = state
        listed = update.get("background")
        if isinstance(listed, list):
            found = (each.get("terminalId") for each in listed if isinstance(each, Mapping))
            self.background = tuple(each for each in found if isinstance(each, str))[:_TERMINALS]
        reason = update.get("stopReason")
        # Told again without work in between, it is the same end.
        return StateChanged(state, reason if isinstance(reason, str) else None, state == "idle" and was_working)

    def _message(self, name: str, update: Mapping[str, Any]) -> Change:
        """A whole message. One that was told in pieces is not told again."""
        if self._hear(update.get("messageId")) or not isinstance(update.get("content"), list):
            return Other(name, update)
        parts = parts_of([{"type": "content", "content": block} for block in update["content"]])
        return Said(_WHOLE[name], "".join(getattr(part, "text", "") for part in parts))

    def _hear(self, message_id: object) -> bool:
        """Note a message, and tell whether it is known."""
        if not isinstance(message_id, str):
            return False
        is_known = message_id in self._heard
        self._heard[message_id] = None
        if len(self._heard) > _MESSAGES:
            self._heard.popitem(last=False)
        return is_known


def patched(call: ToolCall, update: Mapping[str, Any]) -> ToolCall:
    """Return a tool call with what an update names; null takes a field back to what it was at the beginning."""
    fresh = ToolCall(call.id)
    names = {
        "title": "title",
        "kind": "kind",
        "status": "status",
        "content": "parts",
        "rawInput": "raw_input",
        "locations": "paths",
    }
    cleared = {
        ours: getattr(fresh, ours) for theirs, ours in names.items() if theirs in update and update[theirs] is None
    }
    call = merged(replace(call, **cleared), {name: value for name, value in update.items() if name != "status"})
    status = update.get("status")
    return replace(call, status=_STATUSES.get(status, "in_progress")) if isinstance(status, str) else call


def asked_call(params: Mapping[str, Any], state: DraftState) -> ToolCall:
    """Return what an agent asks permission for. A subject that nobody knows is described by the title alone."""
    title = params.get("title")
    title = title if isinstance(title, str) else ""
    match params.get("subject"):
        case {"type": "command", "command": str(command), "cwd": str(cwd), **more}:
            call_id = more.get("toolCallId")
            given = {"command": command, "cwd": cwd}
            return ToolCall(call_id if isinstance(call_id, str) else "", title, "execute", raw_input=given)
        case {"type": "tool_call", "toolCall": {"toolCallId": str(call_id)} as told}:
            return state.store(patched(state.calls.get(call_id) or ToolCall(call_id), told))
        case None:
            return ToolCall("", title)
        case subject:
            return ToolCall("", title, raw_input=subject)


def _bytes(data: object) -> bytes:
    if not isinstance(data, str):
        return b""
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _size(size: object) -> tuple[int | None, int | None]:
    match size:
        case {"cols": int(cols), "rows": int(rows)} if 0 < cols < 65_536 and 0 < rows < 65_536:
            return cols, rows
        case _:
            return None, None
