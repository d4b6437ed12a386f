"""A PTY as programs and shells expect it, and everything gone when it closes."""

import asyncio
import os
import random
import re
import shlex
import shutil
import signal
import sys
import time
import zlib
from pathlib import Path

import pytest

from hermitty.errors import HostUnavailable, InputOverflow
from hermitty.host.base import Waiting
from hermitty.host.local import inspect
from hermitty.model import ExitStatus, Size
from hermitty.pty import processes
from hermitty.pty.write_queue import INPUT_LIMIT
from tests.pty.conftest import OpenPtyOf
from tests.support.kernel import DESCRIPTORS, few_descriptors, gone, is_alive, so
from tests.support.shells import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
needs_setsid = pytest.mark.skipif(shutil.which("setsid") is None, reason="setsid is not installed")

# Reads only when told to, and then every byte as it is.
RAW = "stty raw -echo; echo ready; "


def pids_in(data: bytes) -> list[int]:
    """Process ids that a script printed as pid=N."""
    return [int(number) for number in re.findall(rb"pid=(\d+)\b", data)]


async def test_the_terminal_is_the_controlling_one_and_the_program_is_in_front(open_pty: OpenPtyOf) -> None:
    script = (
        "import os; fd = os.open('/dev/tty', os.O_RDWR); "
        "print(os.getpid() == os.getsid(0) == os.getpgrp() == os.tcgetpgrp(fd), "
        "os.ttyname(0) == os.ttyname(1) == os.ttyname(2), flush=True)"
    )
    opened = open_pty(sys.executable, "-I", "-S", "-c", script)

    assert await opened.sink.ended() == ExitStatus(code=0)
    assert opened.sink.data == b"True True\r\n"


async def test_the_program_has_no_descriptor_but_its_terminal(open_pty: OpenPtyOf) -> None:
    first = open_pty("sleep", "1000")
    inheritable = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(inheritable, True)
    try:
        opened = open_pty(sys.executable, "-I", "-S", "-c", DESCRIPTORS)
        await opened.sink.ended()
    finally:
        os.close(inheritable)

    assert opened.sink.data == b"[0, 1, 2]\r\n"
    assert first.sink.statuses == []


async def test_sizes_reach_the_program_at_the_start_and_later(open_pty: OpenPtyOf) -> None:
    script = "trap 'stty size; exit 4' WINCH; stty size; while :; do sleep 0.01; done"
    opened = open_pty("sh", "-c", script, size=Size(cols=132, rows=43))
    await opened.sink.printed(b"43 132\r\n")

    opened.pty.resize(Size(cols=4096, rows=1))

    assert await opened.sink.ended() == ExitStatus(code=4)
    assert opened.sink.data == b"43 132\r\n1 4096\r\n"


@pytest.mark.parametrize(
    ("last", "status"),
    [("exit 3", ExitStatus(code=3)), ("kill -KILL $$", ExitStatus(signal=signal.SIGKILL))],
)
async def test_all_output_arrives_before_the_end(open_pty: OpenPtyOf, last: str, status: ExitStatus) -> None:
    opened = open_pty("sh", "-c", f"stty -opost; seq 1 60000; printf last; {last}")

    assert await opened.sink.ended() == status
    assert opened.sink.data == b"".join(b"%d\n" % number for number in range(1, 60001)) + b"last"


