"""The durable host as its users see it: the contract, and what only it does."""

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from hermitty.errors import (
    HermittyError,
    HostBusy,
    HostUnavailable,
    InputOverflow,
    InvalidRequest,
    InvalidSize,
    TerminalNotFound,
)
from hermitty.host import starter
from hermitty.host.base import FoundPty, Host, HostedPty, TtyState
from hermitty.host.client import HostClient
from hermitty.host.control import host_status, stop_host
from hermitty.host.daemon import DaemonOptions
from hermitty.host.ring import Geometry
from hermitty.host.starter import connect
from hermitty.model import ExitStatus, Size, TerminalId
from hermitty.pty.posix import READ_TURN
from hermitty.pty.write_queue import INPUT_LIMIT
from hermitty.wire.hostlink import messages as m
from tests.contract.host_contract import HostContract, pids_in
from tests.host.conftest import StartUser, kill
from tests.support.kernel import gone, is_alive, so
from tests.support.recorders import Recorder
from tests.support.shells import PATIENCE_S
from tests.support.specs import spec_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

RING = 512 * 1024
HOLD = Geometry.keeping(RING).hold
PATIENT = DaemonOptions(grace_s=PATIENCE_S)


def lines(count: int) -> bytes:
    """What `seq 1 COUNT` prints."""
    return b"".join(b"%d\n" % number for number in range(1, count + 1))


class TestHostClient(HostContract):
    """The contract."""

    state: Path

    @pytest.fixture(autouse=True)
    def place(self, state: Path) -> None:
        self.state = state

    async def make_host(self) -> Host:
        return await connect(self.state)


@pytest.fixture
async def host(state: Path) -> AsyncIterator[HostClient]:
    """A user of a new host."""
    client = await connect(state, options=PATIENT)
    yield client
    await client.aclose()


class Acknowledging(Recorder):
    """Acknowledges what it was told, as long as it is willing to; knows whether it was told something too early."""

    pty: HostedPty | None = None
    willing = True
    early = False
    checks = False

    def on_output(self, data: bytes) -> None:
        super().on_output(data)
        self.early |= self.pty is None
        if self.pty is None:
            return
        if self.checks:
            assert self.pty.log.end == len(self.data)
            first = max(self.pty.log.start, len(self.data) - 100_000)
            assert self.pty.log.read(first).data == self.data[first:]
        if self.willing:
            self.pty.acknowledge(len(self.data))

    def on_exit(self, status: ExitStatus) -> None:
        self.early |= self.pty is None
        super().on_exit(status)


async def opened(host: Host, script: str, name: str = "t_1", *, willing: bool = True) -> tuple[HostedPty, Recorder]:
    sink = Acknowledging()
    sink.willing = willing
    sink.pty = pty = await host.open(await spec_of(host, script, name), sink)
    return pty, sink


async def only_one(host: Host) -> FoundPty:
    """The PTY that was left here."""
    (found,) = await host.found()
    return found


def report_on(state: Path) -> m.StatusReport:
    status = host_status(state)
    assert status is not None
    return status.report


def files_in(directory: str) -> list[str] | None:
    """The files of a directory, or None when it is not there."""
    return sorted(os.listdir(directory)) if os.path.isdir(directory) else None


async def left_alone(state: Path) -> None:
    """Wait until the host has noticed that its user is gone."""
    await so(lambda: report_on(state).user_pid is None)


# Output.


async def test_a_program_waits_for_a_user_who_does_not_acknowledge(host: HostClient, state: Path) -> None:
    flood = lines(400_000)
    pty, sink = await opened(host, "stty -opost; seq 1 400000", willing=False)
    await sink.until(lambda: len(sink.data) >= HOLD)

    (report,) = report_on(state).terminals
    assert (report.is_paused, report.unread_bytes) == (True, report.output_bytes)
    assert HOLD <= report.output_bytes < HOLD + READ_TURN
    await sink.until(lambda: len(sink.data) == report.output_bytes)
    assert pty.log.start == 0
    assert pty.log.read(0).data == sink.data == flood[: len(sink.data)]

    assert isinstance(sink, Acknowledging)
    sink.willing = True
    pty.acknowledge(len(sink.data))
    assert await sink.ended() == ExitStatus(code=0)
    assert sink.data == flood


