"""What is left of terminals that were closed."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hermitty.runtime.api import Runtime
from hermitty.runtime.closed_logs import OVERHEAD_BYTES, ClosedLogs
from hermitty.vt.byte_log import ByteLog

BUDGET = 100 + 3 * OVERHEAD_BYTES


@given(st.lists(st.binary(max_size=60), max_size=12))
def test_the_newest_stay_within_the_budget(outputs: list[bytes]) -> None:
    closed = ClosedLogs(BUDGET)
    logs = []
    for output in outputs:
        log = ByteLog(1000)
        log.append(output)
        logs.append(log)
        closed.add(log)
    kept = [log.end - log.start for log in logs]
    assert sum(size + OVERHEAD_BYTES for size in kept if size) <= BUDGET
    whole = [size == len(output) for size, output in zip(kept, outputs, strict=True)]
    # From the newest back: all of each, until one does not fit; nothing of the older ones.
    newest = [OVERHEAD_BYTES + len(output) for output in reversed(outputs)]
    fitting = next((count for count in range(len(newest)) if sum(newest[: count + 1]) > BUDGET), len(newest))
    assert all(whole[len(whole) - fitting :])
    assert all(size == 0 for size in kept[: len(kept) - fitting])
    assert [log.end for log in logs] == [len(output) for output in outputs]


def test_what_is_forgotten_is_counted_as_missed() -> None:
    log = ByteLog(1000)
    log.append(b"0123456789")
    log.forget()
    assert (log.start, log.end) == (10, 10)
    assert (log.read(4).data, log.read(4).missed) == (b"", 6)
    log.append(b"more")
    assert (log.read(0).data, log.read(0).missed, log.end) == (b"more", 10, 14)


async def test_the_output_of_a_closed_terminal_can_still_be_read(rt: Runtime, work: Path) -> None:
    terminal = await rt.open_terminal(cwd=work)
    result = await terminal.run("echo last words")
    command = terminal.last
    assert command is not None
    assert result.text == "last words\n"
    await terminal.close()
    assert command.output().text == "last words\n"
    terminal.log.forget()
    assert command.output().text == ""
    assert command.result().text == "last words\n"
