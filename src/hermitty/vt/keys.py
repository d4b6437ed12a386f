"""The bytes that a terminal sends for a key, as xterm does.

A key is one character, a name (`enter`, `f5`), or either with modifiers: `ctrl-c`, `alt+x`, `ctrl-shift-right`.
`^C`, `c-c` and `m-x` are understood too, and names in any case. Keys without bytes of their own in the classic
encoding, such as `ctrl-enter`, are unknown rather than sent as something else.
"""

import re
from collections.abc import Mapping
from typing import Final

from hermitty.errors import UnknownKey

_SHIFT, _ALT, _CTRL = 1, 2, 4

_MODIFIERS: Final[Mapping[str, int]] = {
    "shift": _SHIFT,
    "s": _SHIFT,
    "alt": _ALT,
    "meta": _ALT,
    "option": _ALT,
    "m": _ALT,
    "ctrl": _CTRL,
    "control": _CTRL,
    "c": _CTRL,
}
_MODIFIED = re.compile(r"([a-z]+)[-+](.+)", re.IGNORECASE | re.DOTALL)

_SYNONYMS: Final[Mapping[str, str]] = {
    "return": "enter",
    "cr": "enter",
    "esc": "escape",
    "spacebar": "space",
    "bs": "backspace",
    "del": "delete",
    "ins": "insert",
    "pgup": "pageup",
    "page-up": "pageup",
    "pgdn": "pagedown",
    "pgdown": "pagedown",
    "page-down": "pagedown",
    "backtab": "shift-tab",
    "arrow-up": "up",
    "arrow-down": "down",
    "arrow-left": "left",
    "arrow-right": "right",
}

# Keys that are characters: alt puts ESC before them.
_CHARACTERS: Final[Mapping[str, bytes]] = {
    "enter": b"\r",
    "tab": b"\t",
    "escape": b"\x1b",
    "space": b" ",
    "backspace": b"\x7f",
}

# Final byte of CSI or, in application mode, SS3.
_CURSOR: Final[Mapping[str, bytes]] = {
    "up": b"A",
    "down": b"B",
    "right": b"C",
    "left": b"D",
    "end": b"F",
    "home": b"H",
}

# Final byte of SS3, and of CSI when there are modifiers.
_KEYPAD_FUNCTION: Final[Mapping[str, bytes]] = {"f1": b"P", "f2": b"Q", "f3": b"R", "f4": b"S"}

# Number of CSI n ~. The gaps (16, 22) are the VT220's.
_NUMBERED: Final[Mapping[str, int]] = {
    "insert": 2,
    "delete": 3,
    "pageup": 5,
    "pagedown": 6,
    "f5": 15,
    "f6": 17,
    "f7": 18,
    "f8": 19,
    "f9": 20,
    "f10": 21,
    "f11": 23,
    "f12": 24,
}

# Controls that are not simply a letter's: ctrl-/ and ctrl-? as every terminal has them.
_CONTROLS: Final[Mapping[str, bytes]] = {
    "@": b"\x00",
    "[": b"\x1b",
    "\\": b"\x1c",
    "]": b"\x1d",
    "^": b"\x1e",
    "_": b"\x1f",
    "/": b"\x1f",
    "?": b"\x7f",
    "space": b"\x00",
    " ": b"\x00",
    "backspace": b"\x08",
}


def key_bytes(name: str, *, application_cursor: bool = False) -> bytes:
    """Return what pressing a key sends, or raise UnknownKey.

    `application_cursor` is the mode (DECCKM) in which programs want SS3 from unmodified cursor keys.
    """
    modifiers, base = _parse(name)
    data = _special(base, modifiers, application_cursor=application_cursor)
    if data is None:
        data = _character(base, modifiers & ~_ALT)
        if data is not None and modifiers & _ALT:
            data = b"\x1b" + data
    if data is None:
        raise UnknownKey(name)
    return data


def _parse(name: str) -> tuple[int, str]:
    """Split a key into its modifiers and its base: a character as it was written, or a name."""
    if len(name) == 2 and name[0] == "^":
        return _CTRL, name[1]
    modifiers, base = 0, name
    while len(base) > 1:
        base = _SYNONYMS.get(base.lower(), base)
        match = _MODIFIED.fullmatch(base)
        modifier = _MODIFIERS.get(match[1].lower(), 0) if match else 0
        if not match or not modifier or modifiers & modifier:
            return modifiers, base.lower()
        modifiers |= modifier
        base = match[2]
    return modifiers, base


def _special(base: str, modifiers: int, *, application_cursor: bool) -> bytes | None:
    """Encode keys that send a sequence; None for those that do not."""
    if base == "tab" and modifiers & _SHIFT:
        return {_SHIFT: b"\x1b[Z", _SHIFT | _ALT: b"\x1b\x1b[Z"}.get(modifiers)
    parameter = b"%d" % (1 + modifiers)
    if base in _NUMBERED:
        number = b"%d" % _NUMBERED[base]
        return b"\x1b[" + number + (b";" + parameter if modifiers else b"") + b"~"
    final = _CURSOR.get(base) or _KEYPAD_FUNCTION.get(base)
    if final is None:
        return None
    if modifiers:
        return b"\x1b[1;" + parameter + final
    is_ss3 = application_cursor or base in _KEYPAD_FUNCTION
    return (b"\x1bO" if is_ss3 else b"\x1b[") + final


def _character(base: str, modifiers: int) -> bytes | None:
    """Encode keys that are characters, with ctrl or shift or neither; None for what has no encoding."""
    match modifiers:
        case 0 if base in _CHARACTERS:
            return _CHARACTERS[base]
        case 0 if len(base) == 1:
            return _encoded(base)
        case 1 if len(base) == 1 and base.isalpha() and len(base.upper()) == 1:
            return _encoded(base.upper())
        case 4 if len(base) == 1 and base.isascii() and base.isalpha():
            return bytes([ord(base.upper()) - ord("@")])
        case 4:
            return _CONTROLS.get(base)
        case _:
            return None


def _encoded(char: str) -> bytes | None:
    """Encode one character; half of a surrogate pair is none."""
    try:
        return char.encode()
    except UnicodeEncodeError:
        return None
