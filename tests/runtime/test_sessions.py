"""Sessions have terminals: which one a run gets, who has it afterwards, and what is known of it."""

import asyncio
import os
from pathlib import Path

import pytest

from hermitty import errors
from hermitty.engine.lease import TerminalInfo
from hermitty.events import CommandFinished, CommandStarted, TerminalEnded, TerminalOpened
from hermitty.model import CommandResult, State, TerminalId
from hermitty.runtime.api import Runtime
from tests.support.kernel import gone, is_alive
from tests.support.runtimes import Gate, Listener, begun, found, over
from tests.support.shells import PATIENCE_S


def terminal_of(result: CommandResult) -> TerminalId:
    assert result.terminal is not None
    return result.terminal


async def ran(rt: Runtime, line: str, cwd: Path | str | None = None, session: str | None = "A") -> CommandResult:
    """Run a line to its end."""
    result = await rt.run(line, cwd=cwd, session=session)
    assert result.state is State.DONE
    return result


def opened(heard: Listener) -> int:
    return sum(isinstance(event, TerminalOpened) for event in heard.events)


# Reuse and directories.


async def test_a_session_goes_away_and_comes_back_in_one_terminal(rt: Runtime, work: Path, heard: Listener) -> None:
    first = await ran(rt, "true", work)
    terminal = terminal_of(first)
    assert rt.info(terminal) == TerminalInfo(1, "A", None, 0, False)
    assert not rt.terminal(terminal).is_busy

    again = await ran(rt, "cd src", work)
    assert (again.terminal, again.cwd) == (terminal, str(work / "src"))
    assert (rt.terminal(terminal).cwd, rt.session_cwd("A")) == (str(work / "src"), str(work / "src"))

    there = await ran(rt, "pwd", work / "src")
    back = await ran(rt, "pwd", work)
    assert [(each.terminal, each.text) for each in (there, back)] == [
        (terminal, f"{work}/src\n"),
        (terminal, f"{work}\n"),
    ]
    assert rt.info(terminal).switches == 1
    assert opened(heard) == 1
    # Nobody is told of a line that nobody asked for.
    lines = [event.command for event in heard.events if isinstance(event, CommandStarted)]
    assert lines == ["true", "cd src", "pwd", "pwd"]


async def test_numbers_go_on_and_ids_are_never_given_again(rt: Runtime, work: Path) -> None:
    seen = []
    for number in (1, 2, 3):
        terminal = terminal_of(await ran(rt, "true", work))
        assert rt.info(terminal).number == number
        seen.append(terminal)
        await rt.close_terminal(terminal)
    assert len(set(seen)) == 3


async def test_a_busy_terminal_is_left_alone_until_it_is_idle(rt: Runtime, work: Path, gate: Gate) -> None:
    command = await begun(rt, "echo busy; cat gate", work, prints="busy", session="A")
    first = rt.terminals(session="A")[0].id
    second = terminal_of(await ran(rt, "true", work))
    assert second != first

    gate.let("free\n")
    await over(command)
    await rt.close_terminal(second)
    assert (await ran(rt, "true", work)).terminal == first


async def test_the_exact_terminal_comes_before_a_parent_s(rt: Runtime, work: Path, gate: Gate) -> None:
    command = await begun(rt, "cd src; echo busy; cat ../gate", work, prints="busy", session="A")
    exact = rt.terminals()[0].id
    parent = terminal_of(await ran(rt, "true", work))
    gate.let()
    await over(command)
    # The parent's terminal was used later, and still the exact one is chosen.
    await ran(rt, "true", work)

    assert (await ran(rt, "pwd", work / "src")).terminal == exact
    assert (await ran(rt, "pwd", work)).terminal == parent
    assert [rt.info(each).switches for each in (exact, parent)] == [0, 0]


async def test_a_session_s_own_terminal_comes_before_a_free_exact_one(rt: Runtime, work: Path) -> None:
    free = terminal_of(await ran(rt, "true", work, session="B"))
    own = terminal_of(await ran(rt, "cd src", work, session="A"))
    rt.release("B")
    assert rt.info(free).session is None

    assert (await ran(rt, "pwd", work)).terminal == own
    assert rt.info(own).switches == 1


async def test_an_unrelated_directory_gets_another_terminal(rt: Runtime, work: Path) -> None:
    first = await ran(rt, "true", work)
    other = await ran(rt, "pwd", work.parent / "other")

    assert other.terminal != first.terminal
    assert other.text == f"{work.parent}/other\n"
    assert rt.terminal(terminal_of(first)).cwd == str(work)


