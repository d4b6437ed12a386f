"""A runtime whose terminals outlive it: on the durable host of the state directory, with what is stored there."""

from collections.abc import Callable

from hermitty.config import Settings
from hermitty.host.base import Host
from hermitty.host.daemon import DaemonOptions
from hermitty.host.starter import connect
from hermitty.runtime.build import build_runtime
from hermitty.runtime.places import find_places, make_private
from hermitty.runtime.recording.recordings import Recordings
from hermitty.runtime.runtime import Runtime
from hermitty.runtime.settings.source import SettingsSource
from hermitty.runtime.state.store import StateStore
from hermitty.runtime.surviving import Survival


async def open_durable(
    settings: Settings | Callable[[], Settings] | None = None, *, options: DaemonOptions | None = None
) -> Runtime:
    """Find or start the host of this user's state directory, and go on with what is there.

    Raises HostBusy when another process uses it. `Runtime.leave` lets go of it, and everything goes on; `close` ends
    every terminal. Nobody is trusted: questions wait for an answer as long as the settings say.
    """
    return await open_on(await connect(make_private(find_places().state), options=options), settings)


async def open_on(host: Host, settings: Settings | Callable[[], Settings] | None = None) -> Runtime:
    """Make a runtime on a host whose terminals outlive this process, and go on with what is there."""
    places = find_places()
    try:
        current = SettingsSource().current if settings is None else settings
        recordings = Recordings(places, lambda: (current if isinstance(current, Settings) else current()).recording)
        survival = Survival(StateStore(places.history_file))
        runtime = build_runtime(current, host=host, survival=survival, recordings=recordings)
    except BaseException:
        await host.leave()
        raise
    try:
        await runtime.adopt()
    except BaseException:
        await runtime.leave()
        raise
    return runtime
