"""Those who are not who they say: wrong secrets, overheard handshakes, clocks that are wrong, frames without end."""

import asyncio
import struct
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from hermitty.cluster.endpoint import Endpoint
from hermitty.cluster.node import NodeFiles
from hermitty.cluster.presence import NodeState
from hermitty.version import __version__
from hermitty.wire.nodelink import messages as m
from hermitty.wire.nodelink.frames import MAX_FRAME, MAX_GREETING, Decoder, encode
from hermitty.wire.nodelink.proofs import proof
from tests.cluster.conftest import Stage
from tests.support.kernel import so
from tests.support.shells import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

MessageT = TypeVar("MessageT")
NONCE = "00" * 16


class Stranger:
    """One end of a connection that says what it likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self._decoder = Decoder(MAX_FRAME)
        self._heard: list[m.Message] = []

    def say(self, *messages: m.Message) -> None:
        for message in messages:
            self.writer.write(encode(message))

    async def hear(self, kind: type[MessageT]) -> MessageT:
        """Return the next message, which must be of this kind."""
        async with asyncio.timeout(PATIENCE_S):
            while not self._heard:
                data = await self._reader.read(65_536)
                assert data, f"the connection ended instead of {kind.__name__}"
                self._heard += self._decoder.feed(data)
        message = self._heard.pop(0)
        assert isinstance(message, kind), message
        return message

    async def hears_nothing_more(self) -> bool:
        """Wait for the end of the connection; tell whether nothing came before it."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                return not self._heard and await self._reader.read() == b""
            except ConnectionError:
                return not self._heard


@asynccontextmanager
async def stranger(stage: Stage) -> AsyncIterator[Stranger]:
    """Somebody who connects to the agent."""
    reader, writer = await asyncio.open_connection(stage.endpoint.host, stage.endpoint.port)
    try:
        yield Stranger(reader, writer)
    finally:
        writer.transport.abort()


def hello(nonce: str = NONCE, role: m.Role = "gateway") -> m.Hello:
    return m.Hello(m.VERSION, __version__, role, "stranger", nonce, ())


def secret_of(stage: Stage) -> bytes:
    return NodeFiles(stage.state).own_secret()


async def proved(one: Stranger, stage: Stage, role: m.Role = "observer") -> m.Proof:
    """Greet as somebody does who knows the secret; return what proved it."""
    one.say(hello(role=role))
    challenge = await one.hear(m.Challenge)
    given = m.Proof(proof(secret_of(stage), "gateway", NONCE, challenge.nonce))
    one.say(given)
    return given


# Secrets.


async def test_a_wrong_proof_is_refused_and_learns_nothing(stage: Stage) -> None:
    async with stranger(stage) as one:
        one.say(hello())
        challenge = await one.hear(m.Challenge)
        one.say(m.Proof(proof(b"another secret", "gateway", NONCE, challenge.nonce)))

        refused = await one.hear(m.Refused)

        assert "secret" in refused.message
        assert secret_of(stage).hex() not in refused.message
        assert await one.hears_nothing_more()
    await stage.connected()  # and nobody else is disturbed


async def test_the_proof_of_the_agent_is_no_proof_of_a_gateway(stage: Stage) -> None:
    async with stranger(stage) as one:
        one.say(hello())
        challenge = await one.hear(m.Challenge)
        one.say(m.Proof(challenge.proof))

        await one.hear(m.Refused)


async def test_an_overheard_handshake_proves_nothing_later(stage: Stage) -> None:
    async with stranger(stage) as one:
        overheard = await proved(one, stage)
        one.say(m.Status(1))
        await one.hear(m.NodeReport)  # it was good
    async with stranger(stage) as other:
        other.say(hello(role="observer"), overheard)
        challenge = await other.hear(m.Challenge)

        await other.hear(m.Refused)

        assert challenge.nonce != NONCE
        assert await other.hears_nothing_more()


async def test_a_second_handshake_in_a_connection_ends_it(stage: Stage) -> None:
    async with stranger(stage) as one:
        given = await proved(one, stage)
        one.say(given)

        assert await one.hears_nothing_more()


