"""The one door: runs in terminals and pipes, refusals that change nothing, and ends that leave nothing."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hermitty
from hermitty import errors, events
from hermitty.config import ReuseSettings, RunSettings, Settings, TerminalSettings
from hermitty.model import Quality, State
from hermitty.runtime.api import Answer, Runtime
from tests.conftest import open_descriptors as all_descriptors
from tests.support.kernel import gone, is_alive, so
from tests.support.shells import PATIENCE_S

PROVIDERS = ["pty", "pipe"]
NAN = float("nan")


def settings_in(home: Path) -> Settings:
    """Settings whose shells read nothing from the home of whoever runs the tests."""
    return Settings(
        terminal=TerminalSettings(
            shell="bash", env={"HOME": str(home), "XDG_CONFIG_HOME": str(home)}, shell_integration_timeout_s=PATIENCE_S
        ),
        run=RunSettings(wait_s=PATIENCE_S),
        reuse=ReuseSettings(spares=0),  # what is open is what the test opened
    )


@pytest.fixture
async def rt(tmp_path: Path) -> AsyncIterator[Runtime]:
    """A runtime whose shells start in an empty home."""
    home = tmp_path / "home"
    home.mkdir()
    async with hermitty.open(settings_in(home)) as runtime:
        yield runtime


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    return work


async def pid_from(path: Path) -> int:
    """The process id that a command writes into a file."""
    await so(lambda: text_of(path).endswith("\n"))
    return int(text_of(path))


def text_of(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def open_descriptors() -> list[str]:
    """What terminals and processes hold open; the runtime's own files come when they are needed."""
    kinds = ("/dev/pt", "pipe:", "anon_inode:[pidfd]")
    return sorted(target for target in all_descriptors().values() if target.startswith(kinds))


# Running.


async def test_a_result_is_complete(rt: Runtime, work: Path) -> None:
    result = await rt.run("printf 'a\\nb\\n'; sh -c 'exit 7'", cwd=work, session="fix-42")

    assert replace(result, duration_s=0) == hermitty.CommandResult(
        id=result.id,
        command="printf 'a\\nb\\n'; sh -c 'exit 7'",
        terminal=result.terminal,
        provider="pty",
        shell="bash",
        state=State.DONE,
        exit_code=7,
        signal=None,
        quality=Quality.RICH,
        text="a\nb\n",
        total_bytes=6,
        cwd=str(work),
        duration_s=0,
        session="fix-42",
    )


async def test_a_terminal_is_used_again_by_its_session_in_its_directory(rt: Runtime, work: Path) -> None:
    first = await rt.run("true", cwd=work, session="a")

    same = await rt.run("true", cwd=work, session="a")
    other_session = await rt.run("true", cwd=work, session="b")
    no_session = await rt.run("true", cwd=work)
    with_environment = await rt.run("echo $A", cwd=work, session="a", env={"A": "1"})

    assert same.terminal == first.terminal
    others = [other_session, no_session, with_environment]
    assert len({first.terminal, *(result.terminal for result in others)}) == 4
    assert with_environment.text == "1\n"


async def test_a_session_keeps_its_shells_variables(rt: Runtime, work: Path) -> None:
    await rt.run("x=kept", cwd=work, session="a")

    assert (await rt.run("echo $x", cwd=work, session="a")).text == "kept\n"
    assert (await rt.run("echo $x", cwd=work, session="b")).text == "\n"


async def test_a_relative_directory_is_found_from_here(
    rt: Runtime, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "sub").mkdir()
    monkeypatch.chdir(work)

    assert (await rt.run("pwd", cwd="sub")).text == f"{work}/sub\n"
    assert (await rt.run("pwd")).text == f"{work}\n"


