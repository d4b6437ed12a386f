"""Rules: what a person has decided about commands, once and for all.

A rule is a pattern over words, never over text: a program, the words that must follow it, and what else there may be.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from typing import Final, Self

from hermitty.errors import InvalidRule
from hermitty.policy.effects import Level
from hermitty.policy.sanity import problems

ANYTHING: Final = "anything"
WORKSPACE: Final = "workspace"

MAX_WORDS: Final = 64
_MAX_TEXT: Final = 4096
_ID = re.compile(r"[A-Za-z0-9_.:-]{1,80}")
_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")
_SHELLS: Final = ("bash", "zsh", "fish", "sh", "pwsh")


class Action(StrEnum):
    """What a rule says; of rules of the same length, the stricter one counts."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"

    @property
    def strictness(self) -> int:
        """Return a number that is larger for what is stricter."""
        return tuple(Action).index(self)


class Scope(StrEnum):
    """For how long and where an answer or a rule counts."""

    ONCE = "once"
    SESSION = "session"
    WORKSPACE = "workspace"
    USER = "user"


class Layer(IntEnum):
    """Where a rule comes from. Of two rules that say the same, the one of the later layer explains."""

    BUILT_IN = 0
    USER = 1
    WORKSPACE = 2
    SESSION = 3

    @property
    def label(self) -> str:
        """Return the name that users know."""
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    `command` is a program and the words that must follow it; empty, it stands for every command. An allow rule is
    narrow: these words at the front, in this order. A deny or ask rule is wide: options may stand anywhere, and may be
    written in any way.
    """

    decision: Action
    command: tuple[str, ...]
    id: str = ""
    exact: bool = False  # these words and no others
    flags: tuple[str, ...] | None = None  # the other options that may be given; None: any
    paths: str = ANYTHING  # where what it touches must be: anything, workspace, or a directory
    writes: bool = False  # redirections of the command to files are allowed too
    shells: tuple[str, ...] = ()  # none: any
    cwd: str | None = None  # where the command must run: this directory or below
    level: Level | None = None  # the gravest that it allows
    expires_at: float | None = None  # seconds since 1970
    reason: str = ""
    examples: tuple[str, ...] = ()  # lines that it must match
    counter_examples: tuple[str, ...] = ()  # lines that it must not match
    layer: Layer = Layer.USER
    origin: str = ""  # FILE:LINE, or who made it

    @classmethod
    def checked(cls, rule: "Rule") -> "Rule":
        """Return the rule with an id, or raise InvalidRule."""
        if problem := _problem(rule):
            raise InvalidRule(problem)
        return rule if rule.id else replace(rule, id=_derived_id(rule))

    @property
    def is_everything(self) -> bool:
        """Tell whether it stands for every command."""
        return not self.command

    @property
    def pattern(self) -> str:
        """Return the words as a person reads them."""
        return " ".join(self.command) or "*"

    def is_live(self, now: float) -> bool:
        """Tell whether it has not expired."""
        return self.expires_at is None or now < self.expires_at

    def __str__(self) -> str:
        where = f" ({self.origin})" if self.origin else ""
        return f"{self.decision} `{self.pattern}`{where}"

    def renamed(self, rule_id: str) -> Self:
        """Return the same rule under another id."""
        return replace(self, id=rule_id)


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a pattern that is written as one text. Quotes and the like have no meaning there."""
    if strange := re.search(r"""[^\w\s./:@%+,=~*-]""", text):
        raise InvalidRule(
            f"{text!r} has {strange.group()!r} in it; write the command as a list of words, such as "
            '["git", "commit", "-m"]'
        )
    return pattern_of(text.split())


def pattern_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a pattern; `*` alone is every command."""
    if list(words) == ["*"]:
        return ()
    if not words:
        raise InvalidRule("the command is empty; `*` stands for every command")
    if "*" in "".join(words):
        raise InvalidRule(
            f"`*` stands for every command, alone; {' '.join(words)!r} is a beginning that anything may follow, "
            "without one"
        )
    return tuple(words)


def _derived_id(rule: Rule) -> str:
    """Return an id that is the same whenever the same rule is read."""
    said = (rule.decision, rule.command, rule.exact, rule.flags, rule.paths, rule.writes, rule.shells, rule.cwd)
    return "r_" + hashlib.sha256(repr((said, rule.level, rule.layer)).encode()).hexdigest()[:10]


def _problem(rule: Rule) -> str | None:
    if rule.id and not _ID.fullmatch(rule.id):
        return f"the id {rule.id[:80]!r} may only have letters, digits and _ . : -"
    if problem := _problem_of_words(rule.command):
        return problem
    if rule.decision is not Action.ALLOW and (rule.flags is not None or rule.writes or rule.level is not None):
        return "flags, writes and level limit what is allowed; a rule that denies or asks has none of them"
    if rule.exact and (rule.is_everything or rule.flags is not None):
        return "an exact rule has a command, and no flags"
    for flag in rule.flags or ():
        if not flag.startswith("-") or flag in ("-", "--") or "=" in flag or any(map(str.isspace, flag)):
            return f"{flag!r} is not an option; write `-x` or `--name`, without a value"
    if rule.paths not in (ANYTHING, WORKSPACE) and not _is_directory(rule.paths):
        return f"paths is {rule.paths!r}; it must be anything, workspace or an absolute directory"
    if rule.cwd is not None and not _is_directory(rule.cwd):
        return f"cwd is {rule.cwd!r}; it must be an absolute directory"
    if unknown := [shell for shell in rule.shells if shell not in _SHELLS]:
        return f"there is no shell {unknown[0]!r}; rules know {', '.join(_SHELLS)}"
    if any(len(text) > _MAX_TEXT for text in (rule.reason, *rule.examples, *rule.counter_examples)):
        return f"a text is longer than {_MAX_TEXT} characters"
    return None


def _problem_of_words(words: tuple[str, ...]) -> str | None:
    if len(words) > MAX_WORDS or sum(map(len, words)) > _MAX_TEXT:
        return f"the command has more than {MAX_WORDS} words or {_MAX_TEXT} characters"
    if words and (not words[0] or words[0].startswith("-")):
        return f"a rule starts with a program, not with {words[0]!r}"
    for word in words:
        if found := problems(word):
            return f"the command has {found[0].reason}"
    return None


def _is_directory(text: str) -> bool:
    return _ABSOLUTE.match(text) is not None and not problems(text) and len(text) <= _MAX_TEXT
