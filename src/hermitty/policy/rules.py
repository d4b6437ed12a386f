"""What rules say about a judged line.

Every simple command of the line is looked at, those inside of substitutions, wrappers and `sh -c` too. For each one
the longest rule counts; of equally long ones the strictest. One denied command denies the line; a line is allowed when
every command in it is, by a rule or because it is harmless. No rule lifts a block, or allows what could not be
analysed.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Surroundings
from hermitty.policy.effects import Effect, Finding, Level, Verdict
from hermitty.policy.judged import Judged, JudgedLine
from hermitty.policy.places import is_within, known_path, resolve
from hermitty.policy.rule import ANYTHING, WORKSPACE, Action, Rule
from hermitty.policy.rule_matching import Match, matches_narrowly, matches_widely

# Code that is nowhere to be seen: a rule about commands cannot know what it is.
_HIDDEN: Final = frozenset({Effect.UNKNOWN, Effect.EXEC})


class Says(StrEnum):
    """What is to be done about a line after the rules were asked."""

    ALLOW = "allow"
    ASK = "ask"
    BLOCK = "block"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Ruling:
    """The outcome. `rule` explains it: None where no rule had a say."""

    says: Says
    rule: Rule | None = None
    reason: str = ""
    allowed_by: tuple[Rule, ...] = ()
    is_complete: bool = False  # every command is allowed by a rule, the harmless ones too


class RuleSet:
    """Rules of all layers, found quickly by the program that they are about."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules = tuple(rules)
        self._by_program: defaultdict[str, list[Rule]] = defaultdict(list)
        self._of_all: list[Rule] = []
        for rule in self.rules:
            if rule.is_everything:
                self._of_all.append(rule)
            else:
                self._by_program[_key(rule.command[0])].append(rule)

    def judge(self, line: JudgedLine, now: float) -> Ruling:
        """Say what the rules make of a line."""
        rulings = [self._of_command(command, now) for command in line.commands]
        if denied := _first(rulings, Says.DENY):
            return denied
        if line.is_blocked:
            return Ruling(Says.BLOCK)
        if asked := _first(rulings, Says.ASK):
            return asked
        allowing = {
            id(command): ruling.rule
            for command, ruling in zip(line.commands, rulings, strict=True)
            if ruling is not None and ruling.rule is not None
        }
        used = tuple(dict.fromkeys(allowing.values()))
        is_covered = line.is_understood and all(
            command.verdict is Verdict.ALLOW or _is_named(command, line, allowing) for command in line.commands
        )
        worries = (one for one in line.around if one.verdict is not Verdict.ALLOW)
        if not is_covered or not all(self._covers_around(one, line, allowing, now) for one in worries):
            return Ruling(Says.ASK, allowed_by=used)
        best = max(used, key=lambda rule: (len(rule.command), rule.layer), default=None)
        is_complete = bool(used) and all(_is_named(command, line, allowing) for command in line.commands)
        return Ruling(Says.ALLOW, best, allowed_by=used, is_complete=is_complete)

    def _of_command(self, command: Judged, now: float) -> Ruling | None:
        """Return what the rules say about one command; None when they say nothing."""
        best: tuple[int, int, int] | None = None
        chosen: Rule | None = None
        perhaps: Rule | None = None
        for rule in self._candidates(command):
            if not rule.is_live(now) or (rule.shells and command.here.shell not in rule.shells):
                continue
            match = _matched(rule, command)
            rank = (len(rule.command), rule.decision.strictness, int(rule.layer))
            if match is Match.YES and (best is None or rank > best):
                best, chosen = rank, rule
            elif match is Match.PERHAPS and (perhaps is None or len(rule.command) > len(perhaps.command)):
                perhaps = rule
        is_open = chosen is None or chosen.decision is Action.ALLOW
        if perhaps is not None and is_open and (chosen is None or len(perhaps.command) >= len(chosen.command)):
            return Ruling(Says.ASK, perhaps, f"it may be what this rule is about: {perhaps}")
        if chosen is None:
            return None
        why = f": {chosen.reason}" if chosen.reason else ""
        match chosen.decision:
            case Action.DENY:
                return Ruling(Says.DENY, chosen, f"a rule denies it, {chosen}{why}")
            case Action.ASK:
                return Ruling(Says.ASK, chosen, f"a rule asks about it, {chosen}{why}")
            case Action.ALLOW:
                return Ruling(Says.ALLOW, chosen)

    def _candidates(self, command: Judged) -> Sequence[Rule]:
        name = command.argv[0].text if command.argv else ""
        if name is None:
            return self.rules
        return [*self._by_program.get(_key(name), ()), *self._of_all]

    def _covers_around(self, finding: Finding, line: JudgedLine, allowing: Mapping[int, Rule], now: float) -> bool:
        """Tell whether what stands around the commands is allowed: by `*`, or a redirection by a rule with `writes`."""
        if finding.verdict is Verdict.BLOCK or finding.effect is None or finding.effect in _HIDDEN:
            return False
        for rule in self._of_all:
            is_limited = rule.shells or rule.cwd is not None or rule.paths != ANYTHING
            if rule.decision is Action.ALLOW and rule.is_live(now) and not is_limited and _reaches(rule, finding.level):
                return True
        inside = [span for span in line.spans if span[0] <= finding.start and finding.end <= span[1]]
        if not inside or finding.end == 0:
            return False
        start, end = min(inside, key=lambda span: span[1] - span[0])
        owners = [one for one in line.commands if one.end and start <= one.start and one.end <= end]
        # What a wrapper runs decides, not the wrapper.
        owners = [one for one in owners if not any(one.contains(other) for other in owners)]
        return bool(owners) and all(_covers(allowing.get(id(one)), finding, one.here) for one in owners)