async def test_pipes_have_streams_of_their_own(rt: Runtime, work: Path) -> None:
    result = await rt.run("echo out; echo err >&2; exit 3", cwd=work, provider="pipe", env={"A": "b"})

    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 3)
    assert (result.provider, result.terminal, result.shell, result.cwd) == ("pipe", None, "bash", str(work))
    assert rt.terminals() == []


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_words_reach_the_program_exactly(rt: Runtime, work: Path, provider: Any) -> None:
    words = ["a b", "$HOME", "", "it's", "*", ";", "é\n", "-n"]
    script = "import sys; print(sys.argv[1:])"

    result = await rt.run([sys.executable, "-I", "-S", "-c", script, *words], cwd=work, provider=provider)

    assert (result.text, result.exit_code, result.shell) == (f"{words}\n", 0, None)
    assert (await rt.run(result.command, cwd=work)).text == f"{words}\n"


@pytest.mark.parametrize(
    ("line", "code", "name"),
    [
        ("kill -TERM $$", 143, "SIGTERM"),
        ("kill -KILL $$", 137, "SIGKILL"),
        ("exit 128", 128, None),
        ("exit 227", 227, None),
    ],
)
async def test_signals_have_names_where_there_are_any(
    rt: Runtime, work: Path, line: str, code: int, name: str | None
) -> None:
    in_terminal = await rt.run(f"sh -c '{line}'", cwd=work)
    assert (in_terminal.exit_code, in_terminal.signal) == (code, name)

    piped = await rt.run(line, cwd=work, provider="pipe")
    assert (piped.exit_code, piped.signal) == (code, name)


async def test_a_wait_that_ends_leaves_the_command_going(rt: Runtime, work: Path) -> None:
    os.mkfifo(work / "fifo")

    result = await rt.run("echo begun; cat fifo; exit 5 | false", cwd=work, wait_s=0.3)
    assert (result.state, result.exit_code, result.text) == (State.RUNNING, None, "begun\n")

    [terminal] = rt.terminals()
    command = terminal.current
    assert command is not None
    with pytest.raises(errors.TerminalBusy, match="busy with `echo begun"):
        await terminal.run("true")
    (work / "fifo").write_text("rest\n")
    final = await command.wait(PATIENCE_S)
    assert (final.id, final.state, final.exit_code, final.text) == (result.id, State.DONE, 1, "begun\nrest\n")


async def test_a_busy_terminal_is_not_given_to_the_next_run(rt: Runtime, work: Path) -> None:
    busy = await rt.run("sleep 1000", cwd=work, wait_s=0.05)
    second = await rt.run("echo free", cwd=work)

    assert (busy.state, second.text) == (State.RUNNING, "free\n")
    assert second.terminal != busy.terminal


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_kill_limit_kills_the_tree_and_says_so(rt: Runtime, work: Path, provider: Any) -> None:
    line = 'sh -c \'trap "" INT TERM; sh -c "echo \\$\\$ >pid; exec sleep 1000"; :\''

    result = await rt.run(line, cwd=work, provider=provider, kill_after_s=1.0)

    assert result.state is State.KILLED
    assert result.exit_code != 0
    assert result.warnings[0] == "killed: it ran longer than 1 s"
    assert not is_alive(await pid_from(work / "pid"))


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_kill_limit_holds_for_what_went_on_in_the_background(rt: Runtime, work: Path, provider: Any) -> None:
    result = await rt.run("echo $$ >pid; exec sleep 1000", cwd=work, provider=provider, wait_s=0, kill_after_s=0.5)
    assert result.state is State.RUNNING

    await gone(await pid_from(work / "pid"))


async def test_questions_are_answered_once_each_in_any_order(rt: Runtime, work: Path) -> None:
    line = "printf 'Continue? '; read a; printf 'Name? '; read b; echo \"<$a|$b>\"; sh -c 'exit 4'"
    answers = [Answer(r"Name\?", "Ann"), Answer(r"Continue\?", "y")]

    result = await rt.run(line, cwd=work, answers=answers)

    assert result.exit_code == 4
    assert result.text.endswith("<y|Ann>\n")


async def test_twenty_runs_at_once_stay_apart(rt: Runtime, work: Path) -> None:
    results = await asyncio.gather(
        *(
            rt.run(f"echo {number}; sh -c 'exit {number}'", cwd=work, provider="pipe" if number % 4 == 0 else "pty")
            for number in range(20)
        )
    )

    assert [(result.text, result.exit_code) for result in results] == [(f"{n}\n", n) for n in range(20)]
    terminals = [result.terminal for result in results if result.provider == "pty"]
    assert len(set(terminals)) == len(terminals) == len(rt.terminals()) == 15


