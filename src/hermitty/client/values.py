"""What a server tells, as values. Names that are not known here are skipped, so that a server may tell more.

Those that a runtime returns have the same fields as its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar

from hermitty.errors import InvalidMessage
from hermitty.model import State

T = TypeVar("T")


def build(kind: type[T], told: object, **more: Any) -> T:
    """Make a value of what a server told. Raises InvalidMessage when something is missing."""
    if not isinstance(told, dict):
        raise InvalidMessage(f"the server told no {kind.__name__}")
    names = {each.name for each in fields(kind)}  # type: ignore[arg-type]  # all of them are dataclasses
    try:
        return kind(**{name: value for name, value in told.items() if name in names} | more)
    except TypeError as exc:
        raise InvalidMessage(f"what the server told of a {kind.__name__} is not complete: {exc}") from exc


@dataclass(frozen=True, slots=True)
class RunningCommand:
    """The command that runs in a terminal. `started_at` is in seconds since 1970."""

    id: str
    command: str | None
    source: Literal["agent", "user"]
    started_at: float


@dataclass(frozen=True, slots=True)
class LastCommand:
    """The last command that ran in a terminal."""

    id: str
    command: str | None
    exit_code: int | None
    state: str
    duration_s: float


@dataclass(frozen=True, slots=True)
class TerminalView:
    """A terminal as the server sees it."""

    id: str
    number: int
    name: str | None
    workspace: str | None
    session: str | None
    shell: str
    cwd: str | None
    cols: int
    rows: int
    quality: str
    state: str
    command: RunningCommand | None = None
    last: LastCommand | None = None
    kind: str = "system"
    pid: int | None = None
    title: str = ""
    offset: int = 0
    start: int = 0
    opened_at: float | None = None
    paused_by: str | None = None
    viewers: int = 0
    takes_commands: bool = True
    sandbox: str | None = None


@dataclass(frozen=True, slots=True)
class CommandView:
    """A command as the server sees it, without its output."""

    id: str
    command: str | None
    terminal: str | None
    session: str | None
    workspace: str | None
    source: str
    state: str
    exit_code: int | None
    started_at: float
    duration_s: float


@dataclass(frozen=True, slots=True)
class TerminalInfo:
    """Whose a terminal is. The server does not tell how often it changed directory, nor who has it right now."""

    number: int
    session: str | None
    workspace: str | None
    switches: int
    is_leased: bool
    name: str | None = None
    opened_at: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class OutputSlice:
    """A piece of a command's output. `next` is where to go on; `missed` bytes were no longer there."""

    offset: int
    data: bytes
    text: str
    missed: int
    next: int


@dataclass(frozen=True, slots=True)
class Match:
    """A line that matches."""

    line: int
    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found; see the runtime's own."""

    matches: tuple[Match, ...]
    literal: bool
    problem: str | None
    stopped: Literal["matches", "characters", "time"] | None
    next: int | None
    size: int


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place between two entries of the history."""

    started_at: float
    number: int

    @property
    def text(self) -> str:
        """Return it as the server writes it."""
        return f"{self.started_at:.9f}-{self.number}"


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """What is remembered of one command."""

    command_id: str
    command: str
    source: str
    started_at: float
    state: State
    duration_s: float | None = None
    exit_code: int | None = None
    signal: str | None = None
    session: str | None = None
    workspace: str | None = None
    terminal: str | None = None
    provider: str = "pty"
    shell: str | None = None
    cwd: str | None = None
    cwd_after: str | None = None
    decision: str | None = None
    rule: str | None = None
    output_bytes: int = 0
    artifact: str | None = None


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Entries, newest first; `next` is where to go on; `missing` commands of that time could not be recorded."""

    entries: list[HistoryEntry]
    next: Cursor | None
    missing: int


@dataclass(frozen=True, slots=True)
class Decision:
    """What the policy says about a command, as it goes over the wire."""

    decision: Literal["allow", "ask", "block"]
    level: str
    reasons: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
    rule: str | None = None
    suggested_rule: Mapping[str, object] | None = None
    parts: tuple[Mapping[str, object], ...] = ()

    @property
    def is_allowed(self) -> bool:
        """Tell whether the line may run without a question."""
        return self.decision == "allow"

    def to_dict(self) -> dict[str, object]:
        """Return it as it goes over the wire."""
        return {
            "decision": self.decision,
            "level": self.level,
            "reasons": list(self.reasons),
            "effects": list(self.effects),
            "commands": [list(words) for words in self.commands],
            "rule": self.rule,
            "suggested_rule": None if self.suggested_rule is None else dict(self.suggested_rule),
            "parts": [dict(part) for part in self.parts],
        }


@dataclass(frozen=True, slots=True)
class SuggestedRule:
    """What is remembered for any answer that counts longer than once, as files of rules have it."""

    table: Mapping[str, Any]

    @property
    def pattern(self) -> str:
        """Return the words as a person reads them."""
        words = self.table.get("command", ())
        return words if isinstance(words, str) else " ".join(map(str, words)) or "*"


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked; see the runtime's own. `scopes` are texts."""

    id: str
    line: str
    command: str
    cwd: str | None
    shell: str
    decision: Literal["ask", "block"]
    level: str
    effects: tuple[str, ...]
    reasons: tuple[str, ...]
    scopes: tuple[str, ...]
    suggested_rule: SuggestedRule | None
    confirmation: str | None
    session: str | None
    workspace: str | None
    terminal: str | None
    origin: str
    asked_at: float
    expires_at: float | None


def terminal_of(told: object) -> TerminalView:
    """Read a terminal."""
    view = build(TerminalView, told)
    assert isinstance(told, dict)
    running, last = told.get("command"), told.get("last")
    return (
        build(
            TerminalView,
            told,
            command=None if running is None else build(RunningCommand, running),
            last=None if last is None else build(LastCommand, last),
        )
        if running is not None or last is not None
        else view
    )


def question_of(told: object) -> Question:
    """Read a question."""
    if not isinstance(told, dict):
        raise InvalidMessage("the server told no question")
    rule = told.get("suggested_rule")
    lists = {name: tuple(told.get(name) or ()) for name in ("effects", "reasons", "scopes")}
    return build(Question, told, **lists, suggested_rule=None if rule is None else SuggestedRule(rule))


def decision_of(told: object) -> Decision:
    """Read a decision."""
    if not isinstance(told, dict):
        raise InvalidMessage("the server told no decision")
    lists = {name: tuple(told.get(name) or ()) for name in ("reasons", "effects", "parts")}
    return build(Decision, told, **lists, commands=tuple(tuple(words) for words in told.get("commands") or ()))


def history_of(told: object) -> HistoryPage:
    """Read a page of the history."""
    if not isinstance(told, dict):
        raise InvalidMessage("the server told no history")
    entries = [build(HistoryEntry, each, state=State(each["state"])) for each in told.get("entries", ())]
    return HistoryPage(entries, cursor_of(told.get("next")), int(told.get("missing") or 0))


def cursor_of(text: str | None) -> Cursor | None:
    """Read a place in the history."""
    if text is None:
        return None
    at, _, number = text.partition("-")
    return Cursor(float(at), int(number))


def search_of(told: object) -> SearchResult:
    """Read what a search found."""
    if not isinstance(told, dict):
        raise InvalidMessage("the server told no matches")
    return build(SearchResult, told, matches=tuple(build(Match, each) for each in told.get("matches", ())))
