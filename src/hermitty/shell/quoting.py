"""Quoting words, and reading back what shells print when they quote."""

import re

# A word that begins with "=" is the path of a program to zsh.
_SAFE = re.compile(r"[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*\Z")

_ANSI_C = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ANSI_C_ESCAPE = re.compile(
    rb"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|C-(.)|(.))", re.DOTALL
)
_PART = re.compile(
    rb"""'(?P<single>[^']*)'"""
    rb"""|\$'(?P<ansi>(?:[^'\\]|\\.)*)'"""
    rb"""|"(?P<double>(?:[^"\\]|\\.)*)\""""
    rb"""|\\(?P<escaped>.)"""
    rb"""|(?P<bare>[^'"\\\s$]+|\$)""",
    re.DOTALL,
)
_NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_DECLARATION = re.compile(rb"(?:declare|export|typeset)((?:[ \t]+-[A-Za-z]+)*)[ \t]+")


def quote_posix(word: str) -> str:
    """Quote one word for bash, zsh, dash and other POSIX shells."""
    if _SAFE.match(word):
        return word
    return "'" + word.replace("'", "'\\''") + "'"


def parse_exports(dump: bytes) -> dict[str, str]:
    """Read the output of `export -p` of bash, zsh or dash.

    Exported names without a value are left out, and arrays, which no program gets.
    """
    found: dict[str, str] = {}
    at = 0
    while at < len(dump):
        declared = _DECLARATION.match(dump, at)
        name = _NAME.match(dump, declared.end()) if declared else None
        if declared is None or name is None or re.search(rb"[aA]", declared[1]):
            at = _next_line(dump, at)
            continue
        at = name.end()
        if dump[at : at + 1] != b"=":
            at = _next_line(dump, at)
            continue
        value, at = _word(dump, at + 1)
        found[name[0].decode()] = value.decode("utf-8", "surrogateescape")
        at = _next_line(dump, at)
    return found


def _next_line(dump: bytes, at: int) -> int:
    newline = dump.find(b"\n", at)
    return len(dump) if newline < 0 else newline + 1


def _word(dump: bytes, at: int) -> tuple[bytes, int]:
    """Read one quoted word and return its value and where it ends."""
    value = bytearray()
    while (part := _PART.match(dump, at)) is not None:
        at = part.end()
        match part.lastgroup:
            case "ansi":
                value += _ANSI_C_ESCAPE.sub(_ansi_c, part["ansi"])
            case "double":
                value += re.sub(rb'\\([\\"$`])|\\\n', lambda m: m[1] or b"", part["double"])
            case group:
                value += part[group or "bare"]
    return bytes(value), at


def _ansi_c(found: re.Match[bytes]) -> bytes:
    if found[1]:
        return bytes([int(found[1], 16)])
    if found[2] or found[3]:
        return chr(int(found[2] or found[3], 16)).encode("utf-8", "surrogatepass")
    if found[4]:
        return bytes([int(found[4], 8) & 0xFF])
    if found[5]:
        return bytes([found[5][0] & 0x1F])
    letter = found[6].decode("latin-1")
    return _ANSI_C[letter].encode() if letter in _ANSI_C else b"\\" + found[6]