async def test_runs_on_idle_terminals_at_once_never_share_one(rt: Runtime, work: Path) -> None:
    await asyncio.gather(*(rt.run("true", cwd=work) for _ in range(3)))

    results = await asyncio.gather(*(rt.run(f"echo {number}", cwd=work) for number in range(6)))

    assert [result.text for result in results] == [f"{number}\n" for number in range(6)]
    assert len({result.terminal for result in results}) == 6


# Requests that cannot be carried out: a typed error, and nothing changed.

BAD_RUNS: dict[str, tuple[dict[str, Any], type[errors.HermittyError], str]] = {
    "no directory": ({"cwd": "/no/such/place"}, errors.InvalidDirectory, "'/no/such/place' does not exist"),
    "a file": ({"cwd": __file__}, errors.InvalidDirectory, "is not a directory"),
    "NUL in the directory": ({"cwd": "/tmp/\0"}, errors.InvalidDirectory, "does not exist"),
    "empty": ({"command": ""}, errors.InvalidCommand, "empty"),
    "blank": ({"command": " \n\t"}, errors.InvalidCommand, "empty"),
    "NUL": ({"command": "echo a\0b"}, errors.InvalidCommand, "NUL"),
    "no words": ({"command": []}, errors.InvalidCommand, "empty"),
    "an empty program": ({"command": ["", "a"]}, errors.InvalidCommand, "empty"),
    "NUL in a word": ({"command": ["echo", "a\0"]}, errors.InvalidCommand, "NUL"),
    "words that are none": ({"command": ["echo", 1]}, errors.InvalidCommand, "text"),
    "no such program": ({"command": ["no-such-program"]}, errors.InvalidCommand, "'no-such-program' was not found"),
    "unknown shell": ({"shell": "tcsh"}, errors.UnknownShell, "'tcsh' was not found or is not known; found here: bash"),
    "missing shell": ({"shell": "/no/bash"}, errors.UnknownShell, "'/no/bash' was not found"),
    "unknown provider": ({"provider": "ssh"}, errors.InvalidRequest, "'ssh' is not known; use pty or pipe"),
    "negative wait": ({"wait_s": -1}, errors.InvalidTime, "wait_s must be a number of seconds, zero or more, not -1"),
    "wait that is no number": ({"wait_s": NAN}, errors.InvalidTime, "wait_s"),
    "endless wait": ({"wait_s": float("inf")}, errors.InvalidTime, "wait_s"),
    "true is no time": ({"wait_s": True}, errors.InvalidTime, "wait_s"),
    "negative limit": ({"kill_after_s": -0.1}, errors.InvalidTime, "kill_after_s"),
    "limit that is no number": ({"kill_after_s": NAN}, errors.InvalidTime, "kill_after_s"),
    "a variable without a name": ({"env": {"": "x"}}, errors.InvalidRequest, "variable ''"),
    "= in a variable's name": ({"env": {"A=B": "x"}}, errors.InvalidRequest, "variable 'A=B'"),
    "NUL in a variable's name": ({"env": {"A\0": "x"}}, errors.InvalidRequest, "variable"),
    "NUL in a variable": ({"env": {"A": "x\0"}}, errors.InvalidRequest, "variable 'A'"),
    "a prompt that does not compile": ({"answers": [Answer("(", "x")]}, errors.InvalidPattern, r"'\(' is not"),
}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("case", BAD_RUNS)
async def test_a_bad_run_is_refused_and_changes_nothing(rt: Runtime, work: Path, provider: str, case: str) -> None:
    changes, kind, message = BAD_RUNS[case]
    seen: list[events.Event] = []
    rt.subscribe(seen.append)
    before = open_descriptors()

    with pytest.raises(kind, match=message) as caught:
        await rt.run(**{"command": "touch ran", "cwd": work, "provider": provider, **changes})

    assert type(caught.value) is kind
    assert isinstance(caught.value, ValueError)
    assert (rt.terminals(), seen, os.listdir(work), open_descriptors()) == ([], [], [], before)
    assert (await rt.run("echo fine", cwd=work)).text == "fine\n"


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        *(({"cols": cols, "rows": rows}, errors.InvalidSize) for cols, rows in [(0, 0), (80, 0), (-1, 24), (4097, 24)]),
        ({"cwd": "/no/such/place"}, errors.InvalidDirectory),
        ({"shell": "tcsh"}, errors.UnknownShell),
        ({"env": {"A=": "x"}}, errors.InvalidRequest),
    ],
)
async def test_a_bad_terminal_is_refused_and_changes_nothing(
    rt: Runtime, changes: dict[str, Any], kind: type[errors.HermittyError]
) -> None:
    before = open_descriptors()

    with pytest.raises(kind) as caught:
        await rt.open_terminal(**changes)

    assert type(caught.value) is kind
    assert (rt.terminals(), open_descriptors()) == ([], before)


