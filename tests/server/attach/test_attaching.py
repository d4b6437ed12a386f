"""Viewers of real shells over real sockets."""

import asyncio
import re

from hermitty.runtime.api import Runtime, Terminal
from hermitty.wire.attach import (
    CommandNotice,
    Cwd,
    Exit,
    Hello,
    Paused,
    Ping,
    Pong,
    Reset,
    Snapshot,
    Title,
    Typist,
    Viewers,
)
from tests.server.attach.conftest import Server

_MARKER = re.compile(rb"\x1b\]633;[^\x07]*\x07")
_ANSWER = re.compile(rb"\^\[\[[0-9]+;[0-9]+R")


async def test_a_new_viewer_sees_the_screen_and_then_what_comes(server: Server, terminal: Terminal) -> None:
    await terminal.run("echo first")
    async with server.watch(terminal.id) as viewer:
        size = terminal.size
        end = viewer.hello.offset
        assert viewer.hello == Hello(terminal.id, end, size.cols, size.rows, "snapshot", 1, may_type=True)
        await viewer.type("echo sec''ond\r")
        await viewer.printed("second")
        assert b"first" in viewer.snapshots[0]
        assert len(viewer.of(Snapshot)) == 1
        assert not viewer.of(Reset)
        assert viewer.output == terminal.log.read(end, viewer.offset).data


async def test_two_viewers_get_the_same_bytes_and_both_can_type(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id) as one, server.watch(terminal.id) as two:
        await one.type("echo from-o''ne\r")
        await two.printed("from-one")
        await two.type("echo from-t''wo\r")
        await one.printed("from-two")
        await two.until(lambda: two.offset == one.offset == terminal.log.end)
        assert one.output == two.output
        assert server.attachments.viewers(terminal.id) == 2
        await one.until(lambda: Viewers(2) in one.messages)


async def test_a_viewer_that_comes_back_gets_every_byte_once(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id) as viewer:
        await viewer.type("echo before\r")
        await viewer.told(CommandNotice, 2)
        has = viewer.offset
    await terminal.run("echo meanwhile")
    async with server.watch(terminal.id, since=has) as viewer:
        assert (viewer.hello.offset, viewer.hello.replay) == (has, "bytes")
        await viewer.type("echo aft''er\r")
        await viewer.printed("after")
        assert not viewer.snapshots
        assert viewer.output == terminal.log.read(has, viewer.offset).data
        assert b"meanwhile" in viewer.output


async def test_a_viewer_that_lacks_nothing_is_sent_nothing(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id, since=terminal.log.end) as viewer:
        assert viewer.hello.replay == "none"
        await viewer.say(Ping())
        await viewer.told(Pong)
        assert not viewer.output
        assert not viewer.snapshots


async def test_an_offset_that_is_in_no_log_gets_a_reset_and_the_screen(server: Server, terminal: Terminal) -> None:
    for since in (terminal.log.end + 1, -1, "nonsense", "9" * 400, "", "٣"):
        async with server.watch(terminal.id, since=since) as viewer:
            assert (viewer.hello.offset, viewer.hello.replay) == (terminal.log.end, "snapshot")
            await viewer.until(lambda: bool(viewer.snapshots))
            assert viewer.messages[1] == Reset(terminal.log.end)


async def test_fifty_reconnects_during_numbered_output_leave_no_gap_and_no_duplicate(
    server: Server, terminal: Terminal
) -> None:
    # Each line lets it print on, so that all of it together is less than what is kept, however late a viewer comes.
    counts = "while read -r more && [ $more = more ]; do for _ in {1..300}; do echo number-$((++i)); done; done"
    async with server.watch(terminal.id, since=0) as starter:
        await starter.type(f"stty -echo; echo rea''dy; {counts}; stty echo; echo the-e''nd\r")
        await starter.printed("ready\r\n")
        output = bytearray(starter.output)
    for _ in range(50):
        async with server.watch(terminal.id, since=len(output)) as viewer:
            await viewer.type("more\r")
            await viewer.until(lambda: bool(viewer.output))
        assert (viewer.first, viewer.resets) == (len(output), 0)
        output += viewer.output
    async with server.watch(terminal.id, since=len(output)) as viewer:
        await viewer.type("stop\r")
        await viewer.printed("the-end")
        output += viewer.output
    numbers = [int(number) for number in re.findall(rb"number-([0-9]+)\r\n", output)]
    assert numbers == list(range(1, 50 * 300 + 1))


