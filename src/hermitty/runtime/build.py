"""Choosing the parts that a runtime is made of."""

from hermitty.config import Settings
from hermitty.host.local import LocalHost
from hermitty.model import Size
from hermitty.runtime.runtime import Runtime
from hermitty.vt.ghostty import GhosttyScreen
from hermitty.vt.screen import Screen


def build_runtime(settings: Settings | None = None) -> Runtime:
    """Make a runtime whose terminals live in this process."""
    return Runtime(LocalHost(), settings or Settings(), _new_screen)


def _new_screen(size: Size) -> Screen:
    return GhosttyScreen(size)
