"""Arithmetic expressions: read as text with expansions, not evaluated."""

import re

from hermitty.policy.expansions import backquotes, dollar
from hermitty.policy.lexing import Scanner
from hermitty.policy.quoting import double, single
from hermitty.policy.syntax.words import Arithmetic, Parameter, Part

_PLAIN = re.compile(r"[^\\'\"$`()\[\]]+")
_ORDINARY = re.compile(r"[A-Za-z0-9_\s+\-*/%<>=!&|^~?:,()#.;]*", re.ASCII)
_NAME = re.compile(r"(?<![A-Za-z0-9_#])[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_ASSIGNED = re.compile(
    r"(?<!\w)([A-Za-z_]\w*+)\s*+(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--)\s*+([A-Za-z_]\w*+)", re.ASCII
)


def arithmetic(s: Scanner, start: int, closing: str, quoted: bool) -> Arithmetic:
    """Read an expression up to `closing` and step over that. The position is behind the opening at `start`."""
    s.enter()
    inside = s.pos
    found: list[Part] = []
    level = 0
    opening = "[" if closing == "]" else "("
    while True:
        s.steps += 1
        char = s.char
        if not char:
            raise s.fail("an arithmetic expression is not closed")
        if char == closing[0]:
            if level == 0:
                break
            level -= 1
            s.pos += 1
        elif char == opening:
            level += 1
            s.pos += 1
        elif char == "\\":
            s.pos = min(s.pos + 2, s.end)
        elif char == "'":
            found.append(single(s))
        elif char == '"':
            found.append(double(s))
        elif char == "`":
            found.append(backquotes(s, quoted=True))
        elif char == "$":
            part = dollar(s, quoted=True)
            if part is None:
                s.pos += 1
            else:
                found.append(part)
        else:
            match = _PLAIN.match(s.text, s.pos, s.end)
            s.pos = match.end() if match else s.pos + 1
    text = s.text[inside : s.pos]
    s.expect(closing)
    s.leave()
    return _made(text, tuple(found), quoted, start, s.pos, inside)


def _made(text: str, parts: tuple[Part, ...], quoted: bool, start: int, end: int, inside: int) -> Arithmetic:
    names: dict[str, None] = {}
    is_plain = True
    pieces: list[str] = []
    at = 0
    for part in parts:
        pieces.append(text[at : part.start - inside])
        at = part.end - inside
        if isinstance(part, Parameter) and part.is_plain:
            names[part.name] = None
        else:
            is_plain = False
    own = " ".join([*pieces, text[at:]])
    names |= dict.fromkeys(_NAME.findall(own))
    assigned = dict.fromkeys(one or other for one, other in _ASSIGNED.findall(own))
    is_plain = is_plain and _ORDINARY.fullmatch(own) is not None
    return Arithmetic(text, parts, tuple(names), tuple(assigned), is_plain, quoted, start, end)
