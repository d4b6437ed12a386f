"""Terminals for AI agents and the people who watch them.

    async with hermitty.open() as rt:
        result = await rt.run("pytest -q", cwd="/proj", wait_s=60)
        print(result.exit_code, result.text)

`hermitty.sync.open()` is the same without `async`.
"""

from typing import TYPE_CHECKING, Any

from hermitty.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermitty.config import RunSettings, Settings, TerminalSettings
    from hermitty.errors import HermittyError
    from hermitty.model import CommandResult, NeedsInput, Quality, State
    from hermitty.runtime.api import Answer, Command, Runtime, Terminal

__all__ = [
    "Answer",
    "Command",
    "CommandResult",
    "HermittyError",
    "NeedsInput",
    "Quality",
    "RunSettings",
    "Runtime",
    "Settings",
    "State",
    "Terminal",
    "TerminalSettings",
    "__version__",
    "open",
]

# Where each name lives. Nothing is imported before it is used: importing hermitty costs next to nothing.
_HOMES = {
    "Answer": "hermitty.runtime.api",
    "Command": "hermitty.runtime.api",
    "CommandResult": "hermitty.model",
    "HermittyError": "hermitty.errors",
    "NeedsInput": "hermitty.model",
    "Quality": "hermitty.model",
    "RunSettings": "hermitty.config",
    "Runtime": "hermitty.runtime.api",
    "Settings": "hermitty.config",
    "State": "hermitty.model",
    "Terminal": "hermitty.runtime.api",
    "TerminalSettings": "hermitty.config",
}


def open(settings: "Settings | Callable[[], Settings] | None" = None) -> "Runtime":  # noqa: A001 - hermitty.open
    """Make a runtime whose terminals live in this process. Use it with `async with`.

    Without settings, they come from the user's file and the environment, and follow changes.
    """
    from hermitty.runtime.api import build_runtime

    return build_runtime(settings)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "sync":
        return import_module("hermitty.sync")
    if name not in _HOMES:
        raise AttributeError(f"module 'hermitty' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
