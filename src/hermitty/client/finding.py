"""Where the server of this machine is, and the token that it takes.

A token goes to the server that it is for, and nowhere else: the one in the state directory is sent only to the address
that the same directory names.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from hermitty.errors import InvalidRequest, NotAuthenticated, ServerUnavailable

URL_VARIABLE = "HERMITTY_URL"
TOKEN_VARIABLE = "HERMITTY_TOKEN"
_SERVER_FILE = "server.json"
_TOKEN_FILE = "token"
_MOST_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A server and what to show it. The token is in no representation."""

    url: str
    token: str = field(repr=False)


def find_server(
    url: str | None, token: str | None, *, state: Path, environ: Mapping[str, str] | None = None
) -> ServerAddress:
    """Return the server that is meant: the given one, the one of HERMITTY_URL, or the one of the state directory."""
    environ = os.environ if environ is None else environ
    announced = _announced(state)
    wanted = url or environ.get(URL_VARIABLE) or announced
    if wanted is None:
        raise ServerUnavailable(
            f"no server runs here ({state} names none); start one with `hermitty serve`, or name one with --url "
            f"or {URL_VARIABLE}",
            url=None,
        )
    address, in_url = checked_url(wanted)
    found = token or in_url or environ.get(TOKEN_VARIABLE)
    if not found and announced is not None and is_same_server(address, checked_url(announced)[0]):
        # `localhost` may lead to somebody else's server on another of its addresses.
        address = checked_url(announced)[0]
        found = _read(state / _TOKEN_FILE)
    if not found:
        raise NotAuthenticated(
            f"the server at {address} needs its token: pass token=, --token or {TOKEN_VARIABLE}; "
            "`hermitty serve` prints it"
        )
    return ServerAddress(address, found.strip())


def checked_url(url: str) -> tuple[str, str | None]:
    """Return the address without anything behind the host, and the token if there was one in it."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as exc:
        raise InvalidRequest(f"{url[:200]!r} is not the address of a server: {exc}") from exc
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise InvalidRequest(f"{url[:200]!r} is not the address of a server, such as http://127.0.0.1:8421")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    where = f"{parts.scheme}://{host}" + (f":{port}" if port is not None else "")
    pairs = (pair.partition("=") for pair in parts.query.split("&"))
    token = next((value for name, _, value in pairs if name == "token" and value), None)
    path = parts.path.rstrip("/")
    return where + path, token


def is_same_server(one: str, other: str) -> bool:
    """Tell whether two addresses lead to the same server of this machine."""
    return _key(one) == _key(other)


def _key(url: str) -> tuple[str, str, int | None, str]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    # A server of this machine tells the address that it listens on; people write its name.
    is_here = host in ("localhost", "127.0.0.1", "::1")
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, "localhost" if is_here else host, port, parts.path.rstrip("/")


def _announced(state: Path) -> str | None:
    text = _read(state / _SERVER_FILE)
    try:
        url = json.loads(text)["url"] if text else None
        return checked_url(url)[0] if isinstance(url, str) else None
    except (ValueError, TypeError, KeyError):
        return None


def _read(file: Path) -> str | None:
    try:
        with file.open("rb") as opened:
            return opened.read(_MOST_BYTES).decode("utf-8", "replace").strip() or None
    except OSError:
        return None
