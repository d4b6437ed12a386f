"""What is open ends with the token or the login behind it, and nothing is taken from it afterwards."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from hermitty.server.access import Access, Scope
from hermitty.server.parts import Parts
from hermitty.server.standing import Standing
from tests.server.attach.watching import Watcher
from tests.server.talking import Client, Events
from tests.server.test_access import login
from tests.support.kernel import so
from tests.support.shells import PATIENCE_S

SOMEBODY = Access("somebody", frozenset({Scope.VIEW}), "header", "k_1")
HOUR_S = 3600.0


# Who counts.


async def test_what_is_open_ends_once_when_somebody_counts_no_more() -> None:
    gone: set[str] = set()
    ended: list[str] = []
    standing = Standing(lambda access: access.token_id not in gone)
    other = Access("other", frozenset(), "header", "k_2")
    with standing.hold(SOMEBODY, lambda: ended.append("first")), standing.hold(other, lambda: ended.append("other")):
        with standing.hold(SOMEBODY, lambda: ended.append("closed before")):
            standing.look()
        assert ended == []
        gone.add(SOMEBODY.token_id)
        standing.look()
        standing.look()
        assert ended == ["first"]
        with standing.hold(SOMEBODY, lambda: ended.append("too late")):
            assert ended == ["first", "too late"]


async def test_time_ends_what_is_open() -> None:
    over = asyncio.Event()
    ends_at = time.time() + 0.01
    brief = Access("brief", frozenset(), "cookie", "k_1", "login", ends_at)
    standing = Standing(lambda access: time.time() < ends_at)
    with standing.hold(brief, over.set):
        async with asyncio.timeout(PATIENCE_S):
            await over.wait()
    assert time.time() >= ends_at


async def test_a_clock_that_was_set_back_is_looked_at_again() -> None:
    """The timer comes too early then; it is made anew until the time is really over."""
    over = asyncio.Event()
    times = iter([100.0, 99.99, 99.995, 100.0])
    looks: list[bool] = []

    def counts(access: Access) -> bool:
        looks.append(len(looks) < 3)
        return looks[-1]

    standing = Standing(counts, clock=lambda: next(times))
    with standing.hold(Access("brief", frozenset(), "header", "k_1", None, 100.0), over.set):
        async with asyncio.timeout(PATIENCE_S):
            await over.wait()
    assert looks == [True, True, True, False]


# Over HTTP.


@asynccontextmanager
async def guest_of(api: Client, **expiry: float) -> AsyncIterator[tuple[str, Client]]:
    """Somebody with a token for watching and typing: its id, and a client with it."""
    made = (await api.post("/api/tokens", {"name": "guest", "scopes": ["view", "type", "run"], **expiry})).json
    async with Client(api.server, made["token"]) as guest:
        yield made["id"], guest


@asynccontextmanager
async def watching(client: Client, terminal: str, **headers: str) -> AsyncIterator[Watcher]:
    """Somebody who watches a terminal, has typed into it, and was heard."""
    shown = headers or {"Authorization": f"Bearer {client.token}"}
    async with client.websocket(f"/ws/terminal/{terminal}", **shown) as ws, Watcher(ws) as watcher:
        await watcher.type("echo $((2 + 2))wheels\r")
        await watcher.printed("4wheels")
        yield watcher


async def is_idle(api: Client, terminal: str) -> bool:
    """Tell whether the end of what was typed before is known."""
    return bool((await api.get(f"/api/terminals/{terminal}")).json["state"] == "idle")


async def typed_later(api: Client, terminal: str, watcher: Watcher) -> bool:
    """Type what should not arrive; tell whether it did. The connection was closed for who is not known."""
    await watcher.ws.send_bytes(b"echo $((40 + 2))nd\r")
    assert await watcher.closed() == 4001
    # The terminal reads in order: had something been typed before, it would be there.
    await so(lambda: is_idle(api, terminal))
    done = await api.post(f"/api/terminals/{terminal}/commands", {"command": "echo last"})
    assert done.status == 200, done.body
    log = (await api.get(f"/api/terminals/{terminal}/log")).body
    assert b"last" in log
    return b"42nd" in log or b"40 + 2" in log


async def told_later(parts: Parts, events: Events) -> list[str]:
    """Return what a stream that is over tells of something that happens now."""
    parts.feed.publish("secret", {})
    names: list[str] = []
    async with asyncio.timeout(PATIENCE_S):
        while (event := await events.next()) is not None:
            names.append(event.name)
            if event.name == "secret":
                break  # this one goes on
    return names


def delete(parts: Parts, token_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Delete a token."""
    parts.guard.tokens.delete(token_id)


