"""What the kernel tells of the program in front: who reads, who polls, who does neither."""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hermitty.pty import foreground
from hermitty.pty.processes import read_process
from tests.pty.conftest import OpenPty, OpenPtyOf
from tests.support.kernel import so

pytestmark = pytest.mark.skipif(
    sys.platform != "linux"
    or platform.machine() not in foreground._SYSCALLS
    or not Path("/proc/self/syscall").exists(),
    reason="this kernel does not tell system calls",
)
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")

BASH = ("bash", "--norc", "--noprofile", "-i")
READING, POLLING, NEITHER = (True, False), (False, True), (False, False)


async def settles(opened: OpenPty, expected: tuple[bool, bool]) -> None:
    """Wait until the programs in front are blocked like that."""
    await so(lambda: opened.pty.blocked() == expected)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import sys; sys.stdin.read()", READING),
        ("import os; os.readv(0, [bytearray(1)])", READING),
        ("open('/dev/tty').read()", READING),
        ("import os; os.read(os.dup2(0, 50), 1)", READING),
        ("import select; select.select([0], [], [])", POLLING),
        ("import select; p = select.poll(); p.register(0); p.poll() if 0 else p.modify(0, 1); p.poll()", POLLING),
        ("import select; e = select.epoll(); e.register(0, 1); e.poll()", POLLING),
        ("import time; time.sleep(1000)", NEITHER),
        ("import os; os.read(os.pipe()[0], 1)", NEITHER),
        ("import os, pty; os.read(pty.openpty()[1], 1)", NEITHER),
    ],
)
async def test_a_program_is_seen_waiting(open_pty: OpenPtyOf, code: str, expected: tuple[bool, bool]) -> None:
    opened = open_pty(sys.executable, "-I", "-S", "-c", f"print('ready', flush=True); {code}")
    await opened.sink.printed(b"ready")

    await settles(opened, expected)


async def test_one_thread_of_many_reads(open_pty: OpenPtyOf) -> None:
    script = (
        "import sys, threading, time\n"
        "for _ in range(5): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n"
        "threading.Thread(target=sys.stdin.read, daemon=True).start()\n"
        "time.sleep(1000)"
    )
    opened = open_pty(sys.executable, "-I", "-S", "-c", script)

    await settles(opened, READING)


async def test_a_child_of_the_program_reads(open_pty: OpenPtyOf) -> None:
    await settles(open_pty("sh", "-c", "sh -c 'sh -c \"cat; :\"; :'; :"), READING)


@needs_bash
@pytest.mark.parametrize(
    "pipeline",
    [
        "sleep 1000 | sh -c 'echo be\"\"gun; read x </dev/tty'",
        "sh -c 'echo be\"\"gun; read x' | sleep 1000",
        "true | sh -c 'echo be\"\"gun; read x </dev/tty'",
        "sleep 1000 | sleep 1001 | sh -c 'echo be\"\"gun >/dev/tty; cat /dev/tty' | sleep 1002",
    ],
)
async def test_any_member_of_a_pipeline_is_seen_reading(open_pty: OpenPtyOf, pipeline: str) -> None:
    opened = open_pty(*BASH)
    opened.pty.write(pipeline.replace('echo be""gun;', 'echo be""gun >/dev/tty;').encode() + b"\n")
    await opened.sink.printed(b"begun")
    assert opened.pty.foreground_group() != opened.pty.pid

    await settles(opened, READING)


@needs_bash
async def test_a_reader_in_the_background_is_not_in_front(open_pty: OpenPtyOf) -> None:
    opened = open_pty(*BASH)
    opened.pty.write(b"cat & sleep 1000 | sh -c 'echo be\"\"gun; exec sleep 1001'\n")
    await opened.sink.printed(b"begun")

    await settles(opened, NEITHER)


async def test_the_modes_of_a_password_prompt(open_pty: OpenPtyOf) -> None:
    opened = open_pty("sh", "-c", "read a; stty -echo; printf one; read b; stty raw; printf two; read c")
    assert opened.pty.modes() == (True, True)

    opened.pty.write(b"\n")
    await opened.sink.printed(b"one")
    assert opened.pty.modes() == (False, True)

    opened.pty.write(b"\n")
    await opened.sink.printed(b"two")
    assert opened.pty.modes() == (False, False)


async def test_nobody_in_front_is_nobody(open_pty: OpenPtyOf) -> None:
    opened = open_pty("true")
    await opened.sink.ended()

    assert opened.pty.foreground_group() is None
    assert opened.pty.blocked() is None


def test_a_group_without_members_is_unknown() -> None:
    assert foreground.blocked_in(2**22 + 1, 0) is None


def test_the_directory_of_a_process_or_nothing(tmp_path: Path) -> None:
    directory = tmp_path / "it was (deleted)"
    directory.mkdir()
    with subprocess.Popen(["sh", "-c", "echo; read x"], cwd=directory, stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert foreground.working_directory(process.pid) == str(directory)
        directory.rmdir()
        assert foreground.working_directory(process.pid) is None
        process.communicate()

    assert foreground.working_directory(process.pid) is None
    assert foreground.command_line(process.pid) is None


def test_the_words_of_a_process() -> None:
    command = foreground.command_line(os.getpid())

    assert command is not None
    assert command.startswith(os.fsencode(sys.orig_argv[0]) + b"\0")
    assert read_process(os.getpid()) is not None