async def test_the_sixth_switch_needs_another_terminal(rt: Runtime, work: Path) -> None:
    first = terminal_of(await ran(rt, "cd src", work))
    for number in range(1, 6):
        assert (await ran(rt, "cd src", work)).terminal == first
        assert rt.info(first).switches == number

    second = await ran(rt, "pwd", work)

    assert second.terminal != first
    assert second.text == f"{work}\n"
    assert rt.info(terminal_of(second)) == TerminalInfo(2, "A", None, 0, False)
    assert (await ran(rt, "true", work / "src")).terminal == first


async def test_a_deleted_directory_is_an_error_and_nothing_runs_anywhere(rt: Runtime, work: Path) -> None:
    await ran(rt, "true", work / "docs")
    await ran(rt, "cd ..", work / "docs")
    (work / "docs").rmdir()

    with pytest.raises(errors.InvalidDirectory, match=f"'{work}/docs' does not exist"):
        await rt.run("touch ran", cwd=work / "docs", session="A")

    assert found(work, "ran") == []


async def test_a_terminal_that_does_not_get_there_is_replaced(rt: Runtime, work: Path) -> None:
    first = await ran(rt, "cd src; enable -n cd", work)

    second = await ran(rt, "touch ran; pwd", work)

    assert second.terminal != first.terminal
    assert second.text == f"{work}\n"
    assert found(work, "ran") == [work / "ran"]
    assert [terminal.id for terminal in rt.terminals()] == [second.terminal]


async def test_a_relative_directory_is_meant_from_where_the_session_began(rt: Runtime, work: Path) -> None:
    await ran(rt, "cd src/deep", work)

    assert (await ran(rt, "pwd", "docs")).text == f"{work}/docs\n"
    assert (await ran(rt, "pwd", "../other")).text == f"{work.parent}/other\n"
    assert (await rt.run("pwd", cwd="docs", session="A", provider="pipe")).text == f"{work}/docs\n"
    terminal = await rt.open_terminal(cwd="src", session="A")
    assert terminal.cwd == str(work / "src")


async def test_without_a_directory_a_session_goes_on_where_it_is(rt: Runtime, work: Path) -> None:
    await ran(rt, "cd src", work)

    assert (await ran(rt, "pwd")).text == f"{work}/src\n"
    assert (await rt.run("pwd", session="A", provider="pipe")).text == f"{work}/src\n"
    assert (await ran(rt, "pwd", session="B")).text == f"{os.getcwd()}\n"


async def test_pipes_neither_use_nor_leave_terminals(rt: Runtime, work: Path) -> None:
    piped = await rt.run("echo $$", cwd=work, session="A", provider="pipe")
    assert (piped.terminal, rt.terminals()) == (None, [])

    first = terminal_of(await ran(rt, "true", work))
    again = await rt.run("true", cwd=work, session="A", provider="pipe")
    assert (again.terminal, [terminal.id for terminal in rt.terminals()]) == (None, [first])


async def test_a_session_of_pipes_knows_where_it_began(rt: Runtime, work: Path) -> None:
    await rt.run("true", cwd=work, session="A", provider="pipe")

    assert rt.session_cwd("A") == str(work)
    assert (await ran(rt, "pwd")).text == f"{work}\n"
    rt.release("A")
    assert rt.session_cwd("A") is None


async def test_twenty_runs_at_once_in_one_session_share_nothing(rt: Runtime, work: Path) -> None:
    results = await asyncio.gather(*(ran(rt, f"echo {number}", work) for number in range(20)))

    assert [result.text for result in results] == [f"{number}\n" for number in range(20)]
    assert len({result.terminal for result in results}) == 20


async def test_a_shell_that_left_is_purged(rt: Runtime, work: Path, heard: Listener) -> None:
    first = terminal_of(await rt.run("exit 4", cwd=work, session="A"))

    assert rt.terminals() == []
    with pytest.raises(errors.TerminalNotFound, match=f"no terminal '{first}'; there are: none"):
        rt.terminal(first)
    assert (await ran(rt, "true", work)).terminal != first
    assert [type(event) for event in heard.events[:4]] == [
        TerminalOpened,
        CommandStarted,
        CommandFinished,
        TerminalEnded,
    ]


# Release, end and bind.


