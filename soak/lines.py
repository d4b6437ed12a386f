"""Numbered lines: what is printed, and exactly what is wrong with what was seen of it."""

from collections import Counter
from dataclasses import dataclass

# Floods have long lines: what is counted is bytes.
_PADDING = "abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789-äöüß"


@dataclass(frozen=True, slots=True)
class Numbered:
    """Lines from 1 to `count`, each with its number behind a tag, which makes it unique."""

    tag: str
    count: int
    padded: bool = False

    @property
    def form(self) -> str:
        """Return how `seq -f` is told to print them."""
        return f"{self.tag} %08.0f{self._end}"

    def text(self, end: str = "\n") -> str:
        """Return all lines."""
        return "".join(f"{self.tag} {number:08d}{self._end}{end}" for number in range(1, self.count + 1))

    def printed(self) -> bytes:
        """Return them as a terminal prints them."""
        return self.text("\r\n").encode()

    @property
    def _end(self) -> str:
        return f" {_PADDING}" if self.padded else ""


def fitting(tag: str, size: int) -> Numbered:
    """Return padded lines of about so many bytes."""
    line = len(Numbered(tag, 1, padded=True).printed())
    return Numbered(tag, max(1, size // line), padded=True)


@dataclass(frozen=True, slots=True)
class Difference:
    """How many bytes of what was printed are missing, came twice, or were never printed."""

    lost: int = 0
    doubled: int = 0
    foreign: int = 0
    disordered: bool = False

    def __bool__(self) -> bool:
        return bool(self.lost or self.doubled or self.foreign or self.disordered)


def difference(expected: bytes, seen: bytes) -> Difference:
    """Compare two outputs by their lines, all of which are expected once."""
    if expected == seen:
        return Difference()
    wanted, found = Counter(expected.splitlines(keepends=True)), Counter(seen.splitlines(keepends=True))
    lost = sum(len(line) * (count - found[line]) for line, count in wanted.items() if found[line] < count)
    more = {line: count - wanted[line] for line, count in found.items() if count > wanted[line]}
    doubled = sum(len(line) * count for line, count in more.items() if line in wanted)
    foreign = sum(len(line) * count for line, count in more.items() if line not in wanted)
    return Difference(lost, doubled, foreign, disordered=not (lost or doubled or foreign))


def between(data: bytes | bytearray, begin: bytes, end: bytes) -> bytes | None:
    """Return what is between two lines, or None while one of them is missing."""
    start = data.find(begin)
    if start < 0:
        return None
    stop = data.rfind(end)
    return bytes(data[start + len(begin) : stop]) if stop >= start + len(begin) else None


def misplaced(expected: bytes, at: int, data: bytes) -> int:
    """Count the bytes of `data`, which starts at `at` of what is expected, that are not those expected there.

    What is outside of what is expected does not count: prompts, and the command line.
    """
    first, last = max(0, at), min(len(expected), at + len(data))
    if first >= last or expected[first:last] == data[first - at : last - at]:
        return 0
    return sum(a != b for a, b in zip(expected[first:last], data[first - at : last - at], strict=True))
