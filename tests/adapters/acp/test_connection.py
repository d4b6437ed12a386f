"""A connection that an agent cannot trip up."""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
from acp._transport import memory_transport_pair
from acp.exceptions import RequestError
from hypothesis import given
from hypothesis import strategies as st

from hermitty.adapters.acp.connection import META, AcpConnection, nested_meta
from hermitty.adapters.acp.frames import FrameTransport, LineSplitter, decode, encode
from hermitty.errors import TooLarge
from tests.support.shells import PATIENCE_S


class Handler:
    """Remembers what it is told, and waits where it is told to."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.go_on = asyncio.Event()
        self.began = asyncio.Event()

    async def __call__(self, method: str, params: Any, is_notification: bool) -> Any:
        if method == "slow" or (params or {}).get("slow"):
            self.began.set()
            await self.go_on.wait()
        self.heard.append((method, params))
        match method:
            case "fail":
                raise ZeroDivisionError("secret details")
            case "refuse":
                raise RequestError(-32602, "no")
            case "huge":
                return {"text": "x" * 5000}
        return {"echo": params}


class Link:
    """A connection, and the other end of it."""

    def __init__(self, limit: int) -> None:
        self.handler = Handler()
        ours, self._theirs = memory_transport_pair()
        if limit:
            send = ours.send

            async def limited(message: dict[str, Any]) -> None:
                if len(encode(message)) > limit:
                    raise TooLarge("a message", limit)
                await send(message)

            ours.send = limited  # type: ignore[method-assign]
        self.connection = AcpConnection(self.handler, ours)

    async def send(self, **message: Any) -> None:
        await self._theirs.send({"jsonrpc": "2.0", **message})

    async def receive(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_S):
            message = await self._theirs.receive()
        assert message is not None
        return message

    async def end(self) -> None:
        await self._theirs.close()


@contextlib.asynccontextmanager
async def linked(limit: int = 0) -> AsyncIterator[Link]:
    link = Link(limit)
    try:
        yield link
    finally:
        await link.connection.close()


def test_meta_is_one_argument() -> None:
    params = {"command": "safe", "_meta": {"command": "evil"}}
    assert nested_meta(params) == {"command": "safe", "_meta": {META: {"command": "evil"}}}
    assert params["_meta"] == {"command": "evil"}
    others: list[Any] = [None, [], "x", {}, {"_meta": None}]
    for other in others:
        assert nested_meta(other) == other


async def test_notifications_are_handled_in_order_and_requests_after_what_came_before() -> None:
    async with linked() as link:
        await link.send(method="note", params={"number": 0, "slow": True})
        for number in range(1, 50):
            await link.send(method="note", params={"number": number})
        await link.send(id=1, method="ask", params={"number": 50})
        await link.handler.began.wait()
        assert link.handler.heard == []
        link.handler.go_on.set()
        await link.receive()
        assert [params["number"] for _, params in link.handler.heard] == list(range(51))


async def test_settled_waits_for_everything_that_has_come() -> None:
    async with linked() as link:
        asking = asyncio.ensure_future(link.connection.send_request("prompt", {}))
        request = await link.receive()
        for number in range(20):
            await link.send(method="note", params={"number": number})
        await link.send(id=request["id"], result={})
        assert await asking == {}
        await link.connection.settled()
        assert len(link.handler.heard) == 20


async def test_a_cancelled_request_is_answered_once_and_the_connection_goes_on() -> None:
    async with linked() as link:
        for request_id in (1, "1", None):
            link.handler.began.clear()
            await link.send(id=request_id, method="slow")
            await link.handler.began.wait()
            await link.send(method="$/cancel_request", params={"requestId": request_id})
            answer = await link.receive()
            assert (answer["id"], answer["error"]["code"]) == (request_id, -32800)
        # What is over, or was never asked, cannot be cancelled.
        oddities: list[Any] = [{"requestId": 1}, {"requestId": 99}, {"requestId": [1]}, {}, [], None]
        for params in oddities:
            await link.send(method="$/cancel_request", params=params)
        await link.send(id=2, method="ask")
        assert (await link.receive())["result"] == {"echo": None}


async def test_a_request_that_has_not_begun_can_be_cancelled() -> None:
    async with linked() as link:
        await link.send(method="note", params={"slow": True})
        await link.send(id=1, method="ask")
        await link.send(method="$/cancel_request", params={"requestId": 1})
        await link.send(id=2, method="ask")
        await link.handler.began.wait()
        link.handler.go_on.set()
        first, second = await link.receive(), await link.receive()
        answers = {each["id"]: each for each in (first, second)}
        assert answers[1]["error"]["code"] == -32800
        assert answers[2]["result"] == {"echo": None}
        assert [method for method, _ in link.handler.heard] == ["note", "ask"]


async def test_an_id_in_use_is_refused_and_the_first_request_is_answered() -> None:
    async with linked() as link:
        await link.send(id=1, method="slow")
        await link.handler.began.wait()
        await link.send(id=1, method="ask")
        assert (await link.receive())["error"]["code"] == -32600
        link.handler.go_on.set()
        assert (await link.receive())["result"] == {"echo": None}


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"id": 1, "method": 5}, -32600),
        ({"id": [1], "method": "ask"}, -32600),
        ({"id": 1.5, "method": "ask"}, -32600),
        ({"id": True, "method": "ask"}, -32600),
        ({"id": 1, "method": "fail"}, -32603),
        ({"id": 1, "method": "refuse"}, -32602),
        ({"id": 1, "method": "terminal/create", "params": {"args": [1]}}, -32602),
        ({"id": 1, "method": "terminal/create", "params": []}, -32602),
    ],
)
async def test_bad_requests_get_errors(message: dict[str, Any], code: int) -> None:
    async with linked() as link:
        await link.send(**message)
        answer = await link.receive()
        assert answer["error"]["code"] == code
        assert "secret" not in json.dumps(answer)


async def test_noise_breaks_nothing() -> None:
    async with linked() as link:
        for message in (
            {},
            {"id": 7},
            {"id": [1], "result": {}},
            {"id": "x", "error": "what"},
            {"id": True, "result": 1},
            {"method": None},
            {"method": 5, "params": 3},
            {"method": "unknown/notification"},
            {"method": "fail"},
        ):
            await link.send(**message)
        await link.send(id=1, method="ask")
        assert (await link.receive())["id"] == 1


async def test_an_error_without_form_is_an_error_all_the_same() -> None:
    async with linked() as link:
        for error in ("broken", None, {"code": "x", "message": 5}, {}):
            asking = asyncio.ensure_future(link.connection.send_request("prompt", {}))
            request = await link.receive()
            await link.send(id=request["id"], error=error)
            with pytest.raises(RequestError) as caught:
                await asking
            assert caught.value.code == -32603


async def test_an_answer_that_is_too_large_becomes_an_error() -> None:
    async with linked(limit=1000) as link:
        await link.send(id=1, method="huge")
        answer = await link.receive()
        assert (answer["id"], answer["error"]["data"]["code"]) == (1, "too_large")


async def test_the_end_of_the_other_side_is_told_to_whoever_waits() -> None:
    async with linked() as link:
        asking = asyncio.ensure_future(link.connection.send_request("prompt", {}))
        await link.receive()
        await link.end()
        with pytest.raises(ConnectionError):
            await asking
        async with asyncio.timeout(PATIENCE_S):
            await link.connection.ended.wait()
            await link.connection.settled()


# Frames.


@given(st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line)), st.data())
def test_any_cut_gives_the_same_lines(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    splitter = LineSplitter(100)
    found = [
        line
        for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)
        for line in splitter.feed(stream[start:end])
    ]
    assert found + splitter.finish() == lines


@given(st.binary())
def test_no_line_raises(line: bytes) -> None:
    assert decode(line) is None or isinstance(decode(line), dict)


@pytest.mark.parametrize(
    "line", [b"", b"x", b"[]", b"5", b'{"a": NaN}', b"[" * 100_000, b'"\xff"', b'{"id": ' + b"9" * 5000 + b"}"]
)
def test_what_is_no_object_is_noise(line: bytes) -> None:
    assert decode(line) is None


def test_a_message_is_one_line_of_utf8_whatever_is_in_it() -> None:
    data = encode({"text": "a\nb\u2028\ud800é"})
    assert data.count(b"\n") == 1
    assert json.loads(data)["text"] == "a\nb\u2028?é"


async def test_noise_is_counted_and_a_line_that_is_too_long_is_the_end() -> None:
    read, write = os.pipe()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read, "rb"))
    try:
        frames = FrameTransport(reader, None, max_frame_bytes=200)  # type: ignore[arg-type]
        os.write(write, b'debug: \x1b[31mhi\n\n{"id": 1}\nnull\n{"id": 2}\n')
        assert await frames.receive() == {"id": 1}
        assert await frames.receive() == {"id": 2}
        assert frames.noise_lines == 2
        os.write(write, b'{"id": "' + b"x" * 300)
        with pytest.raises(TooLarge):
            await frames.receive()
    finally:
        os.close(write)
        transport.close()
