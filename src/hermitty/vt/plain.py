"""What a model should read of a program's output: the text that is left once it has overwritten itself.

Output that does not move the cursor comes back exactly, with trailing blanks, tabs, empty lines and a missing
final newline. Colours, titles, links, clipboard writes and other sequences disappear; a link keeps its text.
Carriage returns, backspaces, cursor moves and erasures do what they do on a screen of `rows` lines without a
right edge (see `page`), so of a progress display the last state is left. What is drawn on the alternate screen
is dropped: a full-screen program leaves nothing behind on a real terminal either.

A string sequence (OSC, DCS, APC, PM, SOS) that never ends does not swallow the output after it. When it runs to
the end of the data without a line break, it is a sequence that was cut and is dropped; otherwise, and when it is
longer than 64 KB, only its introducer is dropped and the rest is text.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Final

from hermitty.vt.page import Page

Operation = Callable[[Page], object]

# More than any row or column; Python refuses to convert thousands of digits.
_NO_LIMIT = 99_999

# A cursor that skips cells fills them with blanks. A few bytes can skip thousands of cells; real displays (a
# status at the right margin) fill a few cells per byte.
_FREE_BLANKS = 100_000
_BLANKS_PER_CHAR = 16

# The bounds keep a search through a row of parameters from going back over all of it, again and again.
_ALTERNATE = r"\?(?:[0-9]{1,5};){0,16}(?:1049|1047|47)(?:;[0-9]{1,5}){0,16}"
_ALTERNATE_SWITCH = re.compile(rf"\x1b\[{_ALTERNATE}([hl])".encode())
_ALTERNATE_SCREEN = re.compile(rf"\x1b\[{_ALTERNATE}h.*?(?:\x1b\[{_ALTERNATE}l|\Z)|\x1b\[{_ALTERNATE}l", re.DOTALL)

# Sequences that edit, left in place for the page: CSI with these final bytes, the alternate screen, and ESC with
# 7 8 (save, restore), D E M (index, next line, reverse index), c (reset).
_EDITS = rf"[0-9;]*+[@-HJ-MPXbdfrsu]|{_ALTERNATE}[hl]"
_INERT = re.compile(
    r"""\x1b(?:
      \[[0-9;:]*+m
    | \[(?!EDITS)[0-?]*+[ -/]*+[@-~]?         # what there is of a CSI that is cut or broken goes as well
    | \][^\x07\x18\x1a\x1b]{0,65536}+(?:\x07|\x1b\\|[\x18\x1a]|(?=\x1b))
    | [PX^_][^\x18\x1a\x1b]{0,65536}+(?:\x1b\\|[\x18\x1a]|(?=\x1b))
    | \][!-~]*+(?:\x07|\x1b\\)                # images in base64 or sixel: long, and without blanks
    | [PX^_][!-~]*+\x1b\\
    | [\]PX^_][^\n\x1b]{0,65536}+\Z
    | \](?:52;[^;\s]*+;[A-Za-z0-9+/=]*+)?     # a clipboard never shows, not even a broken one
    | (?![\[78DEMc])[ -/]*+[0-~]?
    )""".replace("EDITS", _EDITS),
    re.VERBOSE,
)
_DROPPED = re.compile(r"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x9f]++")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_RETURNS_BEFORE_NEWLINE = re.compile(r"\r++\n")
_RUN_AND_CONTROL = re.compile(r"([^\x08-\x0d\x1b]*+)([\x08-\x0d]|\x1b\[[0-9;]*+[@-~]|\x1b[78DEMc]?|\Z)")


def plain_text(data: bytes, *, rows: int = 30) -> str:
    """Turn output into text. Never raises; takes time in proportion to the data.

    `rows` is how far up the cursor can go: the height of the terminal.
    """
    text = _join_newlines(data.decode("utf-8", "replace"))
    if not _CONTROL.search(text):
        return text
    text = _DROPPED.sub("", _INERT.sub("", text))
    if "\x1b[?" in text:
        text = _ALTERNATE_SCREEN.sub("", text)
    text = _join_newlines(text)
    if not _CONTROL.search(text):
        return text
    page = Page(rows, _FREE_BLANKS + _BLANKS_PER_CHAR * len(text))
    _draw(page, text)
    return page.text()


def ends_on_alternate_screen(data: bytes) -> bool:
    """Tell whether output leaves the terminal on the alternate screen."""
    switches = _ALTERNATE_SWITCH.findall(data)
    return bool(switches) and switches[-1] == b"h"


def _join_newlines(text: str) -> str:
    """Make CRLF one newline, also where the terminal driver added a CR to a program's own."""
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
        if "\r\n" in text:
            text = _RETURNS_BEFORE_NEWLINE.sub("\n", text)
    return text


def _draw(page: Page, text: str) -> None:
    """Let text and edits, all other sequences removed, act on a page."""
    write = page.write
    for run, control in _RUN_AND_CONTROL.findall(text):
        if run:
            write(run)
        if control == "\r":
            page.col = 0
        elif control:
            _operation(control)(page)


@lru_cache(maxsize=1024)
def _operation(control: str) -> Operation:
    """Return what a control character or a sequence does to a page.

    Remembered, because a display repeats the same few sequences thousands of times.
    """
    if control in _SIMPLE:
        return _SIMPLE[control]
    first, *rest = (_number(digits) for digits in control[2:-1].split(";"))
    second = rest[0] if rest else 0
    final = control[-1]
    if final in _COUNTED:
        return partial(_COUNTED[final], count=first or 1)
    match final:
        case "J":
            return partial(Page.erase_screen, part=first)
        case "K":
            return partial(Page.erase_line, part=first)
        case "H" | "f":
            return partial(Page.place, row=(first or 1) - 1, col=(second or 1) - 1)
        case "d":
            return partial(Page.place, row=(first or 1) - 1)
        case "G":
            return partial(Page.place, col=(first or 1) - 1)
        case "r":
            return partial(Page.scroll_region, top=(first or 1) - 1, bottom=(second or _NO_LIMIT) - 1)
        case _:
            return _nothing


def _nothing(page: Page) -> None:
    """Leave the page as it is."""


# A bare newline starts a line as well: the output of a pipe has no other. Vertical tab and form feed move down
# on a terminal; as text they separate lines.
_SIMPLE: Final[Mapping[str, Operation]] = {
    "\n": Page.newline,
    "\x0b": Page.newline,
    "\x0c": Page.newline,
    "\r": Page.carriage_return,
    "\t": Page.tab,
    "\x08": Page.back,
    "\x1b7": Page.save,
    "\x1b[s": Page.save,
    "\x1b8": Page.restore,
    "\x1b[u": Page.restore,
    "\x1bD": Page.index,
    "\x1bE": Page.newline,
    "\x1bM": Page.reverse_index,
    "\x1bc": Page.reset,
}

# Control sequences with one parameter that counts (ECMA-48, 8.3).
_COUNTED: Final[Mapping[str, Callable[..., None]]] = {
    "A": Page.up,
    "B": Page.down,
    "C": Page.right,
    "D": Page.left,
    "E": Page.lines_down,
    "F": Page.lines_up,
    "L": Page.insert_lines,
    "M": Page.delete_lines,
    "@": Page.insert_cells,
    "P": Page.delete_cells,
    "X": Page.erase_cells,
    "b": Page.repeat,
}


def _number(digits: str) -> int:
    """Read a parameter; one that is missing is 0."""
    if len(digits) > 5:
        return _NO_LIMIT
    return int(digits) if digits else 0
