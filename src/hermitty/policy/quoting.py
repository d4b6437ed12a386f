"""Quoted text of bash and zsh: single, double and ANSI-C quotes, and backslashes."""

import re

from hermitty.policy.expansions import backquotes, dollar
from hermitty.policy.lexing import Scanner
from hermitty.policy.syntax.words import Literal, Part, Quote, Quoted, literal_text

_PLAIN = re.compile(r'[^"\\$`]+')
_HISTORY = re.compile(r"![\w!?#$*^:{-]", re.ASCII)
_ANSI_C_END = re.compile(r"(?:[^'\\]|\\.)*", re.DOTALL)
_ESCAPE = re.compile(
    rb"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.)|(.))", re.DOTALL
)
_NAMED = {
    bytes([name]): bytes([code]) for name, code in zip(b"abeEfnrtv\\'\"?", b"\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True)
}


def note_history(s: Scanner, text: str, start: int) -> None:
    """Record what zsh replaces by an older command, if our integration does not keep it from doing so.

    bash terminals have history expansion switched off; zsh gets such a line through `eval`, but not when its line
    editor or our key in it is gone.
    """
    if s.is_zsh and "!" in text and _HISTORY.search(text):
        s.note("`!` may be replaced by an older command", start)


def single(s: Scanner) -> Quoted:
    """Read '...'."""
    start = s.pos
    close = s.text.find("'", start + 1, s.end)
    if close < 0:
        raise s.fail("a single quote is not closed")
    s.pos = close + 1
    return Quoted(Quote.SINGLE, s.text[start + 1 : close], (), start, s.pos)


def ansi_c(s: Scanner) -> Quoted:
    """Read $'...'."""
    start = s.pos
    match = _ANSI_C_END.match(s.text, start + 2, s.end)
    assert match
    if not s.text.startswith("'", match.end(), s.end):
        raise s.fail("a quote is not closed")
    s.pos = match.end() + 1
    text = decode_ansi_c(match.group())
    if text is None:
        s.note("an escape in $'...' is not portable", start)
        text = match.group()
    s.only_bash("$'...'", start)
    return Quoted(Quote.ANSI_C, text, (), start, s.pos)


def decode_ansi_c(raw: str) -> str | None:
    """Return the text that $'...' stands for; None where shells differ. Bytes that are no UTF-8 become surrogates."""
    if "\\" not in raw:
        return raw
    strange = False

    def one(match: re.Match[bytes]) -> bytes:
        nonlocal strange
        octal, byte, short, long, control, other = match.groups()
        if octal:
            # A NUL ends the text in bash and is part of it in zsh.
            strange |= not 0 < int(octal, 8) < 256
            return bytes([int(octal, 8) % 256])
        if byte:
            strange |= int(byte, 16) == 0
            return bytes([int(byte, 16)])
        if short or long:
            code = int(short or long, 16)
            strange |= code == 0 or 0xD800 <= code < 0xE000 or code > 0x10FFFF
            return b"" if strange else chr(code).encode()
        if control:
            strange = True
            return b""
        strange |= other not in _NAMED
        return _NAMED.get(other, b"")

    text = _ESCAPE.sub(one, raw.encode("utf-8", "surrogatepass"))
    return None if strange else text.decode("utf-8", "surrogateescape")


def double(s: Scanner) -> Quoted:
    """Read "..." (the position is at the quote, or at the dollar of $"...")."""
    start = s.pos
    style = Quote.DOUBLE
    if s.char == "$":
        style = Quote.LOCALE
        s.pos += 1
    s.pos += 1
    s.enter()
    parts = quoted_parts(s, '"')
    if s.char != '"':
        s.pos = start
        raise s.fail("a double quote is not closed")
    s.pos += 1
    s.leave()
    if style is Quote.LOCALE:
        s.only_bash('$"..."', start)
        if s.is_zsh:
            s.note('zsh does not know $"..."', start)
    return Quoted(style, literal_text(parts), parts, start, s.pos)


def quoted_parts(s: Scanner, closing: str) -> tuple[Part, ...]:
    """Read text with expansions as in double quotes, up to `closing`, or to the end if that is ""."""
    parts: list[Part] = []
    texts: list[str] = []
    text_start = s.pos

    def flush(end: int) -> None:
        if texts:
            text = "".join(texts)
            note_history(s, text, text_start)
            parts.append(Literal(text, text_start, end))
            texts.clear()

    while s.pos < s.end:
        s.steps += 1
        start = s.pos
        char = s.text[start]
        if char == closing:
            break
        if not texts:
            text_start = start
        if char == "\\":
            following = s.text[start + 1 : min(start + 2, s.end)]
            s.pos += 1 + len(following)
            if following == "\n":
                if not texts:
                    texts.append("")
            elif following in '$`\\"' and (following != '"' or closing == '"'):
                texts.append(following or "\\")
            else:
                texts.append(char + following)
        elif char == "$":
            part = dollar(s, quoted=True)
            if part is None:
                texts.append("$")
                s.pos = start + 1
            else:
                flush(start)
                parts.append(part)
        elif char == "`":
            part = backquotes(s, quoted=True)
            flush(start)
            parts.append(part)
        else:
            match = _PLAIN.match(s.text, start, s.end)
            s.pos = match.end() if match else start + 1
            texts.append(s.text[start : s.pos])
    flush(s.pos)
    return tuple(parts)
