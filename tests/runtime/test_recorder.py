"""What is kept of commands beyond their text: complete outputs byte for byte, and a line in the history."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import hermitty
from hermitty.model import State
from hermitty.runtime.api import Runtime
from hermitty.runtime.history.entry import HistoryQuery
from tests.support.kernel import gone
from tests.support.runtimes import Dial, Gate, Listener, over, settings_in
from tests.support.shells import PATIENCE_S

# Lines, colours, characters of several bytes, bytes that are none, and no newline at the end.
LONG = b"".join(b"%d \x1b[31mr\xc3\xa9d\x1b[0m \xff\n" % number for number in range(40_000)) + b"last, unterminated"


async def content(rt: Runtime, artifact: str | None) -> bytes:
    """Everything that is kept of an output, read as a caller would."""
    assert artifact is not None
    parts: list[bytes] = []
    offset: int | None = 0
    while offset is not None:
        page = await rt.read_artifact(artifact, offset, 1024 * 1024)
        parts.append(page.data)
        offset = page.next
    return b"".join(parts)


def kept(state: Path) -> list[str]:
    """The files that are there."""
    directory = state / "artifacts"
    return os.listdir(directory) if directory.exists() else []


@pytest.mark.parametrize("provider", ["pty", "pipe"])
async def test_a_long_output_is_kept_byte_for_byte(rt: Runtime, work: Path, provider: Any, state: Path) -> None:
    (work / "long").write_bytes(LONG)

    result = await rt.run("cat long; sh -c 'exit 3'", cwd=work, provider=provider)

    raw = LONG.replace(b"\n", b"\r\n") if provider == "pty" else LONG
    assert (result.state, result.exit_code, result.truncated) == (State.DONE, 3, True)
    assert result.total_bytes == len(raw)
    assert await content(rt, result.artifact) == raw
    assert kept(state) == [f"{result.artifact}.raw"]
    assert result.warnings == []
    assert result.text.startswith("0 réd \ufffd\n")
    assert result.text.endswith("last, unterminated")
    [entry] = (await rt.history()).entries
    assert (entry.artifact, entry.output_bytes) == (result.artifact, len(raw))


async def test_a_preview_has_both_ends_and_an_exact_count(rt: Runtime, work: Path, dial: Dial) -> None:
    dial.turn(terminal__output_character_limit=10 * 1024, terminal__output_line_limit=0)
    lines = "".join(f"{number:06}\n" for number in range(100_000))
    (work / "long").write_text(lines)

    result = await rt.run("cat long", cwd=work)

    head, _, rest = result.text.partition("[... ")
    count, _, tail = rest.partition(" characters omitted ...]\n")
    assert len(head) + len(tail) <= 10 * 1024 + 1
    assert lines.startswith(head.removesuffix("\n"))
    assert lines.endswith(tail)
    assert head
    assert int(count) == result.omitted_bytes == len(lines) - len(head.removesuffix("\n")) - len(tail)
    assert await content(rt, result.artifact) == lines.replace("\n", "\r\n").encode()


@pytest.mark.parametrize("provider", ["pty", "pipe"])
async def test_an_output_is_complete_after_its_caller_went_on(
    rt: Runtime, work: Path, gate: Gate, provider: Any
) -> None:
    part = LONG[:120_000]
    (work / "long").write_bytes(part)
    result = await rt.run("cat long; cat gate; printf end", cwd=work, provider=provider, wait_s=1.0)
    assert (result.state, result.truncated) == (State.RUNNING, True)
    assert result.artifact is not None

    # What is there can be read while the rest is written.
    raw = part.replace(b"\n", b"\r\n") if provider == "pty" else part
    assert raw.startswith(await content(rt, result.artifact))
    assert rt.artifacts.info(result.artifact).is_live
    gate.let("late")
    async with asyncio.timeout(PATIENCE_S):
        while (entry := (await rt.history()).entries[0]).state is State.RUNNING:
            await asyncio.sleep(0.005)  # the history tells nobody
    assert (entry.command_id, entry.exit_code, entry.artifact) == (result.id, 0, result.artifact)
    assert await content(rt, result.artifact) == raw + b"lateend"
    assert rt.artifacts.info(result.artifact).is_complete


# Everything that makes a text leave something out, however little was printed.
CUTS: dict[str, tuple[dict[str, object], str]] = {
    "one line more, which has no end": ({}, "seq 500; printf x"),
    "characters": ({"terminal__output_character_limit": 1000}, "seq 300"),
    "progress kept line by line": (
        {"terminal__compress_progress_bar": False},
        "for i in $(seq 600); do printf '%d\\r' $i; done",
    ),
    "a small capture": ({"terminal__capture_head_bytes": 100, "terminal__capture_tail_bytes": 100}, "seq 200"),
    "a cursor that goes far": (
        {"terminal__output_character_limit": 2000},
        "for i in $(seq 30); do printf '\\033[100C%d\\n' $i; done",
    ),
}


@pytest.mark.parametrize("case", CUTS)
async def test_whatever_is_cut_is_kept(rt: Runtime, work: Path, dial: Dial, case: str) -> None:
    changes, line = CUTS[case]
    dial.turn(**changes)

    piped = await rt.run(line, cwd=work, provider="pipe")
    result = await rt.run(line, cwd=work)

    assert (piped.truncated, result.truncated) == (True, True)
    raw = await content(rt, piped.artifact)
    assert await content(rt, result.artifact) == raw.replace(b"\n", b"\r\n")
    assert len(raw) == piped.total_bytes


@pytest.mark.parametrize("provider", ["pty", "pipe"])
@pytest.mark.parametrize(
    "line",
    [
        "true",
        "echo small",
        "seq 500",
        "seq 499; printf x",
        "printf 'a\\rb\\rc\\033[31md\\033[0m\\033[K'",
        "for i in $(seq 600); do printf '%d\\r' $i; done",
        "printf '\\033[10;10Hx\\033[2Ay'",
        "yes 'the same line' | head -n 100",
    ],
)
async def test_output_that_the_text_shows_leaves_no_file(
    rt: Runtime, work: Path, state: Path, provider: Any, line: str
) -> None:
    result = await rt.run(line, cwd=work, provider=provider)

    assert (result.truncated, result.omitted_bytes, result.artifact, kept(state)) == (False, 0, None, [])
    assert "omitted" not in result.text


async def test_a_full_disk_costs_the_rest_of_the_artifact_only(rt: Runtime, work: Path, gate: Gate) -> None:
    terminal = await rt.open_terminal(cwd=work)
    command = await terminal.start("seq 30000; echo half; cat gate; seq 100000; sh -c 'exit 6'")
    assert await command.wait_for("half", PATIENCE_S)
    [writer] = rt.artifacts._live.values()
    writer.flush()
    there = writer.size
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, writer._descriptor or -1)
    os.close(full)
    gate.let()

    result = await command.wait(PATIENCE_S)

    assert (result.state, result.exit_code, result.text[-7:]) == (State.DONE, 6, "100000\n")
    lost = result.total_bytes - there
    assert result.warnings == [f"the last {lost} bytes of the output were not kept: ENOSPC"]
    assert result.artifact is not None
    info = rt.artifacts.info(result.artifact)
    assert (info.size, info.lost, info.reason, info.is_complete) == (there, lost, "ENOSPC", False)
    expected = b"".join(b"%d\r\n" % number for number in range(1, 30001)) + b"half\r\n"
    assert await content(rt, result.artifact) == expected
    assert (await terminal.run("echo fine")).text == "fine\n"


@pytest.mark.parametrize("provider", ["pty", "pipe"])
async def test_without_a_place_for_artifacts_commands_run_all_the_same(
    rt: Runtime, work: Path, state: Path, provider: Any
) -> None:
    os.makedirs(state, exist_ok=True)
    (state / "artifacts").write_text("in the way")

    result = await rt.run("seq 600", cwd=work, provider=provider)

    assert (result.exit_code, result.truncated, result.artifact) == (0, True, None)
    [warning] = result.warnings
    assert warning.startswith(f"the last {result.total_bytes} bytes of the output were not kept: ")


@pytest.mark.parametrize("provider", ["pty", "pipe"])
async def test_an_output_beyond_the_limit_is_kept_up_to_it(home: Path, work: Path, state: Path, provider: Any) -> None:
    async with hermitty.open(settings_in(home, output__artifact_max_bytes=100_000)) as rt:
        result = await rt.run("seq 100000", cwd=work, provider=provider)

        assert result.exit_code == 0
        assert result.warnings == [
            f"the last {result.total_bytes - 100_000} bytes of the output were not kept: it reached its limit"
        ]
        assert len(await content(rt, result.artifact)) == 100_000


async def test_lines_that_a_person_typed_are_kept_too(rt: Runtime, work: Path, heard: Listener) -> None:
    terminal = await rt.open_terminal(cwd=work, session="A", workspace="w")
    terminal.write("seq 600\r")
    await heard.until(lambda: terminal.last is not None)
    terminal.write("echo short\r")
    await heard.until(lambda: terminal.last is not None and terminal.last.line == "echo short")

    short, long = (await rt.history(HistoryQuery(session="A"))).entries
    assert [(each.command, each.source, each.exit_code, each.workspace) for each in (long, short)] == [
        ("seq 600", "user", 0, "w"),
        ("echo short", "user", 0, "w"),
    ]
    assert short.artifact is None
    assert await content(rt, long.artifact) == b"".join(b"%d\r\n" % number for number in range(1, 601))


async def test_a_cancelled_process_is_in_the_history_and_nothing_is_left_open(rt: Runtime, work: Path) -> None:
    script = "import os, sys, time; print('x' * 200_000, flush=True); print(os.getpid(), file=sys.stderr, flush=True)"
    seen = bytearray()
    told = asyncio.Event()

    def note(stream: str, data: bytes) -> None:
        if stream == "stderr":
            seen.extend(data)
            told.set()

    words = [sys.executable, "-I", "-S", "-c", f"{script}; time.sleep(1000)"]
    running = asyncio.create_task(rt.run(words, cwd=work, on_output=note))
    async with asyncio.timeout(PATIENCE_S):
        await told.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    await gone(int(seen))
    async with asyncio.timeout(PATIENCE_S):
        while not (entries := (await rt.history()).entries):
            await asyncio.sleep(0.005)  # the history tells nobody
    [entry] = entries
    assert (entry.state, entry.signal, entry.provider) == (State.KILLED, "SIGKILL", "pipe")
    assert entry.artifact is not None
    assert not rt.artifacts.info(entry.artifact).is_live
    assert rt._runner._processes == set()


async def test_a_command_that_a_terminal_takes_with_it_is_recorded(rt: Runtime, work: Path) -> None:
    terminal = await rt.open_terminal(cwd=work, session="A")
    command = await terminal.start("seq 600; read -r x")
    assert await command.wait_for("^600", PATIENCE_S)
    await rt.close_terminal(terminal.id)
    await over(command)

    result = command.result()
    assert (result.state, result.exit_code) == (State.KILLED, None)
    assert (await content(rt, result.artifact)).endswith(b"599\r\n600\r\n")
    [entry] = (await rt.history()).entries
    assert (entry.state, entry.session, entry.artifact) == (State.KILLED, "A", result.artifact)
