"""Terminals for AI agents and the people who watch them.

    async with hermitty.open() as rt:
        result = await rt.run("pytest -q", cwd="/proj", wait_s=60)
        print(result.exit_code, result.text)

`hermitty.open(url="http://127.0.0.1:8421")` is the same for the terminals of a server, and `hermitty.sync.open()` the
same without `async`.
"""

from typing import TYPE_CHECKING, Any, overload

from hermitty.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermitty.client.runtime import RemoteRuntime
    from hermitty.config import PolicySettings, RunSettings, Settings, TerminalSettings
    from hermitty.errors import HermittyError
    from hermitty.model import CommandResult, NeedsInput, Quality, State
    from hermitty.runtime.api import Answer, Command, Runtime, Sandbox, Terminal
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
    "RemoteRuntime",
    "RunSettings",
    "Runtime",
    "Sandbox",
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
    "RemoteRuntime": "hermitty.client.runtime",
    "RunSettings": "hermitty.config",
    "Runtime": "hermitty.runtime.api",
    "Sandbox": "hermitty.runtime.api",
    "Settings": "hermitty.config",
    "State": "hermitty.model",
    "Terminal": "hermitty.runtime.api",
    "TerminalSettings": "hermitty.config",
    "execute_with_timeout": "hermitty.runtime.timing",
}


@overload
def open(  # noqa: A001 - read as hermitty.open
    settings: "Settings | Callable[[], Settings] | None" = None, *, approver: "Approver | None" = None
) -> "Runtime": ...


@overload
def open(  # noqa: A001
    *, approver: "Approver | None" = None, url: str, token: str | None = None, retry_s: float | None = None
) -> "RemoteRuntime": ...


def open(  # noqa: A001
    settings: "Settings | Callable[[], Settings] | None" = None,
    *,
    approver: "Approver | None" = None,
    url: str | None = None,
    token: str | None = None,
    retry_s: float | None = None,
) -> "Runtime | RemoteRuntime":
    """Make a runtime whose terminals live in this process, or with the server at `url`. Use it with `async with`.

    Without settings, they come from the user's file and the environment, and follow changes. The approver, a function
    that takes a `Question` and returns an `Approval`, is asked about commands that the policy does not allow by itself.
    Without one, your program is trusted with its own commands: they run, save for those that destroy a system.

    A server has its own settings, and asks its people. Its token comes from HERMITTY_TOKEN if it is not given, or from
    the state directory if the server runs there; a connection that breaks is tried again for `retry_s` seconds.
    """
    if url is not None:
        from hermitty.client.opening import open_remote
        from hermitty.runtime.places import find_places

        return open_remote(url, token, state=find_places().state, settings=settings, approver=approver, retry_s=retry_s)
    if token is not None or retry_s is not None:
        from hermitty.errors import InvalidRequest

        raise InvalidRequest("a token is for a server; name it with url=")
    from hermitty.runtime.api import build_runtime

    return build_runtime(settings, approver=approver)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "sync":
        return import_module("hermitty.sync")
    if name not in _HOMES:
        raise AttributeError(f"module 'hermitty' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