async def test_output_of_a_program_that_is_gone_before_anybody_reads(open_pty: OpenPtyOf) -> None:
    opened = open_pty("sh", "-c", "echo short")
    # The loop does not turn: the kernel has the output and the end at the same time.
    os.waitid(os.P_PID, opened.pty.pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222

    assert await opened.sink.ended() == ExitStatus(code=0)
    assert opened.sink.data == b"short\r\n"


async def test_a_flood_is_taken_in_turns(open_pty: OpenPtyOf) -> None:
    flooding, quiet = open_pty("yes"), open_pty("cat")
    await flooding.sink.printed(b"y\r\n" * 1000)

    quiet.pty.write(b"still heard\n")
    await quiet.sink.printed(b"still heard\r\nstill heard\r\n")

    before = len(flooding.sink.data)
    await flooding.sink.until(lambda: len(flooding.sink.data) > before)
    assert len(flooding.sink.data) - before <= 128 * 1024


@needs_setsid
async def test_of_each_turn_every_piece_is_shown_before_or_none(open_pty: OpenPtyOf) -> None:
    opened = open_pty("sh", "-c", "echo start; seq 200000; echo end")
    await opened.sink.ended()
    numbers = b"".join(b"%d\r\n" % number for number in range(1, 200_001))
    assert opened.sink.data == b"start\r\n" + numbers + b"end\r\n"
    for pieces, data in opened.sink.turns:
        assert not pieces or b"".join(pieces) == data
    assert any(len(pieces) > 1 for pieces, _ in opened.sink.turns)


async def test_a_daemon_that_keeps_the_terminal_does_not_delay_the_end(open_pty: OpenPtyOf) -> None:
    opened = open_pty("sh", "-c", "setsid sh -c 'trap \"\" HUP TERM; echo pid=$$; while :; do sleep 1; done' & read x")
    [daemon] = pids_in(await opened.sink.printed(b"\n"))
    opened.pty.write(b"\n")

    assert await opened.sink.ended() == ExitStatus(code=0)
    assert is_alive(daemon)

    await opened.pty.close()
    assert not is_alive(daemon)


async def test_a_job_that_prints_for_ever_does_not_delay_the_end(open_pty: OpenPtyOf) -> None:
    opened = open_pty("sh", "-c", "trap '' HUP; yes & echo pid=$!; exit 9")

    assert await opened.sink.ended() == ExitStatus(code=9)
    [job] = pids_in(opened.sink.data)

    await opened.pty.close()
    assert not is_alive(job)


DEAF = "trap '' HUP INT QUIT TERM; echo pid=$$; while :; do sleep 1; done"
LEFTOVERS = {
    "a child": "sh ./deaf &",
    "in a session of its own": "setsid sh ./deaf &",
    "an orphan": "(setsid sh ./deaf &)",
    "without its mark, but with its parent": "env -i PATH=$PATH setsid sh ./deaf &",
    "without its mark, but in the session": "(env -i PATH=$PATH sh ./deaf &)",
    "without mark and session, of a parent that hears": "(env -i PATH=$PATH sh -c 'setsid sh ./deaf; :' &)",
    "stopped": "sh -c 'echo pid=$$; kill -STOP $$' &",
}


@needs_setsid
@pytest.mark.parametrize("left", LEFTOVERS)
async def test_closing_ends_everything(open_pty: OpenPtyOf, tmp_path: Path, left: str) -> None:
    (tmp_path / "deaf").write_text(DEAF)
    opened = open_pty("sh", "-c", f"trap '' HUP; {LEFTOVERS[left]}\nwhile :; do sleep 1; done")
    [pid] = pids_in(await opened.sink.printed(b"\n"))

    await opened.pty.close()

    assert not is_alive(pid)
    assert not is_alive(opened.pty.pid)
    assert opened.sink.statuses == [ExitStatus(signal=signal.SIGKILL)]


SLOW_TO_TIDY = """
import os, select, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
shell = os.pidfd_open(os.getppid())
print("ready", flush=True)
signal.sigwait([signal.SIGHUP])
select.select([shell], [], [])  # until the shell has left
with open("tidy", "w") as file:
    file.write("gone")
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the program waits for somebody else's child")
async def test_programs_may_tidy_up_when_their_terminal_is_closed(open_pty: OpenPtyOf, tmp_path: Path) -> None:
    """The shell leaves at once; git would leave the lock of its index behind if it were killed with it."""
    opened = open_pty("sh", "-c", f"{shlex.quote(sys.executable)} -c {shlex.quote(SLOW_TO_TIDY)} & read x")
    await opened.sink.printed(b"ready")

    await opened.pty.close()

    assert (tmp_path / "tidy").read_text() == "gone"


async def test_closing_twice_at_the_same_time_and_again_later(open_pty: OpenPtyOf) -> None:
    opened = open_pty("sh", "-c", "trap '' HUP; echo ready; while :; do sleep 1; done")
    await opened.sink.printed(b"ready")

    await asyncio.gather(opened.pty.close(), opened.pty.close(), opened.pty.close())
    await opened.pty.close()

    assert len(opened.sink.statuses) == 1


async def test_a_cancelled_close_can_be_repeated(open_pty: OpenPtyOf) -> None:
    opened = open_pty("sh", "-c", "trap '' HUP; echo ready; while :; do sleep 1; done")
    await opened.sink.printed(b"ready")
    closing = asyncio.create_task(opened.pty.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing

    await opened.pty.close()

    assert not is_alive(opened.pty.pid)


async def test_a_closed_pty_knows_and_does_nothing(open_pty: OpenPtyOf) -> None:
    opened = open_pty("cat")
    await opened.pty.close()

    opened.pty.write(b"x")
    opened.pty.discard_input()
    opened.pty.resize(Size(10, 10))
    assert opened.pty.foreground_group() is None
    assert opened.pty.blocked() is None
    assert opened.pty.signal_foreground(signal.SIGKILL) is None
    assert opened.pty.signal_since(0, signal.SIGKILL) == 0
    assert opened.pty.modes() == (True, True)
    assert not opened.pty.is_replaced


async def test_a_shell_that_somebody_else_waited_for_still_ends(open_pty: OpenPtyOf) -> None:
    opened = open_pty("sh", "-c", "sleep 1000 & echo pid=$!; wait")
    [job] = pids_in(await opened.sink.printed(b"\n"))
    os.kill(opened.pty.pid, signal.SIGKILL)
    os.waitpid(opened.pty.pid, 0)  # noqa: ASYNC222

    await opened.pty.close()

    assert opened.sink.statuses == [ExitStatus()]
    assert not is_alive(job)


async def test_input_that_nobody_reads_is_bounded(open_pty: OpenPtyOf) -> None:
    opened = open_pty("sh", "-c", RAW + "sleep 1000")
    await opened.sink.printed(b"ready")
    megabyte = b"x" * 1024 * 1024
    for _ in range(INPUT_LIMIT // len(megabyte)):
        opened.pty.write(megabyte)

    with pytest.raises(InputOverflow) as caught:
        opened.pty.write(megabyte)
    assert (caught.value.code, caught.value.terminal_id) == ("input_overflow", "t_1")

    opened.pty.discard_input()
    opened.pty.write(megabyte)


async def test_a_megabyte_reaches_a_slow_reader_intact(open_pty: OpenPtyOf) -> None:
    data = random.Random(3).randbytes(1_000_000)
    script = (
        "import sys, time, zlib\n"
        "read = sys.stdin.buffer.read1\n"
        "crc = size = 0\n"
        "while size < 1_000_000:\n"
        "    piece = read(5000); size += len(piece); crc = zlib.crc32(piece, crc)\n"
        "print('sum', crc, flush=True)\n"
    )
    opened = open_pty("sh", "-c", RAW + 'exec "$@"', "sh", sys.executable, "-I", "-S", "-c", script)
    await opened.sink.printed(b"ready")

    for start in range(0, len(data), 99_991):
        opened.pty.write(data[start : start + 99_991])

    assert await opened.sink.ended() == ExitStatus(code=0)
    assert opened.sink.data.split()[-1] == str(zlib.crc32(data)).encode()


async def test_discarded_input_is_never_read(open_pty: OpenPtyOf) -> None:
    opened = open_pty(
        "sh", "-c", "stty -echo; trap 'read line; echo got $line; exit' USR1; echo ready; while :; do sleep 0.01; done"
    )
    await opened.sink.printed(b"ready")
    opened.pty.write(b"old\n" * 10_000)

    opened.pty.discard_input()
    opened.pty.write(b"new\n")
    os.kill(opened.pty.pid, signal.SIGUSR1)

    assert await opened.sink.ended() == ExitStatus(code=0)
    assert opened.sink.data == b"ready\r\ngot new\r\n"


BASH = ("bash", "--norc", "--noprofile", "-i")
# Not a shell: one that is stopped between vfork and exec of a child never tells that it was stopped.
JOB = f"""{shlex.quote(sys.executable)} -I -S -c '
import os
from signal import *
signal(SIGINT, SIG_DFL)
signal(SIGCONT, lambda *_: os.write(1, b"contin" b"ued"))
os.write(1, b"be" b"gun")
while True: pause()'
"""


@needs_bash
async def test_job_control_stops_continues_and_ends_a_job(open_pty: OpenPtyOf) -> None:
    opened = open_pty(*BASH)
    opened.pty.write(JOB.encode())
    await opened.sink.printed(b"begun")
    job = opened.pty.foreground_group()
    assert job not in (None, opened.pty.pid)

    opened.pty.write(b"\x1a")
    await opened.sink.printed(b"Stopped")
    await so(lambda: opened.pty.foreground_group() == opened.pty.pid)

    opened.pty.write(b"fg\n")
    await opened.sink.printed(b"continued")
    assert opened.pty.foreground_group() == job

    opened.pty.write(b"\x03")
    opened.pty.write(b"exit 6\n")
    assert await opened.sink.ended() == ExitStatus(code=6)
    assert job is not None
    await gone(job)


@needs_bash
async def test_a_signal_to_the_front_spares_the_shell_and_its_other_jobs(open_pty: OpenPtyOf) -> None:
    opened = open_pty(*BASH)
    opened.pty.write(b"sleep 1001 & echo pid=$!\n")
    [background] = pids_in(await opened.sink.printed(b"\npid="))
    opened.pty.write(JOB.encode())
    await opened.sink.printed(b"begun")
    front = opened.pty.foreground_group()
    assert front is not None

    assert opened.pty.signal_foreground(signal.SIGKILL, unless={front}) == front
    assert is_alive(front)
    assert opened.pty.signal_foreground(signal.SIGKILL) == front
    await opened.sink.printed(b"Killed")

    assert not is_alive(front)
    assert is_alive(background)
    assert opened.sink.statuses == []


async def test_only_processes_since_the_mark_are_signalled(open_pty: OpenPtyOf) -> None:
    opened = open_pty("sh", "-c", "sleep 1001 & echo pid=$!; read x; sleep 1002 & echo pid=$!; wait")
    [old] = pids_in(await opened.sink.printed(b"\n"))
    started = processes.read_process(old)
    assert started is not None
    # The clock of processes is coarse; the mark must not fall into the tick in which the old one started.
    await so(lambda: processes.ticks_now() > started.started)
    mark = processes.ticks_now()
    opened.pty.write(b"\n")
    await opened.sink.until(lambda: len(pids_in(opened.sink.data)) == 2)
    [_, new] = pids_in(opened.sink.data)

    assert opened.pty.signal_since(mark, signal.SIGKILL) == 1

    await gone(new)
    assert is_alive(old)


async def test_an_exec_is_noticed(open_pty: OpenPtyOf) -> None:
    opened = open_pty("sh", "-c", "echo ready; read x; exec sh -c 'echo replaced; read y'")
    await opened.sink.printed(b"ready")
    opened.pty.remember_program()
    assert not opened.pty.is_replaced

    opened.pty.write(b"\n")
    await opened.sink.printed(b"replaced")

    assert opened.pty.is_replaced


async def test_a_program_that_has_not_read_what_was_typed_is_not_said_to_wait(open_pty: OpenPtyOf) -> None:
    opened = open_pty("sh", "-c", "echo ready; read answer; echo got $answer; read again")
    await opened.sink.printed(b"ready")
    await so(lambda: inspect(opened.pty).waiting is Waiting.READING)
    os.kill(opened.pty.pid, signal.SIGSTOP)
    await so(lambda: Path(f"/proc/{opened.pty.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    opened.pty.write(b"half a line")
    assert not opened.pty.has_unread_input()
    opened.pty.write(b"\r")
    assert opened.pty.has_unread_input()
    assert inspect(opened.pty).waiting is Waiting.NO
    os.kill(opened.pty.pid, signal.SIGCONT)
    await opened.sink.printed(b"got half a line")
    assert not opened.pty.has_unread_input()
    await so(lambda: inspect(opened.pty).waiting is Waiting.READING)


async def test_a_program_whose_output_was_not_read_yet_is_not_said_to_wait(open_pty: OpenPtyOf) -> None:
    opened = open_pty("sh", "-c", "printf question; read answer")
    deadline = time.monotonic() + PATIENCE_S
    # The event loop stands still meanwhile, so that nothing is read.
    while opened.pty.blocked() != (True, False) and time.monotonic() < deadline:
        pass

    assert opened.pty.has_unread_output()
    assert inspect(opened.pty).waiting is Waiting.NO
    await opened.sink.printed(b"question")
    assert not opened.pty.has_unread_output()
    assert inspect(opened.pty).waiting is Waiting.READING


@pytest.mark.parametrize("left", range(5))
async def test_without_descriptors_an_open_fails_by_name_and_leaves_nothing(open_pty: OpenPtyOf, left: int) -> None:
    # A PTY takes two, and its shell's end a third.
    enough = left >= 3
    with few_descriptors(left):
        if enough:
            opened = open_pty("true")
        else:
            with pytest.raises(HostUnavailable, match=r"[Tt]oo many open files"):
                open_pty("true")
    if enough:
        await opened.sink.ended()


async def test_without_descriptors_a_close_still_ends_everything(open_pty: OpenPtyOf) -> None:
    opened = open_pty("sh", "-c", f"{DEAF} & sh -c 'echo pid=$$; sleep 1000'")
    await so(lambda: len(pids_in(opened.sink.data)) == 2)

    with few_descriptors(0):
        await opened.pty.close()

    assert not [pid for pid in (opened.pty.pid, *pids_in(opened.sink.data)) if is_alive(pid)]
