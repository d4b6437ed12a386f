"""One-shot processes without a terminal: exact arguments, streams apart, and nothing left when they are closed."""

import asyncio
import json
import os
import signal
import sys
import tracemalloc
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from hermitty.config import RunSettings, Settings, TerminalSettings
from hermitty.engine.oneshot import Process, start_process
from hermitty.errors import CommandEnded, InvalidCommand, InvalidDirectory, InvalidTime, UnknownShell
from hermitty.host.local import LocalHost
from hermitty.model import CommandResult, Quality, State
from tests.support.kernel import gone, is_alive
from tests.support.shells import PATIENCE_S, SHELLS

ODD_WORDS = [
    "",
    " ",
    "two words",
    "'",
    '"',
    'it\'s "both"',
    "$HOME",
    "`id`",
    "$(id)",
    ";",
    "&& false",
    "*",
    "~",
    "a\nb",
]
ODD_WORDS += ["\t", "\\", "-n", "--", "#no comment", "!bang", "{a,b}", "ünïcödé 漢字 🐚", "%s"]


class Starter:
    """Starts processes on one host, and closes them."""

    def __init__(self, cwd: Path) -> None:
        self.host = LocalHost()
        self.cwd = cwd
        self.settings = Settings(run=RunSettings(interrupt_grace_s=0.1, terminate_grace_s=0.1))
        self.started: list[Process] = []

    async def start(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | Path | None = None,
        shell: str | None = "sh",
        env: dict[str, str] | None = None,
        stdin: bool = False,
    ) -> Process:
        process = await start_process(
            self.host,
            command,
            cwd=str(cwd or self.cwd),
            shell=shell,
            env=env or {},
            settings=self.settings,
            stdin=stdin,
        )
        self.started.append(process)
        return process

    async def run(self, command: str | Sequence[str]) -> CommandResult:
        return await (await self.start(command)).wait(PATIENCE_S)

    async def close(self) -> None:
        for process in self.started:
            await process.close()
        await self.host.aclose()


@pytest.fixture
async def pipe(work: Path) -> AsyncIterator[Starter]:
    starter = Starter(work)
    yield starter
    await starter.close()


async def output_is(process: Process, text: str) -> None:
    """Wait until a running process has printed this."""
    async with asyncio.timeout(PATIENCE_S):
        while process.result().text != text:
            await process.wait(0.005)


# What runs, and what it is given.


async def test_the_whole_result_of_a_line(pipe: Starter, work: Path) -> None:
    process = await pipe.start("echo out; echo err >&2; exit 3")
    result = await process.wait(PATIENCE_S)
    assert result == CommandResult(
        id=process.id,
        command="echo out; echo err >&2; exit 3",
        terminal=None,
        provider="pipe",
        shell="sh",
        state=State.DONE,
        exit_code=3,
        signal=None,
        quality=Quality.BASIC,
        text=result.text,
        total_bytes=8,
        cwd=str(work),
        duration_s=result.duration_s,
        stdout="out\n",
        stderr="err\n",
    )
    # Two pipes have no common order.
    assert result.text in ("out\nerr\n", "err\nout\n")


async def test_arguments_arrive_exactly(pipe: Starter) -> None:
    show = "import sys, json; print(json.dumps(sys.argv[1:]))"
    result = await pipe.run([sys.executable, "-c", show, *ODD_WORDS])
    assert result.exit_code == 0
    assert result.stdout is not None
    assert json.loads(result.stdout) == ODD_WORDS
    assert result.shell is None


async def test_the_command_of_words_reads_as_a_line_that_would_do_the_same(pipe: Starter) -> None:
    words = ["printf", r"%s\n", *ODD_WORDS]
    direct = await pipe.run(words)
    assert (await pipe.run(direct.command)).stdout == direct.stdout


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_line_is_read_by_the_shell_that_was_asked_for(pipe: Starter, shell: str) -> None:
    process = await pipe.start("echo 'one  two' | tr a-z A-Z; sh -c 'exit 4'", shell=shell)
    result = await process.wait(PATIENCE_S)
    assert (result.stdout, result.exit_code, result.shell) == ("ONE  TWO\n", 4, shell)


async def test_a_line_of_several_lines_is_one_process(pipe: Starter) -> None:
    result = await pipe.run("cat <<'END'\nit's $HOME\nEND\necho two\n(exit 5)")
    assert (result.stdout, result.exit_code) == ("it's $HOME\ntwo\n", 5)


