"""Asking the person at the terminal about a command."""

import os
import sys
from collections.abc import Callable, Generator
from typing import TextIO

from hermitty.cli.escapes import visible, visible_lines
from hermitty.runtime.approvals import Approval, Question, Scope

# The keys of what an answer can count for.
_KEYS = {Scope.SESSION: "e", Scope.WORKSPACE: "w", Scope.USER: "a"}
_MEANING = {
    Scope.SESSION: "allow for this session",
    Scope.WORKSPACE: "allow in this workspace",
    Scope.USER: "always allow",
}
_TRIES = 3


def can_ask() -> bool:
    """Tell whether a person sees what we write and types what we read."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_on_terminal(question: Question) -> Approval:
    """Show a question and return what the person says. Without a terminal, an end of input or Ctrl-C it is a no."""
    by = own_name()
    if not can_ask():
        return Approval("deny", by=by, note="there is no terminal to ask on")
    # What was typed before the question was seen is no answer to it.
    forget_typed_ahead()
    try:
        return _ask(question, by, sys.stdin.readline, sys.stderr)
    except KeyboardInterrupt:
        return Approval("deny", by=by, note="interrupted")


def describe(question: Question) -> str:
    """Return a question as text: the command, where, what it does, how grave that is and why it is asked."""
    lines = [f"hermitty: {'this command is blocked' if question.confirmation else 'may this command run?'}", ""]
    lines += [f"    {line}" for line in visible_lines(question.command).split("\n")]
    lines += ["", f"  in       {visible(question.cwd or 'an unknown directory')}", f"  level    {question.level}"]
    if question.effects:
        lines.append(f"  effects  {', '.join(question.effects)}")
    lines += [f"  {'because' if not number else '':<7}  {visible(why)}" for number, why in enumerate(question.reasons)]
    if question.suggested_rule is not None:
        lines.append(f"  rule     {visible(question.suggested_rule.pattern)} (what any longer answer would allow)")
    return "\n".join(lines) + "\n"


def dialogue(question: Question, by: str) -> Generator[str, str | None, Approval]:
    """Yield what to show, take what is said then (None at the end of the input), and return the answer. Pure."""
    show = describe(question)
    if question.confirmation is not None:
        show += f"\nto run it once all the same, type: {question.confirmation}\nanything else is a no: "
        typed = ((yield show) or "").strip()
        is_confirmed = typed in (question.confirmation, question.line.strip())
        return Approval("allow", typed=typed, by=by) if is_confirmed else Approval("deny", by=by)
    keys = {key: scope for scope, key in _KEYS.items() if scope in question.scopes}
    longer = "".join(f", [{key}] {_MEANING[scope]}" for key, scope in keys.items())
    for _ in range(_TRIES):
        said = yield f"{show}\n[y] allow once, [n] no, [s] skip it{longer}: "
        match (said or "").strip().lower():
            case "y" | "yes":
                return Approval("allow", by=by)
            case "n" | "no":
                return Approval("deny", by=by)
            case "s" | "skip":
                return Approval("skip", by=by)
            case key if key in keys:
                return Approval("allow", keys[key], by=by)
        if said is None:
            break
        show = ""
    return Approval("deny", by=by, note="no answer that could be understood")


def _ask(question: Question, by: str, read: Callable[[], str], out: TextIO) -> Approval:
    talk = dialogue(question, by)
    try:
        show = next(talk)
        while True:
            out.write(show)
            out.flush()
            show = talk.send(read() or None)
    except StopIteration as over:
        answer: Approval = over.value
        return answer


def own_name() -> str:
    """Return who answers, for the record."""
    return os.environ.get("USER") or os.environ.get("USERNAME") or "the person at the terminal"


def forget_typed_ahead() -> None:
    """Forget what was typed before the question was there."""
    try:
        import termios
    except ImportError:  # Windows
        return
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
