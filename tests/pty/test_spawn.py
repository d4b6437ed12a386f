"""What a started program gets: its words, its directory, three descriptors, clean signals, a session of its own."""

import contextlib
import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.errors import HostUnavailable
from hermitty.pty.processes import read_process
from hermitty.pty.spawn import inherited_descriptors, spawn
from tests.support.kernel import DESCRIPTORS

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
ENV = {"PATH": os.environ["PATH"]}


class Started:
    """A program that waits for a line before it goes on, so that the test decides when."""

    def __init__(self, *argv: str, cwd: str = "/", descriptor_limit: int | None = None) -> None:
        self._stdin, self._go = os.pipe()
        self._out, self._stdout = os.pipe()
        script = 'read line; exec "$@"'
        try:
            self.pid = spawn(
                ["/bin/sh", "-c", script, "sh", *argv],
                cwd=cwd,
                env=ENV,
                actions=[
                    (os.POSIX_SPAWN_DUP2, self._stdin, 0),
                    (os.POSIX_SPAWN_DUP2, self._stdout, 1),
                    (os.POSIX_SPAWN_DUP2, self._stdout, 2),
                ],
                descriptor_limit=descriptor_limit,
            )
        except BaseException:
            os.close(self._go)
            os.close(self._out)
            raise
        finally:
            os.close(self._stdin)
            os.close(self._stdout)

    def finish(self) -> tuple[bytes, int]:
        """Let it go on; return its output and its exit code."""
        with contextlib.suppress(BrokenPipeError):  # it may have failed before it read
            os.write(self._go, b"\n")
        os.close(self._go)
        with os.fdopen(self._out, "rb") as out:
            output = out.read()
        return output, os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@contextlib.contextmanager
def everything_ignored_and_blocked() -> Iterator[None]:
    """Ignore and block every signal that can be."""
    signals = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    before = {number: signal.signal(number, signal.SIG_IGN) for number in signals}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@linux_only
def test_nothing_this_process_ignores_or_blocks_reaches_the_program() -> None:
    with everything_ignored_and_blocked():
        started = Started("grep", "-E", "Sig(Blk|Ign)", "/proc/self/status")

    output, code = started.finish()

    assert code == 0
    _, blocked, _, ignored = output.split()
    # 32 and 33 belong to the C library, whose posix_spawn leaves them ignored.
    assert (int(blocked, 16), int(ignored, 16) & ~(0b11 << 31)) == (0, 0)


@linux_only
def test_only_the_standard_descriptors_are_inherited() -> None:
    inheritable = os.open(os.devnull, os.O_RDONLY)
    # The number 9 may be meant for a shell, and high ones are easily forgotten.
    high = 777 if resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 777 else 200
    os.dup2(inheritable, high, inheritable=True)
    os.set_inheritable(inheritable, True)
    try:
        assert {inheritable, high} <= set(inherited_descriptors())
        output, _ = Started(sys.executable, "-I", "-S", "-c", DESCRIPTORS).finish()
    finally:
        os.close(inheritable)
        os.close(high)

    assert output == b"[0, 1, 2]\n"


@linux_only
def test_the_program_leads_a_session_and_a_group_of_its_own() -> None:
    started = Started("true")
    process = read_process(started.pid)
    started.finish()

    assert process is not None
    assert (process.parent, process.group, process.session) == (os.getpid(), started.pid, started.pid)


def test_the_process_id_is_the_programs_own() -> None:
    started = Started("sh", "-c", "echo $$")

    assert started.finish() == (f"{started.pid}\n".encode(), 0)


WORDS = ["", " ", "$HOME", "`id`", "$(id)", "a\nb", "*", "-n", "--", "'", '"', "\\", ";", "é", "\udcff", "\x1b[2J"]


def test_words_arrive_exactly() -> None:
    script = "import os, sys; sys.stdout.buffer.write(b'|'.join(map(os.fsencode, sys.argv[1:])))"

    output, _ = Started(sys.executable, "-I", "-S", "-c", script, *WORDS).finish()

    assert output == b"|".join(map(os.fsencode, WORDS))


@pytest.mark.parametrize(
    "name", ["plain", "a b", "-", "-P", "$(touch x)", "it's", 'say "x"', "two\nlines", "\udcff\udcfe", "~", "é*?"]
)
def test_a_directory_of_any_name_is_entered(tmp_path: Path, name: str) -> None:
    directory = tmp_path / name
    directory.mkdir()

    output, code = Started("pwd", "-P", cwd=str(directory)).finish()

    assert (output, code) == (os.fsencode(directory.resolve()) + b"\n", 0)
    assert list(directory.iterdir()) == []


def test_a_symbolic_link_stays_the_name_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    output, _ = Started("sh", "-c", "pwd; printenv PWD", cwd=str(tmp_path / "link")).finish()

    assert output == f"{tmp_path}/link\n".encode() * 2


def test_a_directory_that_is_gone_runs_nothing(tmp_path: Path) -> None:
    output, code = Started("echo", "ran", cwd=str(tmp_path / "gone")).finish()

    assert code != 0
    assert b"gone" in output
    assert b"ran" not in output


def test_a_program_that_is_not_there_ends_with_127() -> None:
    assert Started("/no/such/program").finish()[1] == 127


def test_the_child_gets_the_limit_and_may_raise_it_again() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    output, _ = Started("sh", "-c", "ulimit -Sn; ulimit -Hn", descriptor_limit=123).finish()

    soft, still_hard = output.split()
    assert soft == b"123"
    assert still_hard == (b"unlimited" if hard == resource.RLIM_INFINITY else str(hard).encode())


def test_words_the_system_does_not_take_are_an_error_and_no_process() -> None:
    with pytest.raises(HostUnavailable, match=r"cannot start '/bin/sh': .+") as caught:
        Started("true", "x" * 4_000_000)

    assert caught.value.code == "host_unavailable"
