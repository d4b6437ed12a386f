"""An end is told once, with the exact status, or with none when somebody else took it."""

import asyncio
import os
import signal
import sys

import pytest

from hermitty.model import ExitStatus
from hermitty.pty.exits import ExitWatch
from hermitty.pty.processes import read_process
from tests.support.kernel import is_alive, so
from tests.support.recorders import Recorder

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def start(script: str) -> int:
    return os.posix_spawn("/bin/sh", ["sh", "-c", script], os.environ)


def state_of(pid: int) -> str | None:
    process = read_process(pid)
    return None if process is None else process.state


def reap(pid: int) -> None:
    os.waitpid(pid, 0)


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("exit 0", ExitStatus(code=0)),
        ("exit 255", ExitStatus(code=255)),
        ("exit 143", ExitStatus(code=143)),  # a code that looks like a signal is none
        ("kill -TERM $$", ExitStatus(signal=signal.SIGTERM)),
        ("kill -KILL $$", ExitStatus(signal=signal.SIGKILL)),
        ("ulimit -c 0; kill -SEGV $$", ExitStatus(signal=signal.SIGSEGV)),
    ],
)
async def test_the_status_is_exact(script: str, status: ExitStatus) -> None:
    sink = Recorder()
    ExitWatch(start(script), sink.on_exit)

    assert await sink.ended() == status


@linux_only
async def test_an_end_before_the_watch_is_told_too() -> None:
    pid = start("exit 7")
    await so(lambda: state_of(pid) == "Z")
    sink = Recorder()

    ExitWatch(pid, sink.on_exit)

    assert await sink.ended() == ExitStatus(code=7)


async def test_a_status_that_somebody_else_took_is_unknown() -> None:
    pid = start("read line")
    sink = Recorder()
    ExitWatch(pid, sink.on_exit)
    os.kill(pid, signal.SIGKILL)
    reap(pid)

    assert await sink.ended() == ExitStatus()


async def test_with_sigchld_ignored_the_end_is_still_told() -> None:
    sink = Recorder()
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        pid = start("exec sleep 1000")
        ExitWatch(pid, sink.on_exit)
        os.kill(pid, signal.SIGTERM)

        assert await sink.ended() == ExitStatus()
    finally:
        signal.signal(signal.SIGCHLD, before)


@linux_only
async def test_a_stopped_child_has_not_ended() -> None:
    pid = start("kill -STOP $$; exit 3")
    sink = Recorder()
    ExitWatch(pid, sink.on_exit)
    await so(lambda: state_of(pid) == "T")
    assert sink.statuses == []

    os.kill(pid, signal.SIGCONT)

    assert await sink.ended() == ExitStatus(code=3)


async def test_after_close_nothing_is_told() -> None:
    sink = Recorder()
    first, second = start("exit 1"), start("exit 2")
    watch = ExitWatch(first, sink.on_exit)
    watch.close()
    watch.close()
    other = Recorder()
    ExitWatch(second, other.on_exit)

    assert await other.ended() == ExitStatus(code=2)
    reap(first)
    assert sink.statuses == []


async def test_many_ends_at_once_are_told_apart() -> None:
    sinks = [Recorder() for _ in range(40)]
    for number, sink in enumerate(sinks):
        ExitWatch(start(f"exit {number}"), sink.on_exit)

    codes = [(await sink.ended()).code for sink in sinks]

    assert codes == list(range(40))


async def test_children_of_others_are_left_alone() -> None:
    handler = signal.getsignal(signal.SIGCHLD)
    process = await asyncio.create_subprocess_exec("sh", "-c", "read line; exit 5", stdin=-1)
    sink = Recorder()
    ExitWatch(start("exit 1"), sink.on_exit)
    await sink.ended()

    assert is_alive(process.pid)
    await process.communicate(b"\n")
    assert process.returncode == 5
    assert signal.getsignal(signal.SIGCHLD) == handler