@pytest.mark.parametrize(
    "message", [m.Status(1), m.Ping(1), m.Found(1), m.Drain(1, True), m.Write(1, 1, 0, b"x"), m.CloseInput(1)], ids=repr
)
async def test_nothing_is_done_for_somebody_who_has_proved_nothing(stage: Stage, message: m.Message) -> None:
    async with stranger(stage) as one:
        one.say(message)
        assert await one.hears_nothing_more()
    async with stranger(stage) as one:
        one.say(hello(), message)
        await one.hear(m.Challenge)
        assert await one.hears_nothing_more()
    assert not NodeFiles(stage.state).is_draining()


async def test_who_only_looks_gets_no_terminals(stage: Stage) -> None:
    async with stranger(stage) as one:
        await proved(one, stage)
        one.say(m.Found(1))

        assert await one.hears_nothing_more()


async def test_clocks_that_differ_do_not_matter(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs are over numbers, never over times, so neither end asks its clock."""
    real = time.time
    async with stranger(stage) as one:
        one.say(hello(role="observer"))
        challenge = await one.hear(m.Challenge)
        monkeypatch.setattr(time, "time", lambda: real() + 10 * 365 * 86_400)
        one.say(m.Proof(proof(secret_of(stage), "gateway", NONCE, challenge.nonce)), m.Status(1))
        await one.hear(m.NodeReport)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    await stage.connected()


# An agent that is none.


@asynccontextmanager
async def impostor(answer: Callable[[Stranger], Any]) -> AsyncIterator[tuple[Endpoint, list[bool]]]:
    """Somebody who listens where the agent should; `answer` says what to do, and the list what it returned."""
    found: list[bool] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            found.append(await answer(Stranger(reader, writer)))
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        host, port = server.sockets[0].getsockname()
        yield Endpoint(host=host, port=port, secret=b"s" * 32), found
    finally:
        server.close()


async def test_an_agent_with_another_secret_is_told_nothing(stage: Stage) -> None:
    async def answer(one: Stranger) -> bool:
        asked = await one.hear(m.Hello)
        one.say(m.Challenge(m.VERSION, __version__, NONCE, proof(b"another", "agent", asked.nonce, NONCE)))
        return await one.hears_nothing_more()

    async with impostor(answer) as (endpoint, found):
        remote = stage.gateway(at=endpoint)
        await so(lambda: "does not know the secret" in remote.problem and bool(found))
        assert found[0]
        assert remote.state is NodeState.CONNECTING
        await stage.aclose()


async def test_a_welcome_without_a_proof_is_not_believed(stage: Stage) -> None:
    async def answer(one: Stranger) -> bool:
        await one.hear(m.Hello)
        one.say(m.Welcome("k", "n", "i", {}, {}, 0, False, None, None))
        return await one.hears_nothing_more()

    async with impostor(answer) as (endpoint, found):
        remote = stage.gateway(at=endpoint)
        await so(lambda: "does not speak our language" in remote.problem and bool(found))
        assert found[0]
        assert remote.welcome is None
        await stage.aclose()


# Frames without end.


def header(size: int) -> bytes:
    return struct.pack("!IB", size, 1)


async def test_a_frame_that_is_too_long_for_a_stranger_ends_the_connection_at_its_header(stage: Stage) -> None:
    async with stranger(stage) as one:
        one.writer.write(header(MAX_GREETING))
        assert await one.hears_nothing_more()
    async with stranger(stage) as one:
        # The agent's limit holds after the greeting, too, until there is a proof.
        one.say(hello())
        await one.hear(m.Challenge)
        one.writer.write(header(MAX_GREETING))
        assert await one.hears_nothing_more()


async def test_a_frame_that_is_too_long_for_anybody_ends_the_connection_at_its_header(stage: Stage) -> None:
    async with stranger(stage) as one:
        await proved(one, stage)
        one.say(m.Ping(1))
        await one.hear(m.Pong)
        one.writer.write(header(MAX_FRAME))
        assert await one.hears_nothing_more()


async def test_a_gateway_believes_no_frame_without_end(stage: Stage) -> None:
    async def answer(one: Stranger) -> bool:
        await one.hear(m.Hello)
        one.writer.write(header(MAX_GREETING))
        return await one.hears_nothing_more()

    async with impostor(answer) as (endpoint, found):
        remote = stage.gateway(at=replace(endpoint, secret=secret_of(stage)))
        await so(lambda: "does not speak our language" in remote.problem and bool(found))
        await stage.aclose()
