"""What an agent should know about its terminals, as Markdown: what runs, what has ended, and what is new."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hermitty.config import SessionSettings
from hermitty.engine.command import Command
from hermitty.engine.terminal import Terminal
from hermitty.model import State
from hermitty.output.markdown import code_block, code_span
from hermitty.output.truncate import fit
from hermitty.runtime.tracks import News


@dataclass(frozen=True, slots=True)
class ReportItem:
    """One terminal in a report, with what its reader has not been told."""

    terminal: Terminal
    number: int
    is_background: bool
    news: Sequence[News]


async def cool_down(hot: Callable[[], bool], *, edited: bool, settings: SessionSettings) -> None:
    """Wait until nothing is hot: output may lag behind, and a saved file takes a moment to have an effect."""
    if edited:
        await asyncio.sleep(settings.cooling_after_edit_s)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + settings.cooling_limit_s
    while hot() and loop.time() < deadline:
        await asyncio.sleep(settings.cooling_step_s)


def write_report(
    items: Sequence[ReportItem], *, not_shown: int, characters: int, silence_s: Callable[[Command], float | None]
) -> str:
    """Write the report. Output of others stays inside its blocks, whatever it contains.

    At most so many `characters` of new output are shown of each terminal; `silence_s` tells how long a command has
    been silent, if that is worth a word.
    """
    active = [item for item in items if item.terminal.is_busy]
    inactive = [item for item in items if not item.terminal.is_busy]
    parts: list[str] = []
    if active:
        parts.append("# Active terminals")
        parts += [_active(item, characters, silence_s) for item in active]
    if inactive:
        parts.append("# Inactive terminals")
        parts += [_inactive(item, characters) for item in inactive]
    if not_shown:
        parts.append(f"{not_shown} more terminal{'s are' if not_shown > 1 else ' is'} not shown.")
    return "\n\n".join(parts) + "\n" if parts else "No terminals.\n"


def _active(item: ReportItem, characters: int, silence_s: Callable[[Command], float | None]) -> str:
    command = item.terminal.current
    lines = [_heading(item, "Active"), _where(item)]
    if command is not None:
        who = "typed by a person, " if command.origin == "user" else ""
        lines.append(f"Command: {code_span(command.line or '(not known yet)')} ({who}{_seconds(command.duration_s)})")
        if (silent_s := silence_s(command)) is not None:
            lines.append(f"No output for {_seconds(silent_s)}.")
    return "\n".join(lines) + _news(item, characters)


def _inactive(item: ReportItem, characters: int) -> str:
    lines = [_heading(item, "Inactive"), _where(item)]
    last = item.terminal.last
    if last is not None and not item.news:
        lines.append(f"Last command: {code_span(last.line or '(not known)')} ({_ending(last.state, last.exit_code)})")
    return "\n".join(lines) + _news(item, characters)


def _news(item: ReportItem, characters: int) -> str:
    parts: list[str] = []
    for news, room in zip(item.news, _rooms(item.news, characters), strict=True):
        command = news.command
        if news.is_over:
            ending = _ending(command.state, command.exit_code)
            parts.append(
                f"Finished: {code_span(command.line or '(not known)')} ({ending} after {_seconds(command.duration_s)})"
            )
        if news.missed:
            parts.append(f"{news.missed} bytes of its output are no longer in memory.")
        if news.text.strip():
            label = "Output" if news.is_over else "New output"
            if room:
                parts.append(f"{label}:\n{code_block(fit(news.text, max_lines=None, max_chars=room).text)}")
            else:
                parts.append(f"{label}: {len(news.text)} characters are not shown.")
    return "".join(f"\n\n{part}" for part in parts)


def _rooms(news: Sequence[News], characters: int) -> list[int]:
    """Share the room for a terminal's output: the newest gets what it needs first."""
    rooms: list[int] = []
    for each in reversed(news):
        rooms.append(min(len(each.text), characters))
        characters -= rooms[-1]
    return rooms[::-1]


def _heading(item: ReportItem, state: str) -> str:
    background = ", background" if item.is_background else ""
    return f"## Terminal {item.number} ({state}{background})"


def _where(item: ReportItem) -> str:
    where = f"Id: `{item.terminal.id}`. Working directory: {code_span(item.terminal.cwd or '(not known)')}"
    effective = item.terminal.sandbox_effective
    return where if effective is None else f"{where}. Sandbox: {effective.summary}"


def _ending(state: State, exit_code: int | None) -> str:
    if state is State.DONE:
        return f"exit code {exit_code}" if exit_code is not None else "exit code not known"
    return state.value if exit_code is None else f"{state.value}, exit code {exit_code}"


def _seconds(duration_s: float) -> str:
    if duration_s < 90:
        return f"{duration_s:.1f} s" if duration_s < 10 else f"{duration_s:.0f} s"
    return f"{duration_s / 60:.0f} min"
