"""A PTY that is lent to its user, through a real host: faster, and as exact as before."""

import asyncio
import hashlib
import os
import random
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hermitty.host.base import Host, HostedPty
from hermitty.host.client import HostClient
from hermitty.host.client_pty import ClientPty
from hermitty.host.daemon import DaemonOptions
from hermitty.host.descriptors import open_inbox
from hermitty.host.place import HostPlace
from hermitty.host.starter import connect
from hermitty.model import ExitStatus, Size
from tests.host.conftest import StartUser, kill
from tests.support.kernel import gone, so
from tests.support.recorders import Recorder
from tests.support.shells import PATIENCE_S
from tests.support.specs import spec_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lends")

PATIENT = DaemonOptions(grace_s=PATIENCE_S)
# Prints what it is given, as it is.
COPYING = "stty raw -echo; printf ready; exec cat"


@pytest.fixture
async def host(state: Path) -> AsyncIterator[HostClient]:
    """A user of a new host."""
    client = await connect(state, options=PATIENT)
    yield client
    await client.aclose()


class Acknowledging(Recorder):
    """Acknowledges what it is told."""

    pty: HostedPty | None = None

    def on_output(self, data: bytes) -> None:
        super().on_output(data)
        if self.pty is not None:
            self.pty.acknowledge(len(self.data))


async def opened(host: Host, script: str, name: str = "t_1") -> tuple[ClientPty, Recorder]:
    sink = Acknowledging()
    sink.pty = pty = await host.open(await spec_of(host, script, name), sink)
    assert isinstance(pty, ClientPty)
    return pty, sink


async def lent(host: Host, script: str, name: str = "t_1") -> tuple[ClientPty, Recorder]:
    """A terminal that has printed `ready` and copied a line, and was lent since."""
    pty, sink = await opened(host, script, name)
    await sink.printed(b"ready")
    pty.write(b"first\n")
    await sink.printed(b"first")
    await so(lambda: pty.borrowing.is_direct)
    return pty, sink