# Fills what is held to the last byte, and prints the rest, which the host leaves in the kernel's buffer, when told to.
LAST_WORDS = f"stty -opost -echo; head -c {HOLD} /dev/zero; read x; head -c 3000 /dev/zero; exit 9"


async def test_the_end_waits_until_the_output_before_it_was_taken(host: HostClient) -> None:
    pty, sink = await opened(host, LAST_WORDS, willing=False)
    await sink.until(lambda: len(sink.data) == HOLD)
    pty.write(b"\n")
    await gone(pty.pid)
    assert (sink.statuses, len(sink.data)) == ([], HOLD)

    pty.acknowledge(HOLD)

    assert await sink.ended() == ExitStatus(code=9)
    assert sink.data == bytes(HOLD + 3000)


async def test_a_paused_terminal_closes_like_any_other(host: HostClient) -> None:
    flood, first = await opened(host, "yes", "t_1", willing=False)
    ended, second = await opened(host, LAST_WORDS, "t_2", willing=False)
    await first.until(lambda: len(first.data) >= HOLD)
    await second.until(lambda: len(second.data) == HOLD)
    ended.write(b"\n")
    await gone(ended.pid)

    await asyncio.gather(flood.close(), ended.close())

    assert (first.statuses, second.statuses) == ([ExitStatus(signal=signal.SIGHUP)], [ExitStatus(code=9)])
    assert not is_alive(flood.pid)