def _covers(rule: Rule | None, finding: Finding, here: Surroundings) -> bool:
    if rule is None or not _reaches(rule, finding.level):
        return False
    is_write = rule.writes and finding.effect is Effect.WRITE
    return (rule.is_everything or is_write) and _is_inside(rule, finding.path, here)


def _matched(rule: Rule, command: Judged) -> Match:
    here = command.here
    if rule.decision is Action.ALLOW:
        fits = (
            matches_narrowly(rule, command.argv, here)
            and (rule.cwd is None or (here.cwd is not None and is_within(here.cwd, rule.cwd)))
            and command.verdict is not Verdict.BLOCK
            and _reaches(rule, command.level)
            and _stays_inside(rule, command)
        )
        return Match.YES if fits else Match.NO
    match = matches_widely(rule, command.argv, here)
    if match is Match.NO:
        return match
    if rule.cwd is not None:
        if here.cwd is None:
            match = Match.PERHAPS
        elif not is_within(here.cwd, rule.cwd):
            return Match.NO
    return min(match, _touches(rule, command))


def _stays_inside(rule: Rule, command: Judged) -> bool:
    """Tell whether all that a command may touch is where an allow rule wants it."""
    if rule.paths == ANYTHING:
        return True
    here = command.here
    if here.cwd is None or not _is_inside(rule, here.cwd, here):
        return False
    for one in command.findings:
        about_files = one.effect in (Effect.READ, Effect.WRITE, Effect.DELETE, Effect.CREDENTIALS, Effect.DEVICE)
        if about_files and one.path is not None and not _is_inside(rule, one.path, here):
            return False
    return all(_word_stays(rule, arg, here) for arg in command.argv[len(rule.command) or 1 :])


def _word_stays(rule: Rule, arg: Arg, here: Surroundings) -> bool:
    """Tell whether a word, taken for a path, or an option with one attached, is inside."""
    if arg.text is None:
        # Of a glob, everything begins with what stands before the first wildcard.
        known = arg.is_glob and not arg.may_split and not arg.is_home and ".." not in arg.shown
        return known and _is_inside(rule, resolve(arg.prefix or ".", here), here)
    path = known_path(arg, here)
    texts = [arg.text, *([arg.text.partition("=")[2]] if "=" in arg.text else [])]
    if arg.text.startswith("-") and len(arg.text) > 2 and not arg.text.startswith("--"):
        texts.append(arg.text[2:])  # `-I/usr/include`
    return (path is None or _is_inside(rule, path, here)) and all(
        _is_inside(rule, resolve(here.home + text[1:] if text.startswith("~/") and here.home else text, here), here)
        for text in texts
    )


def _touches(rule: Rule, command: Judged) -> Match:
    """Tell whether a command touches what a rule that denies or asks is about."""
    if rule.paths == ANYTHING:
        return Match.YES
    here = command.here
    paths = [one.path for one in command.findings if one.path is not None]
    paths += [path for arg in command.argv[1:] if (path := known_path(arg, here)) is not None]
    if any(_is_inside(rule, path, here) for path in paths):
        return Match.YES
    is_open = here.cwd is None or any(arg.text is None for arg in command.argv)
    return Match.PERHAPS if is_open else Match.NO


def _is_inside(rule: Rule, path: str | None, here: Surroundings) -> bool:
    if rule.paths == ANYTHING:
        return True
    root = here.workspace if rule.paths == WORKSPACE else rule.paths
    return path is not None and root is not None and is_within(path, root)


def _first(rulings: Sequence[Ruling | None], says: Says) -> Ruling | None:
    return next((ruling for ruling in rulings if ruling is not None and ruling.says is says), None)


def _is_named(command: Judged, line: JudgedLine, allowing: Mapping[int, Rule]) -> bool:
    """Tell whether a rule allows a command, or has it among its words: `sudo apt update` is about apt, too."""
    if id(command) in allowing:
        return True
    for outer in line.commands:
        rule = allowing.get(id(outer))
        if rule is not None and outer.contains(command) and command.verdict is not Verdict.BLOCK:
            named = outer.argv[1 : len(rule.command)]
            if any(arg.start == command.start for arg in named) and _reaches(rule, command.level):
                return True
    return False


def _reaches(rule: Rule, level: Level) -> bool:
    return rule.level is None or level <= rule.level


def _key(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2].casefold().removesuffix(".exe")