async def test_it_runs_where_it_was_told(pipe: Starter, tmp_path: Path) -> None:
    odd = tmp_path / "a b;c'd\"e$f"
    odd.mkdir()
    process = await pipe.start("pwd; cd /; pwd", cwd=odd)
    result = await process.wait(PATIENCE_S)
    # A process has no shell state: its directory is the one it was started in.
    assert (result.stdout, result.cwd) == (f"{odd}\n/\n", str(odd))


async def test_its_environment_is_that_of_a_terminal_with_what_was_asked_for(pipe: Starter) -> None:
    pipe.settings = Settings(terminal=TerminalSettings(env={"A": "settings", "B": "settings"}))
    process = await pipe.start('echo "$A|$B|$PAGER|$GIT_PAGER|$TERM"', env={"B": "mine = $x"})
    assert (await process.wait(PATIENCE_S)).stdout == "settings|mine = $x|cat|cat|xterm-256color\n"


async def test_it_has_no_terminal(pipe: Starter) -> None:
    result = await pipe.run("for n in 0 1 2; do test -t $n && echo $n; done; (exec </dev/tty) 2>/dev/null || echo none")
    assert result.stdout == "none\n"


async def test_it_inherits_nothing_of_ours(pipe: Starter) -> None:
    result = await pipe.run(["ls", "/proc/self/fd"])
    assert result.stdout == "0\n1\n2\n3\n"  # the last is how ls reads the directory


@pytest.mark.parametrize("words", [[], [""], ["a\0b"], ["echo", "\0"], ["no-such-program-here"]])
async def test_words_that_cannot_run_are_refused(pipe: Starter, words: list[str]) -> None:
    with pytest.raises(InvalidCommand):
        await pipe.start(words)


async def test_a_missing_directory_is_an_error_that_names_it(pipe: Starter, work: Path) -> None:
    missing = work / "missing"
    with pytest.raises(InvalidDirectory, match="missing") as caught:
        await pipe.start("touch ran", cwd=missing)
    assert caught.value.path == str(missing)
    assert not (work / "ran").exists()
    (work / "file").touch()
    with pytest.raises(InvalidDirectory, match="not a directory"):
        await pipe.start("touch ran", cwd=work / "file")


async def test_an_unknown_shell_is_an_error(pipe: Starter) -> None:
    with pytest.raises(UnknownShell, match="tcsh"):
        await pipe.start("true", shell="tcsh")


# How it ends.


@pytest.mark.parametrize(
    ("line", "code", "name"),
    [
        ("exit 0", 0, None),
        ("exit 1", 1, None),
        ("exit 128", 128, None),
        ("exit 255", 255, None),
        ("no-such-program-here", 127, None),
        ("kill -TERM $$", 143, "SIGTERM"),
        ("kill -KILL $$", 137, "SIGKILL"),
        ("kill -SEGV $$", 139, "SIGSEGV"),
        # The shell says 128+15 itself; the process did not die of a signal.
        ("exit 143", 143, None),
    ],
)
async def test_codes_and_signals_are_exact(pipe: Starter, line: str, code: int, name: str | None) -> None:
    result = await pipe.run(line)
    assert (result.state, result.exit_code, result.signal) == (State.DONE, code, name)


async def test_a_file_that_is_no_program_is_a_result(pipe: Starter, work: Path) -> None:
    (work / "broken").write_bytes(b"\x7fELF nothing of the kind")
    (work / "broken").chmod(0o755)
    result = await pipe.run([str(work / "broken")])
    assert result.state is State.DONE
    assert result.exit_code == 126
    assert result.stderr


async def test_standard_input_is_empty(pipe: Starter) -> None:
    result = await pipe.run("cat; echo end $?")
    assert (result.stdout, result.exit_code) == ("end 0\n", 0)


async def test_standard_input_can_be_written_and_ended(pipe: Starter) -> None:
    process = await pipe.start("cat; echo end", stdin=True)
    process.write("text ö\n")
    process.write(b"\x00\xff\n")
    await output_is(process, "text ö\n�\n")
    process.close_input()
    result = await process.wait(PATIENCE_S)
    assert (result.stdout, result.total_bytes) == ("text ö\n�\nend\n", 15)


