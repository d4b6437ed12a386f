"""From an address to a runtime, for those who may not have the packages that it takes."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermitty.client.finding import find_server
from hermitty.errors import InvalidRequest, NotSupported

if TYPE_CHECKING:
    from hermitty.client.runtime import RemoteRuntime


def open_remote(
    url: str | None,
    token: str | None,
    *,
    state: Path,
    settings: object = None,
    approver: Any = None,
    retry_s: float | None = None,
) -> "RemoteRuntime":
    """Make the runtime of a server; `state` is where a server of this machine says where it is."""
    if settings is not None:
        raise InvalidRequest("a server has its own settings; leave them out")
    address = find_server(url, token, state=state)
    try:
        from hermitty.client.runtime import RETRY_S, RemoteRuntime
    except ModuleNotFoundError as exc:
        if exc.name != "aiohttp":
            raise
        raise NotSupported(
            "a client of a server needs more packages (aiohttp is missing); install hermitty[server]"
        ) from exc
    return RemoteRuntime(address, approver=approver, retry_s=RETRY_S if retry_s is None else retry_s)
