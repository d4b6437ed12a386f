"""Servers of terminals as processes of their own: hermitty's, the bare relay, terminado; and the process of viewers.

hermitty's is the real one, `hermitty serve` with a durable host, in a state directory of its own. Everything ends with
its context, the host and its terminals too.
"""

import asyncio
import contextlib
import http.client
import importlib.util
import itertools
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bench.machine import processor_seconds, proportional_bytes, say
from hermitty.host.control import host_status, stop_host

_TOKEN = "a-token-for-benchmarks-0123456789abcdef"
_START_S = 30.0
_END_S = 30.0
# Answers of the viewers may be long: a time for each of thousands of keys.
_LINE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs."""

    name: str
    pid: int
    port: int
    token: str | None = None
    host: int | None = None  # the process that owns the PTYs, if it is another one
    speaks_json: bool = False

    async def open_terminal(self, name: str, **fields: Any) -> str:
        """Open a terminal, where that is not done by its first viewer; return the path of its WebSocket."""
        if self.token is not None:
            name = (await self.ask("POST", "/api/terminals", {"name": name, "shell": "bash", **fields}))["id"]
        return f"/ws/terminal/{name}"

    async def ask(self, method: str, path: str, value: object = None) -> Any:
        """Send a request to its API, and return the answer."""
        return await asyncio.to_thread(self._ask, method, path, value)

    def memory_bytes(self) -> int | None:
        """Return the memory of the server and its host: all that is resident of the one, the share of the other.

        The output that a host holds is in files, which the server has mapped: they count there.
        """
        resident = resident_bytes(self.pid)
        held = proportional_bytes(self.host) if self.host is not None else 0
        return None if resident is None or held is None else resident + held

    def processor_seconds(self) -> float | None:
        """Return the processor time of the main threads of the server and its host."""
        spent = [processor_seconds(pid) for pid in (self.pid, self.host) if pid is not None]
        return None if None in spent else sum(each or 0 for each in spent)

    def _ask(self, method: str, path: str, value: object) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_START_S)
        with contextlib.closing(connection):
            body = None if value is None else json.dumps(value)
            connection.request(method, path, body, self.headers())
            answer = connection.getresponse()
            data = answer.read()
            if answer.status >= 300:
                raise AssertionError(f"{method} {path} was answered with {answer.status}: {data!r}")
            return json.loads(data) if data else None

    def headers(self) -> dict[str, str]:
        """Return the headers of a request to its API."""
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}


def http_request(server: Server, method: str, path: str, body: str = "") -> str:
    """Write a whole request to the API of a server."""
    headers = {"Host": f"127.0.0.1:{server.port}", **server.headers(), "Content-Length": str(len(body.encode()))}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", body])


def resident_bytes(process: int) -> int | None:
    """Return the memory of a process that is not swapped out; None where the system does not tell."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


OpenServer = Callable[[], AbstractAsyncContextManager[Server]]


def contenders() -> dict[str, OpenServer]:
    """Return hermitty, the floor, and the peer if it is installed."""
    found: dict[str, OpenServer] = {"hermitty": hermitty_server, "floor": relay_server}
    if all(importlib.util.find_spec(module) for module in ("terminado", "tornado")):
        found["terminado"] = terminado_server
    else:
        say("bench: terminado is left out: it is not installed")
    return found


@contextlib.asynccontextmanager
async def hermitty_server(**settings: str) -> AsyncIterator[Server]:
    """Run `hermitty serve`. Settings are given by the names of their variables, without the prefix."""
    with tempfile.TemporaryDirectory(prefix="bench-serve-", ignore_cleanup_errors=True) as directory:
        state = Path(directory)
        chosen = {"STATE_DIR": directory, "CONFIG": os.devnull, "TOKEN": _TOKEN, **settings}
        environment = {f"HERMITTY_{name}": value for name, value in chosen.items()}
        try:
            async with _process("hermitty.cli.main", "serve", "--port", "0", environment=environment) as process:
                line = await _first_line(process)
                port = int(line.partition("127.0.0.1:")[2].partition("/")[0])
                status = await asyncio.to_thread(host_status, state)
                yield Server("hermitty", process.pid, port, _TOKEN, status.welcome.pid if status else None)
        finally:
            await asyncio.to_thread(stop_host, state)


@contextlib.asynccontextmanager
async def relay_server() -> AsyncIterator[Server]:
    """Run the bare relay."""
    async with _process("bench.relay") as process:
        yield Server("floor", process.pid, int(await _first_line(process)))


@contextlib.asynccontextmanager
async def terminado_server() -> AsyncIterator[Server]:
    """Run terminado."""
    async with _process("bench.terminado_server") as process:
        yield Server("terminado", process.pid, int(await _first_line(process)), speaks_json=True)


class Viewers:
    """The process of viewers, from outside: each method is an order to it. A context."""

    def __init__(self) -> None:
        self._stack = contextlib.AsyncExitStack()
        self._numbers = itertools.count(1)
        self._process: asyncio.subprocess.Process

    async def __aenter__(self) -> Self:
        self._process = await self._stack.enter_async_context(_process("bench.viewers", stdin=asyncio.subprocess.PIPE))
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    async def join(self, group: str, server: Server, paths: Sequence[str], *, reads: bool = True) -> None:
        """Let viewers come, one for each path."""
        asked = {"port": server.port, "token": server.token, "json": server.speaks_json}
        await self.order("join", group=group, paths=paths, reads=reads, **asked)

    async def leave(self, group: str) -> None:
        """Let the viewers of a group go."""
        await self.order("leave", group=group)

    def ending_with(self, line: str) -> tuple[str, str]:
        """Return what to type so that a command line ends with a marker of its own, and the marker."""
        return ending_with(line, next(self._numbers))

    async def let_echo(self, group: str, line: str) -> None:
        """Run a command line, and then let the kernel echo each key, and nothing else print anything."""
        typed, marker = self.ending_with(f"stty -icanon; {line}")
        typed = typed.replace("\r", "; cat > /dev/null\r")
        await self.order("flood", group=group, typed=typed, marker=marker, frames=True)

    async def order(self, do: str, **fields: Any) -> Any:
        """Have something done, and return what is answered."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **fields}).encode() + b"\n")
        await self._process.stdin.drain()
        answer = await self._process.stdout.readline()
        if not answer:
            raise AssertionError(f"the process of viewers has ended while it did {do}; see its error output")
        return json.loads(answer)


def ending_with(line: str, number: int) -> tuple[str, str]:
    """Return what to type so that a command line ends with a marker, and the marker.

    What is echoed differs from what is printed. It is printed twice: a frame may end in the midst of one.
    """
    return f"{line}; printf 'end_%s_ end_%s_\\n' {number} {number}\r", f"end_{number}_"


@contextlib.asynccontextmanager
async def _process(
    *arguments: str, environment: Mapping[str, str] | None = None, stdin: int = asyncio.subprocess.DEVNULL
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a module of Python. In a session of its own a Ctrl-C does not reach it: it is ended from here, once."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", *arguments),
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | dict(environment or {}),
        start_new_session=True,
        limit=_LINE_BYTES,
    )
    try:
        yield process
    finally:
        await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
    try:
        async with asyncio.timeout(_END_S):
            await process.communicate()
    except TimeoutError:
        process.kill()
        await process.communicate()


async def _first_line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(_START_S):
        line = await process.stdout.readline()
    if not line:
        raise RuntimeError("a server has ended before it was ready; see its error output")
    return line.decode()
