"""What a sandbox is asked for, and what came of it. Values only: nothing here looks at the machine.

A `Sandbox` is a wish, with gaps. A `Confinement` is the complete order to a host. An `Effective` is the host's answer:
what is enforced, by what, and what is not.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, Literal, Self

from hermitty.errors import InvalidRequest

Network = Literal["none", "host"]
Mechanism = Literal["bubblewrap", "landlock", "none"]

# What a sandbox is about. The first four make it one; the others are limits, and are reported where they do not hold.
ISOLATION = ("write", "read", "network", "processes")
LIMITS = ("pids", "memory", "cpu")

# How memory is limited without a control group: what a process may write to and shares with nobody (RLIMIT_DATA). A
# limit of addresses would stop programs that only reserve them.
EACH_PROCESS = "resource limit of each process"

# What terminal and shell exchange files through: a part of the private directory, whose rest programs never see.
SHELL_DIRECTORY = "confined"

_PATHS = ("read_deny", "read", "write")
_MOST_PATHS = 256
_LONGEST_PATH = 4096
_MOST_PIDS = 4_194_304
_MOST_BYTES = 2**62


class Mode(StrEnum):
    """How much is confined."""

    OFF = "off"
    WORKSPACE = "workspace"  # all but secrets can be read, the workspace can be written
    STRICT = "strict"  # only what is listed can be read, and the environment is cleared

    @property
    def strength(self) -> int:
        """Return a number that grows with what is confined."""
        return tuple(Mode).index(self)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What somebody wishes. None leaves it to the settings. Paths are absolute, or begin with `~/`."""

    mode: Mode = Mode.WORKSPACE
    network: Network | None = None
    read_deny: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    pids: int | None = None
    memory_bytes: int | None = None
    cpu: float | None = None  # cores

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", _mode(self.mode))
        _check_network(self.network)
        for name in _PATHS:
            object.__setattr__(self, name, _paths(name, getattr(self, name)))
        _check_number("pids", self.pids, 1, _MOST_PIDS, whole=True)
        _check_number("memory_bytes", self.memory_bytes, 1 << 20, _MOST_BYTES, whole=True)
        _check_number("cpu", self.cpu, 0.01, 4096, whole=False)

    @classmethod
    def parse(cls, value: object) -> "Sandbox | None":
        """Make a wish of what a caller gave: a mode, an object with fields, a wish, or nothing."""
        if value is None or isinstance(value, Sandbox):
            return value
        if isinstance(value, str):
            return cls(_mode(value))
        if not isinstance(value, Mapping):
            raise InvalidRequest("sandbox must be off, workspace or strict, or an object with a mode")
        known = {field.name for field in fields(cls)}
        if unknown := sorted(str(name) for name in value if name not in known):
            raise InvalidRequest(f"sandbox has no {unknown[0]!r}; there are {', '.join(sorted(known))}")
        return cls(**value)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it; `parse` reads it back."""
        return _plain(self)


@dataclass(frozen=True, slots=True)
class Confinement:
    """The order to a host. A terminal keeps its own for as long as it lives, and equal ones may be used alike."""

    mode: Mode
    workspace: str
    read_deny: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()  # where hermitty keeps tokens, rules and records
    network: Network = "none"
    pids: int | None = None
    memory_bytes: int | None = None
    cpu: float | None = None
    allow_weaker: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return _plain(self)

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read it back. Raises ValueError for anything else."""
        built: Self = _built(cls, value)
        return built

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", _mode(self.mode))
        _check_network(self.network)
        for name in (*_PATHS, "hide"):
            object.__setattr__(self, name, _paths(name, getattr(self, name)))
        if not isinstance(self.workspace, str) or not self.workspace.startswith("/") or "\0" in self.workspace:
            raise InvalidRequest(f"the workspace of a sandbox is an absolute path, not {str(self.workspace)[:200]!r}")
        _check_number("pids", self.pids, 1, _MOST_PIDS, whole=True)
        _check_number("memory_bytes", self.memory_bytes, 1 << 20, _MOST_BYTES, whole=True)
        _check_number("cpu", self.cpu, 0.01, 4096, whole=False)
        if not isinstance(self.allow_weaker, bool):
            raise InvalidRequest("allow_weaker of a sandbox is true or false")


