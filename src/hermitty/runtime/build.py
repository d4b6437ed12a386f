"""Choosing the parts that a runtime is made of."""

import sys

from hermitty.config import Settings
from hermitty.host.base import Host
from hermitty.model import Size
from hermitty.runtime.runtime import Runtime
from hermitty.vt.ghostty import GhosttyScreen
from hermitty.vt.screen import Screen


def build_runtime(settings: Settings | None = None) -> Runtime:
    """Make a runtime whose terminals live in this process."""
    return Runtime(_local_host(), settings or Settings(), _new_screen)


def _local_host() -> Host:
    if sys.platform == "win32":
        from hermitty.host.windows import WindowsHost

        return WindowsHost()
    from hermitty.host.local import LocalHost

    return LocalHost()


def _new_screen(size: Size) -> Screen:
    return GhosttyScreen(size)
