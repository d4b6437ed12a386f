"""Formats of `printf`: some of what they do with arguments is more than printing."""

import re
from collections.abc import Iterator, Sequence
from itertools import cycle

from hermitty.policy.arguments import Arg
from hermitty.policy.effects import Finding
from hermitty.policy.findings import unclear

_CONVERSION = re.compile(r"%(?:%|(?P<flags>[-+ #0-9.*'$]*)[hjlLtz]*(?P<kind>\([^)]*\)T|.))", re.DOTALL)
_PRINTED = frozenset("sbqQcn")
_CALCULATED = frozenset("diouxXeEfFgGaA")
_NUMBER = re.compile(r"\s*[-+]?(?:[0-9]+(?:\.[0-9]*)?|0[xX][0-9A-Fa-f]+)?\s*")


def judged(form: str | None, args: Sequence[Arg], shell: str) -> list[Finding]:
    """Judge a format (None if it is not known) with its arguments: `%n` sets a variable, and zsh calculates numbers."""
    found: list[Finding] = []
    conversions = list(_CONVERSION.finditer(form or ""))
    if any(one["kind"] == "n" for one in conversions):
        found.append(unclear("%n sets a variable"))
    if shell == "zsh":
        found += [
            unclear(f"{arg.shown} is calculated, which may run what is in it", at=arg)
            for arg in (args if form is None else _calculated(conversions, args))
            if arg.text is None or form is None or not _NUMBER.fullmatch(arg.text)
        ]
    return found


def _calculated(conversions: Sequence[re.Match[str]], args: Sequence[Arg]) -> list[Arg]:
    """Return the arguments that are calculated. The format is used again while there are any left."""
    turns = [turn for one in conversions for turn in _turns(one)]
    if not any(turns):
        return []
    if any(arg.is_many for arg in args) or not all(map(_is_in_turn, conversions)):
        return list(args)
    return [arg for arg, turn in zip(args, cycle(turns), strict=False) if turn]


def _is_in_turn(conversion: re.Match[str]) -> bool:
    """Tell whether a conversion is known to take the next argument."""
    kind = conversion["kind"]
    is_known = kind is None or kind in _PRINTED or kind in _CALCULATED or kind.endswith("T")
    return is_known and "$" not in (conversion["flags"] or "")


def _turns(conversion: re.Match[str]) -> Iterator[bool]:
    """Tell for each argument that a conversion takes whether it is calculated."""
    kind = conversion["kind"]
    if kind is None:
        return
    yield from (True for char in conversion["flags"] if char == "*")
    yield kind not in _PRINTED