async def test_two_sessions_take_turns_with_a_released_terminal(rt: Runtime, work: Path, gate: Gate) -> None:
    command = await begun(rt, "echo installing; cat gate", work, prints="installing", session="A")
    first = rt.terminals()[0].id
    second = terminal_of(await ran(rt, "true", work, session="B"))
    assert second != first

    rt.release("A")
    assert rt.info(first) == TerminalInfo(1, None, None, 0, False)
    assert [each.id for each in rt.background_terminals(busy=True)] == [first]
    assert command.is_running
    assert "installing" in await rt.report("B")

    gate.let("installed\n")
    await over(command)
    assert command.output().text == "installing\ninstalled\n"
    assert [each.id for each in rt.background_terminals(busy=False)] == [first]
    report = await rt.report("B")
    assert "## Terminal 1 (Inactive, background)" in report
    assert "installed" in report

    await rt.close_terminal(second)
    assert (await ran(rt, "true", work, session="B")).terminal == first
    assert rt.info(first).session == "B"
    assert rt.background_terminals() == []


async def test_ending_a_session_kills_what_runs_in_it_and_nothing_else(rt: Runtime, work: Path) -> None:
    stubborn = "sh -c 'trap \"\" INT TERM HUP; echo $$; while :; do sleep 1; done'"
    mine = await begun(rt, stubborn, work, prints="[0-9]", session="A")
    idle = terminal_of(await ran(rt, "true", work, session="A"))
    others = await begun(rt, stubborn, work, prints="[0-9]", session="B")
    pid, other_pid = int(mine.output().text), int(others.output().text)

    await rt.end("A")

    assert not is_alive(pid)
    assert mine.state is State.KILLED
    assert "session A has ended" in mine.result().warnings[0]
    assert rt.terminals(session="A") == []
    with pytest.raises(errors.TerminalNotFound):
        rt.terminal(idle)
    assert is_alive(other_pid)
    assert len(rt.terminals(session="B")) == 1
    await rt.end("B")
    await gone(other_pid)


@pytest.mark.parametrize("how", ["release", "end"])
async def test_a_session_that_is_over_is_not_known(rt: Runtime, work: Path, how: str) -> None:
    await ran(rt, "true", work, session="A")
    await ran(rt, "true", work, session="B")

    async def finish(session: str) -> None:
        if how == "end":
            await rt.end(session)
        else:
            rt.release(session)

    await finish("A")

    assert rt.session_cwd("A") is None
    with pytest.raises(errors.SessionNotFound, match="no session 'A'; there are: B"):
        await finish("A")
    await finish("B")
    with pytest.raises(errors.SessionNotFound, match="no session 'B'; there are: none"):
        await finish("B")


async def test_a_terminal_is_a_session_s_until_it_is_closed(rt: Runtime, work: Path) -> None:
    terminal = await rt.open_terminal(cwd=work / "src")
    assert rt.background_terminals() == [terminal]

    rt.bind(terminal.id, "A")
    assert (rt.terminals(session="A"), rt.background_terminals()) == ([terminal], [])
    assert rt.session_cwd("A") == str(work / "src")
    rt.bind(terminal.id, "B")
    assert (rt.terminals(session="A"), rt.terminals(session="B")) == ([], [terminal])
    rt.bind(terminal.id, None)
    assert rt.background_terminals() == [terminal]
    rt.bind(terminal.id, "A")
    await rt.close_terminal(terminal.id)

    assert (rt.terminals(session="A"), rt.session_cwd("A")) == ([], None)
    with pytest.raises(errors.TerminalNotFound, match="there are: none"):
        rt.bind(terminal.id, "A")


async def test_where_a_session_is(rt: Runtime, work: Path) -> None:
    assert rt.session_cwd("A") is None
    await ran(rt, "true", work)
    assert rt.session_cwd("A") == str(work)
    await ran(rt, "cd docs", work)
    assert rt.session_cwd("A") == str(work / "docs")
    await ran(rt, "true", work.parent / "other")
    assert rt.session_cwd("A") == str(work.parent / "other")
    for terminal in rt.terminals(session="A"):
        await rt.close_terminal(terminal.id)
    assert rt.session_cwd("A") == str(work)


# Terminals of one's own, variables, PATH.


async def test_a_terminal_that_was_opened_is_the_caller_s_own(rt: Runtime, work: Path) -> None:
    mine = await rt.open_terminal(cwd=work, session="A")

    assert (await ran(rt, "true", work, session="A")).terminal != mine.id
    rt.release("A")
    assert (await ran(rt, "true", work, session="B")).terminal != mine.id
    assert (await rt.run_in(mine.id, "pwd")).text == f"{work}\n"


