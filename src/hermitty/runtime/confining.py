"""Which sandbox a terminal or a process gets: what the caller wishes, on top of what the settings say.

What the settings say is about directories, and names that callers choose change nothing in it. `sandbox.mode` counts
everywhere, an entry of `sandbox.workspaces` instead of it in its directory. Of all places that a request has to do with
(its workspace, its directory, where its session began; as they are named, and where links lead), the strictest counts.
"""

import asyncio
import os
from collections.abc import Callable, Sequence

from hermitty.config import SandboxSettings, Settings
from hermitty.engine.terminal import Terminal
from hermitty.errors import InvalidSettings
from hermitty.host.base import Host
from hermitty.sandbox.groups import settle
from hermitty.sandbox.layout import within
from hermitty.sandbox.plan import foresee
from hermitty.sandbox.spec import Confinement, Effective, Mode, Sandbox, confine


class Confining:
    """Makes orders for hosts. `hide` are the places where hermitty itself keeps things."""

    def __init__(self, settings: Callable[[], Settings], hide: Sequence[str] = ()) -> None:
        self._settings = settings
        self._hide = tuple(path for path in hide if path != os.devnull)

    def order(
        self, wish: Sandbox | None, *, root: str, began: str | None = None, cwd: str | None = None
    ) -> Confinement | None:
        """Return what a terminal of the project at `root` is confined by; None: by nothing. Raises InvalidRequest.

        A session that `began` in a project is held to its settings elsewhere, too, and so is whoever starts in one
        (`cwd`) for another project.
        """
        settings = self._settings().sandbox
        if wish is None and settings.mode == Mode.OFF and not settings.workspaces:
            return None
        root = os.path.normpath(root)
        places = [root]
        if settings.workspaces:  # otherwise all places are alike
            # A link in one project to another one does not make its settings count there.
            places = [os.path.normpath(each) for each in (root, began, cwd) if each is not None]
            places += [os.path.realpath(each) for each in places]
        floor = max((floor_of(settings, each) for each in dict.fromkeys(places)), key=_strength)
        order = confine(wish, floor, workspace=root, hide=self._hide, allow_weaker=settings.allow_weaker)
        if order is not None:
            settle()
        return order

    async def foreseen(self, order: Confinement | None, host: Host) -> str | None:
        """Return the directory that a sandbox of this order would keep programs in, if that can be relied upon.

        Raises SandboxUnavailable when there can be no such sandbox. A host elsewhere is not asked.
        """
        if order is None or not _is_here(host):
            return None
        effective = await asyncio.to_thread(foresee, order)
        return self.trusted(order, effective)

    def trusted_root(self, terminal: Terminal) -> str | None:
        """Return the directory that a terminal's sandbox keeps programs in, if that can be relied upon."""
        return self.trusted(terminal.sandbox, terminal.sandbox_effective)

    def trusted(self, order: Confinement | None, effective: Effective | None) -> str | None:
        """Return the directory that a sandbox keeps programs in: only a complete one, without a network.

        It must be a directory that the user has named: whoever sends commands chooses where they run, and could let
        anything be a workspace.
        """
        settings = self._settings().sandbox
        if order is None or effective is None or not settings.fewer_questions or order.write:
            return None
        real = os.path.realpath(order.workspace)
        named = nearest(settings, real)
        if named is None or settings.workspaces[named] == Mode.OFF:
            return None
        complete = effective.mechanism == "bubblewrap" and not effective.is_weaker and effective.network == "none"
        return order.workspace if complete and real == order.workspace else None


def nearest(settings: SandboxSettings, root: str) -> str | None:
    """Return the entry of `sandbox.workspaces` that counts for a directory: that of the nearest one around it."""
    around = [path for path in settings.workspaces if within(root, _expanded(path))]
    return max(around, key=lambda path: len(_expanded(path)), default=None)


def floor_of(settings: SandboxSettings, root: str) -> Sandbox:
    """Return what the settings say about a project: the entry of the nearest directory, or what holds for all."""
    named = nearest(settings, root)
    mode = settings.mode if named is None else settings.workspaces[named]
    if mode not in tuple(Mode):
        raise InvalidSettings(f"setting sandbox.workspaces has {mode!r} for {named!r}; write off, workspace or strict")
    return Sandbox(
        mode=Mode(mode),
        network="host" if settings.network == "host" else "none",
        read_deny=settings.read_deny,
        read=settings.read,
        write=settings.write,
        pids=settings.pids,
        memory_bytes=settings.memory_bytes,
        cpu=settings.cpu,
    )


def _strength(floor: Sandbox) -> int:
    return floor.mode.strength


def _is_here(host: Host) -> bool:
    from hermitty.host.client import HostClient
    from hermitty.host.local import LocalHost

    return isinstance(host, LocalHost | HostClient)


def own_places(config_file: str, state: str) -> tuple[str, ...]:
    """Return what no sandbox shows: the state with the server's token, the settings, and what is next to them."""
    parent = os.path.dirname(config_file)
    return state, parent if os.path.basename(parent) == "hermitty" else config_file


def _expanded(path: str) -> str:
    return os.path.normpath(os.path.expanduser(path))
