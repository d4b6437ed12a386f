"""What a model reads: the output first, then one line in brackets that says where things stand."""

from collections.abc import Sequence

from hermitty.adapters.mcp.terminals import Shown, TerminalView, Waited
from hermitty.model import CommandResult, State
from hermitty.runtime.approvals import Question
from hermitty.runtime.artifacts import SearchResult
from hermitty.runtime.outputs import Piece


def command_text(result: CommandResult, hints: Sequence[str] = ()) -> str:
    """Write the result of a command."""
    confined = [f"sandbox: {result.sandbox}"] if result.sandbox else []
    notes = [_status(result), *confined, *result.warnings, *(f"hint: {hint}" for hint in hints)]
    if result.truncated:
        notes.append(
            f"{result.omitted_bytes} of {result.total_bytes} bytes are left out above; read or search_output "
            f"with target {result.id} has all"
        )
    return _with_notes(result.text, notes)


def waited_text(waited: Waited) -> str:
    """Write how a wait ended."""
    why = {
        "match": f"it printed {waited.match!r}",
        "idle": "it has been quiet for the time you gave",
        "timeout": "the wait is over",
    }.get(waited.reason)
    return command_text(waited.result) + (f"\n[{why}]" if why else "")


def piece_text(piece: Piece) -> str:
    """Write a piece of output."""
    where = f"bytes {piece.offset}-{piece.next if piece.next is not None else piece.size} of {piece.size}"
    line = f", from line {piece.line}" if piece.line is not None else ""
    more = f"; go on with offset {piece.next}" if piece.next is not None else "; the end"
    return _with_notes(piece.text, [f"{where}{line}{more}"])


def found_text(found: SearchResult) -> str:
    """Write what a search found."""
    lines = "".join(f"{match.line}: {match.text}\n" for match in found.matches)
    count = len(found.matches)
    notes = [f"{count} matching line{'' if count == 1 else 's'} in {found.size} bytes"]
    if found.problem is not None:
        notes.append(f"searched for as plain text: {found.problem}")
    if found.next is not None:
        notes.append(f"there may be more; go on with offset {found.next}")
    return _with_notes(lines, notes)


def screen_text(shown: Shown) -> str:
    """Write what a screen shows."""
    kind = ", a full-screen program" if shown.is_alternate else ""
    where = f"cursor at row {shown.cursor_row + 1}, column {shown.cursor_col + 1}"
    return _with_notes(
        shown.text.rstrip("\n"), [f"screen of {shown.terminal}, {shown.cols}x{shown.rows}{kind}; {where}"]
    )


def terminals_text(terminals: Sequence[TerminalView]) -> str:
    """Write which terminals there are."""
    if not terminals:
        return "[no terminal is open; run opens one by itself]"
    return "\n".join(_terminal_line(each) for each in terminals)


def opened_text(terminal: TerminalView) -> str:
    """Write that a terminal is open."""
    confined = f" Sandbox: {terminal.sandbox}." if terminal.sandbox else ""
    return (
        f"Terminal {terminal.id} is open in {terminal.cwd} ({terminal.shell}).{confined} Give it as terminal_id to run."
    )


def question_text(question: Question) -> str:
    """Write a question for a person. The command is complete, with its control characters made visible."""
    lines = ["Run this command?", "", *(f"    {line}" for line in question.command.split("\n")), ""]
    where = f" in {_visible(question.cwd)}" if question.cwd else ""
    lines.append(f"It would run in {question.shell}{where}. Level: {question.level}.")
    if question.effects:
        lines.append(f"It {', '.join(question.effects)}.")
    if question.reasons:
        lines.append(f"Why you are asked: {_visible('; '.join(question.reasons[:5]))}.")
    if question.suggested_rule is not None:
        rule = " ".join(question.suggested_rule.command)
        lines.append(f"An answer for more than once keeps the rule: {_visible(rule)}")
    return "\n".join(lines)


def _status(result: CommandResult) -> str:
    where = f"command {result.id}" + (f" in terminal {result.terminal}" if result.terminal else "")
    took = f"{result.duration_s:.1f} s"
    match result.state:
        case State.DONE if result.exit_code is None:
            return f"done, exit code not known, {took}; {where}"
        case State.DONE:
            signal = f" ({result.signal})" if result.signal else ""
            return f"exit code {result.exit_code}{signal}, {took}; {where}"
        case State.RUNNING:
            return f"still running after {took}; {where}; use wait, read, write or kill with it"
        case State.NEEDS_INPUT:
            asked = result.needs_input
            what = f" for {asked.prompt.strip()!r}" if asked is not None and asked.prompt.strip() else ""
            secret = ", which is not echoed: a person may have to type it" if asked is not None and asked.secret else ""
            return f"waiting for input{what}{secret}; {where}; use write or send_keys"
        case _:
            return f"{result.state.value} after {took}; {where}"


def _terminal_line(terminal: TerminalView) -> str:
    name = f" {terminal.name!r}" if terminal.name else ""
    doing = f"runs {terminal.command_id}: {terminal.command or '?'}" if terminal.is_busy else "idle"
    paused = f"; {terminal.paused_by} has taken it over" if terminal.paused_by else ""
    confined = f"; sandbox: {terminal.sandbox}" if terminal.sandbox else ""
    return f"{terminal.id}{name} {terminal.shell} in {terminal.cwd}: {doing}{paused}{confined}"


def _visible(text: str) -> str:
    """Return text in which nothing hides or moves what is around it."""
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in text)


def _with_notes(text: str, notes: Sequence[str]) -> str:
    end = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{end}" + "\n".join(f"[{note}]" for note in notes)
