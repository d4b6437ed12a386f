"""A process with pipes: streams apart, all of them before the end, and nothing left behind."""

import asyncio
import os
import random
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest

from hermitty.errors import HostUnavailable, InputOverflow
from hermitty.model import ExitStatus
from hermitty.pty.write_queue import INPUT_LIMIT
from tests.pty.conftest import OpenProcessOf
from tests.support.kernel import DESCRIPTORS, few_descriptors, is_alive

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
needs_setsid = pytest.mark.skipif(shutil.which("setsid") is None, reason="setsid is not installed")


def pid_in(data: bytes) -> int:
    found = re.search(rb"pid=(\d+)\n", data)
    assert found is not None
    return int(found[1])


async def test_the_streams_are_apart_and_complete_before_the_end(open_process: OpenProcessOf) -> None:
    script = "seq 1 200000 & seq 200001 400000 >&2; wait; printf out; printf err >&2; exit 3"
    opened = open_process("sh", "-c", script)

    assert await opened.sink.ended() == ExitStatus(code=3)
    assert opened.sink.stdout == b"".join(b"%d\n" % number for number in range(1, 200_001)) + b"out"
    assert opened.sink.stderr == b"".join(b"%d\n" % number for number in range(200_001, 400_001)) + b"err"


async def test_a_full_pipe_of_a_process_that_is_gone(open_process: OpenProcessOf) -> None:
    opened = open_process("sh", "-c", "head -c 65536 /dev/zero; head -c 65536 /dev/zero >&2; kill -KILL $$")
    # The loop does not turn: two full pipes and an end wait in the kernel at the same time.
    os.waitid(os.P_PID, opened.process.pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222

    assert await opened.sink.ended() == ExitStatus(signal=signal.SIGKILL)
    assert (len(opened.sink.stdout), len(opened.sink.stderr)) == (65536, 65536)


async def test_there_is_no_terminal_and_no_other_descriptor(open_process: OpenProcessOf) -> None:
    inheritable = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(inheritable, True)
    script = DESCRIPTORS + "try: open('/dev/tty')\nexcept OSError as error: print(error.errno)"
    try:
        opened = open_process(sys.executable, "-I", "-S", "-c", script, stdin=True)
        await opened.sink.ended()
    finally:
        os.close(inheritable)

    assert opened.sink.stdout == b"[0, 1, 2]\n6\n"


async def test_without_input_there_is_nothing_to_read(open_process: OpenProcessOf) -> None:
    opened = open_process("cat")
    opened.process.write(b"dropped")
    opened.process.close_input()

    assert await opened.sink.ended() == ExitStatus(code=0)
    assert opened.sink.stdout == b""


async def test_a_megabyte_goes_in_and_comes_out(open_process: OpenProcessOf) -> None:
    data = random.Random(5).randbytes(1_000_000)
    opened = open_process("cat", stdin=True)
    for start in range(0, len(data), 70_001):
        opened.process.write(data[start : start + 70_001])
    opened.process.close_input()

    assert await opened.sink.ended() == ExitStatus(code=0)
    assert opened.sink.stdout == data


async def test_input_that_nobody_reads_is_bounded(open_process: OpenProcessOf) -> None:
    opened = open_process("sleep", "1000", stdin=True)
    for _ in range(INPUT_LIMIT // (1024 * 1024)):
        opened.process.write(b"x" * 1024 * 1024)

    with pytest.raises(InputOverflow):
        opened.process.write(b"x" * 1024 * 1024)


async def test_input_for_a_process_that_closed_it_is_no_error(open_process: OpenProcessOf) -> None:
    opened = open_process(
        "sh", "-c", "exec <&-; trap 'exit 4' USR1; echo closed; while :; do sleep 0.01; done", stdin=True
    )
    await opened.sink.printed(b"closed")

    opened.process.write(b"x" * 1_000_000)
    opened.process.close_input()
    opened.process.close_input()

    os.kill(opened.process.pid, signal.SIGUSR1)
    assert await opened.sink.ended() == ExitStatus(code=4)


async def test_closed_streams_are_not_the_end(open_process: OpenProcessOf) -> None:
    opened = open_process("sh", "-c", "echo all; exec >&- 2>&-; read line; exit 8", stdin=True)
    await opened.sink.printed(b"all")
    await asyncio.sleep(0)
    assert opened.sink.statuses == []

    opened.process.write(b"\n")

    assert await opened.sink.ended() == ExitStatus(code=8)


@needs_setsid
async def test_a_daemon_that_keeps_the_pipes_does_not_delay_the_end(open_process: OpenProcessOf) -> None:
    opened = open_process("sh", "-c", "setsid sleep 1000 & echo pid=$!; exit 5")

    assert await opened.sink.ended() == ExitStatus(code=5)
    daemon = pid_in(opened.sink.stdout)
    assert is_alive(daemon)

    await opened.process.close()
    assert not is_alive(daemon)


async def test_a_child_that_prints_for_ever_does_not_delay_the_end(open_process: OpenProcessOf) -> None:
    opened = open_process("sh", "-c", "echo pid=$$; trap '' PIPE; yes & exit 0")

    assert await opened.sink.ended() == ExitStatus(code=0)


@needs_setsid
@pytest.mark.parametrize(
    "script",
    [
        "sh ./deaf",
        "sh ./deaf & wait",
        "setsid sh ./deaf & wait",
        "(setsid sh ./deaf &); sleep 1000",
        "env -i PATH=$PATH setsid sh ./deaf & wait",
        "(env -i PATH=$PATH sh ./deaf &); sleep 1000",
    ],
)
async def test_closing_kills_the_whole_tree(open_process: OpenProcessOf, tmp_path: Path, script: str) -> None:
    (tmp_path / "deaf").write_text("trap '' HUP INT QUIT TERM; echo pid=$$; while :; do sleep 1; done")
    opened = open_process("sh", "-c", script)
    pid = pid_in(await opened.sink.printed(b"\n"))

    await asyncio.gather(opened.process.close(), opened.process.close())
    await opened.process.close()

    assert not is_alive(pid)
    assert opened.sink.statuses == [ExitStatus(signal=signal.SIGKILL)]


async def test_nothing_goes_on_between_the_death_of_a_child_and_its_own(open_process: OpenProcessOf) -> None:
    steps = "".join(f"sleep {number}; echo went on >&2; " for number in range(1000, 1020))
    opened = open_process("sh", "-c", f"echo pid=$$; {steps}")
    await opened.sink.printed(b"pid=")

    await opened.process.close()

    assert opened.sink.stderr == b""
    assert opened.sink.statuses == [ExitStatus(signal=signal.SIGKILL)]


async def test_a_signal_reaches_everything_and_counts_it(open_process: OpenProcessOf) -> None:
    opened = open_process("sh", "-c", "sleep 1001 & sleep 1002 & echo pid=$!; wait; exit 0")
    await opened.sink.printed(b"pid=")

    assert opened.process.signal(signal.SIGTERM) == 3

    assert await opened.sink.ended() == ExitStatus(signal=signal.SIGTERM)
    await opened.process.close()
    assert opened.process.signal(signal.SIGTERM) == 0


@pytest.mark.parametrize("stdin", [False, True])
@pytest.mark.parametrize("left", range(8))
async def test_without_descriptors_a_start_fails_by_name_and_leaves_nothing(
    open_process: OpenProcessOf, left: int, stdin: bool
) -> None:
    # Two for each pipe or one for the empty file, and one to list those that must not be inherited.
    enough = left >= (7 if stdin else 6)
    with few_descriptors(left):
        if enough:
            opened = open_process("true", stdin=stdin)
        else:
            with pytest.raises(HostUnavailable, match="Too many open files"):
                open_process("true", stdin=stdin)
    if enough:
        assert await opened.sink.ended() == ExitStatus(code=0)
