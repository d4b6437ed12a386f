"""Patterns in text that somebody else chose, and may be hostile: matched in linear time, as `search` explains."""

import re
from typing import Protocol

from hermitty.errors import InvalidPattern

try:
    import re2
except ImportError:  # there are no wheels for some platforms
    re2 = None

_RE2_BYTES = 8 * 1024 * 1024


class TextMatch(Protocol):
    """Where a pattern was found."""

    def start(self) -> int:
        """Return its first character."""

    def end(self) -> int:
        """Return the character after it."""


class TextPattern(Protocol):
    """A pattern; `^` and `$` are the ends of lines."""

    def search(self, text: str, start: int, /) -> TextMatch | None:
        """Find it, from a character on."""


def text_pattern(pattern: str) -> TextPattern:
    """Compile a pattern, or raise InvalidPattern. Without RE2 it is one of Python's, which may take for ever."""
    if re2 is None:
        try:
            return re.compile(pattern, re.MULTILINE)
        except re.error as exc:
            raise InvalidPattern(pattern, str(exc)) from exc
    options = re2.Options()
    options.max_mem = _RE2_BYTES
    options.log_errors = False
    try:
        compiled: TextPattern = re2.compile(f"(?m){pattern}", options)
    except UnicodeEncodeError as exc:
        raise InvalidPattern(pattern, "it is no text") from exc
    except re2.error as exc:
        reason = exc.args[0] if exc.args else "it is not understood"
        said = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise InvalidPattern(pattern, f"{said} (patterns have no look-around and no back-references)") from exc
    return compiled
