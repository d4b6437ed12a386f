"""What an agent should know about its terminals, as Markdown: what runs, what has ended, and what is new."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hermitty.config import OutputSettings, SessionSettings
from hermitty.engine.terminal import Terminal
from hermitty.model import State
from hermitty.output.markdown import code_block, code_span
from hermitty.output.truncate import fit
from hermitty.runtime.tracks import News

# Silence of this length is worth a word.
_SILENCE_S = 60.0


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


def write_report(items: Sequence[ReportItem], settings: OutputSettings, silent_s: Callable[[Terminal], float]) -> str:
    """Write the report. Output of others stays inside its blocks, whatever it contains."""
    shown = [*items[: settings.report_terminals]]
    active = [item for item in shown if item.terminal.is_busy]
    inactive = [item for item in shown if not item.terminal.is_busy]
    parts: list[str] = []
    if active:
        parts.append("# Active terminals")
        parts += [_active(item, settings, silent_s(item.terminal)) for item in active]
    if inactive:
        parts.append("# Inactive terminals")
        parts += [_inactive(item, settings) for item in inactive]
    if len(items) > len(shown):
        parts.append(f"{len(items) - len(shown)} more terminals are not shown.")
    return "\n\n".join(parts) + "\n" if parts else "No terminals.\n"


def _active(item: ReportItem, settings: OutputSettings, silent_s: float) -> str:
    command = item.terminal.current
    lines = [_heading(item, "Active"), _where(item)]
    if command is not None:
        who = "typed by a person, " if command.origin == "user" else ""
        lines.append(f"Command: {code_span(command.line or '(not known yet)')} ({who}{_seconds(command.duration_s)})")
    if silent_s >= _SILENCE_S:
        lines.append(f"No output for {_seconds(silent_s)}.")
    return "\n".join(lines) + _news(item, settings)


def _inactive(item: ReportItem, settings: OutputSettings) -> str:
    lines = [_heading(item, "Inactive"), _where(item)]
    last = item.terminal.last
    if last is not None and not item.news:
        lines.append(f"Last command: {code_span(last.line or '(not known)')} ({_ending(last.state, last.exit_code)})")
    return "\n".join(lines) + _news(item, settings)


def _news(item: ReportItem, settings: OutputSettings) -> str:
    parts: list[str] = []
    for news in item.news:
        command = news.command
        if news.is_over:
            ending = _ending(command.state, command.exit_code)
            parts.append(
                f"Finished: {code_span(command.line or '(not known)')} ({ending} after {_seconds(command.duration_s)})"
            )
        if news.missed:
            parts.append(f"{news.missed} bytes of its output are no longer in memory.")
        if news.text.strip():
            text = fit(news.text, max_lines=None, max_chars=settings.report_characters).text
            parts.append(f"{'Output' if news.is_over else 'New output'}:\n{code_block(text)}")
    return "".join(f"\n\n{part}" for part in parts)


def _heading(item: ReportItem, state: str) -> str:
    background = ", background" if item.is_background else ""
    return f"## Terminal {item.number} ({state}{background})"


def _where(item: ReportItem) -> str:
    return f"Id: `{item.terminal.id}`. Working directory: {code_span(item.terminal.cwd or '(not known)')}"


def _ending(state: State, exit_code: int | None) -> str:
    if state is State.DONE:
        return f"exit code {exit_code}" if exit_code is not None else "exit code not known"
    return state.value if exit_code is None else f"{state.value}, exit code {exit_code}"


def _seconds(duration_s: float) -> str:
    if duration_s < 90:
        return f"{duration_s:.1f} s" if duration_s < 10 else f"{duration_s:.0f} s"
    return f"{duration_s / 60:.0f} min"
