"""Findings about words of a line, made in one place so that they read alike."""

from hermitty.policy.arguments import Arg
from hermitty.policy.effects import Effect, Finding, Level, Verdict

# The reason for a shell or an interpreter that runs what comes through a pipe. Whoever judges the pipe looks for it.
RUNS_INPUT = "runs commands that it reads from its input"


def note(reason: str, effect: Effect | None = None, *, at: Arg | None = None, path: str | None = None) -> Finding:
    """Tell about something that may happen without a question."""
    return _made(Verdict.ALLOW, Level.LOW, reason, effect, at, path)


def ask(reason: str, level: Level, effect: Effect, *, at: Arg | None = None, path: str | None = None) -> Finding:
    """Tell about something that a person should decide."""
    return _made(Verdict.ASK, level, reason, effect, at, path)


def block(reason: str, effect: Effect, *, at: Arg | None = None, path: str | None = None) -> Finding:
    """Tell about something that destroys a system, a home directory or a device."""
    return _made(Verdict.BLOCK, Level.CRITICAL, reason, effect, at, path)


def unclear(reason: str, *, at: Arg | None = None) -> Finding:
    """Tell about something that cannot be analysed."""
    return ask(reason, Level.MEDIUM, Effect.UNKNOWN, at=at)


def _made(
    verdict: Verdict, level: Level, reason: str, effect: Effect | None, at: Arg | None, path: str | None
) -> Finding:
    return Finding(verdict, level, reason, effect, path, at.start if at else 0, at.end if at else 0)
