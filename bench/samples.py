"""Output as programs and shells print it. The same bytes in every run."""

import random
from collections.abc import Iterator

_PHRASES = (
    "Compiling", "src/engine/terminal.py", "warning: unused variable `state`", "error[E0308]:", "mismatched types",
    "PASSED", "FAILED", "[ 42%]", "->", "0.01s", "Building wheel for package (pyproject.toml):", "finished with status",
    "'done'", "GET /api/terminals HTTP/1.1", "200", "1532", "größer", "日本語", "café", "✓", "✗", "…",
)  # fmt: skip


def log_lines(size: int) -> bytes:
    """Make lines of ASCII, as servers and build tools log them."""
    return _joined(_log_lines(), size)


def text_lines(size: int) -> bytes:
    """Make lines of phrases in several scripts, a little longer than asked for."""
    return _joined(_plain_lines(), size)


def coloured_lines(size: int) -> bytes:
    """Make lines with a colour for every phrase or two, as compilers and test runners print them."""
    return _joined(_coloured_lines(), size)


def command_lines(size: int, nonce: str) -> bytes:
    """Make what bash prints for short commands, one after the other, with the markers of our integration."""
    return _joined(_command_lines(nonce), size)


def _joined(lines: Iterator[str], size: int) -> bytes:
    parts: list[bytes] = []
    length = 0
    while length < size:
        parts.append(next(lines).encode() + b"\n")
        length += len(parts[-1])
    return b"".join(parts)


def _log_lines() -> Iterator[str]:
    chance = random.Random(3)
    while True:
        took, size = chance.randint(1, 900) / 10, chance.randint(100, 99_999)
        second = chance.randint(0, 59)
        yield f"2026-11-15T12:00:{second:02} INFO worker-{size % 8} handled in {took} ms, 200, {size} bytes"


def _plain_lines() -> Iterator[str]:
    chance = random.Random(1)
    while True:
        yield " ".join(chance.choices(_PHRASES, k=chance.randint(1, 8)))


def _coloured_lines() -> Iterator[str]:
    chance = random.Random(2)
    while True:
        parts = []
        for _ in range(chance.randint(1, 6)):
            phrases = " ".join(chance.choices(_PHRASES, k=chance.randint(1, 2)))
            parts.append(f"\x1b[{chance.randint(0, 1)};{chance.randint(30, 37)}m{phrases}\x1b[0m")
        yield " ".join(parts)


def _command_lines(nonce: str) -> Iterator[str]:
    chance = random.Random(3)
    while True:
        phrase = chance.choice(_PHRASES)
        yield (
            f"\x1b]633;P;Cwd=/srv/project;{nonce}\a\x1b]633;D;0;{nonce}\a\x1b[?2004h"
            f"\x1b]633;A;0;{nonce}\a$ \x1b]633;B;{nonce}\aecho {phrase}\r\n\x1b[?2004l\r"
            f"\x1b]633;C;{nonce}\a{phrase}\r"
        )