async def test_input_larger_than_a_pipe_arrives(pipe: Starter) -> None:
    process = await pipe.start("wc -c", stdin=True)
    process.write(b"x" * 3_000_000)
    process.close_input()
    result = await process.wait(PATIENCE_S)
    assert result.stdout is not None
    assert result.stdout.strip() == "3000000"


async def test_a_program_that_does_not_want_its_input_ends_all_the_same(pipe: Starter) -> None:
    process = await pipe.start("exec 0<&-; echo closed", stdin=True)
    process.write(b"x" * 3_000_000)
    assert (await process.wait(PATIENCE_S)).stdout == "closed\n"


async def test_a_wait_that_ends_first_leaves_it_running(pipe: Starter) -> None:
    process = await pipe.start("echo begun; cat; exit 6", stdin=True)
    await output_is(process, "begun\n")
    so_far = await process.wait(0)
    assert (so_far.state, so_far.exit_code, so_far.stdout, process.is_running) == (State.RUNNING, None, "begun\n", True)
    waiting = [asyncio.create_task(process.wait(PATIENCE_S)) for _ in range(3)]
    cancelled = asyncio.create_task(process.wait())
    await asyncio.sleep(0)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    process.close_input()
    results = await asyncio.gather(*waiting)
    assert [(result.state, result.exit_code) for result in results] == [(State.DONE, 6)] * 3
    assert results[0] == process.result()


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
async def test_impossible_times_are_refused(pipe: Starter, seconds: float) -> None:
    process = await pipe.start("true")
    with pytest.raises(InvalidTime):
        await process.wait(seconds)


async def test_a_daemon_that_keeps_the_pipe_does_not_keep_the_result(pipe: Starter, work: Path) -> None:
    process = await pipe.start(
        "setsid sh -c 'echo $$ >pid; exec sleep 1000' & while [ ! -s pid ]; do :; done; echo end"
    )
    result = await process.wait(PATIENCE_S)
    assert (result.state, result.exit_code, result.stdout) == (State.DONE, 0, "end\n")
    daemon = int((work / "pid").read_text())
    assert is_alive(daemon)
    await process.close()
    await gone(daemon)


# Output.


async def test_everything_is_read_before_the_end_is_told(pipe: Starter) -> None:
    result = await pipe.run("seq 1 5000; seq 5001 10000 >&2")
    assert (result.total_bytes, result.state) == (len("".join(f"{n}\n" for n in range(1, 10001))), State.DONE)
    assert result.stdout is not None
    assert result.stderr is not None
    assert (result.stdout.splitlines()[-1], result.stderr.splitlines()[-1]) == ("5000", "10000")


async def test_a_hundred_megabytes_are_counted_and_not_kept(pipe: Starter) -> None:
    tracemalloc.start()
    try:
        result = await pipe.run("head -c 100000000 /dev/zero | tr '\\0' x; echo err >&2; exit 3")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (result.exit_code, result.total_bytes, result.truncated) == (3, 100_000_004, True)
    assert result.stderr == "err\n"
    assert result.stdout is not None
    assert len(result.stdout) <= 51_000
    assert len(result.text) <= 51_000
    assert result.omitted_bytes > 99_000_000
    assert peak < 32 * 1024 * 1024


async def test_a_slow_stream_does_not_hold_the_other_one(pipe: Starter) -> None:
    # More than a pipe holds goes to standard error first, while nothing comes on standard output.
    result = await pipe.run("head -c 1000000 /dev/zero >&2; echo out")
    assert (result.stdout, result.total_bytes) == ("out\n", 1_000_004)


# Stopping it.


async def test_an_interrupt_reaches_everything_it_started(pipe: Starter) -> None:
    process = await pipe.start("sh -c 'echo begun; while :; do :; done'; exit 7")
    await output_is(process, "begun\n")
    await process.interrupt()
    result = await process.wait(PATIENCE_S)
    assert (result.state, result.signal) == (State.INTERRUPTED, "SIGINT")


async def test_an_interrupt_may_be_ignored(pipe: Starter) -> None:
    process = await pipe.start("trap 'echo caught; stop=1' INT; echo begun; while [ ! $stop ]; do :; done; exit 8")
    await output_is(process, "begun\n")
    await process.interrupt()
    result = await process.wait(PATIENCE_S)
    assert (result.state, result.exit_code, result.stdout) == (State.INTERRUPTED, 8, "begun\ncaught\n")


