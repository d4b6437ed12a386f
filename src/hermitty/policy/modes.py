"""What to do about a line, from what the policy found, what the rules say, and how the user wants to be asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from hermitty.config import PolicySettings
from hermitty.policy.confined import is_confined
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.judged import JudgedLine
from hermitty.policy.places import is_within
from hermitty.policy.rules import Ruling, Says

# What stays inside of a workspace if its path does.
_LOCAL: Final = frozenset({Effect.READ, Effect.WRITE, Effect.DELETE})

ASK_ALWAYS: Final = "policy.mode is ask_always"
NOT_AUTOMATIC: Final = "policy.auto_approve_safe is off"
OWN_PLACES: Final = "it changes the settings, rules or records that hermitty goes by"


@dataclass(frozen=True, slots=True)
class Run:
    """Run it without a question. `how` says what decided."""

    how: Literal["safe", "rule", "mode", "sandbox"]


@dataclass(frozen=True, slots=True)
class Refuse:
    """Do not run it, and do not ask."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask a person. `reason` is what the policy itself does not say; `only_once`: no rule would change the answer."""

    reason: str = ""
    is_block: bool = False
    only_once: bool = False


Plan = Run | Refuse | Ask


def plan(
    settings: PolicySettings,
    line: JudgedLine,
    level: Level,
    ruling: Ruling,
    taint: str | None = None,
    own_places: Sequence[str] = (),
    confined_to: str | None = None,
) -> Plan:
    """Choose. `taint` says why names may mean something else in the terminal; `own_places` are what we go by.

    `confined_to` is the one directory that a sandbox lets the command write, if there is one that can be relied upon.
    """
    if settings.mode == "off":
        return Ask(is_block=True, only_once=True) if line.is_blocked else Run("mode")
    if ruling.says is Says.DENY:
        return Refuse(ruling.reason)
    if line.is_blocked:
        return Ask(is_block=True, only_once=True)
    if settings.mode == "ask_always":
        return Ask(ASK_ALWAYS, only_once=True)
    if taint is not None:
        return Ask(f"names may mean something else in this terminal: {taint}", only_once=True)
    if own_places and any(_changes(one, place) for one in line.worrying for place in own_places):
        return Ask(OWN_PLACES, only_once=True)
    if ruling.says is Says.ASK and ruling.rule is not None:
        return Ask(ruling.reason, only_once=True)
    if ruling.says is Says.ALLOW:
        if ruling.is_complete or (ruling.allowed_by and settings.auto_approve_safe):
            return Run("rule")
        return Run("safe") if settings.auto_approve_safe else Ask(NOT_AUTOMATIC)
    if not settings.confirm_dangerous and line.is_understood and level < Level.CRITICAL:
        return Run("mode")
    if confined_to is not None and settings.auto_approve_safe and is_confined(line, confined_to):
        return Run("sandbox")
    if settings.mode == "trust_workspace" and line.is_understood and _stays_inside(line):
        return Run("mode")
    return Ask()


def _changes(finding: Finding, place: str) -> bool:
    """Tell whether something is changed at a place, below it, or with everything around it."""
    path = finding.path
    return (
        finding.effect in (Effect.WRITE, Effect.DELETE)
        and path is not None
        and (is_within(path, place) or (finding.effect is Effect.DELETE and is_within(place, path)))
    )


def _stays_inside(line: JudgedLine) -> bool:
    """Tell whether all that should be asked about are small changes of files in the workspace."""
    roots = {command.here.workspace for command in line.commands}
    root = roots.pop() if len(roots) == 1 else None
    return all(_is_local(one, root) for one in line.worrying)


def _is_local(finding: Finding, root: str | None) -> bool:
    return (
        finding.effect in _LOCAL
        and finding.level <= Level.MEDIUM
        and finding.path is not None
        and is_within(finding.path, root)
    )
