"""WebSockets by hand, as far as the benchmarks need them (RFC 6455): a client that costs little, and a bare server.

Messages are whole in one frame: neither side of any contender sends fragments.
"""

import base64
import hashlib
import os
import struct

TEXT, BINARY, CLOSE, PING, PONG = 0x1, 0x2, 0x8, 0x9, 0xA

_FINAL = 0x80
_MASKED = 0x80
# RFC 6455, 1.3: what the server adds to the client's key.
_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
# With a mask of zeros, masked bytes are the bytes themselves.
_NO_MASK = bytes(4)


def upgrade_request(port: int, path: str, token: str | None) -> bytes:
    """Build the request that opens a WebSocket."""
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"Origin: http://127.0.0.1:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
        "Sec-WebSocket-Version: 13",
    ]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}")
    return "\r\n".join([*lines, "", ""]).encode()


def accept_answer(key: bytes) -> bytes:
    """Build the answer to such a request; `key` is the one that it has."""
    accepted = base64.b64encode(hashlib.sha1(key.strip() + _MAGIC).digest())
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + accepted + b"\r\n\r\n"
    )


def server_frame(kind: int, payload: bytes) -> bytes:
    """Build a frame as servers send them."""
    return _head(kind, len(payload), 0) + payload


def client_frame(kind: int, payload: bytes) -> bytes:
    """Build a frame as clients send them: marked as masked."""
    return _head(kind, len(payload), _MASKED) + _NO_MASK + payload


def _head(kind: int, size: int, mask: int) -> bytes:
    if size < 126:
        return bytes((_FINAL | kind, mask | size))
    if size < 1 << 16:
        return struct.pack("!BBH", _FINAL | kind, mask | 126, size)
    return struct.pack("!BBQ", _FINAL | kind, mask | 127, size)


class Frames:
    """Takes the frames out of a stream that is cut anywhere."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Return the kind and the payload of each frame that is complete now."""
        self._data += data
        found = []
        at = 0
        while (frame := self._frame(at)) is not None:
            kind, payload, at = frame
            found.append((kind, payload))
        del self._data[:at]
        return found

    def _frame(self, at: int) -> tuple[int, bytes, int] | None:
        data = self._data
        if len(data) < at + 2:
            return None
        kind, size = data[at] & 0x0F, data[at + 1] & 0x7F
        is_masked = bool(data[at + 1] & _MASKED)
        at += 2
        if size >= 126:
            width = 2 if size == 126 else 8
            if len(data) < at + width:
                return None
            size = int.from_bytes(data[at : at + width])
            at += width
        mask = _NO_MASK
        if is_masked:
            mask = bytes(data[at : at + 4])
            at += 4
        if len(data) < at + size:
            return None
        payload = bytes(data[at : at + size])
        if mask != _NO_MASK:
            payload = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        return kind, payload, at + size
