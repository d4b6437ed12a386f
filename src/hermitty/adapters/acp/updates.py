"""What an agent tells of its work, as a state that updates change.

Everything comes as JSON of a stranger. What is not understood is left out or handed on as it is; nothing here raises.
"""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeGuard

from hermitty.adapters.acp.displays import DisplayTerminals

# What is kept of an agent's tool calls: so many, of each the end of its texts, and an input up to a size. An input
# that is larger counts as none: nothing is allowed because of it.
_TOOL_CALLS = 500
_PARTS = 100
_PART_CHARACTERS = 64 * 1024
_TITLE_CHARACTERS = 16 * 1024
_INPUT_CHARACTERS = 1024 * 1024

Status = Literal["pending", "in_progress", "completed", "failed", "cancelled"]
# Of the first version; the second has more.
_STATUSES: tuple[Status, ...] = ("pending", "in_progress", "completed", "failed")
_SPEAKERS: Mapping[str, Literal["user", "agent", "thought"]] = {
    "user_message_chunk": "user",
    "agent_message_chunk": "agent",
    "agent_thought_chunk": "thought",
}


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text that a tool call shows."""

    text: str


@dataclass(frozen=True, slots=True)
class DiffPart:
    """A change of a file that a tool call shows."""

    path: str


@dataclass(frozen=True, slots=True)
class TerminalPart:
    """A terminal that a tool call shows: one of ours, or one that the agent tells of."""

    terminal_id: str


Part = TextPart | DiffPart | TerminalPart


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One thing that the agent does, as far as it has told."""

    id: str
    title: str = ""
    kind: str = "other"
    status: Status = "pending"
    parts: tuple[Part, ...] = ()
    raw_input: Any = None
    paths: tuple[str, ...] = ()

    @property
    def command(self) -> str | tuple[str, ...] | None:
        """Return the command that it runs, if it says so: a line, or the words of a program.

        With variables, or arguments that are no words, it is not known what would run.
        """
        if self.kind != "execute" or not isinstance(self.raw_input, Mapping) or self.raw_input.get("env"):
            return None
        args = self.raw_input.get("args") or ()
        if not _are_words(args):
            return None
        for name in ("command", "cmd"):
            found = self.raw_input.get(name)
            if isinstance(found, str) and found.strip():
                return (found, *args) if args else found
            if isinstance(found, list) and found and _are_words(found) and found[0]:
                return (*found, *args)
        return None

    @property
    def is_over(self) -> bool:
        """Tell whether nothing more will come of it."""
        return self.status in ("completed", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of a message."""

    by: Literal["user", "agent", "thought"]
    text: str


@dataclass(frozen=True, slots=True)
class CallChanged:
    """A tool call that began or changed; `before` is None for one that nobody knew."""

    call: ToolCall
    before: ToolCall | None


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """The agent's plan: what it wants to do, and where each thing stands."""

    entries: tuple[tuple[str, str], ...]  # content and status


@dataclass(frozen=True, slots=True)
class Other:
    """Something that has no form here. `raw` is all of it."""

    kind: str
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TerminalChanged:
    """A terminal of the agent that began or changed, in the second version of the protocol."""

    terminal_id: str
    is_new: bool
    begins: str | None  # its command, when that was told just now
    ends: bool


@dataclass(frozen=True, slots=True)
class StateChanged:
    """The agent works (`running`), waits for somebody (`requires_action`) or is done (`idle`): the second version."""

    state: str
    stop_reason: str | None
    ends_turn: bool


Change = Said | CallChanged | PlanChanged | TerminalChanged | StateChanged | Other


@dataclass(slots=True)
class SessionState:
    """What one session looks like."""

    calls: "OrderedDict[str, ToolCall]" = field(default_factory=OrderedDict)
    displays: DisplayTerminals = field(default_factory=DisplayTerminals)

    def apply(self, update: Mapping[str, Any]) -> Change:
        """Take an update, and return what it changes."""
        kind = update.get("sessionUpdate")
        kind = kind if isinstance(kind, str) else ""
        if kind in _SPEAKERS:
            return Said(_SPEAKERS[kind], block_text(update.get("content")))
        if kind in ("tool_call", "tool_call_update") and isinstance(update.get("toolCallId"), str):
            self.displays.apply(update.get("_meta"))
            before = self.calls.get(update["toolCallId"])
            return CallChanged(self.merge(update), before)
        if kind == "plan":
            return PlanChanged(entries_of(update.get("entries")))
        return Other(kind, update)

    def merge(self, update: Mapping[str, Any]) -> ToolCall:
        """Change a tool call: what is given replaces what was, the rest stays. An unknown one begins."""
        call_id = update["toolCallId"]
        return self.store(merged(self.calls.get(call_id) or ToolCall(call_id), update))

    def store(self, call: ToolCall) -> ToolCall:
        """Remember a tool call, and forget the oldest that is one too many."""
        self.calls[call.id] = call
        self.calls.move_to_end(call.id)
        if len(self.calls) > _TOOL_CALLS:
            self.calls.popitem(last=False)
        return call


def merged(call: ToolCall, update: Mapping[str, Any]) -> ToolCall:
    """Return a tool call with what an update gives."""
    title, kind, status = update.get("title"), update.get("kind"), update.get("status")
    if isinstance(title, str):
        call = replace(call, title=title[:_TITLE_CHARACTERS])
    if isinstance(kind, str):
        call = replace(call, kind=kind)
    for known in _STATUSES:
        if status == known:
            call = replace(call, status=known)
    if isinstance(update.get("content"), list):
        call = replace(call, parts=parts_of(update["content"]))
    if isinstance(update.get("locations"), list):
        paths = (each.get("path") for each in update["locations"] if isinstance(each, Mapping))
        call = replace(call, paths=tuple(path for path in paths if isinstance(path, str)))
    if update.get("rawInput") is not None:
        is_small = len(json.dumps(update["rawInput"])) <= _INPUT_CHARACTERS
        call = replace(call, raw_input=update["rawInput"] if is_small else None)
    return call


def block_text(block: object) -> str:
    """Return a content block as text; what is none is named."""
    if not isinstance(block, Mapping):
        return ""
    match block.get("type"):
        case "text":
            return _text(block.get("text"))
        case "resource_link":
            return f"[{_text(block.get('name')) or 'resource'}: {_text(block.get('uri'))}]"
        case "resource":
            resource = block.get("resource")
            return f"[resource: {_text(resource.get('uri'))}]" if isinstance(resource, Mapping) else "[resource]"
        case "image" | "audio" as kind:
            return f"[{kind}]"
        case _:
            return ""


def parts_of(content: Sequence[object]) -> tuple[Part, ...]:
    """Return what a tool call shows, as far as it is understood."""
    parts: list[Part] = []
    for each in content[:_PARTS]:
        match each:
            case {"type": "content", "content": block}:
                parts.append(TextPart(block_text(block)[-_PART_CHARACTERS:]))
            case {"type": "diff", "path": str(path)}:
                parts.append(DiffPart(path))
            case {"type": "terminal", "terminalId": str(terminal_id)}:
                parts.append(TerminalPart(terminal_id))
    return tuple(parts)


def entries_of(entries: object) -> tuple[tuple[str, str], ...]:
    """Return the content and the status of each entry of a plan."""
    if not isinstance(entries, list):
        return ()
    return tuple(
        (_text(each.get("content")), _text(each.get("status")) or "pending")
        for each in entries
        if isinstance(each, Mapping)
    )


def _are_words(value: object) -> TypeGuard[Sequence[str]]:
    return isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
