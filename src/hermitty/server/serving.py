"""A server from its start to its end: binding, telling where it is, and leaving without losing anything."""

import asyncio
import contextlib
import errno
import inspect
import os
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web

from hermitty.errors import HostUnavailable, InvalidRequest, UnsafeAddress
from hermitty.runtime.api import Runtime, SettingsSource, build_runtime
from hermitty.runtime.places import Places, find_places, make_private
from hermitty.runtime.state.store import StateStore
from hermitty.server.app import build_app
from hermitty.server.connections import Site
from hermitty.server.guard import Guard
from hermitty.server.hosts import is_loopback, is_wildcard
from hermitty.server.logins import Logins
from hermitty.server.parts import PARTS, SettingsPlace
from hermitty.server.presence import announced, only_server
from hermitty.server.tokens import Tokens, checked_token, own_token

if TYPE_CHECKING:
    from hermitty.runtime.approvals import Approval

# Where the next free port is looked for, when the usual one is taken and nobody asked for it.
_PORTS_TRIED = 50
TOKEN_VARIABLE = "HERMITTY_TOKEN"
# How long requests that are being answered may take at the end; those that wait are answered at once.
_LAST_REQUESTS_S = 5.0


@dataclass(frozen=True, slots=True)
class Options:
    """How to serve. What is None is decided by the settings."""

    host: str | None = None
    port: int | None = None
    token: str | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that is ready."""

    url: str  # without the token
    token: str
    port: int
    app: web.Application
    moved_from: int | None = None  # the usual port, which was taken

    @property
    def address(self) -> str:
        """Return the address for a person's browser: it logs in."""
        return f"{self.url}/?token={self.token}"


# Adds to the application of a server before it starts.
Extend = Callable[[web.Application], None]
# Makes the runtime of a server. What it does when the server ends is the runtime's own decision.
BuildRuntime = Callable[[SettingsPlace], Runtime | Awaitable[Runtime]]


def in_process(settings: SettingsPlace) -> Runtime:
    """Make a runtime whose terminals live in this process, and end with it. People are asked through the server."""
    return build_runtime(settings.current, approver=_whoever_comes)


async def durable(settings: SettingsPlace) -> Runtime:
    """Make a runtime whose terminals are on a host of their own, and outlive the server; go on with those there are."""
    if os.name != "posix":
        return in_process(settings)
    from hermitty.runtime.durable import open_durable

    return await open_durable(settings.current)


def clustered(cluster: str) -> BuildRuntime:
    """Return what makes a runtime whose terminals are on the machines of a cluster."""

    async def make(settings: SettingsPlace) -> Runtime:
        from hermitty.runtime.clustered import open_clustered

        return await open_clustered(cluster, settings.current)

    return make


@asynccontextmanager
async def serving(
    options: Options,
    *,
    places: Places | None = None,
    settings: SettingsPlace | None = None,
    make_runtime: BuildRuntime = in_process,
    extend: Extend | None = None,
) -> AsyncIterator[Serving]:
    """Serve as long as the context is open. At its end requests are answered, everybody is told, commands are left."""
    places = places or find_places()
    settings = settings or SettingsSource()
    chosen = settings.current().server
    context = _tls(options)
    host = options.host or chosen.host
    # Taken out of the environment: what runs in terminals must not find it there.
    token = options.token or os.environ.pop(TOKEN_VARIABLE, None) or None
    _check_address(host, has_token=token is not None, is_tls=context is not None)
    async with AsyncExitStack() as stack:
        stack.enter_context(only_server(make_private(places.state)))
        token = checked_token(token) if token else own_token(places.state / "token")
        is_asked_for = options.port is not None
        wanted = chosen.port if options.port is None else options.port
        sockets = _bind(host, wanted, is_asked_for=is_asked_for)
        for sock in sockets:
            stack.callback(sock.close)
        port = sockets[0].getsockname()[1]
        tokens = Tokens(token, places.state / "tokens.json")
        guard = Guard(
            tokens,
            Logins(tokens, places.state / "logins.json"),
            lambda: settings.current().server,
            bound=host,
            port=port,
            is_tls=context is not None,
        )
        state = StateStore(places.history_file)
        stack.callback(state.close)
        made = make_runtime(settings)
        runtime = await made if inspect.isawaitable(made) else made
        app = await stack.enter_async_context(_application(runtime, settings, state, guard, places))
        if extend is not None:
            extend(app)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=_LAST_REQUESTS_S)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        site = Site(
            runner,
            sockets,
            most=chosen.connections,
            ssl_context=context,
            access_log=None,
            keepalive_timeout=chosen.idle_timeout_s,
            max_line_size=chosen.header_bytes,
            max_field_size=chosen.header_bytes,
        )
        await site.start()
        scheme = "https" if context else "http"
        url = f"{scheme}://{_shown(host)}:{port}"
        stack.enter_context(announced(places.state, url))
        moved_from = wanted if wanted not in (0, port) else None
        yield Serving(url, token, port, app, moved_from)