@dataclass(frozen=True, slots=True)
class Effective:
    """What holds in a terminal. `enforced` says by what, `not_enforced` why not."""

    mode: Mode
    mechanism: Mechanism
    network: Network
    enforced: tuple[tuple[str, str], ...] = ()
    not_enforced: tuple[tuple[str, str], ...] = ()

    @property
    def is_weaker(self) -> bool:
        """Tell whether it is less of a sandbox than was asked for. Limits that do not hold are only told."""
        return any(what in ISOLATION for what, _ in self.not_enforced)

    @property
    def summary(self) -> str:
        """Say it in a few words."""
        words = f"{self.mode} ({self.mechanism}), network {'off' if self.network == 'none' else 'on'}"
        missing = ", ".join(dict.fromkeys(what for what, _ in self.not_enforced))
        return f"{words}, not enforced: {missing}" if missing else words

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "mode": self.mode.value,
            "mechanism": self.mechanism,
            "network": self.network,
            "weaker": self.is_weaker,
            "enforced": dict(self.enforced),
            "not_enforced": [{"what": what, "why": why} for what, why in self.not_enforced],
        }

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read it back. Raises ValueError for anything else."""
        try:
            given: Any = value
            mechanism, network = given["mechanism"], given["network"]
            enforced = tuple((str(what), str(by)) for what, by in given["enforced"].items())
            missing = tuple((str(each["what"]), str(each["why"])) for each in given["not_enforced"])
            if mechanism not in ("bubblewrap", "landlock", "none") or network not in ("none", "host"):
                raise ValueError("what a sandbox does is not known here")
            return cls(Mode(given["mode"]), mechanism, network, enforced, missing)
        except (KeyError, TypeError, AttributeError) as exc:
            raise ValueError("not what a sandbox does") from exc


def confine(
    wish: Sandbox | None,
    floor: Sandbox,
    *,
    workspace: str,
    hide: Iterable[str] = (),
    allow_weaker: bool = False,
) -> Confinement | None:
    """Make the order of a wish and of what the settings say; None when nothing is to be confined.

    Settings that confine are a floor: a wish may ask for more, never for less. Raises InvalidRequest.
    """
    asked = replace(floor) if wish is None else wish
    if floor.mode is not Mode.OFF:
        if asked.mode.strength < floor.mode.strength:
            raise InvalidRequest(f"the settings confine every terminal (sandbox.mode is {floor.mode}); ask for no less")
        if asked.network == "host" and floor.network != "host":
            raise InvalidRequest("the settings switch the network off (sandbox.network is none); ask for no more")
        if wider := [path for path in (*asked.write, *asked.read) if path not in (*floor.write, *floor.read)]:
            raise InvalidRequest(f"the settings do not open {wider[0]!r} to sandboxes (sandbox.write, sandbox.read)")
    if asked.mode is Mode.OFF:
        return None
    return Confinement(
        mode=asked.mode,
        workspace=workspace,
        read_deny=_union(floor.read_deny, asked.read_deny),
        read=_union(floor.read, asked.read),
        write=_union(floor.write, asked.write),
        hide=tuple(hide),
        network=asked.network or floor.network or "none",
        pids=_least(asked.pids, floor.pids),
        memory_bytes=_least(asked.memory_bytes, floor.memory_bytes),
        cpu=_least(asked.cpu, floor.cpu),
        allow_weaker=allow_weaker,
    )


def _union(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _least(first: Any, second: Any) -> Any:
    given = [each for each in (first, second) if each is not None]
    return min(given, default=None)


def _mode(value: object) -> Mode:
    try:
        return Mode(value)  # type: ignore[arg-type]
    except ValueError:
        raise InvalidRequest(f"sandbox mode {str(value)[:80]!r} is none of off, workspace, strict") from None


def _check_network(value: object) -> None:
    if value not in (None, "none", "host"):
        raise InvalidRequest(f"the network of a sandbox is none or host, not {str(value)[:80]!r}")


def _paths(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidRequest(f"{name} of a sandbox is a list of paths")
    paths = tuple(value)
    if len(paths) > _MOST_PATHS:
        raise InvalidRequest(f"{name} of a sandbox has {len(paths)} paths; at most {_MOST_PATHS} are taken")
    for path in paths:
        if not isinstance(path, str) or "\0" in path or len(path) > _LONGEST_PATH:
            raise InvalidRequest(f"{name} of a sandbox is a list of paths")
        if not path.startswith(("/", "~/")):
            raise InvalidRequest(f"{name} of a sandbox has {path!r}; write absolute paths, or such with ~/")
    return paths


def _check_number(name: str, value: Any, least: float, most: float, *, whole: bool) -> None:
    kinds = int if whole else int | float
    if value is not None and (isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most):
        raise InvalidRequest(f"{name} of a sandbox is {str(value)[:40]}; it must be from {least:g} to {most:g}")


def _plain(value: Any) -> dict[str, Any]:
    found = {field.name: getattr(value, field.name) for field in fields(value)}
    return {name: list(each) if isinstance(each, tuple) else each for name, each in found.items()}


def _built(kind: Any, value: object) -> Any:
    names = {field.name for field in fields(kind)}
    if not isinstance(value, Mapping) or not {"mode", "workspace"} <= set(value) <= names:
        raise ValueError("not the description of a sandbox")
    try:
        return kind(**value)
    except (InvalidRequest, TypeError) as exc:
        raise ValueError(str(exc)) from exc
