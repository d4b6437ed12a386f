"""The gate before parsing: characters that make a line look different from what it does.

What is shown, judged and sent to the terminal must be the same. A line with one of these characters is not analysed,
and is shown with `visible`.
"""

import re
import unicodedata

from hermitty.policy.syntax.script import Problem

MAX_BYTES = 100_000

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Marks that reorder text, and characters without a width: joiners, variation selectors (but for those of an emoji),
# tags, Hangul fillers.
_INVISIBLE = re.compile(
    "(?<![^\x00-\x7f])\ufe0f|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e"
    "\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u2800\u3000]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_BAD = (
    (_CONTROLS, "a control character"),
    (_INVISIBLE, "an invisible character"),
    (_SPACES, "a space that is no ordinary space"),
    (_SURROGATES, "half of a character"),
)
_ANY = re.compile("|".join(pattern.pattern for pattern, _ in _BAD))
_LETTERS = re.compile(r"[^\W\d_]+")
_LOOKING_LATIN = (
    *("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "FULLWIDTH", "MATHEMATICAL"),
    "LATIN LETTER SMALL CAPITAL",
)
# Characters that look like those with a meaning in a shell.
_LOOKING_ACTIVE = re.compile(
    "[\u037e\u2024\u2044\u2215\u2216\u2223\u29f8\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff5e]"
)
# A command that consists of one such word: at the front, or behind something that separates commands.
_COMMAND = re.compile(r"(?:^|[\n;&|(){}`!]|\b(?:do|then|else|sudo|env|exec|time)\s)[ \t]*+(?=([^\s;&|()<>{}`'\"$=]+))")


def problems(line: str) -> list[Problem]:
    """Return what is wrong with a line, from left to right."""
    # Most lines are printable ASCII, for which nothing else has to be looked at.
    if line.isascii() and line.isprintable() and len(line) <= MAX_BYTES:
        return []
    if len(line) > MAX_BYTES or len(line.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        return [Problem(f"the line is longer than {MAX_BYTES} bytes", 0, len(line))]
    found = [
        Problem(f"{what} ({_name(match.group())})", *match.span())
        for pattern, what in _BAD
        for match in pattern.finditer(line)
    ]
    if not line.isascii():
        found += _look_alikes(line)
    return sorted(found, key=lambda problem: problem.start)


def visible(line: str) -> str:
    """Return the line with every character that `problems` rejects written as an escape; newlines and tabs stay."""
    return _ANY.sub(lambda match: _escape(match.group()), line)


def _look_alikes(line: str) -> list[Problem]:
    found: list[Problem] = []
    for command in _COMMAND.finditer(line):
        start, end = command.span(1)
        active = _LOOKING_ACTIVE.search(line, start, end)
        mixed = any(map(_is_mixed, _LETTERS.findall(line, start, end)))
        if active or mixed:
            found.append(Problem("letters that look like others in the name of a command", start, end))
    return found


def _is_mixed(letters: str) -> bool:
    """Tell whether a run of letters has ASCII ones and others, such as `cаt` with a Cyrillic letter."""
    foreign = [char for char in letters if not char.isascii()]
    return len(foreign) < len(letters) and any(unicodedata.name(one, "").startswith(_LOOKING_LATIN) for one in foreign)


def _name(char: str) -> str:
    return unicodedata.name(char, f"U+{ord(char):04X}")


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