async def serve(
    options: Options,
    ready: Callable[[Serving], None],
    *,
    make_runtime: BuildRuntime = in_process,
    extend: Extend | None = None,
) -> None:
    """Serve until somebody says that it is enough (SIGINT, SIGTERM)."""
    enough = asyncio.Event()
    with _signals(enough.set):
        async with serving(options, make_runtime=make_runtime, extend=extend) as server:
            ready(server)
            await enough.wait()


def serve_until_stopped(
    options: Options,
    ready: Callable[[Serving], None],
    extend: Extend | None = None,
    *,
    make_runtime: BuildRuntime | None = None,
) -> None:
    """Serve in an event loop of its own: the fast one, where it is installed."""
    make_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    with contextlib.suppress(ImportError):
        import uvloop

        make_loop = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(serve(options, ready, make_runtime=make_runtime or durable, extend=extend))


@asynccontextmanager
async def _application(
    runtime: Runtime, settings: SettingsPlace, state: StateStore, guard: Guard, places: Places
) -> AsyncIterator[web.Application]:
    """An application in front of a runtime. The runtime ends after the last answer; what waits for it ends with it."""
    app = None
    try:
        async with runtime:
            app = build_app(
                runtime,
                settings,
                state,
                guard,
                audit_file=places.audit_file,
                recordings=getattr(runtime, "recordings", None),
            )
            yield app
    finally:
        if app is not None:
            await app[PARTS].runs.close()


async def _whoever_comes(question: object) -> "Approval":
    """Leave a question to the clients of the server. Without an approver, callers would be trusted with everything."""
    await asyncio.Event().wait()
    raise AssertionError("whoever asked has left")


def _check_address(host: str, *, has_token: bool, is_tls: bool) -> None:
    if not is_loopback(host) and not (has_token or is_tls):
        raise UnsafeAddress(
            f"{host} can be reached from other machines; choose a token with --token or HERMITTY_TOKEN, or encrypt "
            "with --tls-cert and --tls-key"
        )


def _bind(host: str, port: int, *, is_asked_for: bool) -> list[socket.socket]:
    """Bind the port, or the next free one when nobody asked for it."""
    last = port if is_asked_for or port == 0 else min(65_535, port + _PORTS_TRIED)
    for each in range(port, last + 1):
        try:
            return _bound(host, each)
        except OSError as exc:
            if exc.errno != errno.EADDRINUSE or each == last:
                why = exc.strerror or str(exc)
                raise HostUnavailable(f"cannot listen on {host} port {each}: {why}") from exc
    raise AssertionError("the last port returns or raises")


def _bound(host: str, port: int) -> list[socket.socket]:
    """Bind every address of a name to the same port."""
    flags = socket.AI_PASSIVE
    found = dict.fromkeys(
        (family, address)
        for family, _, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    )
    sockets: list[socket.socket] = []
    try:
        for family, address in found:
            where = (address[0], sockets[0].getsockname()[1], *address[2:]) if sockets and port == 0 else address
            sock = socket.socket(family, socket.SOCK_STREAM)
            sockets.append(sock)
            if os.name == "posix":
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.setblocking(False)
            try:
                sock.bind(where)
            except OSError as exc:
                # A name may stand for an address that this machine does not have: localhost without IPv6.
                if exc.errno != errno.EADDRNOTAVAIL or len(found) == 1:
                    raise
                sockets.remove(sock)
                sock.close()
    except BaseException:
        for sock in sockets:
            sock.close()
        raise
    return sockets


def _tls(options: Options) -> ssl.SSLContext | None:
    if options.tls_cert is None and options.tls_key is None:
        return None
    if options.tls_cert is None or options.tls_key is None:
        raise InvalidRequest("TLS needs both --tls-cert and --tls-key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(options.tls_cert, options.tls_key)
    except (OSError, ssl.SSLError) as exc:
        raise InvalidRequest(f"the certificate or its key cannot be used: {exc.strerror or exc}") from exc
    return context


def _shown(host: str) -> str:
    """Return the host as the address has it."""
    if is_wildcard(host):
        host = "127.0.0.1" if "." in host else "::1"
    return f"[{host}]" if ":" in host else host


@contextlib.contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)
    try:
        for number in numbers:
            loop.add_signal_handler(number, stop)
    except NotImplementedError:  # Windows: Ctrl-C raises KeyboardInterrupt
        yield
        return
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