async def test_nothing_is_typed_by_a_replay_of_queries(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id) as viewer:
        # The program asks where the cursor is, and shows everything that is typed.
        await viewer.type("stty raw -echo; printf 'asks\\033[6n'; cat -v\r")
        await viewer.until(lambda: bool(_ANSWER.search(viewer.output)))
        end = viewer.offset
    for since in (0, end - 10):
        async with server.watch(terminal.id, since=since) as again:
            await again.until(lambda: again.offset >= end)
    async with server.watch(terminal.id) as again:
        await again.until(lambda: bool(again.snapshots))
    async with server.watch(terminal.id, since=0) as viewer:
        assert b"asks\x1b[6n" in viewer.output
        await viewer.type("mark")
        await viewer.printed("Rmark")
        assert len(_ANSWER.findall(viewer.output)) == 1


async def test_commands_are_told_where_they_stand_in_the_output(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id) as viewer:
        await viewer.type("echo one; (exit 3)\r")
        await viewer.told(CommandNotice, 2)
        started, ended = viewer.of(CommandNotice)
        assert (started.event, started.source) == ("started", "user")
        assert (ended.event, ended.id, ended.exit_code) == ("ended", started.id, 3)
        between = viewer.output[started.offset - viewer.first : ended.offset - viewer.first]
        # Markers of the end that came before the last one may have been sent already.
        assert _MARKER.sub(b"", between) == b"one\r\n"
        for notice in (started, ended):
            before = viewer.order[: viewer.order.index(notice)]
            sent = sum(len(each[2]) for each in before if isinstance(each, tuple) and each[0] == "output")
            assert viewer.first + sent == notice.offset


async def test_a_viewer_that_comes_back_is_told_the_commands_it_missed(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id) as viewer:
        has = viewer.offset
    result = await terminal.run("echo missed")
    async with server.watch(terminal.id, since=has) as viewer:
        await viewer.told(CommandNotice, 2)
        started, ended = viewer.of(CommandNotice)
        assert (started.id, started.command, started.source) == (result.id, "echo missed", "agent")
        assert (ended.id, ended.exit_code) == (result.id, 0)


async def test_directory_and_title_are_told(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id) as viewer:
        assert terminal.cwd is not None
        await viewer.until(lambda: Cwd(str(terminal.cwd)) in viewer.messages)
        await viewer.type("cd /; printf '\\033]2;some title\\007'\r")
        await viewer.until(lambda: {Cwd("/"), Title("some title")} <= set(viewer.messages))
    async with server.watch(terminal.id) as viewer:
        await viewer.until(lambda: {Cwd("/"), Title("some title")} <= set(viewer.messages))


async def test_who_has_paused_a_terminal_is_told(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id) as viewer:
        terminal.pause("ann")
        server.attachments.look(terminal.id)
        await viewer.until(lambda: Paused("ann") in viewer.messages)
        terminal.unpause()
        server.attachments.look(terminal.id)
        await viewer.until(lambda: Paused(None) in viewer.messages)


async def test_who_types_is_told(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id, name="ann") as ann, server.watch(terminal.id, name="bob") as bob:
        await ann.type("a")
        await bob.until(lambda: Typist("ann", ann.hello.viewer) in bob.messages)
        await bob.type("b")
        await ann.until(lambda: Typist("bob", bob.hello.viewer) in ann.messages)


async def test_the_end_of_a_shell_is_told_after_its_last_words(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id) as viewer, server.watch(terminal.id) as other:
        await viewer.type("echo last-wor''ds; exit 3\r")
        assert await viewer.closed() == 1000
        assert await other.closed() == 1000
        for each in (viewer, other):
            assert b"last-words" in each.output
            assert isinstance(each.messages[-1], Exit)
            assert each.messages[-1].reason == "its shell exited with code 3"
            assert isinstance(each.order[-1], Exit)


async def test_viewers_of_a_closed_terminal_are_told(server: Server, terminal: Terminal, rt: Runtime) -> None:
    async with server.watch(terminal.id) as viewer:
        await rt.close_terminal(terminal.id)
        assert await viewer.closed() == 1000
        assert isinstance(viewer.messages[-1], Exit)
    ws = await server.connect(terminal.id)
    await ws.receive()
    assert ws.close_code == 4004


async def test_an_unknown_terminal_is_told_by_its_close_code(server: Server) -> None:
    ws = await server.connect("t_none")
    message = await ws.receive()
    assert (ws.close_code, message.extra) == (4004, "no terminal 't_none'; there are: none")


async def test_the_terminal_lives_on_when_its_viewer_leaves(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id) as viewer:
        await viewer.type("X=kept\r")
        await viewer.told(CommandNotice, 2)
    async with asyncio.timeout(60):
        while server.attachments.viewers(terminal.id):
            await asyncio.sleep(0)
    assert "kept" in (await terminal.run("echo $X")).text