@pytest.mark.parametrize(
    ("ignored", "name"), [("", "SIGINT"), ("INT", "SIGTERM"), ("INT TERM", "SIGKILL"), ("INT TERM HUP", "SIGKILL")]
)
async def test_kill_climbs_as_far_as_it_must(pipe: Starter, ignored: str, name: str) -> None:
    trap = f"trap '' {ignored}; " if ignored else ""
    process = await pipe.start(f"{trap}echo begun; while :; do :; done")
    await output_is(process, "begun\n")
    result = await process.kill()
    assert (result.state, result.signal, result.exit_code) == (
        State.KILLED,
        name,
        128 + signal.Signals[name],
    )


async def test_kill_lets_a_program_clean_up(pipe: Starter) -> None:
    process = await pipe.start("trap 'echo cleaned; exit 9' TERM; trap '' INT; echo begun; while :; do :; done")
    await output_is(process, "begun\n")
    result = await process.kill()
    assert (result.state, result.exit_code, result.stdout) == (State.KILLED, 9, "begun\ncleaned\n")


async def test_kill_takes_children_in_other_sessions_too(pipe: Starter, work: Path) -> None:
    process = await pipe.start(
        "(setsid sleep 1000 & echo $! >>pids); (trap '' INT TERM HUP; sleep 1000 & echo $! >>pids); "
        "sh -c 'sh -c \"echo \\$\\$ >>pids; echo begun; sleep 1000\"; :'; :"
    )
    await output_is(process, "begun\n")
    result = await process.kill()
    assert result.state is State.KILLED
    assert result.exit_code != 0
    pids = [int(word) for word in (work / "pids").read_text().split()]
    assert len(pids) == 3
    await gone(*pids)


async def test_the_kill_limit_kills_and_says_so(pipe: Starter) -> None:
    process = await pipe.start("trap '' INT; echo begun; while :; do :; done")
    await output_is(process, "begun\n")
    process.kill_later(0.2)
    result = await process.wait(PATIENCE_S)
    assert (result.state, result.signal) == (State.KILLED, "SIGTERM")
    assert result.warnings == ["killed: it ran longer than 0.2 s"]


async def test_a_kill_limit_that_is_not_reached_leaves_no_trace(pipe: Starter) -> None:
    process = await pipe.start("echo quick")
    process.kill_later(PATIENCE_S)
    result = await process.wait(PATIENCE_S)
    assert (result.state, result.warnings) == (State.DONE, [])


async def test_a_kill_limit_and_a_kill_at_once(pipe: Starter) -> None:
    process = await pipe.start("trap '' INT TERM; echo begun; while :; do :; done")
    await output_is(process, "begun\n")
    process.kill_later(0)
    await asyncio.sleep(0)
    result = await process.kill()
    assert (result.state, result.signal) == (State.KILLED, "SIGKILL")


async def test_who_is_cancelled_leaves_no_process(pipe: Starter, work: Path) -> None:
    process = await pipe.start("trap '' INT TERM; echo $$; while :; do sleep 0.01; done")
    async with asyncio.timeout(PATIENCE_S):
        while not process.result().text.endswith("\n"):
            await process.wait(0.005)
    process.kill_later(0)
    await asyncio.sleep(0)
    process.abandon()
    await process.close()
    assert process.result().state is State.KILLED
    await gone(int(process.result().text))


async def test_close_ends_what_still_runs(pipe: Starter) -> None:
    process = await pipe.start("echo $$; exec sleep 1000")
    async with asyncio.timeout(PATIENCE_S):
        while not process.result().text.endswith("\n"):
            await process.wait(0.005)
    waiting = asyncio.create_task(process.wait(PATIENCE_S))
    await asyncio.sleep(0)
    await process.close()
    result = await waiting
    assert (result.state, result.signal) == (State.KILLED, "SIGKILL")
    await gone(int(result.text))
    await process.close()


async def test_closing_the_host_ends_what_still_runs(work: Path) -> None:
    starter = Starter(work)
    process = await starter.start("exec sleep 1000")
    pid = process.hosted.pid
    await starter.host.aclose()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_after_the_end_nothing_can_be_done_to_it(pipe: Starter) -> None:
    process = await pipe.start("echo x", stdin=True)
    result = await process.wait(PATIENCE_S)
    with pytest.raises(CommandEnded):
        process.write("never")
    with pytest.raises(CommandEnded):
        await process.interrupt()
    with pytest.raises(CommandEnded):
        await process.kill()
    process.close_input()
    assert process.result() == result
