"""Output of somebody's programs made harmless for the terminal of whoever looks at a recording.

A terminal does more than show text: asked by the output, it types answers (to queries of its state, which then stand in
the shell of whoever looks), fills the clipboard, reports the mouse, prints. This passes on what draws, by a list of
what is known to draw, and drops the rest. Sequences are written anew in one form, complete or not at all, so that no
terminal understands them in another way than we do. Pure; the same however the text is cut.
"""

import re
from typing import Final

# What makes a terminal usual again: screen, colours, cursor, margins, modes and charsets. The cursor stays where it is:
# leaving the other screen and the origin mode would move it.
USUAL: Final = (
    "\x1b[?2026l\x1b7\x1b[?1049l\x1b[m\x1b]8;;\x07\x1b[?25h\x1b[?7h\x1b[?5l\x1b[4;20l\x1b(B\x1b)B\x0f"
    "\x1b7\x1b[?6;69l\x1b[r\x1b8\x1b[ q\x1b]104\x07\x1b]110\x07\x1b]111\x07\x1b]112\x07"
)
# A fresh screen; the full reset of a terminal would take what it shows above along.
_CLEARED: Final = f"{USUAL}\x1b[H\x1b[2J\x1b[3g\x1b[?5W"

# Text, and the most frequent sequences that draw: what the rest of this module would pass on unchanged.
_PLAIN = re.compile(r"(?:[^\x00-\x1f\x7f-\x9f]++|[\b\t\n\r]|\x1b\[[0-9:;]{0,60}[@A-MPSTXZ`abdefgmrsu])++")
_CONTROLS = frozenset("\a\b\t\n\v\f\r\x0e\x0f")

# What draws: final characters without a prefix, by their intermediate characters.
_DRAWS: dict[str, frozenset[str]] = {
    "": frozenset("@ABCDEFGHIJKLMPSTXZ`abdefghlmrsu"),
    " ": frozenset("q@A"),
    "!": frozenset("p"),
    '"': frozenset("q"),
    "#": frozenset("{}pq"),
    "$": frozenset("rtvxz{"),
    "'": frozenset("}~"),
    "*": frozenset("x"),
}
_DRAWS_PRIVATE = frozenset("hlJKW")
# Modes of drawing: columns, reverse, origin, wrap, blinking, cursor, reverse wrap, margins, alternate screens,
# graphemes, synchronized output. Others change what keys and the mouse send, or make the terminal report.
_MODES = frozenset((5, 6, 7, 12, 25, 45, 47, 69, 1047, 1048, 1049, 2026, 2027))
_ANSI_MODES = frozenset((4, 20))
_TITLE_STACK = frozenset((22, 23))

_STRINGS = {"]": "osc", "P": "drop", "X": "drop", "^": "drop", "_": "drop"}
_ESCAPES = frozenset("78DEHMNOno|}~6")
_CHARSETS = frozenset("()*+-./")

_OSC = re.compile(r"(0|1|2|4|5|8|1[0-9]|104|105|11[0-9])(;.*)?")
_OSC_ASKS = frozenset(("4", "5", *(str(number) for number in range(10, 20))))
_SEQUENCE_LIMIT = 256
_STRING_LIMIT = 8192

_CSI = re.compile(r"([<-?]?)([0-9:;]*)([ -/]*)([@-~])")