async def test_a_run_in_a_given_terminal(rt: Runtime, work: Path, gate: Gate) -> None:
    mine = await rt.open_terminal(cwd=work)

    result = await rt.run_in(mine.id, "x=1; cd src; false", session="A")
    assert (result.terminal, result.session, result.exit_code, result.cwd) == (mine.id, "A", 1, str(work / "src"))
    assert (await rt.run_in(mine.id, "echo $x")).text == "1\n"

    running = await rt.run_in(mine.id, "cat ../gate", wait_s=0)
    assert running.state is State.RUNNING
    with pytest.raises(errors.TerminalBusy, match=f"terminal {mine.id} is busy with `cat ../gate`"):
        await rt.run_in(mine.id, "true")
    command = mine.current
    assert command is not None
    gate.let()
    await over(command)
    with pytest.raises(errors.TerminalNotFound, match=f"no terminal 't_nowhere'; there are: {mine.id}"):
        await rt.run_in("t_nowhere", "true")


async def test_variables_of_one_run_have_terminals_of_their_own(rt: Runtime, work: Path) -> None:
    plain = await ran(rt, "echo [$A]", work)
    with_a = await rt.run("echo [$A]", cwd=work, session="A", env={"A": "one $x"})
    again = await rt.run("echo [$A]", cwd=work, session="A", env={"A": "one $x"})
    other = await rt.run("echo [$A]", cwd=work, session="A", env={"A": "two"})
    plain_again = await ran(rt, "echo [$A]", work)

    assert [each.text for each in (plain, with_a, again, other, plain_again)] == [
        "[]\n",
        "[one $x]\n",
        "[one $x]\n",
        "[two]\n",
        "[]\n",
    ]
    assert (again.terminal, plain_again.terminal) == (with_a.terminal, plain.terminal)
    assert len({plain.terminal, with_a.terminal, other.terminal}) == 3
    assert (await rt.run("echo $A", cwd=work, env={"A": "piped"}, provider="pipe")).text == "piped\n"


