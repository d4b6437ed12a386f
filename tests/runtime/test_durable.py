"""What is left of a killed server: everything. Another process goes on with terminals, commands and questions."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermitty.errors import HostBusy, TerminalPaused
from hermitty.host.base import Sink
from hermitty.host.client import HostClient
from hermitty.host.client_pty import ClientPty
from hermitty.model import State, TerminalId
from hermitty.runtime.api import Runtime
from hermitty.runtime.approvals import Approval
from hermitty.runtime.history.entry import HistoryQuery
from tests.support.durable import Place
from tests.support.kernel import gone, so
from tests.support.runtimes import Gate, Listener
from tests.support.shells import PATIENCE_S, SHELLS

ID = "c_0123456789abcdef"


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    monkeypatch.setenv("HERMITTY_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("HERMITTY_CONFIG", str(tmp_path / "config.toml"))
    home = tmp_path / "home"
    home.mkdir()
    place = Place(home)
    try:
        yield place
    finally:
        await place.stop()


@pytest.mark.parametrize("shell", [each for each in SHELLS if each.values[0] != "pwsh"])
async def test_a_command_that_runs_goes_on_with_everything_about_it(place: Place, shell: str) -> None:
    gate = Gate(place.home / "gate")
    body = f"""
        t = await rt.open_terminal(cwd=home, name="one", session="s", workspace="w", shell={shell!r})
        await t.run("cd /tmp && export A=5")
        await t.start("echo before; cat {place.home}/gate; sh -c 'exit 3'", command_id="{ID}")
        await until(lambda: t.current.result().text == "before\\n")
        say(terminal=t.id, pid=t.pty.pid, end=t.log.end)
    """
    async with place.used(body) as other:
        told = await other.says()
        await other.kill()
    runtime = await place.open()
    try:
        terminal = runtime.terminal(told["terminal"])
        info = runtime.info(terminal.id)
        assert (info.name, info.session, info.workspace, info.number) == ("one", "s", "w", 1)
        assert (terminal.pty.pid, terminal.cwd, terminal.shell) == (told["pid"], "/tmp", shell)
        assert terminal.current is not None
        assert terminal.current.id == ID
        assert terminal.log.end >= told["end"]
        assert "before" in terminal.screen.text()
        gate.let("after\n")
        result = await runtime.result(ID, PATIENCE_S)
        assert (result.state, result.exit_code, result.text) == (State.DONE, 3, "before\nafter\n")
        assert result.session == "s"
        assert (await terminal.run("echo $A; pwd")).text == "5\n/tmp\n"
        (entry,) = (await runtime.history(HistoryQuery(search="cat"))).entries
        assert (entry.command_id, entry.state, entry.exit_code, entry.cwd) == (ID, State.DONE, 3, "/tmp")
    finally:
        await runtime.close()


@pytest.mark.parametrize("at", [1, 300_000, 900_000, 2_500_000])
async def test_no_byte_of_a_flood_is_lost_wherever_the_server_dies(place: Place, at: int) -> None:
    body = f"""
        t = await rt.open_terminal(cwd=home)
        t.watch(lambda: t.current is not None and t.current.capture.total > {at} and die())
        await t.start("seq 400000; (exit 7)", command_id="{ID}")
    """
    async with place.used(body) as other:
        await other.gone()
    runtime = await place.open()
    try:
        result = await runtime.result(ID, PATIENCE_S)
        printed = b"".join(b"%d\r\n" % number for number in range(1, 400_001))
        assert (result.state, result.exit_code, result.total_bytes) == (State.DONE, 7, len(printed))
        assert result.warnings == []
        assert result.text.startswith("1\n2\n3\n")
        assert result.text.endswith("\n399999\n400000\n")
        assert result.artifact is not None
        (kept,) = (Path(os.environ["HERMITTY_STATE_DIR"]) / "artifacts").iterdir()
        assert kept.read_bytes() == printed
        assert kept.suffix == ".raw"
    finally:
        await runtime.close()


async def test_a_command_that_ended_while_nobody_was_there_has_its_exit_code(place: Place) -> None:
    gate = Gate(place.home / "gate")
    body = f"""
        t = await rt.open_terminal(cwd=home)
        await t.start("cat {place.home}/gate; echo $? > ended; (exit 9)", command_id="{ID}")
        await until(lambda: t.current.has_begun)
        say()
    """
    async with place.used(body) as other:
        await other.says()
        await other.kill()
        gate.let("x\n")
        await so((place.home / "ended").exists)
    runtime = await place.open()
    try:
        result = await runtime.result(ID, PATIENCE_S)
        assert (result.state, result.exit_code, result.text) == (State.DONE, 9, "x\n")
    finally:
        await runtime.close()


async def test_an_end_that_was_seen_and_is_told_again_is_no_later_one(place: Place) -> None:
    body = f"""
        t = await rt.open_terminal(cwd=home)
        command = await t.start("echo x; (exit 9)", command_id="{ID}")
        result = await command.wait()
        say(took=result.duration_s)
    """
    async with place.used(body) as other:
        took = (await other.says())["took"]
        await other.kill()
    runtime = await place.open()
    try:
        result = await runtime.result(ID, PATIENCE_S)
        assert (result.state, result.exit_code) == (State.DONE, 9)
        assert result.duration_s == pytest.approx(took)
    finally:
        await runtime.close()


async def test_a_shell_that_ended_while_nobody_was_there_is_known_with_its_code(place: Place) -> None:
    gate = Gate(place.home / "gate")
    body = f"""
        t = await rt.open_terminal(cwd=home)
        await t.start("cat {place.home}/gate; exit 4", command_id="{ID}")
        await until(lambda: t.current.has_begun)
        say(pid=t.pty.pid)
    """
    async with place.used(body) as other:
        told = await other.says()
        await other.kill()
        gate.let("x\n")
        await gone(told["pid"])
    runtime = await place.open()
    try:
        result = await runtime.result(ID, PATIENCE_S)
        assert (result.state, result.exit_code) == (State.DONE, 4)
        assert runtime.terminals() == []
    finally:
        await runtime.close()


async def test_a_line_that_was_never_sent_did_not_run_and_is_not_sent_again(place: Place) -> None:
    body = f"""
        t = await rt.open_terminal(cwd=home)
        t.pty.write = lambda data, answers_to=0: die()
        await t.start("touch ran", command_id="{ID}")
    """
    async with place.used(body) as other:
        await other.gone()
    runtime = await place.open()
    try:
        result = await runtime.result(ID, PATIENCE_S)
        assert (result.state, result.exit_code) == (State.LOST, None)
        assert "did not run" in " ".join(result.warnings)
        (terminal,) = runtime.terminals()
        assert (await terminal.run("ls")).text == ""
    finally:
        await runtime.close()


async def test_a_line_that_was_sent_just_before_the_end_runs_once(place: Place) -> None:
    body = f"""
        t = await rt.open_terminal(cwd=home)
        write = t.pty.write
        def last(data, answers_to=0):
            write(data, answers_to=answers_to)
            die()
        t.pty.write = last
        await t.start("echo x >> ran; (exit 6)", command_id="{ID}")
    """
    async with place.used(body) as other:
        await other.gone()
    runtime = await place.open()
    try:
        result = await runtime.result(ID, PATIENCE_S)
        assert (result.state, result.exit_code) == (State.DONE, 6)
        assert (place.home / "ran").read_text() == "x\n"
    finally:
        await runtime.close()


async def test_what_a_person_typed_is_one_command_with_one_name(place: Place) -> None:
    body = """
        t = await rt.open_terminal(cwd=home)
        t.write("echo typed; (exit 5)\\r")
        await until(lambda: t.last is not None)
        say(command=t.last.id)
    """
    async with place.used(body) as other:
        told = await other.says()
        await other.kill()
    runtime = await place.open()
    try:
        (entry,) = (await runtime.history(HistoryQuery(search="typed"))).entries
        assert (entry.command_id, entry.source, entry.exit_code) == (told["command"], "user", 5)
        (terminal,) = runtime.terminals()
        assert terminal.last is not None
        assert (terminal.last.id, terminal.last.exit_code) == (told["command"], 5)
    finally:
        await runtime.close()


async def test_a_full_screen_program_is_on_the_screen_again_with_its_modes(place: Place) -> None:
    gate = Gate(place.home / "gate")
    draw = r"printf '\033[?1049h\033[?1h\033[?2004h\033[2;5Hin the middle\033[?25l'"
    body = f"""
        t = await rt.open_terminal(cwd=home, cols=60, rows=12)
        await t.run("seq 5000 | tail -n 40")
        await t.start({f"{draw}; cat {place.home}/gate"!r}, command_id="{ID}")
        await until(lambda: not t.screen.cursor.visible)
        say(text=t.screen.text(), history=t.screen.history_text(), repaint=t.screen.repaint().decode("latin-1"))
    """
    async with place.used(body) as other:
        told = await other.says()
        await other.kill()
    runtime = await place.open()
    try:
        (terminal,) = runtime.terminals()
        screen = terminal.screen
        assert screen.alternate
        assert screen.application_cursor_keys
        assert (screen.text(), screen.repaint().decode("latin-1")) == (told["text"], told["repaint"])
        gate.let()
        await runtime.result(ID, PATIENCE_S)
    finally:
        await runtime.close()


async def test_a_query_is_answered_once_whoever_answers(place: Place) -> None:
    # The program asks where the cursor is, once while the first server lives, once while none does.
    (place.home / "ask.sh").write_text(
        r"""