async def test_errors_carry_what_helps(rt: Runtime) -> None:
    with pytest.raises(errors.UnknownShell) as shell:
        await rt.run("true", shell="tcsh")
    with pytest.raises(errors.TerminalNotFound) as terminal:
        rt.terminal("t_99")

    assert (shell.value.code, shell.value.name) == ("unknown_shell", "tcsh")
    assert {"bash", "sh"} <= set(shell.value.found)
    assert (terminal.value.code, terminal.value.terminal_id) == ("terminal_not_found", "t_99")


async def test_a_bad_resize_keeps_the_size(rt: Runtime, work: Path) -> None:
    terminal = await rt.open_terminal(cwd=work, cols=90, rows=20)

    for cols, rows in [(0, 0), (80, -1), (99_999, 20)]:
        with pytest.raises(errors.InvalidSize):
            terminal.resize(cols, rows)

    assert (await terminal.run("stty size")).text == "20 90\n"


# Terminals.


async def test_terminals_are_listed_found_and_closed(rt: Runtime, work: Path) -> None:
    one = await rt.open_terminal(cwd=work)
    two = await rt.open_terminal(cwd=work, session="a", shell="sh", env={"A": "of mine"})

    assert rt.terminals() == [one, two]
    assert rt.terminal(two.id) is two
    assert (await two.run("echo $A")).text == "of mine\n"

    await rt.close_terminal(one.id)
    assert rt.terminals() == [two]
    with pytest.raises(errors.TerminalNotFound, match=f"no terminal '{one.id}'; there are: {two.id}"):
        await rt.close_terminal(one.id)
    assert (await rt.open_terminal(cwd=work)).id not in (one.id, two.id)


async def test_a_closed_terminal_refuses_everything_by_name(rt: Runtime, work: Path) -> None:
    terminal = await rt.open_terminal(cwd=work)
    await terminal.close()

    refused: list[Callable[[], Any]] = [
        lambda: terminal.write("x"),
        lambda: terminal.resize(80, 24),
    ]
    for attempt in refused:
        with pytest.raises(errors.TerminalClosed, match=f"terminal {terminal.id} is closed: it was closed"):
            attempt()
    waits: list[Callable[[], Coroutine[Any, Any, Any]]] = [
        lambda: terminal.run("true"),
        lambda: terminal.start("true"),
        terminal.environment,
        terminal.close,
    ]
    for attempt_later in waits:
        with pytest.raises(errors.TerminalClosed, match=f"terminal {terminal.id} is closed: it was closed"):
            await attempt_later()
    assert rt.terminals() == []


async def test_a_terminal_whose_shell_left_is_not_used_again(rt: Runtime, work: Path) -> None:
    first = await rt.run("exit 3", cwd=work)
    second = await rt.run("echo new", cwd=work)

    assert (first.exit_code, second.text) == (3, "new\n")
    assert [terminal.id for terminal in rt.terminals()] == [second.terminal]


