"""Viewers that mark commands are told which ones a snapshot shows."""

from hermitty.runtime.api import Terminal
from hermitty.wire.attach import CommandNotice, Mark, Snapshot, Viewers
from tests.server.attach.conftest import Server
from tests.support.shells import PATIENCE_S


async def test_commands_in_a_snapshot_are_told_to_those_who_mark_them(server: Server, terminal: Terminal) -> None:
    for line in ("seq 30", "cat missing-file 2>/dev/null", "true"):
        await terminal.run(line)
    async with server.watch(terminal.id, marks=1) as viewer, server.watch(terminal.id) as other:
        await viewer.told(Viewers)
        await other.told(Viewers)
        marks = viewer.of(Mark)
        assert [(each.command, each.exit_code, each.running) for each in marks] == [
            ("seq 30", 0, False),
            ("cat missing-file 2>/dev/null", 1, False),
            ("true", 0, False),
        ]
        # Below each line is its output, and then the next prompt.
        first, second, third = marks
        assert first.end_above == first.above - 30
        assert (second.above, second.end_above) == (first.end_above - 1, first.end_above - 1)
        assert third.above == third.end_above == second.above - 1
        assert {each.column for each in marks} == {0}
        kinds = [type(each) for each in viewer.messages]
        assert kinds.index(Snapshot) < kinds.index(Mark)
        assert not other.of(Mark)


async def test_what_runs_is_told_without_an_end(server: Server, terminal: Terminal) -> None:
    command = await terminal.start("echo begun; read -r line")
    assert await command.wait_for("begun\n", PATIENCE_S)
    async with server.watch(terminal.id, marks=1) as viewer:
        await viewer.told(Mark)
        [mark] = viewer.of(Mark)
        assert (mark.id, mark.running, mark.exit_code, mark.end_above) == (command.id, True, None, None)
        assert mark.above == 1
        await viewer.type("\r")
        await viewer.told(CommandNotice)
        [ended] = viewer.of(CommandNotice)
        assert (ended.event, ended.id) == ("ended", command.id)


async def test_a_viewer_that_comes_back_is_told_what_it_lacks_alone(server: Server, terminal: Terminal) -> None:
    await terminal.run("echo before")
    async with server.watch(terminal.id, marks=1, since=terminal.log.end) as viewer:
        await viewer.told(Viewers)
        assert not viewer.of(Mark)