stty raw -echo
printf '\033[6n'; first=$(dd bs=1 count=6 2>/dev/null | tr -d '\033')
read -r go < gate
printf '\033[6n'; second=$(dd bs=1 count=6 2>/dev/null | tr -d '\033')
printf '\033[c'
sleep 0.3
stty sane
echo "$first $second"
"""
    )
    gate = Gate(place.home / "gate")
    body = f"""
        t = await rt.open_terminal(cwd=home)
        await t.start("sh ask.sh", command_id="{ID}")
        await until(lambda: t.pty.writes > 1)
        say()
    """
    async with place.used(body) as other:
        await other.says()
        await other.kill()
        gate.let("go\n")
    runtime = await place.open()
    try:
        result = await runtime.result(ID, PATIENCE_S)
        assert result.exit_code == 0
        assert result.text.count("R") == 2
    finally:
        await runtime.close()


async def test_a_question_waits_for_an_answer_under_its_own_name(place: Place) -> None:
    body = f"""
        t = await rt.open_terminal(cwd=home)
        with rt.gate.approvals.client("test"):
            asking = asyncio.ensure_future(rt.run("rm -rf build", cwd=home, session="s", command_id="{ID}"))
            await until(rt.gate.approvals.pending)
            say(question=rt.gate.approvals.pending()[0].id)
            await asyncio.Event().wait()
    """
    (place.home / "build").mkdir()
    async with place.used(body) as other:
        told = await other.says()
        await other.kill()
    runtime = await place.open()
    listener = Listener(runtime)
    try:
        with runtime.gate.approvals.client("test"):
            # The task that asks again has not run yet when this process was its first user.
            await so(lambda: bool(runtime.gate.approvals.pending()))
            (question,) = runtime.gate.approvals.pending()
            assert (question.id, question.line, question.session) == (told["question"], "rm -rf build", "s")
            runtime.gate.approvals.answer(question.id, Approval("allow", by="ann"))
            await listener.until(lambda: any(getattr(each, "command_id", None) == ID for each in listener.events))
            result = await runtime.result(ID, PATIENCE_S)
        assert (result.state, result.exit_code) == (State.DONE, 0)
        assert not (place.home / "build").exists()
    finally:
        await runtime.close()
    again = await place.open()
    assert again.gate.approvals.pending() == []
    await again.close()


async def test_a_process_without_a_terminal_ends_and_its_record_says_so(place: Place) -> None:
    body = f"""
        asyncio.ensure_future(rt.run("echo $$ > pid; exec sleep 1000", cwd=home, provider="pipe", command_id="{ID}"))
        await until(lambda: (home / "pid").exists() and (home / "pid").read_text())
        say()
    """
    async with place.used(body, policy__mode="off") as other:
        await other.says()
        await other.kill()
        await gone(int((place.home / "pid").read_text()))
    runtime = await place.open()
    try:
        result = await runtime.result(ID)
        assert (result.state, result.exit_code) == (State.LOST, None)
    finally:
        await runtime.close()


async def test_whose_a_terminal_is_and_what_is_wrong_with_it_is_remembered(place: Place) -> None:
    body = """
        t = await rt.open_terminal(cwd=home, session="s")
        await rt.run("cd /tmp; alias ls=echo", session="s", cwd=home)
        rt.rename(t.id, "renamed")
        rt.pause(t.id, "ann")
        rt.gate.taints.add(t.id, "an alias")
        t.keep()
        say(terminal=t.id)
    """
    async with place.used(body, policy__mode="off") as other:
        told = await other.says()
        await other.kill()
    runtime = await place.open()
    try:
        terminal = runtime.terminal(told["terminal"])
        assert runtime.info(terminal.id).name == "renamed"
        assert runtime.gate.taints.of(terminal.id) == "an alias"
        assert runtime.session_cwd("s") is not None
        with pytest.raises(TerminalPaused, match="ann"):
            await terminal.run("true")
        runtime.unpause(terminal.id)
        assert (await terminal.run("true")).exit_code == 0
    finally:
        await runtime.close()


async def test_a_time_limit_holds_after_a_restart(place: Place) -> None:
    body = f"""
        t = await rt.open_terminal(cwd=home)
        await t.start("sleep 1000", kill_after_s=1.5, command_id="{ID}")
        await until(lambda: t.current.has_begun)
        say()
    """
    async with place.used(body) as other:
        await other.says()
        await other.kill()
    runtime = await place.open()
    try:
        result = await runtime.result(ID, PATIENCE_S)
        assert result.state is State.KILLED
        assert "longer than 1.5 s" in " ".join(result.warnings)
    finally:
        await runtime.close()


async def test_a_kill_that_was_under_way_is_finished_by_the_next_process_and_called_a_kill(place: Place) -> None:
    body = f"""
        t = await rt.open_terminal(cwd=home)
        command = await t.start("trap '' INT TERM HUP; echo deaf; while :; do sleep 1; done", command_id="{ID}")
        await command.wait_for("deaf")
        killing = asyncio.create_task(command.kill())
        await until(lambda: command.stopping)
        die()
    """
    async with place.used(body) as other:
        await other.gone()
    runtime = await place.open()
    try:
        result = await runtime.result(ID, PATIENCE_S)
        assert result.state is State.KILLED
    finally:
        await runtime.close()


async def test_output_that_nobody_could_hold_is_counted_and_the_terminal_goes_on(place: Place) -> None:
    place.options = {"grace_s": 0.05, "adopt_s": 60.0, "idle_s": 30.0}
    body = f"""
        t = await rt.open_terminal(cwd=home)
        await t.start("cat {place.home}/gate; seq 400000; touch done; (exit 3)", command_id="{ID}")
        await until(lambda: t.current.has_begun)
        say()
    """
    gate = Gate(place.home / "gate")
    async with place.used(body) as other:
        await other.says()
        await other.kill()
        gate.let()
        await so((place.home / "done").exists)
    runtime = await place.open()
    try:
        result = await runtime.result(ID, PATIENCE_S)
        assert "bytes of its output were lost while no server ran" in " ".join(result.warnings)
        assert result.exit_code in (3, None)
        (terminal,) = runtime.terminals()
        assert (await terminal.run("echo on")).text == "on\n"
    finally:
        await runtime.close()


async def test_leaving_and_coming_back_changes_nothing(place: Place) -> None:
    first = await place.open()
    terminal = await first.open_terminal(cwd=place.home, session="s")
    gate = Gate(place.home / "gate")
    command = await terminal.start(f"seq 200000; cat {place.home}/gate")
    await so(lambda: "200000" in terminal.screen.text().splitlines())
    before = (terminal.screen.history_text(), terminal.log.end)
    await first.leave()
    second = await place.open()
    try:
        same = second.terminal(terminal.id)
        assert (same.screen.history_text(), same.log.end) == before
        gate.let()
        result = await second.result(command.id, PATIENCE_S)
        assert (result.exit_code, result.total_bytes) == (0, sum(len(str(n)) + 2 for n in range(1, 200_001)))
    finally:
        await second.close()


async def test_a_start_that_is_given_up_leaves_everything_as_it_was(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await place.open()
    terminals = [await first.open_terminal(cwd=place.home, session="s", shell="sh") for _ in range(3)]
    for terminal in terminals:
        await terminal.run(f"kept={terminal.id}")
    await first.leave()

    is_taking_over = asyncio.Event()

    async def never(host: HostClient, terminal: str, sink: Sink, *, since: int) -> None:
        is_taking_over.set()
        await asyncio.Event().wait()

    with monkeypatch.context() as patch:
        patch.setattr(HostClient, "take_over", never)
        starting = asyncio.create_task(place.open())
        await is_taking_over.wait()
        starting.cancel()
        await asyncio.wait([starting])
        assert starting.cancelled()
    for turns in range(0, 200, 10):
        starting = asyncio.create_task(_opened_when_free(place))
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.wait([starting])
        if not starting.cancelled():
            await starting.result().leave()  # it was faster

    last = await _opened_when_free(place)
    try:
        for terminal in terminals:
            assert (await last.run_in(terminal.id, "echo $kept")).text == f"{terminal.id}\n"
    finally:
        await last.close()


async def test_a_terminal_is_there_for_others_once_it_was_taken_over(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that comes back is asked for its terminals while others are served; its answers take time."""
    first = await place.open()
    terminal = await first.open_terminal(cwd=place.home, session="s", shell="sh")
    await first.leave()
    starting, may_go_on = asyncio.Event(), asyncio.Event()
    runtimes: list[Runtime] = []
    adopt, take_over = Runtime.adopt, HostClient.take_over

    async def noted(runtime: Runtime) -> int:
        runtimes.append(runtime)
        return await adopt(runtime)

    async def slowly(host: HostClient, name: TerminalId, sink: Sink, *, since: int) -> ClientPty:
        starting.set()
        await may_go_on.wait()
        return await take_over(host, name, sink, since=since)

    monkeypatch.setattr(Runtime, "adopt", noted)
    monkeypatch.setattr(HostClient, "take_over", slowly)
    opening = asyncio.create_task(place.open())
    await starting.wait()
    [second] = runtimes
    try:
        assert second.terminals() == []
        other = await second.open_terminal(cwd=place.home, shell="sh")
        assert (await second.run_in(other.id, "echo mine")).text == "mine\n"
        second.release("s")
        may_go_on.set()
        await opening
        assert {each.id for each in second.terminals()} == {terminal.id, other.id}
        assert (second.info(terminal.id).session, second.info(terminal.id).number) == (None, 1)
        assert second.info(other.id).number == 2
    finally:
        may_go_on.set()
        await second.close()


