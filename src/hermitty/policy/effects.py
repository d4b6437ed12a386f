"""What a command does to the world, how grave that is, and what to say about it."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Effect(StrEnum):
    """One kind of consequence."""

    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    EXEC = "exec"  # runs code that is not part of the line
    NETWORK = "network"
    PRIVILEGE = "privilege"
    PROCESS = "process"  # signals or stops other programs
    SESSION = "session"  # changes what later commands in this shell mean
    DEVICE = "device"
    CREDENTIALS = "credentials"
    UNKNOWN = "unknown"  # could not be analysed


class Level(IntEnum):
    """How grave it is."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2
    CRITICAL = 3

    @property
    def label(self) -> str:
        """Return the name that users know."""
        return self.name.lower()


class Verdict(IntEnum):
    """What is to be done about it; the gravest part of a line decides."""

    ALLOW = 0
    ASK = 1
    BLOCK = 2

    @property
    def label(self) -> str:
        """Return the name that users know."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a part of a line: its effect, and why it is allowed, asked about or blocked."""

    verdict: Verdict
    level: Level
    reason: str
    effect: Effect | None = None
    path: str | None = None  # what is read, written or deleted, if it is a path that is known
    start: int = 0  # the part of the line
    end: int = 0
