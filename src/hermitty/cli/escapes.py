"""Other people's texts on our terminal: what would move the cursor or change the terminal is shown as an escape.

Names, titles, commands, paths, and what programs, files and servers say in errors and warnings are such texts.
"""

import logging
import sys


def visible(text: str) -> str:
    """Return text on one line, without anything that a terminal would obey."""
    return "".join(map(_shown, text.rstrip("\n")))


def visible_lines(text: str) -> str:
    """Return text without anything that a terminal would obey; newlines stay."""
    return "".join(char if char == "\n" else _shown(char) for char in text)


def tell(text: str) -> None:
    """Say something on standard error, on one line."""
    print(f"hermitty: {visible(text)}", file=sys.stderr)


def escaping_handler(format_: str) -> logging.Handler:
    """Return a handler that writes what is logged to standard error, escaped."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Escaping(format_))
    return handler


def escape_logs() -> None:
    """Escape what is logged where nobody has said how: warnings, on standard error."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Escaping())


class _Escaping(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return visible_lines(super().format(record))  # a traceback has lines


def _shown(char: str) -> str:
    return char if char.isprintable() else char.encode("unicode_escape").decode()
