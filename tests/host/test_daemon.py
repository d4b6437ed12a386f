"""The process of the durable host: who may talk to it, what it makes of nonsense, and when it ends."""

import asyncio
import contextlib
import errno
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from hermitty.errors import HostMismatch
from hermitty.host.__main__ import is_there
from hermitty.host.base import HostedPty
from hermitty.host.client import HostClient
from hermitty.host.control import HostStatus, host_status
from hermitty.host.daemon import Daemon, DaemonOptions
from hermitty.host.kept import KeptPty
from hermitty.host.place import HostPlace
from hermitty.host.starter import connect
from hermitty.model import ExitStatus, TerminalId
from hermitty.version import __version__
from hermitty.wire.hostlink import messages as m
from hermitty.wire.hostlink.frames import MAX_FRAME, Decoder, encode
from tests.contract.host_contract import DEAF, pids_in
from tests.support.kernel import gone, is_alive, so
from tests.support.recorders import Recorder
from tests.support.shells import PATIENCE_S
from tests.support.specs import spec_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

OBSERVER = m.Hello(m.VERSION, __version__, "observer", 1, "")


@pytest.fixture
async def host(state: Path) -> AsyncIterator[HostClient]:
    """A user of a new host."""
    client = await connect(state)
    yield client
    await client.aclose()


async def opened(host: HostClient, script: str) -> tuple[HostedPty, Recorder]:
    sink = Recorder()
    return await host.open(await spec_of(host, script), sink), sink


@contextlib.contextmanager
def stranger(state: Path, *said: m.Message | bytes) -> Iterator[socket.socket]:
    """A connection of somebody who says these things."""
    address = HostPlace(state).read_address()
    assert address is not None
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(address)
        for each in said:
            connection.sendall(each if isinstance(each, bytes) else encode(each))
        yield connection


def answers(connection: socket.socket, count: int) -> list[m.Message]:
    """The next messages; fewer when the connection ends before."""
    decoder, found = Decoder(), list[m.Message]()
    while len(found) < count:
        try:
            data = connection.recv(65_536)
        except ConnectionResetError:
            return found
        if not data:
            return found
        found += decoder.feed(data)
    return found


async def running(state: Path) -> HostStatus:
    status = await asyncio.to_thread(host_status, state)
    assert status is not None
    return status


# Who may talk to it.


async def test_strangers_who_make_no_sense_are_disconnected_and_nobody_else(host: HostClient, state: Path) -> None:
    pty, sink = await opened(host, "echo ready; read x; exit 4")
    await sink.printed(b"ready")
    nonsense: list[tuple[m.Message | bytes, ...]] = [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",),
        (b"\0\0\0\0",),
        (struct.pack("!I", MAX_FRAME + 1),),
        (b"\0\0\0\x02\x01{",),
        (b"\xff" + os.urandom(4095),),
        (m.Status(1),),
        (m.Write(1, 1, 0, b"x"),),
        (OBSERVER, OBSERVER),
        (OBSERVER, m.Write(1, 1, 0, b"to the first terminal\n")),
        (OBSERVER, m.Acknowledge(1, 3)),
        (OBSERVER, m.Close(1, "t_1")),
        (OBSERVER, m.TakeOver(1, "t_1", 0)),
        (OBSERVER, m.Goodbye(1)),
        (OBSERVER, m.Done(1)),
        (OBSERVER, b"\0\0\0\x01\x09"),
    ]
    for said in nonsense:
        with stranger(state, *said) as connection:
            heard = await asyncio.to_thread(answers, connection, 2)
            assert [type(each) for each in heard] in ([], [m.Welcome]), said

    assert (await running(state)).report.user_pid == os.getpid()
    pty.write(b"\n")
    assert await sink.ended() == ExitStatus(code=4)


async def test_half_a_frame_and_then_nothing_costs_nothing(host: HostClient, state: Path) -> None:
    frame = encode(OBSERVER)
    await running(state)
    before = len(os.listdir(f"/proc/{host.pid}/fd"))
    for length in range(len(frame)):
        with stranger(state, frame[:length]):
            pass
    with stranger(state, OBSERVER, struct.pack("!IB", MAX_FRAME - 4, 2) + b"x" * 1_000_000):
        pass

    await so(lambda: len(os.listdir(f"/proc/{host.pid}/fd")) <= before)
    assert (await running(state)).report.user_pid == os.getpid()