# Cancelling.


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_cancelling_a_run_leaves_no_process_and_no_busy_terminal(rt: Runtime, work: Path, provider: Any) -> None:
    await rt.run("true", cwd=work)
    before = open_descriptors()
    line = "sh -c 'trap \"\" INT TERM HUP; echo $$ >pid; while :; do sleep 1; done'"
    running = asyncio.create_task(rt.run(line, cwd=work, provider=provider))
    pid = await pid_from(work / "pid")

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    await gone(pid)
    await so(lambda: not any(terminal.is_busy for terminal in rt.terminals()) and open_descriptors() == before)
    assert (await rt.run("echo free", cwd=work)).text == "free\n"
    assert len(rt.terminals()) == 1


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 13, 50])
async def test_cancelling_at_any_moment_leaves_nothing(tmp_path: Path, turns: int) -> None:
    before = open_descriptors()
    async with hermitty.open(settings_in(tmp_path)) as rt:
        running = [
            asyncio.create_task(rt.run("sleep 1000", cwd=tmp_path, provider=provider))  # type: ignore[arg-type]
            for provider in PROVIDERS
        ]
        for _ in range(turns):
            await asyncio.sleep(0)
        for task in running:
            task.cancel()
        assert {type(result) for result in await asyncio.gather(*running, return_exceptions=True)} == {
            asyncio.CancelledError
        }
    # The guard of every test looks for processes and tasks.
    assert open_descriptors() == before


# Closing.


async def test_closing_ends_everything_that_runs(tmp_path: Path) -> None:
    before = open_descriptors()
    rt = hermitty.open(settings_in(tmp_path))
    for name, provider in (("one", "pty"), ("two", "pipe")):
        line = f"sh -c 'trap \"\" INT TERM HUP; echo $$ >{name}; while :; do sleep 1; done'"
        await rt.run(line, cwd=tmp_path, provider=provider, wait_s=0)  # type: ignore[arg-type]
    pids = [await pid_from(tmp_path / name) for name in ("one", "two")]

    await rt.close()

    assert not any(map(is_alive, pids))
    assert open_descriptors() == before


async def test_closing_releases_whoever_waits(tmp_path: Path) -> None:
    async with hermitty.open(settings_in(tmp_path)) as rt:
        runs = [
            asyncio.create_task(rt.run(f"echo $$ >{provider}; exec sleep 1000", cwd=tmp_path, provider=provider))  # type: ignore[arg-type]
            for provider in PROVIDERS
        ]
        for provider in PROVIDERS:
            await pid_from(tmp_path / provider)
        await rt.close()

        async with asyncio.timeout(PATIENCE_S):
            results = await asyncio.gather(*runs)

    assert [result.state for result in results] == [State.KILLED, State.KILLED]
    assert results[0].exit_code is None
    assert results[1].signal == "SIGKILL"


async def test_closing_while_a_terminal_opens_leaves_nothing(tmp_path: Path) -> None:
    before = open_descriptors()
    rt = hermitty.open(settings_in(tmp_path))
    (tmp_path / ".bashrc").write_text("echo $$ >~/pid; sleep 1000\n")
    opening = asyncio.create_task(rt.open_terminal(cwd=tmp_path))
    pid = await pid_from(tmp_path / "pid")

    await rt.close()

    with pytest.raises((errors.TerminalClosed, errors.InvalidRequest), match="closed"):
        await opening
    assert not is_alive(pid)
    assert open_descriptors() == before


