"""A server in a thread of its own, for tests without an event loop."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.client.conftest import Server, started_server
from tests.client.proxy import Proxy, proxy_to
from tests.support.shells import PATIENCE_S


@dataclass
class Threaded:
    """A server, a proxy in front of it, and the loop that both run in."""

    server: Server
    proxy: Proxy
    loop: asyncio.AbstractEventLoop

    @property
    def url(self) -> str:
        return self.server.url

    def call(self, function: Callable[[], Any]) -> Any:
        """Call a function in the server's thread; what it returns is awaited there if it has to be."""

        async def there() -> Any:
            result = function()
            return await result if asyncio.iscoroutine(result) else result

        return asyncio.run_coroutine_threadsafe(there(), self.loop).result(PATIENCE_S)


@contextlib.contextmanager
def threaded_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: dict[str, object] | None = None
) -> Iterator[Threaded]:
    monkeypatch.setenv("HERMITTY_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("HERMITTY_TOKEN", raising=False)
    monkeypatch.delenv("HERMITTY_URL", raising=False)
    ready: Future[tuple[Threaded, asyncio.Event]] = Future()

    async def serve() -> None:
        enough = asyncio.Event()
        async with (
            started_server(tmp_path, monkeypatch, extra or {}) as server,
            proxy_to(server.serving.port) as proxy,
        ):
            ready.set_result((Threaded(server, proxy, asyncio.get_running_loop()), enough))
            await enough.wait()

    def work() -> None:
        try:
            asyncio.run(serve())
        except BaseException as exc:
            if ready.done():
                raise
            ready.set_exception(exc)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        found, enough = ready.result(PATIENCE_S)
        try:
            yield found
        finally:
            found.loop.call_soon_threadsafe(enough.set)
    finally:
        thread.join(PATIENCE_S)
