"""Viewers of terminals: one process for all of them, so that watching costs little and measures itself.

Sockets do not block, and one selector (epoll, on Linux) waits for all of them. During a flood a viewer counts bytes and
looks for the end marker, near the end of what it has read; where frames matter it takes them apart. Between two orders
everything that arrives is read and dropped. Run as `python -m bench.viewers`: one JSON order a line in, one JSON answer
a line out.
"""

import json
import os
import selectors
import socket
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from bench.websockets import BINARY, PONG, TEXT, Frames, client_frame, upgrade_request

_READ_BYTES = 256 * 1024
# The marker is the last thing that a terminal prints, but for a prompt and what the server says about it.
_SEARCHED_BYTES = 4096
# Of the read before: a marker may be cut.
_TAIL_BYTES = 64
# Servers drop who is silent; hermitty's asks after 20 s.
_BEAT_S = 5.0

_buffer = bytearray(_READ_BYTES)
_view = memoryview(_buffer)


class Watcher:
    """The WebSocket of one viewer."""

    def __init__(self, port: int, path: str, token: str | None, *, speaks_json: bool = False) -> None:
        self.speaks_json = speaks_json
        self.received = 0  # bytes, frames and all
        self.payload = 0  # bytes of output, and
        self.resets = 0  # how often output was skipped: both while frames are taken apart
        self.messages: list[tuple[int, bytes]] = []
        self._frames: Frames | None = Frames()
        self._marker: bytes | None = None
        self._tail = b""
        self.socket = socket.create_connection(("127.0.0.1", port))
        try:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.socket.sendall(upgrade_request(port, path, token))
            head = b""
            while b"\r\n\r\n" not in head:
                head += received(self.socket)
            head, _, rest = head.partition(b"\r\n\r\n")
            if b" 101 " not in head.split(b"\r\n")[0] + b" ":
                raise AssertionError(f"no WebSocket, but {head!r}")
        except BaseException:
            self.socket.close()
            raise
        self._take(rest)

    def type(self, text: str) -> None:
        """Type into the terminal."""
        frame = (
            client_frame(TEXT, json.dumps(["stdin", text]).encode())
            if self.speaks_json
            else client_frame(BINARY, text.encode())
        )
        self.socket.setblocking(True)
        self.socket.sendall(frame)
        self.socket.setblocking(False)

    def beat(self) -> None:
        """Say that somebody is there."""
        self.socket.sendall(client_frame(PONG, b""))

    def expect(self, marker: str | None, *, frames: bool) -> None:
        """Count anew, and look for a marker in all that comes from here on."""
        self.received = self.payload = self.resets = 0
        self._tail = b""
        self._marker = marker.encode() if marker else None
        if not frames:
            self._frames = None  # the stream is in the midst of one, and cannot be taken apart again
        elif self._frames is None:
            raise AssertionError("this viewer has dropped its frames")
        self.messages.clear()

    @property
    def has_seen_it(self) -> bool:
        """Whether the marker was there."""
        return self._marker is None

    def read(self) -> None:
        """Read what there is, once."""
        count = self.socket.recv_into(_buffer)
        if not count:
            raise AssertionError("the server ended the connection of a viewer")
        self.received += count
        if self._frames is not None:
            self._take(bytes(_view[:count]))
        if self._marker is not None:
            end = self._tail + bytes(_view[max(0, count - _SEARCHED_BYTES) : count])
            if self._marker in end:
                self._marker = None
            self._tail = end[-_TAIL_BYTES:]

    def await_messages(self, is_enough: Callable[[list[tuple[int, bytes]]], bool]) -> None:
        """Block until the messages are enough."""
        self.socket.setblocking(True)
        while not is_enough(self.messages):
            self._take(received(self.socket))
        self.socket.setblocking(False)

    def _take(self, data: bytes) -> None:
        assert self._frames is not None
        for kind, payload in self._frames.feed(data):
            if kind == BINARY:
                self.payload += len(payload)
            elif kind == TEXT and payload.startswith(b'{"type":"reset"'):
                self.resets += 1
            self.messages.append((kind, payload[:_SEARCHED_BYTES]))
        del self.messages[:-1000]