async def test_contributors_add_to_the_path_of_new_terminals(rt: Runtime, work: Path, tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        tool = tmp_path / name / "a-tool"
        tool.write_text(f"#!/bin/sh\necho {name}\n")
        tool.chmod(0o700)

    async def in_a_new_terminal(line: str) -> str:
        terminal = await rt.open_terminal(cwd=work)
        return (await terminal.run(line)).text

    before = await in_a_new_terminal("echo $PATH")
    rt.contribute_path("tools", str(tmp_path / "old"))
    assert await in_a_new_terminal("a-tool") == "old\n"
    rt.contribute_path("tools", str(tmp_path / "new"))
    assert await in_a_new_terminal("a-tool") == "new\n"
    assert await in_a_new_terminal("echo $PATH") == before.rstrip("\n") + f":{tmp_path}/new\n"
    rt.contribute_path("first", str(tmp_path / "old"), prepend=True)
    assert await in_a_new_terminal("a-tool") == "old\n"
    rt.contribute_path("first", None)
    rt.contribute_path("tools", None)
    assert await in_a_new_terminal("echo $PATH") == before


async def test_variables_are_known_exactly_and_for_each_terminal(rt: Runtime, work: Path) -> None:
    one = await rt.open_terminal(cwd=work, env={"KEPT": "k", "GONE": "g", "OTHER": "before"})
    two = await rt.open_terminal(cwd=work)

    await one.run("export A=1 OTHER='it is\nafter'; unset GONE; local_only=5")
    await two.run("export A=2")

    env = await rt.environment(one.id)
    assert (env["A"], env["KEPT"], env["OTHER"]) == ("1", "k", "it is\nafter")
    assert "local_only" not in env
    assert (await rt.environment(two.id))["A"] == "2"
    changes = await rt.environment_changes(one.id)
    assert changes.added["A"] == "1"
    assert changes.removed["GONE"] == "g"
    assert changes.changed["OTHER"] == ("before", "it is\nafter")
    assert "KEPT" not in {*changes.added, *changes.removed, *changes.changed}
    # The shell itself says what `env` prints.
    printed = (await one.run("env -0 | tr '\\n\\0' '~\\n' | grep -e ^A= -e ^OTHER=")).text
    assert sorted(printed.splitlines()) == ["A=1", "OTHER=it is~after"]


# What is known of terminals.


async def test_terminals_are_listed_by_what_they_do_and_whose_they_are(rt: Runtime, work: Path, gate: Gate) -> None:
    command = await begun(rt, "echo x; cat gate", work, prints="x", session="A")
    await ran(rt, "true", work, session="A")
    await ran(rt, "true", work, session="B")
    await rt.run("true", cwd=work, workspace="w")
    busy, idle, of_b, of_w = rt.terminals()

    assert rt.terminals(busy=True) == [busy]
    assert rt.terminals(busy=False) == [idle, of_b, of_w]
    assert rt.terminals(session="A") == [busy, idle]
    assert rt.terminals(session="A", busy=False) == [idle]
    assert rt.terminals(session="nobody") == []
    assert rt.terminals(workspace="w") == rt.background_terminals() == rt.background_terminals(busy=False) == [of_w]
    assert rt.background_terminals(busy=True) == []

    gate.let()
    await over(command)
    assert rt.terminals(busy=True) == []


async def test_the_last_command_is_the_one_that_runs_or_the_one_that_ran(rt: Runtime, work: Path, gate: Gate) -> None:
    terminal = await rt.open_terminal(cwd=work)
    assert rt.last_command(terminal.id) is None
    await terminal.run("echo one")
    last = rt.last_command(terminal.id)
    assert last is not None
    assert (last.line, last.exit_code, last.is_running) == ("echo one", 0, False)

    running = await terminal.start("cat gate; false")
    assert rt.last_command(terminal.id) is running
    await running.wait_for("nothing", 0)
    gate.let()
    await over(running)
    assert rt.last_command(terminal.id) is running
    assert running.exit_code == 1

    # A change of directory of ours is nobody's command.
    result = await ran(rt, "cd src", work)
    await ran(rt, "true", work)
    command = rt.last_command(terminal_of(result))
    assert command is not None
    assert command.line == "true"


async def test_a_terminal_is_hot_while_more_is_likely_to_come(rt: Runtime, work: Path, gate: Gate) -> None:
    terminal = await rt.open_terminal(cwd=work)
    assert not rt.is_hot(terminal.id)
    command = await terminal.start("echo compiling; cat gate")
    assert await command.wait_for("compiling", PATIENCE_S)
    assert rt.is_hot(terminal.id)
    gate.let("compiling")
    await over(command)
    assert not rt.is_hot(terminal.id)


async def test_the_context_holds_the_last_40_pieces(rt: Runtime, work: Path) -> None:
    terminal = await rt.open_terminal(cwd=work)
    for number in range(1, 42):
        await terminal.run(f"echo '<{number}>'")

    lines = rt.context(terminal.id, 1000).splitlines()
    assert lines[-1] == "<41>"
    assert "<1>" not in lines
    assert lines == [f"<{number}>" for number in range(42 - len(lines), 42)]
    assert rt.context(terminal.id) == "\r\n".join([*lines[-10:], ""])
    assert rt.context(terminal.id, 0) == ""
    await rt.close_terminal(terminal.id)
    with pytest.raises(errors.TerminalNotFound):
        rt.context(terminal.id)


async def test_nothing_is_remembered_of_terminals_that_are_gone(rt: Runtime, work: Path) -> None:
    for session in ("A", "B"):
        await rt.run("echo bye; exit", cwd=work, session=session)
        await ran(rt, "true", work, session=session)
        await rt.report(session)
        await rt.end(session)

    assert rt._tracks._tracks == {}


async def test_unknown_ids_name_what_there_is(rt: Runtime, work: Path) -> None:
    first = terminal_of(await ran(rt, "seq 600", work, session="A"))
    second = terminal_of(await ran(rt, "true", work, session="B"))
    there = f"no terminal 't_1'; there are: {first}, {second}"
    for look in (rt.terminal, rt.info, rt.last_command, rt.is_hot, rt.context):
        with pytest.raises(errors.TerminalNotFound, match=there):
            look("t_1")
    for wait in (rt.close_terminal, rt.environment, rt.environment_changes):
        with pytest.raises(errors.TerminalNotFound, match=there):
            await wait("t_1")
    with pytest.raises(errors.TerminalNotFound, match=there):
        rt.bind("t_1", "A")
    with pytest.raises(errors.SessionNotFound, match="no session 'C'; there are: A, B"):
        rt.release("C")
    with pytest.raises(errors.SessionNotFound, match="no session 'C'; there are: A, B"):
        await rt.end("C")

    [kept] = rt.artifacts.artifacts()
    missing = "a_0000000000000000"
    with pytest.raises(errors.ArtifactNotFound, match=f"no artifact '{missing}'; there are: {kept.id}"):
        await rt.read_artifact(missing)
    with pytest.raises(errors.ArtifactNotFound, match=kept.id):
        await rt.read_artifact_lines(missing, 1, 1)
    with pytest.raises(errors.ArtifactNotFound, match=kept.id):
        await rt.search_artifact(missing, "x")
    for name in ("..", "../history.db", "a/b", "", "a_0000000000000000.raw"):
        with pytest.raises(errors.InvalidArtifact):
            await rt.read_artifact(name)
