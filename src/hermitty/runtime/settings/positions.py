"""On which line of a TOML text each key stands; the standard library's parser does not tell.

Only texts that the parser accepted are searched. Whoever is not sure where it is stops: a line that is told is right.
"""

import contextlib
import re
import tomllib
from bisect import bisect_right

_BLANK = re.compile(r"(?:[ \t\r\n,]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*'""")
# The longer forms first. A string in three quotes may end with up to two more of them.
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\r\n]+")

Path = tuple[str, ...]


def key_lines(text: str) -> dict[Path, int]:
    """Return the line (from 1) of each key and table header, by its path."""
    scanner = _Scanner(text)
    with contextlib.suppress(_Lost, RecursionError):  # what was found before is right
        scanner.document()
    return scanner.found


class _Lost(Exception):
    """The text is not what was expected."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.found: dict[Path, int] = {}
        self._text = text
        self._at = 0
        self._line_ends = [match.start() for match in re.finditer("\n", text)]

    def document(self) -> None:
        table: Path | None = ()
        while True:
            self._skip(_BLANK)
            if self._at == len(self._text):
                return
            if self._takes("[["):
                self._key()
                table = None  # elements of a list have no path of their own
                self._expect("]]")
            elif self._takes("["):
                line = self._line()
                table = self._key()
                self.found.setdefault(table, line)
                self._expect("]")
            else:
                self._pair(table)

    def _pair(self, table: Path | None) -> None:
        line = self._line()
        key = self._key()
        path = None if table is None else (*table, *key)
        if path is not None:
            self.found.setdefault(path, line)
        self._expect("=")
        self._value(path)

    def _value(self, path: Path | None) -> None:
        self._skip(_SPACE)
        if self._takes("["):
            while not self._closed("]"):
                self._value(None)
        elif self._takes("{"):
            while not self._closed("}"):
                self._pair(path)
        else:
            self._match(_STRING if self._text[self._at : self._at + 1] in ("'", '"') else _SCALAR)

    def _closed(self, bracket: str) -> bool:
        self._skip(_BLANK)
        return self._takes(bracket)

    def _key(self) -> Path:
        parts = []
        while True:
            self._skip(_SPACE)
            parts.append(_part(self._match(_KEY_PART)))
            self._skip(_SPACE)
            if not self._takes("."):
                return tuple(parts)

    def _line(self) -> int:
        return bisect_right(self._line_ends, self._at - 1) + 1

    def _skip(self, pattern: re.Pattern[str]) -> None:
        self._match(pattern)

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise _Lost
        self._at = found.end()
        return found.group()

    def _takes(self, mark: str) -> bool:
        if not self._text.startswith(mark, self._at):
            return False
        self._at += len(mark)
        return True

    def _expect(self, mark: str) -> None:
        if not self._takes(mark):
            raise _Lost


def _part(written: str) -> str:
    """Return the key behind its written form."""
    if written[0] not in "'\"":
        return written
    try:
        (key,) = tomllib.loads(f"{written} = 0")
    except tomllib.TOMLDecodeError:
        raise _Lost from None
    return key
