"""What every host does, whoever owns its PTYs. Subclass `HostContract` and say how to make one.

The tests see a host through its protocol alone, and the programs it runs through the kernel.
"""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermitty.errors import InputOverflow, InvalidDirectory
from hermitty.host.base import Host, HostedProcess, HostedPty, PipeSpec, PtySpec, TtyState, Waiting
from hermitty.model import ExitStatus, Size, TerminalId
from tests.support.kernel import is_alive
from tests.support.recorders import ProcessRecorder, Recorder
from tests.support.shells import PATIENCE_S

DEAF = "trap '' HUP INT QUIT TERM; echo pid=$$; while :; do sleep 1; done"


def pids_in(data: bytes) -> list[int]:
    return [int(number) for number in re.findall(rb"pid=(\d+)\r?\n", data)]


def write_a_hundred_megabytes(pty: HostedPty) -> None:
    for _ in range(100):
        pty.write(b"x" * 1024 * 1024)


class HostContract:
    """The behaviour of a host whose processes are on this machine."""

    async def make_host(self) -> Host:
        """Make the host to test."""
        raise NotImplementedError

    @pytest.fixture
    async def host(self) -> AsyncIterator[Host]:
        host = await self.make_host()
        yield host
        await host.aclose()

    async def open(
        self, host: Host, script: str, cwd: Path, *, name: str = "t_1", files: dict[str, bytes] | None = None
    ) -> tuple[HostedPty, Recorder]:
        """Run a script of sh on a new PTY."""
        sink = Recorder()
        terminal = TerminalId(name)
        spec = PtySpec(
            terminal=terminal,
            program="/bin/sh",
            args=("-c", script),
            cwd=str(cwd),
            env={**host.environment(), "HOME": str(cwd), "MARK": "of the test"},
            size=Size(cols=97, rows=31),
            directory=await host.make_directory(terminal),
            files=files or {},
        )
        return await host.open(spec, sink), sink

    async def start(
        self, host: Host, script: str, cwd: Path, *, stdin: bool = False
    ) -> tuple[HostedProcess, ProcessRecorder]:
        """Run a script of sh with pipes."""
        sink = ProcessRecorder()
        spec = PipeSpec(owner="c_1", argv=("/bin/sh", "-c", script), cwd=str(cwd), env=host.environment(), stdin=stdin)
        return await host.start(spec, sink), sink

    # What differs where programs are confined.

    def own_pid(self, hosted: HostedPty | HostedProcess) -> int:
        """Return the process id that a program has in its own eyes."""
        return hosted.pid

    def outside(self, hosted: HostedPty | HostedProcess, pids: list[int]) -> list[int]:
        """Return the processes of this machine that programs know by these ids. They must be alive."""
        return pids

    def deaths(self, number: int) -> list[ExitStatus]:
        """Return what may be told of a program that a signal ended."""
        return [ExitStatus(signal=number)]

    def signalled(self, count: int) -> range:
        """Return how many of so many processes a signal may be said to have found alive."""
        return range(count, count + 1)

    # PTYs.

    async def test_a_program_gets_its_terminal_directory_environment_and_size(self, host: Host, tmp_path: Path) -> None:
        pty, sink = await self.open(host, 'stty size; pwd; echo "$MARK"; echo pid=$$; test -t 0 && exit 5', tmp_path)

        assert await sink.ended() == ExitStatus(code=5)
        assert sink.data == f"31 97\r\n{tmp_path}\r\nof the test\r\npid={self.own_pid(pty)}\r\n".encode()

    async def test_all_output_comes_before_the_end_in_order(self, host: Host, tmp_path: Path) -> None:
        _, sink = await self.open(host, "stty -opost; seq 1 30000; exit 1", tmp_path)

        assert await sink.ended() == ExitStatus(code=1)
        assert sink.data == b"".join(b"%d\n" % number for number in range(1, 30_001))

    async def test_death_by_signal_is_no_exit_code(self, host: Host, tmp_path: Path) -> None:
        _, sink = await self.open(host, "kill -TERM $$", tmp_path)

        assert await sink.ended() in self.deaths(signal.SIGTERM)

    async def test_input_arrives_and_can_be_taken_back(self, host: Host, tmp_path: Path) -> None:
        script = "stty -echo; trap 'read x; echo got $x; exit 0' USR1; echo ready; while :; do sleep 0.01; done"
        pty, sink = await self.open(host, script, tmp_path)
        await sink.printed(b"\n")
        pty.write(b"forgotten\n" * 5000)
        pty.discard_input()
        pty.write(b"kept\n")

        await pty.signal_foreground(signal.SIGUSR1)

        assert await sink.ended() == ExitStatus(code=0)
        assert sink.data.endswith(b"got kept\r\n")

    async def test_input_that_nobody_reads_is_refused_at_a_limit(self, host: Host, tmp_path: Path) -> None:
        pty, sink = await self.open(host, "stty raw -echo; echo ready; sleep 1000", tmp_path)
        await sink.printed(b"ready")

        with pytest.raises(InputOverflow):
            write_a_hundred_megabytes(pty)

        pty.discard_input()
        pty.write(b"x" * 1024 * 1024)

    async def test_a_new_size_is_told(self, host: Host, tmp_path: Path) -> None:
        pty, sink = await self.open(
            host, "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.01; done", tmp_path
        )
        await sink.printed(b"ready")

        pty.resize(Size(cols=11, rows=7))

        await sink.ended()
        assert sink.data == b"ready\r\n7 11\r\n"

    async def test_private_files_are_there_and_nobody_elses(self, host: Host, tmp_path: Path) -> None:
        pty, sink = await self.open(host, "echo ready; read x", tmp_path, files={"first": b"\0one\xff"})
        await sink.printed(b"ready")

        assert await pty.get_file("first") == b"\0one\xff"
        assert await pty.get_file("second") is None
        pty.put_file("second", b"long" * 100_000)
        pty.put_file("second", b"short")
        assert await pty.get_file("second") == b"short"
        pty.drop_file("second")
        pty.drop_file("second")
        assert await pty.get_file("second") is None

    async def test_inspection_tells_what_is_known_and_nothing_wrong(self, host: Host, tmp_path: Path) -> None:
        pty, sink = await self.open(host, "stty -echo; echo ready; read x", tmp_path)
        await sink.printed(b"ready")
        pty.remember_program()

        async with asyncio.timeout(PATIENCE_S):
            while (state := await pty.inspect()).waiting is Waiting.NO:
                await asyncio.sleep(0.002)  # the kernel does not tell when a process starts to read

        assert state.waiting in (Waiting.READING, Waiting.UNKNOWN)
        assert state.shell_in_front in (True, None)
        assert not state.shell_replaced
        assert (state.echo, state.canonical) == (False, True)
        assert state.cwd in (str(tmp_path), None)

    async def test_closing_ends_everything_once_and_for_all(self, host: Host, tmp_path: Path) -> None:
        (tmp_path / "deaf").write_text(DEAF)
        script = "trap '' HUP; sh ./deaf & (sh ./deaf &); while :; do sleep 1; done"
        pty, sink = await self.open(host, script, tmp_path)
        await sink.until(lambda: len(pids_in(sink.data)) == 2)
        pids = [pty.pid, *self.outside(pty, pids_in(sink.data))]

        await asyncio.gather(pty.close(), pty.close())
        await pty.close()

        assert [pid for pid in pids if is_alive(pid)] == []
        assert sink.statuses in [[status] for status in self.deaths(signal.SIGKILL)]
        assert (await pty.inspect()).waiting is Waiting.UNKNOWN
        pty.write(b"to nobody")

    async def test_a_closed_terminal_leaves_no_files(self, host: Host, tmp_path: Path) -> None:
        pty, sink = await self.open(host, "echo ready; read x", tmp_path, files={"secret": b"x"})
        await sink.printed(b"ready")

        await pty.close()

        assert await pty.get_file("secret") is None

    async def test_the_end_of_one_is_not_the_end_of_another(self, host: Host, tmp_path: Path) -> None:
        one, first = await self.open(host, "echo pid=$$; read x", tmp_path, name="t_1")
        other, second = await self.open(host, "echo pid=$$; read x; exit 3", tmp_path, name="t_10")
        await first.printed(b"\n")
        await second.printed(b"\n")

        await one.close()
        other.write(b"\n")

        assert await second.ended() == ExitStatus(code=3)

    async def test_closing_the_host_closes_everything(self, tmp_path: Path) -> None:
        host = await self.make_host()
        (tmp_path / "deaf").write_text(DEAF)
        pty, terminal = await self.open(host, "sh ./deaf", tmp_path)
        piped, process = await self.start(host, "sh ./deaf", tmp_path)
        await terminal.printed(b"\n")
        await process.printed(b"\n")
        pids = self.outside(pty, pids_in(terminal.data)) + self.outside(piped, pids_in(process.stdout))

        await host.aclose()

        assert [pid for pid in pids if is_alive(pid)] == []
        assert len(terminal.statuses) == len(process.statuses) == 1

    async def test_a_host_that_closes_while_a_terminal_does(self, tmp_path: Path) -> None:
        host = await self.make_host()
        pty, sink = await self.open(host, "trap '' HUP; echo ready; while :; do sleep 1; done", tmp_path)
        await sink.printed(b"ready")

        await asyncio.gather(pty.close(), host.aclose())

        assert not is_alive(pty.pid)

    # Processes.

    async def test_a_process_has_two_streams_and_an_end(self, host: Host, tmp_path: Path) -> None:
        process, sink = await self.start(host, "echo out; echo err >&2; pwd; echo pid=$$; exit 9", tmp_path)

        assert await sink.ended() == ExitStatus(code=9)
        said = f"out\n{tmp_path}\npid={self.own_pid(process)}\n".encode()
        assert sink.streams == {"stdout": said, "stderr": b"err\n"}

    async def test_a_process_reads_its_input_to_the_end(self, host: Host, tmp_path: Path) -> None:
        process, sink = await self.start(host, "cat; echo over", tmp_path, stdin=True)
        process.write(b"one\n")
        process.write(b"two\n")
        process.close_input()

        assert await sink.ended() == ExitStatus(code=0)
        assert sink.stdout == b"one\ntwo\nover\n"

    async def test_a_process_without_input_reads_nothing(self, host: Host, tmp_path: Path) -> None:
        _, sink = await self.start(host, "cat; echo over", tmp_path)

        assert await sink.ended() == ExitStatus(code=0)
        assert sink.stdout == b"over\n"

    async def test_a_process_is_signalled_with_its_children(self, host: Host, tmp_path: Path) -> None:
        process, sink = await self.start(host, "sleep 1000 & echo pid=$!; wait", tmp_path)
        await sink.printed(b"\n")
        pids = self.outside(process, pids_in(sink.stdout))

        assert await process.signal(signal.SIGTERM) in self.signalled(2)

        assert await sink.ended() in self.deaths(signal.SIGTERM)
        await process.close()
        assert [pid for pid in pids if is_alive(pid)] == []
        assert await process.signal(signal.SIGTERM) == 0

    # The machine.

    async def test_programs_are_found(self, host: Host) -> None:
        found = await host.find_program("sh")

        assert found is not None
        assert os.path.isabs(found)
        assert await host.find_program("no-such-program") is None
        assert await host.find_program("") is None

    async def test_directories_are_checked_by_name(self, host: Host, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        (tmp_path / "dangling").symlink_to("nowhere")
        await host.check_directory(str(tmp_path))

        for name, problem in {
            "file": "is not a directory",
            "dangling": "is not a directory",
            "missing": "does not exist",
            "file/inside": "does not exist",
            "with\0nul": "does not exist",
        }.items():
            path = f"{tmp_path}/{name}"
            with pytest.raises(InvalidDirectory) as caught:
                await host.check_directory(path)
            assert (caught.value.path, caught.value.problem) == (path, problem)

    async def test_the_environment_is_a_copy(self, host: Host) -> None:
        host.environment()["HERMITTY_TEST"] = "changed"

        assert "HERMITTY_TEST" not in host.environment()

    async def test_nothing_known_is_a_state_too(self) -> None:
        assert TtyState() == TtyState(
            waiting=Waiting.UNKNOWN, shell_in_front=None, shell_replaced=False, echo=True, canonical=True, cwd=None
        )
