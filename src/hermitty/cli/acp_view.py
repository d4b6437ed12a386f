"""What `hermitty acp` shows of an agent's work: lines for people, or JSON for programs.

Nothing that an agent says reaches a terminal as it is: control characters, and marks that reorder text, are written
as escapes.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from hermitty.adapters.acp.permissions import Option, essence
from hermitty.adapters.acp.terminals import Exit, Shown, TerminalEvent
from hermitty.adapters.acp.updates import (
    CallChanged,
    Change,
    DiffPart,
    PlanChanged,
    Said,
    TerminalChanged,
    TerminalPart,
    TextPart,
    ToolCall,
)

_HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_TAIL_LINES = 10
_LINE_CHARACTERS = 500
# How many tool calls are remembered as shown.
_CALLS = 1000

# What a tool call does, while it does and after it did.
_WORDS: Mapping[str, tuple[str, str]] = {
    "read": ("reading", "read"),
    "edit": ("editing", "edited"),
    "delete": ("deleting", "deleted"),
    "move": ("moving", "moved"),
    "search": ("searching", "searched"),
    "execute": ("running", "ran"),
    "think": ("thinking", "thought"),
    "fetch": ("fetching", "fetched"),
    "switch_mode": ("switching mode", "switched mode"),
}
_OTHER_WORDS = ("doing", "did")
_MARKS = {"completed": "x", "in_progress": "~"}

Find = Callable[[str, str], Shown | None]  # a terminal, by session and id


def harmless(text: str) -> str:
    """Return text that a terminal only shows. Line feeds and tabs stay."""
    return _HARMFUL.sub(_escape, text.replace("\r\n", "\n"))


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def running_line(call: ToolCall) -> str:
    """Say what a tool call is about to do."""
    return f"* {_WORDS.get(call.kind, _OTHER_WORDS)[0]}: {_one_line(call.title or call.id)}"


def done_lines(call: ToolCall, find: Callable[[str], Shown | None]) -> list[str]:
    """Say what a tool call did, with the end of what it printed."""
    word = call.status if call.status in ("failed", "cancelled") else _WORDS.get(call.kind, _OTHER_WORDS)[1]
    lines = [f"* {word}: {_one_line(call.title or call.id)}"]
    for part in call.parts:
        match part:
            case TerminalPart(terminal_id):
                shown = find(terminal_id)
                if shown is not None:
                    lines += _tail(shown.text, shown.is_truncated)
                    lines.append(f"    {ended_line(shown.exit)}")
            case TextPart(text):
                lines += _tail(text)
            case DiffPart(path):
                lines.append(f"    changed {_one_line(path)}")
    return lines


def ended_line(ended: Exit | None) -> str:
    """Say how a command ended."""
    match ended:
        case None:
            return "still running"
        case Exit(signal=str(signal)):
            return f"killed by {_one_line(signal)}"
        case Exit(code=int(code)):
            return f"exit code {code}"
        case _:
            return "ended, nobody knows how"


def _tail(text: str, is_truncated: bool = False) -> list[str]:
    lines = harmless(text).rstrip("\n").split("\n") if text.strip() else []
    more = len(lines) - _TAIL_LINES
    note = [f"    | ... {more} more lines" if not is_truncated else "    | ... more"] if more > 0 else []
    return [*note, *(f"    | {line[:_LINE_CHARACTERS]}" for line in lines[-_TAIL_LINES:])]


def _one_line(text: str) -> str:
    return harmless(text.replace("\n", " "))[:_LINE_CHARACTERS]


class TextView:
    """Shows the agent's words on one stream, and what it does on another; in a conversation they are the same."""

    def __init__(self, words: TextIO, deeds: TextIO, *, find: Find, broken: Callable[[OSError], None]) -> None:
        self._words = words
        self._deeds = deeds
        self._find = find
        self._broken = broken
        self._open: TextIO | None = None  # the stream whose last line has no end
        self._speaker = ""
        self._told: dict[str, str] = {}  # the last status that was shown of each call
        self._last_command = ""

    def on_update(self, session_id: str, raw: Mapping[str, Any], change: Change) -> None:
        """Show what the agent tells."""
        match change:
            case Said(by="agent", text=text):
                self._say("agent", self._words, harmless(text))
            case Said(by="thought", text=text):
                prefix = "" if self._speaker == "thought" else "(thinking) "
                self._say("thought", self._deeds, prefix + harmless(text))
            case CallChanged(call=call):
                self._show_call(session_id, call)
            case TerminalChanged(begins=str(command)) if command != self._last_command:
                self._last_command = command
                self._lines([f"    $ {line}" for line in harmless(command).split("\n")])
            case PlanChanged(entries):
                marked = [f"  [{_MARKS.get(status, ' ')}] {_one_line(content)}" for content, status in entries]
                self._lines(["* plan:", *marked])

    def on_terminal(self, event: TerminalEvent) -> None:
        """Show what really runs."""
        if event.what == "created" and event.command != self._last_command:
            self._lines([f"    $ {line}" for line in harmless(event.command).split("\n")])

    def on_permission(self, session_id: str, call: ToolCall, options: Sequence[Option], answer: str | None) -> None:
        """Show what was answered."""
        kinds = {option.id: option.kind for option in options}
        said = "cancelled" if answer is None else "allowed" if kinds[answer].startswith("allow") else "refused"
        self._lines([f"* {said}: {_one_line(call.title or call.id)}"])

    def finish_line(self) -> None:
        """End the line that the agent's words have begun."""
        if self._open is not None:
            self._write(self._open, "\n")
            self._open = None
        self._speaker = ""

    def note(self, text: str) -> None:
        """Show a remark of our own."""
        self._lines([f"hermitty: {text}"])

    def _show_call(self, session_id: str, call: ToolCall) -> None:
        before = self._told.get(call.id)
        if before is None:
            self._lines([running_line(call)])
            if call.command is not None:
                self._last_command = essence(call.command)
                self._lines([f"    $ {line}" for line in harmless(self._last_command).split("\n")])
        if call.is_over and before != call.status:
            self._lines(done_lines(call, lambda terminal_id: self._find(session_id, terminal_id)))
        self._told[call.id] = call.status
        if len(self._told) > _CALLS:
            del self._told[next(iter(self._told))]

    def _say(self, speaker: str, stream: TextIO, text: str) -> None:
        if not text:
            return
        if speaker != self._speaker:
            self.finish_line()
        self._speaker = speaker
        self._write(stream, text)
        self._open = None if text.endswith("\n") else stream

    def _lines(self, lines: Sequence[str]) -> None:
        if self._open is self._deeds or self._words is self._deeds:
            self.finish_line()
        self._write(self._deeds, "".join(f"{line}\n" for line in lines))

    def _write(self, stream: TextIO, text: str) -> None:
        try:
            stream.write(text)
            stream.flush()
        except OSError as exc:  # whoever read it is gone
            self._broken(exc)


