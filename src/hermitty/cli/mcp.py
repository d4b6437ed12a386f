"""`hermitty mcp`: terminals for an agent, by the Model Context Protocol."""

import argparse
import asyncio
import contextlib
import ipaddress
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from urllib.parse import urlsplit

from hermitty.cli.escapes import escaping_handler, visible
from hermitty.client.finding import ServerAddress, find_server
from hermitty.errors import HermittyError, InvalidRequest, NotSupported, ServerUnavailable, UnsafeAddress
from hermitty.runtime.api import SettingsSource, build_runtime
from hermitty.runtime.places import find_places, make_private

try:
    from hermitty.adapters.mcp.approvals import refuse
    from hermitty.adapters.mcp.http import http_serving
    from hermitty.adapters.mcp.local import LocalTerminals
    from hermitty.adapters.mcp.relay import relaying
    from hermitty.adapters.mcp.server import serving
    from hermitty.adapters.mcp.stdio import serve_stdio
    from hermitty.adapters.mcp.terminals import Terminals
    from hermitty.server.tokens import checked_token, own_token
except ImportError as exc:
    raise NotSupported(f"MCP needs more packages ({exc.name} is missing); install hermitty[mcp]") from exc

TOKEN_VARIABLE = "HERMITTY_TOKEN"
_SIGNALS = ("SIGTERM", "SIGHUP", "SIGINT")


def serve_mcp(options: argparse.Namespace) -> int:
    """Serve until the client leaves or somebody says that it is enough; return the exit code."""
    logging.basicConfig(level=logging.WARNING, handlers=[escaping_handler("hermitty mcp: %(message)s")])
    if options.cwd:
        try:
            os.chdir(options.cwd)
        except OSError as exc:
            raise InvalidRequest(f"--cwd {options.cwd!r} cannot be used: {exc.strerror}") from exc
    work = _serve_http(options) if options.http else _serve_stdio(options)
    make_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    with contextlib.suppress(ImportError):
        import uvloop

        make_loop = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=make_loop) as runner:
        return runner.run(_until_told(work))


@contextlib.asynccontextmanager
async def connect() -> AsyncIterator[Terminals]:
    """Give the terminals to serve: those of a runtime of this process, which ends with it."""
    settings = SettingsSource(workspace=Path.cwd())
    async with build_runtime(settings.current, approver=refuse) as runtime:
        yield LocalTerminals(runtime)


async def _serve_stdio(options: argparse.Namespace) -> None:
    if not options.own and await _relayed(options.token):
        return
    async with connect() as terminals, serving(terminals) as server:
        await serve_stdio(server)


async def _relayed(token: str | None) -> bool:
    """Serve from the server that runs; False if there is none that lets us in."""
    state = find_places().state

    def find() -> ServerAddress:
        return find_server(None, token, state=state)

    async with contextlib.AsyncExitStack() as stack:
        try:
            is_here = _is_loopback(urlsplit(find().url).hostname or "")
            relay = await stack.enter_async_context(relaying(find, directory=os.getcwd() if is_here else None))
            await relay.check()
        except HermittyError as exc:
            if not (isinstance(exc, ServerUnavailable) and exc.url is None):  # nobody has started one
                why = visible(" ".join(str(exc).split()))
                print(f"hermitty mcp: {why}; the terminals are its own instead", file=sys.stderr, flush=True)
            return False
        await relay.serve()
    return True


async def _serve_http(options: argparse.Namespace) -> None:
    if not 0 <= options.port <= 65_535:
        raise InvalidRequest(f"--port must be 0 to 65535, not {options.port}")
    token = _token(options)
    chosen = SettingsSource().current().server
    async with (
        connect() as terminals,
        serving(terminals) as server,
        http_serving(
            server,
            host=options.host,
            port=options.port,
            token=token,
            hosts=chosen.allowed_hosts,
            origins=chosen.allowed_origins,
            body_bytes=chosen.body_bytes,
        ) as url,
    ):
        shown = "" if token is None else f" (token in {find_places().state / 'token'})"
        print(f"hermitty mcp is at {url}{shown}", flush=True)
        await asyncio.Event().wait()


def _token(options: argparse.Namespace) -> str | None:
    given = options.token or os.environ.get(TOKEN_VARIABLE) or None
    if not _is_loopback(options.host) and (given is None or options.no_token):
        raise UnsafeAddress(
            f"{options.host} can be reached from other machines; choose a token with --token or {TOKEN_VARIABLE}"
        )
    if options.no_token:
        return None
    return checked_token(given) if given else own_token(make_private(find_places().state) / "token")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _until_told(work: "asyncio._CoroutineLike[None]") -> int:
    """Do the work until it ends or a signal comes. Everything that was started ends either way."""
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    told: list[int] = []

    def end(number: int) -> None:
        if not told:
            told.append(number)
            task.cancel()

    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            with contextlib.suppress(NotImplementedError):  # Windows
                loop.add_signal_handler(number, end, number)
    try:
        await task
    except asyncio.CancelledError:
        if not told:
            raise
    return 0