async def test_a_close_that_nobody_waits_for_goes_on(tmp_path: Path) -> None:
    async with hermitty.open(settings_in(tmp_path)) as rt:
        terminal = await rt.open_terminal(cwd=tmp_path, shell="bash")
        result = await terminal.run("trap '' HUP; echo $$")
        closing = asyncio.create_task(rt.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait([closing])

        assert closing.cancelled()
        await gone(int(result.text))


async def test_a_closed_runtime_refuses_everything(tmp_path: Path) -> None:
    async with hermitty.open(settings_in(tmp_path)) as rt:
        await rt.run("true", cwd=tmp_path)
        await rt.close()

        with pytest.raises(errors.InvalidRequest, match="closed already"):
            await rt.close()
        for work in (rt.run("true"), rt.run(["true"]), rt.open_terminal()):
            with pytest.raises(errors.InvalidRequest, match="the runtime is closed; open another one"):
                await work
        assert rt.terminals() == []


# Events.


async def test_subscribers_hear_everything_in_order_until_they_stop(rt: Runtime, work: Path) -> None:
    seen: list[events.Event] = []
    stop = rt.subscribe(seen.append)
    result = await rt.run("cd /; false", cwd=work)
    terminal = result.terminal
    assert terminal is not None
    await rt.close_terminal(terminal)
    stop()
    stop()
    await rt.run("true", cwd=work)

    assert seen == [
        events.TerminalOpened(terminal, "bash", str(work), Quality.RICH),
        events.CommandStarted(terminal, result.id, "cd /; false", "agent"),
        events.CwdChanged(terminal, "/"),
        events.CommandFinished(terminal, result.id, "cd /; false", "agent", 1),
        events.TerminalEnded(terminal, "it was closed"),
    ]


async def test_a_stream_of_events_can_be_followed_and_left(rt: Runtime, work: Path) -> None:
    async def first_end() -> events.CommandFinished:
        async for event in rt.events():
            if isinstance(event, events.CommandFinished):
                return event
        raise AssertionError("the stream ended")

    following = asyncio.create_task(first_end())
    await asyncio.sleep(0)
    result = await rt.run("sh -c 'exit 9'", cwd=work)

    async with asyncio.timeout(PATIENCE_S):
        assert (await following).command_id == result.id


# The environment of this process.


@pytest.mark.parametrize("value", [None, "", "/no/such/shell", "/bin/tcsh", "nonsense"])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_without_a_usable_SHELL_there_is_still_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None, provider: Any
) -> None:
    if value is None:
        monkeypatch.delenv("SHELL", raising=False)
    else:
        monkeypatch.setenv("SHELL", value)
    settings = settings_in(tmp_path)
    async with hermitty.open(replace(settings, terminal=replace(settings.terminal, shell=None))) as rt:
        result = await rt.run("echo fine", cwd=tmp_path, provider=provider)

    assert (result.text, result.shell) == ("fine\n", "bash")


async def test_no_shell_at_all_is_an_error_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("SHELL", raising=False)
    async with hermitty.open(Settings()) as rt:
        with pytest.raises(errors.UnknownShell, match="found here: none"):
            await rt.run("true", cwd=tmp_path)


async def test_a_closed_terminal_refuses_keys_by_name(rt: Runtime, work: Path) -> None:
    terminal = await rt.open_terminal(cwd=work)
    await terminal.close()

    with pytest.raises(errors.TerminalClosed, match=f"terminal {terminal.id} is closed: it was closed"):
        terminal.send_key("enter")


async def test_a_program_is_found_from_the_directory_of_the_command(rt: Runtime, work: Path) -> None:
    script = work / "script"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o700)

    assert (await rt.run(["./script"], cwd=work)).text == "ran\n"


async def test_an_exempt_command_in_pipes_is_not_killed_by_time(tmp_path: Path) -> None:
    settings = replace(settings_in(tmp_path), run=RunSettings(kill_after_s=0.1, kill_exempt=("sleep",)))
    async with hermitty.open(settings) as rt:
        result = await rt.run("sleep 0.4", cwd=tmp_path, provider="pipe")

    assert (result.state, result.exit_code) == (State.DONE, 0)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    "changes",
    [{"env": {"A": 1}}, {"env": {"A": "\ud800"}}, {"command": "echo \ud800"}, {"command": None}, {"wait_s": "5"}],
    ids=str,
)
async def test_what_is_no_text_or_number_is_refused(
    rt: Runtime, work: Path, provider: str, changes: dict[str, Any]
) -> None:
    with pytest.raises(errors.InvalidRequest):
        await rt.run(**{"command": "true", "cwd": work, "provider": provider, **changes})


@pytest.mark.parametrize("cwd", [None, "sub"])
async def test_a_directory_of_ours_that_is_gone_is_named(
    rt: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cwd: str | None
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    with pytest.raises(errors.InvalidDirectory):
        await rt.run("pwd", cwd=cwd)
