"""Requests that nobody sends by chance: two ends of a body, forms that are none, bodies that unfold, and noise."""

import asyncio
import gzip
import logging
from urllib.parse import urlsplit

import pytest

from tests.server.talking import Client
from tests.support.shells import PATIENCE_S

BOMB = gzip.compress(bytes(64 * 1024 * 1024))


async def answers(api: Client, *lines: str, body: bytes = b"") -> bytes:
    """Send a request as it is, and return everything that comes until the server closes the connection."""
    place = urlsplit(api.url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    head = "".join(f"{line}\r\n" for line in (lines[0], f"Host: {place.netloc}", *lines[1:]))
    try:
        async with asyncio.timeout(PATIENCE_S):
            writer.write(f"{head}\r\n".encode("latin-1") + body)
            return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize(
    "headers",
    [
        ("Content-Length: 5", "Transfer-Encoding: chunked"),
        ("Content-Length: 5", "Content-Length: 6"),
        ("Content-Length: +5",),
        ("Content-Length: 5 ", "Content-Length : 0"),
        ("Content-Length: 0x5",),
        ("Transfer-Encoding: chunked, identity",),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
        ("Content-Length: 5\n Transfer-Encoding: chunked",),
    ],
)
async def test_a_body_with_two_ends_is_refused_and_nothing_after_it_is_a_request(
    api: Client, headers: tuple[str, ...]
) -> None:
    hidden = b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    told = await answers(api, "POST /login HTTP/1.1", *headers, body=hidden)
    assert told.count(b"HTTP/1.") == 1
    assert told.split()[1] == b"400"
    assert b'"invalid_request"' in told


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("multipart/form-data", b"--x\r\n", 415),
        ("multipart/form-data; boundary=x", b"--y\r\nabc", 415),
        ("application/json", b'{"token": 1}', 415),
        ("application/x-www-form-urlencoded; charset=nonsense", b"token=a", 401),
        ("application/x-www-form-urlencoded; charset=utf-16", b"token=a", 401),
        ("application/x-www-form-urlencoded", b"token=\xff\xfe", 401),
        ("application/x-www-form-urlencoded", b"token=%ED%A0%80", 401),
        ("application/x-www-form-urlencoded", b"&&&=&", 401),
        ("application/x-www-form-urlencoded", b"", 401),
        ("application/x-www-form-urlencoded", b"token=" + b"a" * 10_000, 413),
    ],
)
async def test_forms_that_are_none_are_no_mistake_of_the_server(
    api: Client, caplog: pytest.LogCaptureFixture, kind: str, body: bytes, status: int
) -> None:
    with caplog.at_level(logging.WARNING):
        answer = await api.post("/login", data=body, token=None, headers={"Content-Type": kind})
    assert answer.status == status
    assert caplog.records == []


async def test_a_form_whose_length_nobody_knows_is_not_read(api: Client) -> None:
    kind = "Content-Type: application/x-www-form-urlencoded"
    told = await answers(
        api, "POST /login HTTP/1.1", kind, "Connection: close", "Transfer-Encoding: chunked", body=b"0\r\n\r\n"
    )
    assert told.split()[1] == b"411"


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "nonsense"])
@pytest.mark.parametrize("body", [BOMB, b"not what it says"])
async def test_bodies_are_not_unfolded(
    api: Client, caplog: pytest.LogCaptureFixture, encoding: str, body: bytes
) -> None:
    form = {"Content-Encoding": encoding, "Content-Type": "application/x-www-form-urlencoded"}
    with caplog.at_level(logging.WARNING):
        short = body[:4000]
        assert (await api.post("/login", data=short, token=None, headers=form)).status == 415
        assert (await api.post("/api/check", data=body, headers={"Content-Encoding": encoding})).status == 415
    assert caplog.records == []


async def test_headers_without_end_are_not_collected(api: Client) -> None:
    place = urlsplit(api.url)
    _, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(b"GET /healthz HTTP/1.1\r\n")
    # More than sockets and their buffers take.
    assert await taken(writer, b"X: %s\r\n" % (b"a" * 1000), most=128 * 1024 * 1024) < 64 * 1024 * 1024


async def taken(writer: asyncio.StreamWriter, piece: bytes, *, most: int) -> int:
    """Send the same again and again until the server closes the connection; return how much that was."""
    sent = 0
    try:
        async with asyncio.timeout(PATIENCE_S):
            while sent < most:
                writer.write(100 * piece)
                await writer.drain()
                await asyncio.sleep(0)
                sent += 100 * len(piece)
    except ConnectionError:
        pass  # that is what is to happen
    finally:
        writer.close()
    return sent
