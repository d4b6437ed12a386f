"""A runtime for the specification's tools, which know nothing of calls that hosts cut off."""

from collections.abc import Awaitable
from typing import Any

from hermitty.adapters.mcp.terminals import LONGEST_WAIT_S, TAKE_OFF_S
from hermitty.model import CommandResult
from hermitty.runtime.api import Runtime

# What is left of a call's time for its command.
_TOOL_WAIT_S = LONGEST_WAIT_S - TAKE_OFF_S


class BoundedRuntime:
    """What the specification's tools use of a runtime; no wait is longer than a call may be."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.open_terminal = runtime.open_terminal
        self.close_terminal = runtime.close_terminal

    @property
    def settings(self) -> Any:
        settings = self._runtime.settings
        wait_s = min(settings.tools.wait_persistent_s, _TOOL_WAIT_S)
        return settings.with_values({"tools.wait_persistent_s": wait_s})

    def run_in(self, terminal_id: str, command: str, **options: Any) -> Awaitable[CommandResult]:
        return self._runtime.run_in(terminal_id, command, **options)

    def run_temporary(self, command: str, **options: Any) -> Awaitable[CommandResult]:
        limit_s = min(self._runtime.settings.tools.wait_temporary_s, _TOOL_WAIT_S)
        return self._runtime.run_temporary(command, wait_s=limit_s, **options)
