"""Choosing the parts that a runtime is made of."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from hermitty.config import Settings
from hermitty.events import Event
from hermitty.host.base import Host
from hermitty.model import Size
from hermitty.runtime.artifacts import ArtifactStore
from hermitty.runtime.confining import own_places
from hermitty.runtime.history.writer import History
from hermitty.runtime.places import find_places
from hermitty.runtime.runtime import Runtime
from hermitty.runtime.settings.source import SettingsSource
from hermitty.vt.ghostty import GhosttyScreen
from hermitty.vt.lazy_screen import LazyScreen
from hermitty.vt.screen import Screen

if TYPE_CHECKING:
    from hermitty.runtime.approvals import Approver
    from hermitty.runtime.gate import Gate
    from hermitty.runtime.recording.recordings import Recordings
    from hermitty.runtime.surviving import Survival


def build_runtime(
    settings: Settings | Callable[[], Settings] | None = None,
    *,
    approver: "Approver | None" = None,
    host: Host | None = None,
    survival: "Survival | None" = None,
    recordings: "Recordings | None" = None,
) -> Runtime:
    """Make a runtime whose terminals live in this process, or on another host.

    Settings may be given as they are, as a function that returns them when they are needed, or not at all: then they
    come from the user's file and the environment, and follow changes. The approver is asked about commands that the
    policy does not allow by itself. Without one, the program that calls is trusted with its own commands: they run,
    save for those that destroy a system. With `survival`, what happens is stored for the process that comes after this
    one, and nobody is trusted: a server's callers answer for nothing.
    """
    if settings is None:
        current = SettingsSource().current
    elif isinstance(settings, Settings):
        current = _always(settings)
    else:
        current = settings
    places = find_places()
    output = current().output
    artifacts = ArtifactStore(
        places.artifacts,
        max_bytes_per_artifact=output.artifact_max_bytes,
        max_total_bytes=output.artifact_total_bytes,
    )
    history = History(places.history_file, lambda: current().history)

    def make_gate(publish: Callable[[Event], None], taint: Callable[[str, str], None]) -> "Gate":
        from hermitty.runtime.approvals import Approvals
        from hermitty.runtime.gate import Gate
        from hermitty.runtime.taints import Taints

        approvals = Approvals(publish, approver=approver)
        trusts_caller = approver is None and survival is None
        return Gate.at(places, lambda: current().policy, approvals, Taints(taint), trusts_caller=trusts_caller)

    return Runtime(
        host or _local_host(),
        current,
        _new_screen,
        restore_screen=_restored_screen,
        artifacts=artifacts,
        history=history,
        make_gate=make_gate,
        survival=survival,
        recordings=recordings,
        hide=own_places(str(places.config_file), str(places.state)),
    )


def _always(settings: Settings) -> Callable[[], Settings]:
    return lambda: settings


def _local_host() -> Host:
    if sys.platform == "win32":
        from hermitty.host.windows import WindowsHost

        return WindowsHost()
    from hermitty.host.local import LocalHost

    return LocalHost()


def _new_screen(size: Size) -> Screen:
    return LazyScreen(GhosttyScreen(size))


def _restored_screen(snapshot: bytes) -> Screen:
    return LazyScreen(GhosttyScreen.restore(snapshot))
