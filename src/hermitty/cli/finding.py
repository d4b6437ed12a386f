"""Which server and which terminal somebody means."""

import argparse
from collections.abc import Sequence
from typing import Any

from hermitty.cli.escapes import visible
from hermitty.client.finding import find_server
from hermitty.client.values import TerminalView, terminal_of
from hermitty.errors import InvalidRequest, NotSupported, TerminalNotFound
from hermitty.runtime.places import find_places

try:
    from hermitty.client.http import Http
except ModuleNotFoundError as exc:
    raise NotSupported(f"this needs more packages ({exc.name} is missing); install hermitty[server]") from exc

# Somebody sits there and waits: a server that restarts is back within seconds.
_RETRY_S = 5.0


def connect(options: argparse.Namespace) -> Http:
    """Return the way to the server that the options, the environment or the state directory name."""
    return Http(find_server(options.url, options.token, state=find_places().state), retry_s=0.0)


def be_patient(http: Http) -> None:
    """From now on, breaks are tried again: the server was there."""
    http.retry_s = _RETRY_S


async def terminals_of(http: Http, *, workspace: str | None = None, session: str | None = None) -> list[dict[str, Any]]:
    """Return the terminals as the server tells them."""
    answer = await http.get("/api/terminals", query={"workspace": workspace, "session": session})
    be_patient(http)
    found: list[dict[str, Any]] = answer.json()["terminals"]
    return found


async def find_terminal(http: Http, meant: str) -> TerminalView:
    """Return the terminal that is meant."""
    return choose(meant, [terminal_of(told) for told in await terminals_of(http)])


def choose(meant: str, terminals: Sequence[TerminalView]) -> TerminalView:
    """Choose by the id, the name, the number or the beginning of the id. Raises when none or several fit."""
    number = meant.removeprefix("#")
    ways = (
        [each for each in terminals if each.id == meant],
        [each for each in terminals if each.name == meant],
        [each for each in terminals if number.isdecimal() and each.number == int(number[:18])],
        [each for each in terminals if meant and each.id.startswith((meant, f"t_{meant}"))],
    )
    for found in ways:
        if len(found) == 1:
            return found[0]
        if found:
            which = ", ".join(each.id for each in found)
            raise InvalidRequest(f"{visible(meant)!r} may be {which}; write more of the id")
    raise TerminalNotFound(meant, [each.id for each in terminals])