class Room:
    """Everybody who watches, in groups."""

    def __init__(self, orders: int) -> None:
        self._groups: dict[str, list[Watcher]] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(orders, selectors.EVENT_READ)
        self._readers: set[Watcher] = set()
        self._beat_at = time.monotonic() + _BEAT_S

    # Orders. Each returns what is answered.

    def join(self, group: str, port: int, paths: Sequence[str], token: str | None, json: bool, reads: bool) -> Any:
        """Open a viewer for each path. Viewers that do not read never do."""
        joined = self._groups.setdefault(group, [])
        for path in paths:
            watcher = Watcher(port, path, token, speaks_json=json)
            joined.append(watcher)
            watcher.socket.setblocking(False)
            if reads:
                self._readers.add(watcher)
                self._selector.register(watcher.socket, selectors.EVENT_READ, watcher)
        return len(joined)

    def leave(self, group: str) -> Any:
        """Close the viewers of a group."""
        for watcher in self._groups.pop(group, []):
            if watcher in self._readers:
                self._readers.remove(watcher)
                self._selector.unregister(watcher.socket)
            watcher.socket.close()
        return None

    def flood(self, group: str, typed: str, marker: str, frames: bool) -> Any:
        """Let the first one type, and tell how long it takes until all have seen the marker."""
        watchers = self._groups[group]
        for watcher in watchers:
            watcher.expect(marker, frames=frames)
        started = time.perf_counter()
        watchers[0].type(typed)
        self._pump_until(lambda: all(each.has_seen_it for each in watchers))
        return {
            "seconds": time.perf_counter() - started,
            "received": [each.received for each in watchers],
            "payload": [each.payload for each in watchers],
            "resets": sum(each.resets for each in watchers),
        }

    def each_types(self, group: str, typed: Sequence[str], markers: Sequence[str]) -> Any:
        """Let everybody type a text of their own, and tell how long it takes until all have seen their marker."""
        watchers = self._groups[group]
        started = time.perf_counter()
        for watcher, text, marker in zip(watchers, typed, markers, strict=True):
            watcher.expect(marker, frames=True)
            watcher.type(text)
        self._pump_until(lambda: all(each.has_seen_it for each in watchers))
        return time.perf_counter() - started

    def type(self, group: str, typed: str) -> Any:
        """Let the first one type."""
        self._groups[group][0].type(typed)
        return None

    def keys(self, group: str, count: int) -> Any:
        """Type keys, one after the other; tell how long each takes to come back."""
        watcher = self._groups[group][0]
        seconds = []
        for number in range(count):
            key = chr(ord("a") + number % 26)
            watcher.messages.clear()
            wanted = (TEXT, json.dumps(["stdout", key]).encode()) if watcher.speaks_json else (BINARY, key.encode())
            started = time.perf_counter()
            watcher.type(key)
            watcher.await_messages(lambda messages, wanted=wanted: wanted in messages)  # type: ignore[misc]
            seconds.append(time.perf_counter() - started)
        return seconds

    def attach(self, group: str, port: int, path: str, token: str | None, count: int) -> Any:
        """Come and go; tell how long it takes from connecting until the snapshot is there, and its size.

        Somebody of the group types a key before each: a server that keeps the last picture has to paint a new one.
        """
        seconds = []
        size = 0
        for _ in range(count):
            self.keys(group, 1)
            started = time.perf_counter()
            watcher = Watcher(port, path, token)
            with watcher.socket:
                watcher.await_messages(lambda messages: any(kind == BINARY for kind, _ in messages))
                seconds.append(time.perf_counter() - started)
            told = [json.loads(payload) for kind, payload in watcher.messages if kind == TEXT]
            size = next(each["bytes"] for each in told if each["type"] == "snapshot")
            if watcher.payload < size:
                raise AssertionError(f"a snapshot of {size} bytes came with {watcher.payload}")
        return {"seconds": seconds, "bytes": size}

    def request(self, port: int, request: str, expected: str, count: int) -> Any:
        """Send the same request over one connection, again and again; tell how long each answer takes."""
        seconds = []
        asked = request.encode()
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(count):
                started = time.perf_counter()
                connection.sendall(asked)
                answer = _whole_answer(connection)
                seconds.append(time.perf_counter() - started)
                if expected.encode() not in answer:
                    raise AssertionError(f"the answer was {answer!r}")
        return seconds

    # Waiting.

    def idle(self) -> None:
        """Read and drop what comes, until there is an order, or the end of them."""
        while not self._pump():
            pass

    def _pump_until(self, is_done: Callable[[], bool]) -> None:
        while not is_done():
            if self._pump():
                # Orders come one at a time: this is their end, and nobody waits for an answer any more.
                raise SystemExit(1)

    def _pump(self) -> bool:
        """Wait, read once from each viewer that has something, and tell whether there is an order."""
        is_ordered = False
        for key, _ in self._selector.select(_BEAT_S):
            if key.data is None:
                is_ordered = True
            else:
                key.data.read()
        if time.monotonic() > self._beat_at:
            self._beat_at = time.monotonic() + _BEAT_S
            for watcher in self._readers:
                watcher.beat()
        return is_ordered


def received(connection: socket.socket) -> bytes:
    """Block until there is something, and return it. Raises at the end of the connection."""
    data = connection.recv(_READ_BYTES)
    if not data:
        raise AssertionError("the server ended a connection")
    return data


def _whole_answer(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += received(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    size = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < size:
        body += received(connection)
    return head + b"\r\n\r\n" + body


def _main() -> int:
    room = Room(orders=0)
    line = b""
    while True:
        room.idle()
        read = os.read(0, _READ_BYTES)
        if not read:
            return 0
        line += read
        if line.endswith(b"\n"):
            order = json.loads(line)
            line = b""
            print(json.dumps(getattr(room, order.pop("do"))(**order)), flush=True)


if __name__ == "__main__":
    sys.exit(_main())
