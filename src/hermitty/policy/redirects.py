"""Redirections of bash and zsh."""

import re

from hermitty.policy.heredocs import announce
from hermitty.policy.lexing import BLANKS, Scanner
from hermitty.policy.syntax.commands import Redirect
from hermitty.policy.words import read_word

_BASH = re.compile(r"([0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})?(<<<|<<-|<<|<>|<&|<|>>|>\||>&|>)|(&>>|&>)")
_ZSH = re.compile(
    r"([0-9]|\{[A-Za-z_][A-Za-z0-9_]*\})?(<<<|<<-|<<|<>|<&|<|>>[|!]|>>&[|!]?|>>|>&[|!]|>&|>[|!]|>)|(&>>[|!]?|&>[|!]?)"
)
_NUMERIC_GLOB = re.compile(r"<[0-9]*-[0-9]*>")


def read_redirect(s: Scanner) -> Redirect | None:
    """Read a redirection with its target; None if none stands here."""
    start = s.pos
    match = (_ZSH if s.is_zsh else _BASH).match(s.text, start, s.end)
    if not match:
        return None
    prefix, operator = match[1] or "", match[2] or match[3]
    if operator in ("<", ">") and s.text.startswith("(", match.end(), s.end):
        if prefix:
            raise s.fail("a number before a process substitution")
        return None
    if s.is_zsh and _NUMERIC_GLOB.match(s.text, start, s.end):
        return None
    if operator in ("&>", "&>>", "<<<") or prefix.startswith("{"):
        s.only_bash(f"`{match.group()}`", start)
    s.pos = match.end()
    if s.at("\\\n"):
        raise s.fail("a line continuation after a redirection")
    blanks = BLANKS.match(s.text, s.pos, s.end)
    assert blanks
    s.pos = blanks.end()
    if s.char == "#" or (len(prefix) > 6 and prefix.isdigit()):
        raise s.fail("a redirection that is not understood")
    target = read_word(s)
    is_name = prefix.startswith("{")
    fd = int(prefix) if prefix and not is_name else None
    redirect = Redirect(operator, fd, prefix[1:-1] if is_name else None, target, None, start, s.pos)
    if operator in ("<<", "<<-"):
        announce(s, redirect)
    return redirect


def read_redirects(s: Scanner) -> tuple[Redirect, ...]:
    """Read all redirections that follow a compound command."""
    found: list[Redirect] = []
    while True:
        at = s.pos
        s.skip_blanks()
        redirect = read_redirect(s)
        if redirect is None:
            s.pos = at
            return tuple(found)
        found.append(redirect)
