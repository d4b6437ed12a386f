"""Here-documents: announced by `<<`, read after the next newline."""

from hermitty.policy.expansions import elsewhere
from hermitty.policy.lexing import PendingHeredoc, Scanner
from hermitty.policy.quoting import quoted_parts
from hermitty.policy.syntax.commands import Heredoc, Redirect
from hermitty.policy.syntax.words import Literal, Part, Word


def announce(s: Scanner, redirect: Redirect) -> None:
    """Remember a `<<` or `<<-` whose text is still to come."""
    word = redirect.target
    delimiter = word.literal
    if not word.is_quoted and delimiter is None and not set(word.source) & set("$`(<>\\"):
        delimiter = word.source  # a pattern or brace means nothing here
    if delimiter is None or "\n" in delimiter:
        raise s.fail("the end of a here-document is not a plain word")
    s.pending.append(PendingHeredoc(redirect, delimiter, word.is_quoted, redirect.operator == "<<-"))


def read_pending(s: Scanner) -> None:
    """Read the text of everything announced. The position is behind a newline."""
    waiting, s.pending = s.pending, []
    for one in waiting:
        heredoc = _read(s, one)
        # The redirection was made before its text was seen; nobody has looked at it yet.
        object.__setattr__(one.redirect, "heredoc", heredoc)


def _read(s: Scanner, pending: PendingHeredoc) -> Heredoc:
    start = s.pos
    joined = ""  # with an unquoted delimiter, a backslash at the end of a line joins the next one to it
    while True:
        s.steps += 1
        line_start = s.pos
        if line_start >= s.end:
            raise s.fail(f"the here-document does not end with `{pending.delimiter}`")
        newline = s.text.find("\n", line_start, s.end)
        line = s.text[line_start : s.end if newline < 0 else newline]
        s.pos = s.end if newline < 0 else newline + 1
        if pending.strips_tabs:
            line = line.lstrip("\t")
        if joined:
            # Whether joined lines can be the end differs between shells.
            if (joined + line).replace("\\\n", "").lstrip("\t") == pending.delimiter:
                raise s.fail("the end of a here-document is not clear")
        elif line == pending.delimiter:
            break
        backslashes = len(line) - len(line.rstrip("\\"))
        continues = not pending.is_quoted and backslashes % 2 == 1
        # Nothing longer than the delimiter can become it.
        joined = (joined + line + "\n")[: 3 * len(pending.delimiter) + 80] if continues else ""
    after = s.pos
    body = _body(s, pending, start, line_start)
    s.pos = after
    return Heredoc(pending.delimiter, pending.is_quoted, pending.strips_tabs, body, start, after)


def _body(s: Scanner, pending: PendingHeredoc, start: int, end: int) -> Word:
    source = s.text[start:end]
    if pending.strips_tabs and "\t" in source:
        kept: list[int] = []
        at_line_start = True
        for index, char in enumerate(source):
            at_line_start = at_line_start and char == "\t"
            if not at_line_start:
                kept.append(index)
            at_line_start = at_line_start or char == "\n"
        text = "".join(source[index] for index in kept)
        offsets = [start + index for index in kept] + [end]
        return elsewhere(s, text, offsets, lambda inner: _parsed(inner, pending, 0, len(text), source))
    return _parsed(s, pending, start, end, source)


def _parsed(s: Scanner, pending: PendingHeredoc, start: int, end: int, source: str) -> Word:
    parts: tuple[Part, ...]
    if pending.is_quoted:
        parts = (Literal(s.text[start:end], start, end),) if end > start else ()
    else:
        outer_end, s.end, s.pos = s.end, end, start
        s.enter()
        parts = quoted_parts(s, "")
        s.leave()
        s.end = outer_end
    return Word(parts, source, start, end)
