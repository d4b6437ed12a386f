"""Arithmetic: a shell evaluates the values of variables as expressions, and runs the substitutions in their subscripts.

So an expression is harmless only if all that it is made of are numbers: digits, variables that are known to hold a
number, lengths, and the output of programs that print nothing else.
"""

import re
from collections.abc import Sequence

from hermitty.policy.arguments import Arg
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.programs.variables import dangerous_variable
from hermitty.policy.syntax.commands import Pipeline, Simple
from hermitty.policy.syntax.script import Script
from hermitty.policy.syntax.words import Arithmetic, Literal, Parameter, Part, Quoted, Substitution, Word
from hermitty.policy.world import World

_SPECIAL = frozenset("#?$!")
# The shell sets these itself; setting them otherwise is asked about.
_OF_THE_SHELL = frozenset(("RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID"))
_ORDINARY = re.compile(r"[A-Za-z0-9_\s+\-*/%<>=!&|^~?:,()#.;]*", re.ASCII)
_NAME = re.compile(r"(?<![A-Za-z0-9_#])[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_ASSIGNS = re.compile(r"\s*\(*\s*([A-Za-z_][A-Za-z0-9_]*)\s*=(?!=)(.*)", re.ASCII | re.DOTALL)
_DIGITS = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?")
_PLACES = re.compile(r"\s*-?[0-9]+(?:\s*:\s*-?[0-9]+)?\s*")
_ELEMENT = re.compile(r"-?[0-9]+|[@*]")
_DATE = re.compile(r"\+(?:%[-_0]?[sYmdHMSjuwyNVUGC])+")
_COUNTING = re.compile(r"-[lcwm]")
_COUNTED = re.compile(r"-[ivwxEFhs]*c[ivwxEFhs]*")
_PLAIN_FILE = re.compile(r"[\w./][\w./-]*")


def inspected(arithmetic: Arithmetic, world: World) -> tuple[list[Finding], World]:
    """Judge an expression; return what was found, and the world after its assignments."""
    found: list[Finding] = []
    numbers = set(world.numbers)
    if not _is_numeric(arithmetic, numbers, world):
        reason = f"`{arithmetic.text.strip()}` is calculated, which may run what is in its variables"
        found.append(unclear(reason, at=Arg(None, arithmetic.text, start=arithmetic.start, end=arithmetic.end)))
    for name in arithmetic.assigned:
        if danger := dangerous_variable(name, None):
            found.append(ask(danger, Level.HIGH, Effect.SESSION))
        world = world.with_variable(name, None, is_number=not found)
    return found, world


def is_number(word: Word, world: World) -> bool:
    """Tell whether a word becomes a number, or nothing."""
    return all(_is_number_part(part, world) for part in word.parts)


def is_plain_subscript(word: Word, world: World) -> bool:
    """Tell whether a subscript runs nothing: a number, `@`, `*`, or variables that hold numbers."""
    text = word.literal
    if text is not None:
        return bool(_ELEMENT.fullmatch(text)) or _holds_number(text, world)
    return is_number(word, world)


def is_plain_range(word: Word, world: World) -> bool:
    """Tell whether the places of `${x:1:2}` run nothing."""
    text = word.literal
    return bool(_PLACES.fullmatch(text)) if text is not None else is_number(word, world)


def _is_number_part(part: Part, world: World) -> bool:
    match part:
        case Literal(text=text):
            return bool(_DIGITS.fullmatch(text))
        case Quoted(text=str(text)):
            return bool(_DIGITS.fullmatch(text))
        case Quoted(parts=parts):
            return all(_is_number_part(one, world) for one in parts)
        case Parameter():
            return _is_number_parameter(part, world)
        case Arithmetic():
            return _is_numeric(part, set(world.numbers), world)
        case Substitution(script=script):
            return prints_numbers(script, world)
    return False


def _is_number_parameter(part: Parameter, world: World) -> bool:
    if part.is_length:
        return part.subscript is None or is_plain_subscript(part.subscript, world)
    return part.is_plain and (part.name in _SPECIAL or _holds_number(part.name, world))


def _holds_number(name: str, world: World, numbers: set[str] | frozenset[str] | None = None) -> bool:
    known = world.numbers if numbers is None else numbers
    return name in known or (name in _OF_THE_SHELL and name not in world.variables)


def _is_numeric(arithmetic: Arithmetic, numbers: set[str], world: World) -> bool:
    inside, offset = arithmetic.text, _offset_of(arithmetic)
    if offset is None:
        return False
    pieces: list[str] = []
    at = 0
    for part in arithmetic.parts:
        if isinstance(part, Quoted) or not _is_number_part(part, world):
            return False
        pieces.append(inside[at : part.start - offset])
        at = part.end - offset
    own = "0".join([*pieces, inside[at:]])
    if not _ORDINARY.fullmatch(own):
        return False
    for step in re.split(r"[,;]", own):
        match = _ASSIGNS.fullmatch(step)
        needed = _NAME.findall(match[2] if match else step)
        if not all(_holds_number(name, world, numbers) for name in needed):
            return False
        if match:
            numbers.add(match[1])
    return True


def _offset_of(arithmetic: Arithmetic) -> int | None:
    """Return where the text begins: behind `$((`, `((` or `$[`; None if it was written with escapes in backquotes."""
    around = arithmetic.end - arithmetic.start - len(arithmetic.text)
    return arithmetic.start + around // 2 + around % 2 if around in (3, 4, 5) else None


def prints_numbers(script: Script, world: World) -> bool:
    """Tell whether a script prints numbers only."""
    command = script.body[-1].command if len(script.body) == 1 else None
    if isinstance(command, Pipeline) and command.commands:
        command = command.commands[-1]
    if not isinstance(command, Simple) or command.assignments or not command.words:
        return False
    if any(redirect.operator not in ("<", "<<<", ">&") and redirect.fd != 2 for redirect in command.redirects):
        return False
    texts = [word.literal for word in command.words]
    words = [text for text in texts if text is not None]
    return len(words) == len(texts) and words[0] not in world.functions and _counts(words)


def _counts(words: Sequence[str]) -> bool:
    match words:
        case ["nproc"] | ["id", "-u" | "-g"]:
            return True
        case ["date", form]:
            return bool(_DATE.fullmatch(form))
        case ["wc", option]:
            return bool(_COUNTING.fullmatch(option))
        case ["grep", option, _] | ["grep", option, _, _]:
            return bool(_COUNTED.fullmatch(option)) and all(not word.startswith("-") for word in words[2:])
        case ["stat", "-c" | "--format", "%s" | "%Y" | "%X" | "%h" | "%i", file]:
            return bool(_PLAIN_FILE.fullmatch(file))
        case ["seq", *numbers]:
            return bool(numbers) and all(_DIGITS.fullmatch(number) for number in numbers)
    return False