@contextmanager
def asleep(host: HostClient) -> Iterator[None]:
    """Let the host's process do nothing for a while."""
    os.kill(host.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(host.pid, signal.SIGCONT)


async def test_who_types_reads_the_answer_without_the_host(host: HostClient) -> None:
    pty, sink = await lent(host, COPYING)
    with asleep(host):
        for number in range(100):
            pty.write(b"<%d>" % number)
            await sink.printed(b"<%d>" % number)
    assert sink.data == b"readyfirst\n" + b"".join(b"<%d>" % number for number in range(100))
    assert pty.log.read(0).data == sink.data


async def test_a_flood_is_read_by_the_host_and_later_typing_is_lent_again(host: HostClient) -> None:
    script = "stty -echo -opost; echo ready; read x; echo $x; while read n; do seq $n; echo END; done"
    pty, sink = await lent(host, script)
    expected = b"ready\nfirst\n"
    for count in (20_000, 300_000, 5):
        pty.write(b"%d\n" % count)
        expected += b"".join(b"%d\n" % number for number in range(1, count + 1)) + b"END\n"
        length = len(expected)
        await sink.until(lambda length=length: len(sink.data) >= length)  # type: ignore[misc]
        assert sink.data == expected
    pty.write(b"1\n")
    await so(lambda: pty.borrowing.is_direct)


async def test_the_end_of_a_shell_comes_after_its_output_though_others_keep_the_terminal(host: HostClient) -> None:
    script = "stty -echo; echo ready; read x; echo $x; sleep 1000 & read y; echo last; exit 4"
    pty, sink = await lent(host, script)
    pty.write(b"now\n")
    assert await sink.ended() == ExitStatus(code=4)
    assert sink.data == b"ready\r\nfirst\r\nlast\r\n"


async def test_input_of_any_length_arrives_in_order_however_late_it_is_read(host: HostClient, tmp_path: Path) -> None:
    total = 3_000_000
    go, copy = tmp_path / "go", tmp_path / "copy"
    wait = f"until [ -e {go} ]; do sleep 0.01; done"
    pty, sink = await lent(host, f"stty raw -echo; printf ready; head -c 6; {wait}; exec head -c {total} > {copy}")
    choose = random.Random(4)
    sent = b""
    while len(sent) < total:
        part = choose.randbytes(choose.choice([1, 10, 3000, 30_000, 90_000]))[: total - len(sent)]
        sent += part
        pty.write(part)
        if len(sent) > 200_000:
            go.touch()
        if choose.random() < 0.3:
            await asyncio.sleep(0)
    await sink.ended()
    assert hashlib.sha256(copy.read_bytes()).digest() == hashlib.sha256(sent).digest()


async def test_a_new_size_is_there_before_what_is_typed_next(host: HostClient) -> None:
    pty, sink = await lent(host, "stty -echo; echo ready; while read x; do echo $x $(stty size); done")
    for cols in range(50, 70):
        pty.resize(Size(cols=cols, rows=10))
        pty.write(b"size\n")
        await sink.printed(b"size 10 %d\r\n" % cols)
    await so(lambda: pty.borrowing.is_direct)


async def test_a_size_that_is_on_its_way_when_the_pty_is_lent_does_not_come_after_the_next_one(
    host: HostClient,
) -> None:
    pty, sink = await opened(host, "stty -echo; echo ready; while read x; do echo $x $(stty size); done")
    await sink.printed(b"ready")
    transport = pty._link._transport
    assert transport is not None
    pty.write(b"first\n")
    # The host has lent it, and nobody here has heard of it yet: the event loop does not run meanwhile.
    with transport.get_extra_info("socket").dup() as listening:
        deadline = time.monotonic() + PATIENCE_S
        while not select.select([listening], [], [], PATIENCE_S)[0] or b"Lent" not in listening.recv(
            4096, socket.MSG_PEEK
        ):
            assert time.monotonic() < deadline
    with asleep(host):
        pty.resize(Size(cols=50, rows=10))
        await sink.printed(b"first 25 81\r\n")
        pty.resize(Size(cols=60, rows=10))
    await so(lambda: pty.borrowing.is_direct)
    pty.write(b"now\n")
    await sink.printed(b"now 10 60\r\n")


async def test_forgotten_input_is_forgotten_before_what_is_typed_next(host: HostClient) -> None:
    pty, sink = await lent(host, COPYING)
    for number in range(20):
        pty.discard_input()
        pty.write(b"[%d]" % number)
        await sink.printed(b"[%d]" % number)


async def test_a_killed_host_is_told_and_its_programs_hang_up(host: HostClient) -> None:
    pty, sink = await lent(host, COPYING)
    os.kill(host.pid, signal.SIGKILL)
    await sink.until(lambda: bool(sink.lost))
    await gone(pty.pid)
    assert pty.log.read(0).data == b"readyfirst\n"


async def test_whoever_leaves_gives_back(host: HostClient, state: Path) -> None:
    pty, _ = await lent(host, COPYING)
    pty.write(b"second")
    await host.leave()
    other = await connect(state, options=PATIENT)
    try:
        (found,) = await other.found()
        assert found.writes == 2
        sink = Acknowledging()
        sink.pty = await other.take_over(found.terminal, sink, since=0)
        await sink.printed(b"second")
        sink.pty.write(b"third")
        await sink.printed(b"third")
        assert sink.data == b"readyfirst\nsecondthird"
    finally:
        await other.aclose()


async def test_terminals_that_were_lent_leave_no_descriptor(host: HostClient) -> None:
    def held(pid: int | str) -> int:
        return len(os.listdir(f"/proc/{pid}/fd"))

    pty, _ = await lent(host, COPYING)
    await pty.close()
    before = held("self"), held(host.pid)
    for number in range(10):
        pty, sink = await lent(host, COPYING, f"t_{number + 2}")
        if number % 2:
            pty.write(b"more")
            await sink.printed(b"more")
        await pty.close()
    await so(lambda: (held("self"), held(host.pid)) == before)


async def test_loans_leave_descriptors_for_terminals(host: HostClient) -> None:
    await opened(host, COPYING)
    limits = resource.prlimit(host.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(host.pid, resource.RLIMIT_NOFILE, (60, limits[1]))  # enough for four loans
    ptys = [(await opened(host, COPYING, f"t_{number}")) for number in range(2, 8)]
    for pty, sink in ptys:
        for text in (b"one", b"two", b"three"):
            pty.write(text)
            await sink.printed(text)
    await so(lambda: [pty.borrowing.is_direct for pty, _ in ptys] == [True] * 4 + [False] * 2)


async def test_only_the_process_that_uses_the_terminals_gets_them(host: HostClient, state: Path) -> None:
    address = HostPlace(state).read_address()
    assert address is not None
    script = (
        "import asyncio, sys; from hermitty.host.descriptors import open_inbox; "
        "sys.exit(0 if asyncio.run(open_inbox(sys.argv[1])) is None else 1)"
    )
    stranger = await asyncio.create_subprocess_exec(sys.executable, "-c", script, address)
    assert await stranger.wait() == 0
    again = await open_inbox(address)
    assert again is not None
    again.close()


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_whoever_is_killed_while_he_types_has_typed_exactly_what_is_counted(
    host: HostClient, state: Path, tmp_path: Path, start_user: StartUser, loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if loop == "uvloop":
        pytest.importorskip("uvloop")
        monkeypatch.setenv("USE_UVLOOP", "1")
    file = tmp_path / "lines"
    await opened(host, "stty raw -echo; exec cat")
    await host.leave()
    choose = random.Random(loop)
    length = 0
    for _ in range(12):
        user = start_user("type", str(file))
        # Some lines through the host, then many without it; killed at any moment of these.
        goal = length + choose.randrange(200, 4000)
        await so(lambda goal=goal: file.exists() and file.stat().st_size >= goal)  # type: ignore[misc]
        kill(user)
        length = file.stat().st_size
    last = await connect(state, options=PATIENT)
    try:
        (found,) = await last.found()
        sink = Acknowledging()
        sink.pty = await last.take_over(found.terminal, sink, since=length)
        expected = b"".join(b"%d\n" % number for number in range(1, found.writes + 1))
        await so(lambda: length + len(sink.data) >= len(expected))
        assert file.read_bytes() + sink.data == expected
        assert found.answered == found.writes
    finally:
        await last.aclose()
