"""A connection that an agent cannot trip up, over the SDK's.

What it does otherwise than the SDK's own:

- `_meta` reaches a handler as the one argument `acp_meta`; it never overrides what was validated.
- Parameters that run or change something are taken as they are, or refused; see `strict`.
- `$/cancel_request` ends the wait for an answer, which is then error -32800.
- Notifications are handled one after the other, in the order in which they came; a request begins when everything
  before it was handled. `settled` waits for that, for whoever got an answer.
- Malformed messages, repeated ids and answers that nobody asked for break nothing; floods wait or are refused.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from acp.connection import Connection, MethodHandler, StreamDirection, StreamEvent
from acp.exceptions import RequestError
from pydantic import ValidationError

from hermitty.adapters.acp import faults, strict
from hermitty.adapters.acp.frames import FrameTransport
from hermitty.errors import HermittyError, TooLarge

META = "acp_meta"
_LOG = logging.getLogger("hermitty.acp")
# Messages that wait to be handled. More of them wait in the pipe, and whoever writes them waits too.
_QUEUED = 1024
# Requests of an agent that are being carried out. Nobody waits for a thousand things at once.
_RUNNING = 1024

Observer = Callable[[StreamEvent], Awaitable[None] | None]


class AcpConnection(Connection):
    """One side of a connection. Close it with `close`."""

    def __init__(
        self, handler: MethodHandler, transport: FrameTransport | Any, *, observers: list[Observer] | None = None
    ) -> None:
        self.ended = asyncio.Event()  # nothing will come any more
        self.failure: HermittyError | None = None  # why, if the other side did something wrong
        self._waiting: asyncio.Queue[dict[str, Any] | asyncio.Future[None]] = asyncio.Queue(_QUEUED)
        self._running: dict[object, asyncio.Task[Any]] = {}
        self._queued: set[object] = set()  # requests that have not begun
        self._to_cancel: set[object] = set()
        super().__init__(guarded(handler), transport, observers=observers)
        self._consumer = self._tasks.create(self._consume(), name="hermitty.acp.consume")

    async def close(self) -> None:
        """End the connection, and everything that is being done for the other side."""
        try:
            await super().close()
        finally:
            self.ended.set()

    async def settled(self) -> None:
        """Wait until everything that has come so far was handled."""
        if self._closed or self._consumer.done():
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        await self._waiting.put(done)
        await asyncio.wait({done, self._consumer}, return_when=asyncio.FIRST_COMPLETED)

    async def _receive_loop(self) -> None:
        try:
            while (message := await self._transport.receive()) is not None:
                self._notify_observers(StreamDirection.INCOMING, message)
                await self._take(message)
        except asyncio.CancelledError:
            return
        except TooLarge as exc:
            self.failure = exc
        except (ConnectionError, OSError):  # the other side is gone, which is an end like any other
            pass
        self._disconnect()

    async def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            self._take_answer(message)
        elif message["method"] == "$/cancel_request":
            self._cancel(message.get("params"))
        else:
            self._queued.add(_key_of(message))
            await self._waiting.put(message)

    def _take_answer(self, message: dict[str, Any]) -> None:
        request_id = message.get("id")
        if not isinstance(request_id, int) or isinstance(request_id, bool) or request_id not in self._pending:
            _LOG.info("an answer that nobody asked for")
            return
        if "error" in message:
            message = {"id": request_id, "error": _as_error(message["error"])}
        self._handle_response(message)

    def _cancel(self, params: object) -> None:
        if not isinstance(params, dict) or "requestId" not in params or not _is_id(params["requestId"]):
            return
        key = _key(params["requestId"])
        task = self._running.get(key)
        if task is not None:
            self._to_cancel.add(key)
            task.cancel()
        elif key in self._queued:
            self._to_cancel.add(key)

    async def _consume(self) -> None:
        while True:
            message = await self._waiting.get()
            if isinstance(message, asyncio.Future):
                if not message.done():
                    message.set_result(None)
            elif "id" in message:
                self._begin(message)
            elif isinstance(message["method"], str):
                await self._run_notification(message)

    def _begin(self, message: dict[str, Any]) -> None:
        key = _key_of(message)
        self._queued.discard(key)
        problem = None
        if key is None or not isinstance(message["method"], str):
            problem = RequestError.invalid_request({"details": "a request has a method and an id"})
        elif key in self._running:
            problem = RequestError.invalid_request({"details": "a request with this id is being carried out"})
        elif key in self._to_cancel:
            self._to_cancel.discard(key)
            problem = faults.cancelled()
        elif len(self._running) >= _RUNNING:
            problem = RequestError(-32603, f"Internal error: more than {_RUNNING} requests at once")
        if problem is not None:
            request_id = message["id"] if key is not None else None
            self._tasks.create(self._answer({"jsonrpc": "2.0", "id": request_id, "error": _error_object(problem)}))
        else:
            self._running[key] = self._tasks.create(self._run_request(message), name="hermitty.acp.request")

    async def _run_request(self, message: dict[str, Any]) -> None:
        key = _key_of(message)
        try:
            payload = await self._execute_request(message)
            if isinstance(payload.get("error"), dict):
                payload["error"] = {name: part for name, part in payload["error"].items() if part is not None}
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if key not in self._to_cancel or task is None:
                raise  # the connection closes
            task.uncancel()
            payload = {"jsonrpc": "2.0", "id": message["id"], "error": _error_object(faults.cancelled())}
        finally:
            # From here on the answer is on its way, and cannot be cancelled any more.
            self._running.pop(key, None)
            self._to_cancel.discard(key)
        await self._answer(payload)

    async def _answer(self, payload: dict[str, Any]) -> None:
        try:
            await self._transport.send(payload)
        except TooLarge as exc:
            payload = {"jsonrpc": "2.0", "id": payload["id"], "error": _error_object(faults.of_hermitty(exc))}
            await self._transport.send(payload)
        except (ConnectionError, OSError):  # nobody is there to read it
            return
        self._notify_observers(StreamDirection.OUTGOING, payload)

    async def _run_notification(self, message: dict[str, Any]) -> None:
        try:
            await self._handler(message["method"], message.get("params"), True)
        except RequestError as exc:  # a notification has no answer
            _LOG.info("a notification was not understood: %d %s", exc.code, exc)

    def _disconnect(self) -> None:
        super()._disconnect()
        self.ended.set()


def guarded(handler: MethodHandler) -> MethodHandler:
    """Keep `_meta` out of the arguments, and make every error one that the other side understands."""

    async def handle(method: str, params: Any, is_notification: bool) -> Any:
        try:
            strict.check(method, params)
            return await handler(method, nested_meta(params), is_notification)
        except RequestError:
            raise
        except ValidationError as exc:
            raise faults.of_validation(exc) from exc
        except HermittyError as exc:
            raise faults.of_hermitty(exc) from exc
        except Exception as exc:  # the other side waits for an answer, whatever is wrong with ours
            _LOG.exception("%r failed", method)
            raise RequestError.internal_error({"details": type(exc).__name__}) from exc

    return handle


def nested_meta(params: Any) -> Any:
    """Move `_meta` into one key of itself: the SDK's router spreads its keys over the arguments of a method."""
    if not isinstance(params, dict) or not params.get("_meta"):
        return params
    return {**params, "_meta": {META: params["_meta"]}}


def _is_id(value: object) -> bool:
    return value is None or (isinstance(value, str | int) and not isinstance(value, bool))


def _key(request_id: object) -> tuple[str, object]:
    return type(request_id).__name__, request_id  # 1 and "1" are two ids


def _key_of(message: dict[str, Any]) -> tuple[str, object] | None:
    request_id = message.get("id")
    return _key(request_id) if "id" in message and _is_id(request_id) else None


def _error_object(error: RequestError) -> dict[str, Any]:
    found = {"code": error.code, "message": str(error)}
    return found if error.data is None else {**found, "data": error.data}


def _as_error(error: object) -> dict[str, Any]:
    """Return an error as it should have been sent."""
    if not isinstance(error, dict):
        return {"code": -32603, "message": str(error)[:2000]}
    code, message = error.get("code"), error.get("message")
    return {
        "code": code if isinstance(code, int) else -32603,
        "message": message if isinstance(message, str) else "Error",
        "data": error.get("data"),
    }