async def test_any_event_loop_will_do(
    host: HostClient, state: Path, tmp_path: Path, start_user: StartUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("uvloop")
    monkeypatch.setenv("USE_UVLOOP", "yes")
    await host.leave()
    copied = tmp_path / "copied"
    user = start_user("copy", str(copied), script="stty -opost; seq 1 400000; exit 3")

    assert await asyncio.to_thread(user.wait, PATIENCE_S) == 0
    assert copied.read_bytes() == lines(400_000)
    after = await connect(state)
    assert (await only_one(after)).exit_status == ExitStatus(code=3)
    await after.aclose()


async def test_the_log_is_what_the_sink_was_told_at_every_moment(host: HostClient) -> None:
    sink = Acknowledging()
    sink.checks = True
    sink.pty = pty = await host.open(await spec_of(host, "stty -opost; seq 1 400000; read x"), sink)
    await sink.printed(b"400000\n")

    assert sink.data == lines(400_000)
    start, end = pty.log.start, pty.log.end
    assert 0 < start < end == len(sink.data)
    assert pty.log.read(0).missed == start
    with pytest.raises(InvalidRequest):
        pty.log.read(end + 1)

    await pty.close()
    assert pty.log.read(start).data == sink.data[start:]


async def test_a_flood_does_not_keep_others_waiting(host: HostClient) -> None:
    flood, first = await opened(host, "while :; do seq 1 1000; done", "t_flood")
    await first.until(lambda: len(first.data) > HOLD)
    quiet, second = await opened(host, "stty raw -echo; echo ready; exec cat", "t_quiet")
    await second.printed(b"ready")

    for number in range(20):
        before = len(first.data)
        quiet.write(b"<%d>" % number)
        await second.printed(b"<%d>" % number)
        assert len(first.data) - before < 4 * HOLD
    await flood.close()


# Other users.


async def test_no_byte_is_lost_or_doubled_when_users_are_killed(
    host: HostClient, state: Path, tmp_path: Path, start_user: StartUser
) -> None:
    await host.leave()
    copied = tmp_path / "copied"
    copied.touch()
    flood = lines(2_600_000)
    dice = random.Random(5)

    for part in range(5):
        user = start_user("copy", str(copied), script="stty -opost; seq 1 2600000; exit 7")
        limit = part * 3_500_000 + dice.randrange(1_000_000)
        await so(lambda limit=limit: copied.stat().st_size > limit)  # type: ignore[misc]
        kill(user)
        await left_alone(state)

    after = await connect(state)
    found = await only_one(after)
    offset = copied.stat().st_size
    assert found.start <= offset <= found.end < len(flood)
    assert found.exit_status is None
    sink = Acknowledging()
    sink.data = copied.read_bytes()
    sink.pty = await after.take_over(found.terminal, sink, since=offset)
    assert await sink.ended() == ExitStatus(code=7)
    assert sink.data == flood
    await after.aclose()


async def test_a_shell_that_ends_while_nobody_looks_tells_the_next_one(host: HostClient, state: Path) -> None:
    pty, sink = await opened(host, "echo before; read x; echo after; exit 42")
    await sink.printed(b"before")
    pty.write(b"\n")
    await host.leave()
    await gone(pty.pid)

    after = await connect(state)
    await so(lambda: report_on(state).terminals[0].has_ended)
    found = await only_one(after)
    assert (found.exit_status, found.pid, found.start) == (ExitStatus(code=42), pty.pid, 0)
    last = Acknowledging()
    last.pty = await asyncio.create_task(after.take_over(found.terminal, last, since=0))
    assert await last.ended() == ExitStatus(code=42)
    assert last.data == b"before\r\n\r\nafter\r\n"
    assert not last.early
    await after.aclose()
    assert report_on(state).terminals == ()


async def test_what_is_left_waits_with_its_files_and_its_numbers(host: HostClient, state: Path) -> None:
    pty, sink = await opened(host, "stty -echo; echo ready; while read x; do echo got $x; done")
    await sink.printed(b"ready\r\n")
    pty.put_file("snapshot", b"of the screen")
    pty.write(b"one\n")
    pty.write(b"two\n", answers_to=7)
    pty.write(b"three\n")
    pty.resize(Size(cols=33, rows=11))
    await sink.printed(b"got three\r\n")
    assert (pty.is_durable, pty.writes) == (True, 3)
    await host.leave()
    await host.leave()

    after = await connect(state)
    assert after.incarnation == host.incarnation
    found = await only_one(after)
    assert found == FoundPty(
        terminal=TerminalId("t_1"),
        pid=pty.pid,
        directory=found.directory,
        size=Size(cols=33, rows=11),
        start=0,
        end=len(sink.data),
        writes=3,
        answered=7,
    )
    assert await after.read_file(found, "snapshot") == b"of the screen"
    assert await after.read_file(found, "nothing") is None
    assert await after.read_file(replace(found, directory="/nowhere"), "snapshot") is None
    tail = Acknowledging()
    tail.pty = taken = await after.take_over(found.terminal, tail, since=found.end - 5)
    taken.write(b"four\n")
    await tail.printed(b"got four\r\n")
    assert tail.data == b"ree\r\ngot four\r\n"
    assert (taken.writes, taken.pid, await after.found()) == (4, pty.pid, [])
    assert await taken.get_file("snapshot") == b"of the screen"
    await after.aclose()
    assert not is_alive(pty.pid)


@pytest.mark.parametrize("since", [-1, 10_000_000])
async def test_output_that_is_not_there_cannot_be_gone_on_from(host: HostClient, state: Path, since: int) -> None:
    _, sink = await opened(host, "echo ready; read x")
    await sink.printed(b"ready")
    await host.leave()

    after = await connect(state)
    with pytest.raises(InvalidRequest, match="has output from 0 to 7"):
        await after.take_over(TerminalId("t_1"), Recorder(), since=since)
    with pytest.raises(TerminalNotFound, match="no terminal 't_9'; there are: t_1"):
        await after.take_over(TerminalId("t_9"), Recorder(), since=0)
    await after.take_over(TerminalId("t_1"), Recorder(), since=0)
    with pytest.raises(InvalidRequest, match="in use"):
        await after.take_over(TerminalId("t_1"), Recorder(), since=0)
    await after.aclose()


async def test_a_write_counts_when_it_reached_the_host(
    host: HostClient, state: Path, tmp_path: Path, start_user: StartUser
) -> None:
    await host.leave()
    for part in range(3):
        typed = tmp_path / f"typed{part}"
        user = start_user("write", script=f"stty raw -echo; exec cat >{typed}")
        await so(lambda typed=typed, part=part: typed.exists() and typed.stat().st_size > 20_000 * part)  # type: ignore[misc]
        kill(user)
        await left_alone(state)

        after = await connect(state)
        found = await only_one(after)
        sink = Recorder()
        pty = await after.take_over(found.terminal, sink, since=found.end)
        await so(lambda typed=typed, last=b"%d\n" % found.writes: typed.read_bytes().endswith(last))  # type: ignore[misc]
        assert typed.read_bytes() == lines(found.writes)
        assert found.answered == found.writes == pty.writes > 0
        await after.aclose()


async def test_without_a_user_programs_wait_a_while_and_then_the_oldest_output_goes(state: Path) -> None:
    first = await connect(state, options=DaemonOptions(grace_s=0.3))
    pty, sink = await opened(first, "stty -opost -echo; echo ready; read x; seq 1 400000", willing=False)
    await sink.printed(b"ready")
    pty.write(b"\n")
    await first.leave()
    await so(lambda: report_on(state).terminals[0].has_ended)

    flood = b"ready\n" + lines(400_000)
    after = await connect(state)
    found = await only_one(after)
    assert found.end == len(flood)
    assert 0 < found.start == found.end - RING
    with pytest.raises(InvalidRequest, match=f"has output from {found.start}"):
        await after.take_over(found.terminal, Recorder(), since=found.start - 1)
    rest = Acknowledging()
    rest.pty = pty = await after.take_over(found.terminal, rest, since=found.start)
    assert await rest.ended() == ExitStatus(code=0)
    assert rest.data == flood[found.start :]
    assert pty.log.start >= found.start
    await after.aclose()


async def test_one_user_at_a_time(host: HostClient, state: Path) -> None:
    _, sink = await opened(host, "echo ready; read x")
    await sink.printed(b"ready")

    with pytest.raises(HostBusy, match=f"process {os.getpid()} uses the terminals"):
        await connect(state)

    assert report_on(state).user_pid == os.getpid()
    (await spec_of(host, "true", "t_2"))


async def test_input_that_waits_counts_for_the_next_user_too(host: HostClient, state: Path) -> None:
    pty, sink = await opened(host, "stty raw -echo; echo ready; exec sleep 1000")
    await sink.printed(b"ready")
    pty.write(b"x" * (INPUT_LIMIT - 1000))
    await host.leave()

    after = await connect(state)
    taken = await after.take_over(TerminalId("t_1"), Recorder(), since=0)
    with pytest.raises(InputOverflow):
        taken.write(b"x" * 100_000)
    taken.discard_input()
    taken.write(b"x" * INPUT_LIMIT)
    await after.aclose()


async def test_input_that_was_read_makes_room_for_more(host: HostClient) -> None:
    pty, sink = await opened(host, "stty raw -echo; echo ready; exec cat >/dev/null")
    await sink.printed(b"ready")

    async def write() -> None:
        try:
            pty.write(b"x" * (INPUT_LIMIT // 2))
        except InputOverflow:
            await asyncio.sleep(0.01)  # nothing tells a user when a program reads
            await write()

    async with asyncio.timeout(PATIENCE_S):
        for _ in range(6):
            await write()
    assert pty.writes == 6


# Ends.


async def test_a_host_that_is_killed_is_told_and_nothing_lingers(host: HostClient, state: Path) -> None:
    loud = "echo pid=$$; setsid sh -c 'trap \"\" HUP; echo pid=$$; while :; do sleep 1; done' & wait"
    first, one = await opened(host, loud, "t_1")
    _, two = await opened(host, "exit 3", "t_2")
    _, three = await opened(host, "nohup sleep 1000 >/dev/null & echo pid=$!; wait", "t_3")
    await one.until(lambda: len(pids_in(one.data)) == 2)
    await three.until(lambda: len(pids_in(three.data)) == 1)
    await two.ended()
    directory = Path((await spec_of(host, "true", "t_4")).directory)
    assert files_in(str(directory.parent)) == ["lock", "t_1", "t_2", "t_3", "t_4"]

    os.kill(host.pid, signal.SIGKILL)

    await one.until(lambda: bool(one.lost))
    await three.until(lambda: bool(three.lost))
    assert one.lost == three.lost == [f"its host (pid {host.pid}) is gone"]
    assert (two.lost, two.statuses, one.statuses) == ([], [ExitStatus(code=3)], [])
    await gone(*pids_in(one.data), *pids_in(three.data))
    assert first.log.read(0).data == one.data
    first.write(b"to nobody")
    first.acknowledge(3)
    assert await first.inspect() == TtyState()
    assert await first.signal_foreground(signal.SIGINT) is None
    assert await first.signal_since(0, signal.SIGINT) == 0
    await first.close()
    with pytest.raises(HostUnavailable, match=f"pid {host.pid}. is gone"):
        await host.found()
    await host.aclose()
    # A host that starts elsewhere cleans up, too, and may have been first.
    await so(lambda: not directory.parent.exists())
    assert one.lost == [f"its host (pid {host.pid}) is gone"]


async def test_a_request_under_way_fails_when_the_host_is_killed(host: HostClient) -> None:
    pty, sink = await opened(host, "trap '' HUP; echo ready; while :; do sleep 0.1; done")
    await sink.printed(b"ready")
    os.kill(host.pid, signal.SIGSTOP)
    closing = asyncio.create_task(pty.close())
    finding = asyncio.create_task(host.found())
    await asyncio.sleep(0)

    os.kill(host.pid, signal.SIGKILL)

    await closing
    with pytest.raises(HostUnavailable):
        await finding
    assert len(sink.lost) == 1


async def test_whoever_gives_up_while_he_connects_kills_nothing(
    host: HostClient, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gateway whose connection breaks again as soon as it is back, say."""
    pty, sink = await opened(host, "echo ready; read x; exit 3")
    await sink.printed(b"ready")
    await host.leave()
    is_welcome = asyncio.Event()

    async def never(address: str) -> None:
        is_welcome.set()
        await asyncio.Event().wait()

    with monkeypatch.context() as patch:
        patch.setattr(starter, "open_inbox", never)
        connecting = asyncio.create_task(connect(state))
        await is_welcome.wait()
        connecting.cancel()
        await asyncio.wait([connecting])

    again = await taken_over(state)
    assert is_alive(pty.pid)
    await end_by_a_line(again)


async def test_a_host_that_ends_a_connection_keeps_its_terminals(host: HostClient, state: Path) -> None:
    """He who was cut off has lost them; but a host that lives has not."""
    pty, sink = await opened(host, "echo ready; read x; exit 3")
    await sink.printed(b"ready")

    host.link.send(m.Hello(m.VERSION, "", "user", 0, ""))  # nobody greets twice

    await sink.until(lambda: bool(sink.lost))
    assert sink.lost == [f"its host (pid {host.pid}) is gone"]
    await host.leave()
    assert is_alive(host.pid)
    assert is_alive(pty.pid)
    await end_by_a_line(await taken_over(state))


async def taken_over(state: Path) -> tuple[HostClient, HostedPty, Recorder]:
    """A new user, who has the terminal of the one before."""

    async def is_free() -> bool:
        running = await asyncio.to_thread(host_status, state)
        return running is not None and running.report.user_pid is None

    await so(is_free)
    client = await connect(state, start=False)
    sink = Recorder()
    return client, await client.take_over(TerminalId("t_1"), sink, since=0), sink


async def end_by_a_line(user: tuple[HostClient, HostedPty, Recorder]) -> None:
    client, pty, sink = user
    pty.write(b"\r")
    assert await sink.ended() == ExitStatus(code=3)
    await client.aclose()


async def test_piped_processes_of_a_killed_user_are_ended(host: HostClient, state: Path, start_user: StartUser) -> None:
    await host.leave()
    user = start_user("pipes", script="trap '' HUP TERM; setsid sleep 1000 & echo pid=$!; echo pid=$$; wait")
    assert user.stdout is not None
    pids = pids_in(user.stdout.readline() + user.stdout.readline())
    assert len(pids) == 2

    kill(user)

    await gone(*pids)


async def test_a_host_that_is_stopped_ends_everything_and_says_so(host: HostClient, state: Path) -> None:
    (pty, sink) = await opened(host, "echo pid=$$; read x")
    await sink.printed(b"\n")

    status = await asyncio.to_thread(stop_host, state)

    assert status is not None
    assert [terminal.terminal for terminal in status.report.terminals] == ["t_1"]
    assert await sink.ended() == ExitStatus(signal=signal.SIGHUP)
    assert not is_alive(pty.pid)
    await gone(host.pid)
    await pty.close()
    with pytest.raises(HostUnavailable):
        await host.make_directory(TerminalId("t_2"))
    assert host_status(state) is None


# Opening.


async def test_a_cancelled_open_leaves_nothing(host: HostClient, state: Path) -> None:
    spec = await spec_of(host, "echo pid=$$; read x")
    opening = asyncio.create_task(host.open(spec, Recorder()))
    await asyncio.sleep(0)
    opening.cancel()
    making = asyncio.create_task(host.make_directory(TerminalId("t_2")))
    await asyncio.sleep(0)
    making.cancel()
    await asyncio.wait([opening, making])

    await so(lambda: report_on(state).terminals == ())
    assert files_in(spec.directory) is None
    pty, _ = await opened(host, "read x", "t_1")
    assert await host.make_directory(TerminalId("t_2"))
    await pty.close()


async def test_a_cancelled_take_over_leaves_it_for_the_next(host: HostClient, state: Path) -> None:
    _, sink = await opened(host, "echo ready; read x")
    await sink.printed(b"ready")
    await host.leave()
    after = await connect(state)

    for steps in range(4):
        taking = asyncio.create_task(after.take_over(TerminalId("t_1"), Recorder(), since=0))
        for _ in range(steps):
            await asyncio.sleep(0)
        if taking.cancel():
            await asyncio.wait([taking])
            while not await after.found():
                await asyncio.sleep(0)
    assert await after.take_over(TerminalId("t_1"), Recorder(), since=0)
    await after.aclose()


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "lock", "x\0"])
async def test_ids_that_are_no_names_are_refused(host: HostClient, name: str) -> None:
    with pytest.raises(InvalidRequest):
        await host.make_directory(TerminalId(name))


async def test_a_failed_open_leaves_nothing_and_harms_nobody(host: HostClient, state: Path) -> None:
    pty, sink = await opened(host, "echo ready; read x; exit 5")
    await sink.printed(b"ready")
    spec = await spec_of(host, "true", "t_2")
    for broken in (
        replace(spec, program="x" * 4_000_000),
        replace(spec, program="x" * 12_000_000),
        replace(spec, program="nul\0"),
        replace(spec, terminal=TerminalId("t_1")),
    ):
        with pytest.raises(HermittyError):
            await host.open(broken, Recorder())
    with pytest.raises(HostUnavailable, match="private directory"):
        await host.make_directory(TerminalId("t_1"))
    with pytest.raises(InvalidSize):
        pty.resize(Size(cols=0, rows=9))

    assert files_in(spec.directory) is None
    pty.write(b"\n")
    assert await sink.ended() == ExitStatus(code=5)
    assert [report.terminal for report in report_on(state).terminals] == ["t_1"]


async def test_names_that_are_no_text_arrive_as_they_are(host: HostClient, tmp_path: Path) -> None:
    odd = os.fsdecode(b"\xff\xfe odd")
    (tmp_path / odd).mkdir()
    sink = Recorder()
    spec = await spec_of(host, 'printf %s "$ODD" | od -An -tx1; basename "$PWD" | od -An -tx1')
    await host.open(replace(spec, cwd=str(tmp_path / odd), env={**spec.env, "ODD": odd}), sink)

    await sink.ended()
    assert sink.data.split(b"\r\n")[:2] == [b" ff fe 20 6f 64 64", b" ff fe 20 6f 64 64 0a"]


async def test_files_are_replaced_as_a_whole(host: HostClient, state: Path) -> None:
    pty, _ = await opened(host, "read x")
    pty.put_file("snapshot", b"old" * 1000)
    await host.leave()
    after = await connect(state)
    found = await only_one(after)
    before = os.open(f"{found.directory}/snapshot", os.O_RDONLY)
    taken = await after.take_over(found.terminal, Recorder(), since=0)
    taken.put_file("snapshot", b"new")
    assert os.read(before, 10_000) == b"old" * 1000
    os.close(before)
    assert await taken.get_file("snapshot") == b"new"
    assert files_in(found.directory) == ["ring", "snapshot"]
    await after.aclose()


async def test_a_hundred_terminals_leave_nothing_behind(host: HostClient, state: Path) -> None:
    async def one(number: int) -> None:
        pty, sink = await opened(host, f"echo number {number}; read x", f"t_{number}")
        await sink.printed(f"number {number}\r\n".encode())
        await pty.close()
        assert len(sink.statuses) == 1

    await one(0)
    directory = Path(await host.make_directory(TerminalId("t_last"))).parent
    before = held_by(host.pid), held_by(os.getpid()), sorted(directory.iterdir())
    for first in range(1, 101, 20):
        await asyncio.gather(*(one(number) for number in range(first, first + 20)))

    assert (held_by(host.pid), held_by(os.getpid()), sorted(directory.iterdir())) == before
    assert report_on(state).terminals == ()


def held_by(pid: int) -> tuple[int, int]:
    """How many descriptors and threads a process has."""
    return len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))