class JsonView:
    """Prints everything as JSON, one object a line, in ASCII."""

    def __init__(self, out: TextIO, *, broken: Callable[[OSError], None]) -> None:
        self._out = out
        self._broken = broken

    def on_update(self, session_id: str, raw: Mapping[str, Any], change: Change) -> None:
        """Print what the agent tells, as it tells it."""
        self.print("update", session_id=session_id, update=raw)

    def on_terminal(self, event: TerminalEvent) -> None:
        """Print what happens to a terminal."""
        self.print(
            "terminal",
            session_id=event.session_id,
            terminal_id=event.terminal_id,
            event=event.what,
            command=event.command,
            exit_code=event.exit.code if event.exit else None,
            signal=event.exit.signal if event.exit else None,
        )

    def on_permission(self, session_id: str, call: ToolCall, options: Sequence[Option], answer: str | None) -> None:
        """Print what was asked and answered."""
        self.print(
            "permission",
            session_id=session_id,
            tool_call_id=call.id,
            title=call.title,
            kind=call.kind,
            command=None if call.command is None else essence(call.command),
            answer=answer,
        )

    def print(self, kind: str, /, **fields: object) -> None:
        """Print one object."""
        try:
            self._out.write(json.dumps({"type": kind, **fields}) + "\n")
            self._out.flush()
        except OSError as exc:  # whoever read it is gone
            self._broken(exc)
