"""Requests and messages that make no sense: each is refused, and the server stays as it is."""

import asyncio
import contextlib
import json

import aiohttp

from soak.world import Hand

# Method, path, body. All of them are mistakes of whoever sends them.
_REQUESTS: tuple[tuple[str, str, bytes | None], ...] = (
    ("POST", "/api/run", b"{"),
    ("POST", "/api/run", b"[]"),
    ("POST", "/api/run", b'{"command": 5}'),
    ("POST", "/api/run", b'{"command": "true", "unknown": 1}'),
    ("POST", "/api/run", b'{"command": "true", "cwd": "/no/such/directory"}'),
    ("POST", "/api/run", b'{"command": "true", "id": "mine"}'),
    ("POST", "/api/run", b'{"command": "true", "wait_s": -1}'),
    ("POST", "/api/run", b'{"command": "", "session": "\\u0000"}'),
    ("POST", "/api/run", b"\xff\xfe"),
    ("POST", "/api/run", b"[" * 100_000),
    ("POST", "/api/run", b'{"command": "' + b"x" * 2_000_000 + b'"}'),
    ("POST", "/api/terminals", b'{"cols": 100000}'),
    ("POST", "/api/terminals", b'{"shell": "no-such-shell"}'),
    ("POST", "/api/terminals", b'{"sandbox": "open"}'),
    ("GET", "/api/terminals/t_nobody", None),
    ("GET", "/api/terminals/..%2f..%2fetc", None),
    ("GET", "/api/commands/c_0000000000000000", None),
    ("GET", "/api/commands/%00", None),
    ("GET", "/api/artifacts/..%2f..%2ftoken", None),
    ("GET", "/api/history?before=yesterday", None),
    ("GET", "/api/history?limit=99999999999999999999999", None),
    ("POST", "/api/approvals/nobody", b'{"answer": "allow"}'),
    ("POST", "/api/approvals/nobody", b'{"answer": "perhaps"}'),
    ("PUT", "/api/terminals", b"{}"),
    ("GET", "/api/nothing", None),
)
_MESSAGES: tuple[str | bytes, ...] = (
    "{",
    "[]",
    '{"type": 1}',
    '{"type": "nonsense"}',
    '{"type": "resize", "cols": -1, "rows": 1e9}',
    '{"type": "ack", "offset": 99999999999999}',
    '{"type": "lock"}',
    "[" * 100_000,
    json.dumps({"type": "ping", "more": "x" * 500_000}),
    "x" * 1_500_000,
)
_RAW: tuple[bytes, ...] = (
    b"\x16\x03\x01\x00\x00",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET /api/terminals HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    b"POST /api/run HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 200_000 + b"\r\n\r\n",
)


async def send_nonsense(hand: Hand) -> None:
    """Send requests that make no sense: each is refused as a mistake of the client."""
    for method, path, data in hand.dice.sample(_REQUESTS, k=6):
        told = await hand.ask(method, path, raw=data)
        what = f"{hand.name}: {method} {path} {(data or b'')[:60]!r}"
        hand.ledger.expect(what, True, 400 <= told.status < 500)
    await _say(hand, hand.dice.choice(_RAW))


async def watch_nonsense(hand: Hand) -> None:
    """Send messages that make no sense to a terminal: it can be used on."""
    async with hand.terminal() as terminal:
        for message in hand.dice.sample(_MESSAGES, k=4):
            with contextlib.suppress(aiohttp.ClientError, ConnectionError):
                await hand.server.up.wait()
                url = f"{hand.server.url}/ws/terminal/{terminal.id}"
                async with hand.http.ws_connect(url, max_msg_size=0) as socket:
                    await socket.receive()
                    await socket.send_str(message if isinstance(message, str) else message.decode())
                    await socket.send_str('{"type": "ping"}')
                    await _until_answered(socket)
        result = await hand.run_in(terminal.id, "count.sh", "%.0f", 1, 9)
        if result is not None:
            hand.ledger.compare_code(f"{hand.name}: afterwards", 9, result.exit_code)


async def _until_answered(socket: aiohttp.ClientWebSocketResponse) -> None:
    async with asyncio.timeout(60):
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT and json.loads(message.data)["type"] == "pong":
                return


async def _say(hand: Hand, data: bytes) -> None:
    """Send bytes that are no request of ours, and hear whatever comes."""
    await hand.server.up.wait()
    with contextlib.suppress(OSError):
        reader, writer = await asyncio.open_connection("127.0.0.1", hand.server.port)
        try:
            writer.write(data)
            writer.write_eof()
            async with asyncio.timeout(60):
                answer = await reader.read(4096)
            hand.ledger.expect(f"{hand.name}: {data[:40]!r}: {answer[:80]!r}", False, answer.startswith(b"HTTP/1.1 5"))
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
