"""Which processes belong to a terminal, and that nobody else is ever signalled."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.pty import processes
from hermitty.pty.processes import (
    OWNER_VARIABLE,
    ProcessInfo,
    ProcessTable,
    belongs_to,
    ignores,
    process_table,
    read_process,
    send,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

# No process has such ids: they are above what the kernel gives out.
HIGH = 2**22


def info(number: int, *, parent: int, session: int = 1, group: int = 1, started: int = 100) -> ProcessInfo:
    parent, session = (HIGH + value if value > 1 else 1 for value in (parent, session))
    return ProcessInfo(HIGH + number, parent, group, session, "S", started)


def table_of(*entries: ProcessInfo) -> ProcessTable:
    return ProcessTable(entries)


def found(table: ProcessTable, *, root_ended: bool) -> set[int]:
    return {pid - HIGH for pid in belongs_to(table, HIGH + 10, "nobody", root_ended=root_ended)}


def test_descendants_the_session_and_their_descendants_belong() -> None:
    table = table_of(
        info(10, parent=1, session=10),
        info(11, parent=10, session=10),
        info(12, parent=11, session=12),  # setsid
        info(13, parent=1, session=10),  # an orphan in the session
        info(14, parent=13, session=14),  # and its child, which left the session
        info(20, parent=1, session=20),
        info(21, parent=20, session=20),
    )

    assert found(table, root_ended=False) == {11, 12, 13, 14}


def test_the_session_of_a_root_that_ended_still_belongs() -> None:
    table = table_of(info(11, parent=1, session=10), info(12, parent=11, session=12), info(20, parent=1, session=20))

    assert found(table, root_ended=True) == {11, 12}


def test_a_stranger_with_the_id_of_a_root_that_ended_does_not_belong() -> None:
    table = table_of(
        info(10, parent=20, session=10, started=999), info(11, parent=10, session=10), info(20, parent=1, session=20)
    )

    assert found(table, root_ended=True) == set()


def test_circles_end() -> None:
    # The table is not read at one instant; ids may have changed hands in between.
    table = table_of(info(10, parent=12), info(11, parent=10), info(12, parent=11))

    assert found(table, root_ended=False) == {11, 12}


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A child of this process, started with a mark."""
    with subprocess.Popen(["sleep", "1000"], env={OWNER_VARIABLE: "me.t_1"}, start_new_session=True) as process:
        yield process.pid
        process.kill()


def test_a_process_without_any_relation_is_found_by_its_mark_only(sleeper: int) -> None:
    table = process_table()

    assert belongs_to(table, HIGH, "me.t_1", root_ended=False) == {sleeper}
    assert belongs_to(table, HIGH, "me.t_10", root_ended=False) == set()
    assert belongs_to(table, HIGH, "me.t_", root_ended=False) == set()
    assert belongs_to(table, sleeper, "me.t_1", root_ended=False) == set()


def test_a_reused_id_is_not_signalled(sleeper: int) -> None:
    real = process_table()[sleeper]
    older = ProcessInfo(real.pid, real.parent, real.group, real.session, real.state, real.started - 1)

    assert send({sleeper: older}, [sleeper], signal.SIGKILL) == 0
    assert send({}, [sleeper], signal.SIGKILL) == 0

    now = read_process(sleeper)
    assert now is not None
    assert not now.is_zombie
    assert send({sleeper: real}, [sleeper, HIGH], 0) == 1


def test_a_stopped_process_hears_a_signal(sleeper: int) -> None:
    os.kill(sleeper, signal.SIGSTOP)

    assert send(process_table(), [sleeper], signal.SIGTERM) == 1

    assert os.waitstatus_to_exitcode(os.waitpid(sleeper, 0)[1]) == -signal.SIGTERM


def test_a_zombie_is_not_alive(sleeper: int) -> None:
    os.kill(sleeper, signal.SIGKILL)
    os.waitid(os.P_PID, sleeper, os.WEXITED | os.WNOWAIT)
    table = process_table()

    assert table[sleeper].is_zombie
    assert send(table, [sleeper], signal.SIGKILL) == 0


@pytest.mark.parametrize("name", [") R 1 2 3 (", "a b", "))", "\n) Z"])
def test_a_process_may_have_any_name(name: str) -> None:
    script = "import sys; open('/proc/self/comm', 'w').write(sys.argv[1]); print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-I", "-S", "-c", script, name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        read = read_process(process.pid)
        assert Path(f"/proc/{process.pid}/comm").read_text() == f"{name}\n"
        process.communicate()

    assert read is not None
    assert (read.pid, read.parent, read.session) == (process.pid, os.getpid(), os.getsid(0))
    assert not read.is_zombie


def test_a_process_that_is_gone_is_none() -> None:
    with subprocess.Popen(["true"]) as process:
        pass

    assert read_process(process.pid) is None
    assert read_process(HIGH) is None


def test_this_process_started_before_now_and_a_new_one_does_not(sleeper: int) -> None:
    table = process_table()

    assert table[os.getpid()].started < table[sleeper].started <= processes.ticks_now()


@pytest.mark.parametrize(
    ("text", "seconds"), [("00:00", 0), ("01:02", 62), ("01:02:03", 3723), ("2-00:00:01", 172_801)]
)
def test_times_as_ps_prints_them(text: str, seconds: int) -> None:
    assert processes._elapsed_seconds(text) == seconds


@pytest.mark.skipif(not Path("/bin/ps").exists(), reason="ps is not installed")
def test_ps_tells_the_same_as_proc(sleeper: int) -> None:
    table = ProcessTable(processes._table_from_ps())
    proc = process_table()[sleeper]

    assert (table[sleeper].parent, table[sleeper].group, table[sleeper].state) == (proc.parent, proc.group, "S")
    assert belongs_to(table, os.getpid(), "nobody", root_ended=False) >= {sleeper}


def test_who_ignores_a_signal_is_known() -> None:
    with subprocess.Popen(
        ["sh", "-c", "trap '' HUP; echo; read x"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert ignores(child.pid, signal.SIGHUP)
        assert not ignores(child.pid, signal.SIGTERM)
        child.communicate(b"\n")
    assert not ignores(child.pid, signal.SIGHUP)  # nobody does