class Harmless:
    """Passes on what draws."""

    def __init__(self) -> None:
        self._state = "ground"  # ground, escape, charset, csi, osc, drop
        self._held = ""  # what came of the sequence so far
        self._may_end = False  # the string may end with the next character: an escape came

    def feed(self, text: str) -> str:
        """Take output of any length, and return what may be shown."""
        out: list[str] = []
        at = 0
        while at < len(text):
            if self._state == "ground" and (plain := _PLAIN.match(text, at)):
                out.append(plain[0])
                at = plain.end()
                continue
            out.append(self._take(text[at]))
            at += 1
        return "".join(out)

    def _take(self, char: str) -> str:
        if char in "\x18\x1a":
            self._become("ground")
            return ""
        if char == "\x1b":
            if self._state in ("osc", "drop"):
                self._may_end = True
            else:
                self._become("escape")
            return ""
        if self._may_end:
            self._may_end = False
            if char == "\\":
                return self._end_string()
            # Any other sequence gives the string up.
            self._become("escape")
        if "\x80" <= char <= "\x9f":
            if self._state in ("osc", "drop") and char == "\x9c":
                return self._end_string()
            self._become("escape")
            char = chr(ord(char) - 0x40)
        match self._state:
            case "ground":
                return char if char in _CONTROLS or (char >= " " and char != "\x7f") else ""
            case "escape":
                return self._escape(char)
            case "csi" | "charset":
                return self._sequence(char)
        return self._string(char)

    def _escape(self, char: str) -> str:
        if char == "[":
            self._become("csi")
        elif char in _STRINGS:
            self._become(_STRINGS[char])
        elif " " <= char <= "/":
            self._become("charset")
            self._held = char
        elif char < " " or char == "\x7f":
            return char if char in _CONTROLS else ""
        else:
            self._become("ground")
            if char == "c":
                return _CLEARED
            return f"\x1b{char}" if char in _ESCAPES else ""
        return ""

    def _sequence(self, char: str) -> str:
        if char < " ":
            # Terminals obey controls in the midst of a sequence.
            return char if char in _CONTROLS else ""
        if char > "~" or len(self._held) > _SEQUENCE_LIMIT:
            self._become("ground")
            return char if char > "\x9f" else ""
        self._held += char
        if self._state == "charset":
            if char >= "0":
                held = self._held
                self._become("ground")
                is_known = (held[0] in _CHARSETS and len(held) <= 3 and held[1:].isalnum()) or held in _LINES
                return f"\x1b{held}" if is_known else ""
        elif char >= "@":
            held = self._held
            self._become("ground")
            return _drawn(held)
        return ""

    def _string(self, char: str) -> str:
        if char == "\a":
            return self._end_string()
        if self._state == "osc" and char >= " " and char != "\x7f" and len(self._held) <= _STRING_LIMIT:
            self._held += char
        return ""

    def _end_string(self) -> str:
        held, state = self._held, self._state
        self._become("ground")
        if state != "osc" or len(held) > _STRING_LIMIT or not (known := _OSC.fullmatch(held)):
            return ""
        if known[1] in _OSC_ASKS and "?" in held:
            return ""
        return f"\x1b]{held}\a"

    def _become(self, state: str) -> None:
        self._state = state
        self._held = ""
        self._may_end = False


# Lines of double height and width, and the test picture.
_LINES = frozenset(("#3", "#4", "#5", "#6", "#8"))


def _drawn(sequence: str) -> str:
    """Return a control sequence, without what does not draw."""
    found = _CSI.fullmatch(sequence)
    if found is None:
        return ""
    prefix, numbers, between, final = found.groups()
    if prefix:
        if prefix != "?" or between or final not in _DRAWS_PRIVATE:
            return ""
        if final in "hl":
            numbers = _kept(numbers, _MODES)
            return f"\x1b[?{numbers}{final}" if numbers else ""
        return f"\x1b[?{numbers}{final}"
    if final == "t" and not between:
        return f"\x1b[{numbers}t" if _number(numbers.partition(";")[0]) in _TITLE_STACK else ""
    if final not in _DRAWS.get(between, ()):
        return ""
    if final in "hl" and not between:
        numbers = _kept(numbers, _ANSI_MODES)
        return f"\x1b[{numbers}{final}" if numbers else ""
    return f"\x1b[{numbers}{between}{final}"


def _kept(numbers: str, known: frozenset[int]) -> str:
    return ";".join(each for each in numbers.split(";") if _number(each) in known)


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() and len(text) < 6 else None
