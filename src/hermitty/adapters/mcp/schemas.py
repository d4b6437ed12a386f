"""What a program reads: the structured results of the tools, as their output schemas say."""

from typing import Any, Literal

from pydantic import BaseModel, Field


class NeedsInputOutput(BaseModel):
    """A program waits for somebody to type."""

    prompt: str
    secret: bool
    how: Literal["kernel", "pattern"]


class CommandOutput(BaseModel):
    """What became of a command."""

    id: str = Field(description="the command; target of wait, read, write, send_keys and kill")
    command: str
    session: str | None
    terminal: str | None
    provider: Literal["pty", "pipe"]
    shell: str | None
    state: Literal["done", "running", "needs_input", "interrupted", "killed", "lost"]
    exit_code: int | None = Field(description="exact, or null; never guessed")
    signal: str | None
    quality: Literal["rich", "basic", "none"]
    text: str
    truncated: bool
    omitted_bytes: int
    total_bytes: int
    artifact: str | None
    stdout: str | None
    stderr: str | None
    cwd: str | None
    duration_s: float
    needs_input: NeedsInputOutput | None
    warnings: list[str]
    sandbox: str | None = Field(default=None, description="what confined it, and what is not enforced; null: nothing")


class WaitOutput(CommandOutput):
    """How a wait ended, and where the command stands."""

    reason: Literal["exit", "match", "idle", "needs_input", "timeout"]
    match: str | None


class ReadOutput(BaseModel):
    """A piece of output."""

    text: str
    offset: int
    line: int | None
    next_offset: int | None = Field(description="where to go on; null at the end")
    size: int


class FoundLine(BaseModel):
    """A line that matches."""

    line: int
    offset: int
    text: str


class SearchOutput(BaseModel):
    """What a search found."""

    matches: list[FoundLine]
    literal: bool
    next_offset: int | None
    size: int


class TypedOutput(BaseModel):
    """That something was typed."""

    command_id: str
    typed: int


class ScreenOutput(BaseModel):
    """What a screen shows."""

    terminal: str
    cols: int
    rows: int
    cursor_col: int
    cursor_row: int
    is_alternate: bool
    text: str


class TerminalOutput(BaseModel):
    """A terminal that is open."""

    id: str
    name: str | None
    session: str | None
    shell: str
    cwd: str | None
    cols: int
    rows: int
    quality: str
    is_busy: bool
    command: str | None
    command_id: str | None
    paused_by: str | None
    sandbox: str | None = Field(default=None, description="what confines it, and what is not enforced; null: nothing")


class ListOutput(BaseModel):
    """The terminals that are open."""

    terminals: list[TerminalOutput]


class KillOutput(BaseModel):
    """What was ended: the result of the command, or the terminal."""

    target: str
    state: str
    exit_code: int | None = None


class CheckOutput(BaseModel):
    """What the policy makes of a command."""

    decision: Literal["allow", "ask", "block"]
    level: str
    reasons: list[str]
    effects: list[str]
    commands: list[list[str]]
    rule: str | None
    suggested_rule: dict[str, Any] | None


class SpecCommandOutput(BaseModel):
    """Result and reason, as the specification has them."""

    result: str
    resolve_reason: dict[str, Any]
    terminal: str | None
    cwd: str | None
    truncated: bool
    artifact: str | None


class SpecOpenOutput(BaseModel):
    """A persistent terminal."""

    persistent_terminal_id: str
    cwd: str | None
    shell: str


class SpecKillOutput(BaseModel):
    """Nothing."""
