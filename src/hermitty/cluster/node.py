"""What a node keeps on its disk: who it is, and whether it shall get new terminals.

Both belong to the state directory of its durable host, so an agent holds nothing that dies with it.
"""

import contextlib
import json
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermitty.host.place import HostPlace

_KEY_BYTES = 4


@dataclass(frozen=True, slots=True)
class NodeFiles:
    """The files of one node."""

    state: Path

    @property
    def secret(self) -> Path:
        """Return the file with what a gateway must know."""
        return self.state / "host" / "secret"

    @property
    def draining(self) -> Path:
        """Return the file that is there while the node shall get no new terminals."""
        return self.state / "host" / "draining"

    @property
    def agent(self) -> Path:
        """Return the file that tells where the agent listens."""
        return self.state / "host" / "agent.json"

    def announce(self, told: dict[str, object]) -> None:
        """Tell where the agent listens."""
        new = self.agent.with_name(f".agent.{os.getpid()}")
        new.write_text(json.dumps(told))
        os.replace(new, self.agent)

    def withdraw(self, pid: int) -> None:
        """Tell that the agent of this process has ended, unless there is another one."""
        if self.announced().get("pid") == pid:
            self.agent.unlink(missing_ok=True)

    def announced(self) -> dict[str, Any]:
        """Return where the agent listens, or nothing."""
        try:
            told = json.loads(self.agent.read_bytes())
        except (OSError, ValueError):
            return {}
        return told if isinstance(told, dict) else {}

    def key(self) -> str:
        """Return the name of the node in the ids of its terminals; it is chosen once."""
        return _once(self.state, "node", lambda: secrets.token_hex(_KEY_BYTES))

    def own_secret(self) -> bytes:
        """Return the node's secret; it is chosen once, and only its user can read it."""
        return bytes.fromhex(_once(self.state, "secret", lambda: secrets.token_hex(32)))

    def drain(self, *, on: bool) -> None:
        """Say whether the node shall be left alone."""
        if on:
            HostPlace(self.state).make()
            self.draining.touch(mode=0o600)
        else:
            self.draining.unlink(missing_ok=True)

    def is_draining(self) -> bool:
        """Tell whether the node shall get no new terminals."""
        return self.draining.exists()


def machine_size() -> tuple[int | None, int | None]:
    """Return how many processors this process may use, and how much memory the machine has; None: it does not tell."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        return processors, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return processors, None


def _once(state: Path, name: str, choose: Callable[[], str]) -> str:
    """Read a file, or write it with a text of our choice; of two who choose, one wins."""
    place = HostPlace(state)
    place.make()
    path = place.directory / name
    with contextlib.suppress(FileNotFoundError):
        return path.read_text().strip()
    new = place.directory / f".{name}.{os.getpid()}.{secrets.token_hex(4)}"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, choose().encode())
    finally:
        os.close(descriptor)
    try:
        with contextlib.suppress(FileExistsError):
            os.link(new, path)
    finally:
        new.unlink()
    return path.read_text().strip()
