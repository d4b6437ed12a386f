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

    from hermitty.config import PolicySettings, RunSettings, Settings, TerminalSettings
    from hermitty.errors import HermittyError
    from hermitty.model import CommandResult, NeedsInput, Quality, State
    from hermitty.runtime.api import Answer, Command, Runtime, Terminal
    from hermitty.runtime.approvals import Approval, Approver, Question
    from hermitty.runtime.timing import execute_with_timeout

__all__ = [
    "Answer",
    "Approval",
    "Approver",
    "Command",
    "CommandResult",
    "HermittyError",
    "NeedsInput",
    "PolicySettings",
    "Quality",
    "Question",
    "RunSettings",
    "Runtime",
    "Settings",
    "State",
    "Terminal",
    "TerminalSettings",
    "__version__",
    "execute_with_timeout",
    "open",
]

# Where each name lives. Nothing is imported before it is used: importing hermitty costs next to nothing.
_HOMES = {
    "Answer": "hermitty.runtime.api",
    "Approval": "hermitty.runtime.approvals",
    "Approver": "hermitty.runtime.approvals",
    "Command": "hermitty.runtime.api",
    "CommandResult": "hermitty.model",
    "HermittyError": "hermitty.errors",
    "NeedsInput": "hermitty.model",
    "PolicySettings": "hermitty.config",
    "Quality": "hermitty.model",
    "Question": "hermitty.runtime.approvals",
    "RunSettings": "hermitty.config",
    "Runtime": "hermitty.runtime.api",
    "Settings": "hermitty.config",
    "State": "hermitty.model",
    "Terminal": "hermitty.runtime.api",
    "TerminalSettings": "hermitty.config",
    "execute_with_timeout": "hermitty.runtime.timing",
}


def open(  # noqa: A001 - read as hermitty.open
    settings: "Settings | Callable[[], Settings] | None" = None, *, approver: "Approver | None" = None
) -> "Runtime":
    """Make a runtime whose terminals live in this process. Use it with `async with`.

    Without settings, they come from the user's file and the environment, and follow changes. The approver, a function
    that takes a `Question` and returns an `Approval`, is asked about commands that the policy does not allow by itself.
    Without one, your program is trusted with its own commands: they run, save for those that destroy a system.
    """
    from hermitty.runtime.api import build_runtime

    return build_runtime(settings, approver=approver)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "sync":
        return import_module("hermitty.sync")
    if name not in _HOMES:
        raise AttributeError(f"module 'hermitty' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