async def test_a_user_who_makes_no_sense_loses_the_connection_and_the_terminals_go_on(state: Path) -> None:
    first = await connect(state, options=DaemonOptions(grace_s=PATIENCE_S))
    pty, sink = await opened(first, "echo ready; read x; exit 4")
    await sink.printed(b"ready")
    await first.leave()
    hello = m.Hello(m.VERSION, __version__, "user", 1, "")

    with stranger(state, hello, m.TakeOver(1, "t_1", 0), m.Resize(1, 0, 99_999)) as connection:
        heard = await asyncio.to_thread(answers, connection, 100)
    assert [type(each) for each in heard][:2] in ([m.Welcome, m.Opened], [m.Welcome], [])
    await so(lambda: host_status(state).report.user_pid is None)  # type: ignore[union-attr]

    after = await connect(state)
    taken = await after.take_over(TerminalId("t_1"), (again := Recorder()), since=0)
    taken.write(b"\n")
    assert await again.ended() == ExitStatus(code=4)
    await after.aclose()
    assert not is_alive(pty.pid)


async def test_a_user_of_another_version_is_told_what_to_do(state: Path) -> None:
    host = await connect(state)
    await host.leave()

    with stranger(state, m.Hello(99, "9.9.9", "user", 1, "")) as connection:
        (refused, *more) = await asyncio.to_thread(answers, connection, 2)

    assert isinstance(refused, m.Refused)
    assert (refused.code, refused.version, more) == (HostMismatch.code, m.VERSION, [])
    for part in (
        f"version {m.VERSION}",
        "version 99",
        "9.9.9",
        __version__,
        str(host.pid),
        "`hermitty host stop` ends it",
    ):
        assert part in refused.message
    # Whoever observes is welcome whatever his version.
    with stranger(state, m.Hello(99, "9.9.9", "observer", 1, ""), m.Status(5)) as connection:
        heard = await asyncio.to_thread(answers, connection, 2)
    assert [type(each) for each in heard] == [m.Welcome, m.StatusReport]


async def test_only_its_user_can_reach_it(host: HostClient, state: Path) -> None:
    place = HostPlace(state)
    address = place.read_address()
    assert address is not None
    modes = [os.stat(path).st_mode & 0o777 for path in (place.directory, address, place.lock, place.log)]

    assert modes == [0o700, 0o600, 0o600, 0o600]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_another_user_is_turned_away_even_if_the_files_let_him(host: HostClient, state: Path) -> None:
    place = HostPlace(state)
    address = place.read_address()
    assert address is not None
    for path in [*place.directory.parents, place.directory]:
        if path.is_relative_to("/tmp/") and path != Path("/tmp"):
            os.chmod(path, 0o755)
    os.chmod(address, 0o666)
    script = (
        "import os, socket, sys; os.setgid(65534); os.setuid(65534)\n"
        "connection = socket.socket(socket.AF_UNIX); connection.connect(sys.argv[1])\n"
        "connection.settimeout(60)\n"
        "try: print(connection.recv(100))\n"
        "except ConnectionResetError: print(b'')\n"
    )
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-I", "-S", "-c", script, address], capture_output=True, timeout=PATIENCE_S
    )

    assert (done.stdout, done.stderr) == (b"b''\n", b"")
    assert "another user" in place.log.read_text()
    assert (await running(state)).report.user_pid == os.getpid()


# When it ends.


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGPIPE])
async def test_signals_of_terminals_do_not_end_it(host: HostClient, number: int) -> None:
    pty, sink = await opened(host, "stty -echo; echo ready; while read x; do echo got $x; done")
    await sink.printed(b"ready")

    os.kill(host.pid, number)

    pty.write(b"that\n")
    await sink.printed(b"got that")