async def test_a_terminal_whose_output_is_gone_since_it_was_found_is_found_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await place.open()
    terminal = await first.open_terminal(cwd=place.home, shell="sh")
    await first.leave()
    take_over = HostClient.take_over
    asked: list[int] = []

    async def late(host: HostClient, name: TerminalId, sink: Sink, *, since: int) -> ClientPty:
        asked.append(since)
        return await take_over(host, name, sink, since=since if len(asked) > 1 else 2**40)

    monkeypatch.setattr(HostClient, "take_over", late)
    second = await place.open()
    try:
        assert [each.id for each in second.terminals()] == [terminal.id]
        assert len(asked) == 2
        assert (await second.run_in(terminal.id, "echo fine")).text == "fine\n"
    finally:
        await second.close()


async def _opened_when_free(place: Place) -> Runtime:
    """Whoever gave up does not wait until the host knows."""
    while True:
        try:
            return await place.open()
        except HostBusy:
            await asyncio.sleep(0)


async def test_a_host_that_dies_takes_its_terminals_along_and_nothing_lingers(place: Place) -> None:
    runtime = await place.open(policy__mode="off")
    listener = Listener(runtime)
    try:
        terminal = await runtime.open_terminal(cwd=place.home)
        running = asyncio.ensure_future(
            runtime.run_in(
                terminal.id, "nohup setsid sh -c 'echo $$ > pid; exec sleep 1000' & sleep 1000", command_id=ID
            )
        )
        await so(lambda: (place.home / "pid").exists() and bool((place.home / "pid").read_text()))
        os.kill(_host_pid(runtime), 9)
        result = await running
        assert (result.state, result.exit_code) == (State.LOST, None)
        assert "host" in " ".join(result.warnings)
        await listener.until(lambda: not terminal.is_open)
        await gone(int((place.home / "pid").read_text()))
        assert runtime.terminals() == []
    finally:
        await runtime.close()


def _host_pid(runtime: Runtime) -> int:
    pid: int = runtime._host.pid  # type: ignore[attr-defined]
    return pid


async def test_a_terminal_that_is_being_closed_is_not_gone_on_with_and_stops_nobody(place: Place) -> None:
    # It hears that it is to end, and does not: it takes a moment until it is killed.
    (place.home / "stay.sh").write_text("trap 'echo >told' HUP; echo ready; while :; do sleep 0.01; done\n")
    body = """
        other = await rt.open_terminal(cwd=home)
        t = await rt.open_terminal(cwd=home)
        await t.start("exec sh stay.sh")
        await until(lambda: "ready" in t.current.result().text)
        say(other=other.id, pid=t.pty.pid)
        closing = asyncio.ensure_future(rt.close_terminal(t.id))
        await until((home / "told").exists)
        die()
    """
    async with place.used(body) as other:
        told = await other.says()
        await other.gone()
    runtime = await place.open()
    try:
        assert [each.id for each in runtime.terminals()] == [told["other"]]
        await gone(told["pid"])
    finally:
        await runtime.close()