def expire(parts: Parts, token_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the time of a token be over, before any timer says so."""
    monkeypatch.setattr(parts.guard.tokens, "_clock", lambda: time.time() + 2 * HOUR_S)


@pytest.mark.parametrize("end", [delete, expire])
async def test_nothing_is_typed_with_a_token_that_counts_no_more(
    api: Client, work: Path, end: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = (await api.open(cwd=str(work)))["id"]
    async with guest_of(api, expires_in_s=HOUR_S) as (token_id, guest), watching(guest, terminal) as watcher:
        end(api.parts, token_id, monkeypatch)
        assert not await typed_later(api, terminal, watcher)


async def test_deleting_a_token_ends_what_is_open_for_it_and_nothing_else(api: Client, work: Path) -> None:
    terminal = (await api.open(cwd=str(work)))["id"]
    async with (
        guest_of(api) as (token_id, guest),
        guest.events() as events,
        api.events() as others,
        watching(guest, terminal) as watcher,
        watching(api, terminal) as other,
    ):
        assert (await api.ask("DELETE", f"/api/tokens/{token_id}")).status == 204
        assert await watcher.closed() == 4001
        await other.type("echo $((2 + 3))th\r")
        await other.printed("5th")
        assert "secret" not in await told_later(api.parts, events)
        assert (await others.until("secret")).name == "secret"
        assert api.parts.feed.readers == 1


async def test_a_viewer_who_reads_nothing_is_closed_too(api: Client, work: Path) -> None:
    """Without a frame from it, and although the shell says nothing."""
    terminal = (await api.open(cwd=str(work)))["id"]
    async with guest_of(api) as (token_id, guest):
        shown = {"Authorization": f"Bearer {guest.token}"}
        async with guest.websocket(f"/ws/terminal/{terminal}", **shown) as ws, Watcher(ws) as watcher:
            api.parts.guard.tokens.delete(token_id)
            assert await watcher.closed() == 4001
    assert api.parts.attachments.viewers(terminal) == 0


async def test_an_event_stream_ends_when_its_time_is_over(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async with guest_of(api, expires_in_s=HOUR_S) as (token_id, guest), guest.events() as events:
        expire(api.parts, token_id, monkeypatch)
        api.parts.guard.standing.look()  # as its timer does
        assert await told_later(api.parts, events) == []


async def test_logging_out_ends_what_the_browser_has_open(api: Client, work: Path) -> None:
    terminal = (await api.open(cwd=str(work)))["id"]
    leaving, staying = await login(api), await login(api)
    async with (
        watching(api, terminal, Cookie=leaving, Origin=api.url) as watcher,
        watching(api, terminal, Cookie=staying, Origin=api.url) as other,
    ):
        answer = await api.post("/logout", token=None, headers={"Cookie": leaving, "Origin": api.url})
        assert answer.status == 303
        assert not await typed_later(api, terminal, watcher)
        await other.type("echo $((2 + 3))th\r")
        await other.printed("5th")


async def test_what_is_open_for_a_login_ends_with_its_token(api: Client, work: Path) -> None:
    terminal = (await api.open(cwd=str(work)))["id"]
    async with guest_of(api) as (token_id, guest):
        cookie = await login(api, guest.token or "")
        async with watching(api, terminal, Cookie=cookie, Origin=api.url) as watcher:
            api.parts.guard.tokens.delete(token_id)
            assert not await typed_later(api, terminal, watcher)


async def test_a_body_that_arrives_after_its_token_has_gone_does_nothing(api: Client, work: Path) -> None:
    terminal = (await api.open(cwd=str(work)))["id"]
    body = json.dumps({"text": "echo typed\r"}).encode()
    async with (
        guest_of(api) as (token_id, guest),
        sending(guest, f"/api/terminals/{terminal}/input", len(body)) as (reader, writer),
    ):
        api.parts.guard.tokens.delete(token_id)
        writer.write(body)
        status, answer = await answered(reader)
    assert (status, answer["error"]["code"]) == (401, "not_authenticated")
    assert b"typed" not in (await api.get(f"/api/terminals/{terminal}/log")).body


@asynccontextmanager
async def sending(
    client: Client, path: str, size: int
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A request whose sender was let in, and whose body is still to be sent."""
    place = urlsplit(client.url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {client.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {size}\r\nExpect: 100-continue\r\n\r\n"
        )
        writer.write(head.encode())
        async with asyncio.timeout(PATIENCE_S):
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        yield reader, writer
    finally:
        writer.close()
        await writer.wait_closed()


async def answered(reader: asyncio.StreamReader) -> tuple[int, Any]:
    """Read an answer: its status, and its body."""
    async with asyncio.timeout(PATIENCE_S):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        size = int(head.partition("content-length: ")[2].split("\r\n")[0] or 0)
        return int(head.split()[1]), json.loads(await reader.readexactly(size) or "null")