async def test_SIGTERM_ends_it_with_everything(host: HostClient, state: Path, tmp_path: Path) -> None:
    (tmp_path / "deaf").write_text(DEAF)
    _, sink = await opened(host, f"sh {tmp_path}/deaf & setsid sh {tmp_path}/deaf & wait")
    await sink.until(lambda: len(pids_in(sink.data)) == 2)
    address = HostPlace(state).read_address()
    assert address is not None
    directory = (await host.make_directory(TerminalId("t_2"))).rpartition("/")[0]

    os.kill(host.pid, signal.SIGTERM)

    await gone(host.pid)
    assert [pid for pid in pids_in(sink.data) if is_alive(pid)] == []
    assert await sink.ended() == ExitStatus(signal=signal.SIGHUP)
    assert [path for path in (address, directory) if os.access(path, os.F_OK)] == []
    assert host_status(state) is None


async def test_somebody_who_does_not_listen_does_not_keep_it_from_ending(host: HostClient, state: Path) -> None:
    deaf = b"".join(encode(m.Status(number)) for number in range(2000))
    with stranger(state, OBSERVER) as connection:
        connection.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            for _ in range(50):
                connection.sendall(deaf)
        os.kill(host.pid, signal.SIGTERM)
        await gone(host.pid)


async def test_without_terminals_and_users_it_ends_by_itself(state: Path) -> None:
    host = await connect(state, options=DaemonOptions(idle_s=0.2))
    pty, sink = await opened(host, "echo ready; read x")
    await sink.printed(b"ready")
    await host.leave()

    after = await connect(state)
    assert after.pid == host.pid
    taken = await after.take_over(TerminalId("t_1"), Recorder(), since=0)
    await taken.close()
    assert not is_alive(pty.pid)
    await after.leave()
    await gone(host.pid)

    later = await connect(state)
    assert later.pid != host.pid
    assert later.incarnation != host.incarnation
    await later.aclose()


async def test_one_that_nobody_can_find_any_more_ends(state: Path) -> None:
    host = await connect(state, options=DaemonOptions(look_s=0.1))
    pty, sink = await opened(host, "echo ready; read x")
    await sink.printed(b"ready")
    os.rename(state, state.with_name("elsewhere"))
    after = await connect(state)
    assert after.pid != host.pid
    assert await after.found() == []
    assert is_alive(pty.pid)  # somebody uses it

    await host.leave()

    await gone(host.pid, pty.pid)
    assert (await running(state)).welcome.pid == after.pid
    await after.aclose()


# What it is made of.


async def test_nothing_of_third_parties_is_in_it(host: HostClient) -> None:
    script = "import hermitty.host.__main__, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    plain = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"

    def modules(code: str) -> set[str]:
        return set(
            subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.decode().split()
        )

    loaded = await asyncio.to_thread(modules, script) - await asyncio.to_thread(modules, plain)
    assert loaded - set(sys.stdlib_module_names) == {"hermitty"}
    mapped = await asyncio.to_thread(Path(f"/proc/{host.pid}/maps").read_text)
    assert "site-packages" not in mapped


def test_only_a_file_that_was_removed_is_not_there(tmp_path: Path) -> None:
    """A host whose state directory is gone ends, with its terminals; a disk that does not answer is not gone."""
    place = tmp_path / "home" / "lock"
    place.parent.mkdir()
    with place.open("w") as file:
        assert is_there(place, file.fileno())
        place.parent.rename(tmp_path / "away")
        assert not is_there(place, file.fileno())
        place.parent.symlink_to(place.parent)  # stands for whatever else a disk may say
        assert is_there(place, file.fileno())
        place.parent.unlink()
        place.parent.touch()
        assert not is_there(place, file.fileno())
        place.parent.unlink()
        place.parent.mkdir()
        place.touch()
        assert not is_there(place, file.fileno())


async def test_a_terminal_that_could_not_be_closed_is_still_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = Daemon(DaemonOptions(), lambda text: None, lambda: True)
    directory = daemon._make_directory("t_1")
    env = {"PATH": os.defpath}
    kept = daemon._open(m.Open(1, "t_1", ("/bin/sleep", "1000"), str(tmp_path), env, 80, 24, directory, 0))

    async def fails(terminal: KeptPty) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patch:
        patch.setattr(KeptPty, "close", fails)
        with pytest.raises(OSError, match="Too many open files"):
            await daemon._close("t_1")
    assert is_alive(kept.pty.pid)

    await daemon._close("t_1")

    assert not is_alive(kept.pty.pid)
    daemon.stop("the test is over")
    await daemon.aclose()
