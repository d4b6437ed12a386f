"""Output as programs print it: lines of a build, plain and in colour. The same bytes in every run."""

import random
from collections.abc import Iterator

_WORDS = (
    "Compiling checking src/engine/terminal.py tests/vt/test_plain.py warning: unused variable `state` error[E0308] "
    "PASSED FAILED 0.01s [ 42%] -> Building wheel for package (pyproject.toml): finished with status 'done' "
    "GET /api/terminals HTTP/1.1 200 1532 größer 日本語 café ✓ ✗ …"
).split(" ")


def text_lines(size: int) -> bytes:
    """Make lines of words, a little longer than asked for."""
    return _joined(_plain_lines(), size)


def coloured_lines(size: int) -> bytes:
    """Make lines with a colour for every few words, as compilers and test runners print them."""
    return _joined(_coloured_lines(), size)


def _joined(lines: Iterator[str], size: int) -> bytes:
    parts: list[bytes] = []
    length = 0
    while length < size:
        parts.append(next(lines).encode() + b"\n")
        length += len(parts[-1])
    return b"".join(parts)


def _plain_lines() -> Iterator[str]:
    chance = random.Random(1)
    while True:
        yield " ".join(chance.choices(_WORDS, k=chance.randint(1, 18)))


def _coloured_lines() -> Iterator[str]:
    chance = random.Random(2)
    while True:
        parts = []
        for _ in range(chance.randint(1, 6)):
            words = " ".join(chance.choices(_WORDS, k=chance.randint(1, 3)))
            parts.append(f"\x1b[{chance.randint(0, 1)};{chance.randint(30, 37)}m{words}\x1b[0m")
        yield " ".join(parts)
