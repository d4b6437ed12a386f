"""The tools that models call: their schemas, what they refuse, and what each one leaves behind."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from hermitty import errors
from hermitty.events import CommandStarted, Event, TerminalEnded, TerminalOpened
from hermitty.model import State
from hermitty.runtime.api import Answer, Runtime
from hermitty.runtime.tools import TOOLS, ToolResult
from tests.support.kernel import gone, is_alive
from tests.support.runtimes import Dial, Gate, Listener, over
from tests.support.shells import PATIENCE_S

COMMANDS = ["run_command", "run_persistent_command"]


async def call(rt: Runtime, name: str, session: str | None = None, **arguments: Any) -> ToolResult:
    async with asyncio.timeout(PATIENCE_S):
        return await TOOLS[name].call(rt, arguments, session=session)


async def opened(rt: Runtime, work: Path, session: str | None = None) -> str:
    result = await call(rt, "open_persistent_terminal", session, cwd=str(work))
    return str(result.data["persistent_terminal_id"])


# What a model is told, and what it may say.


def test_the_tools_are_those_of_the_specification() -> None:
    assert {tool.name: [(each.name, each.required) for each in tool.parameters] for tool in TOOLS.values()} == {
        "run_command": [("command", True), ("cwd", False)],
        "open_persistent_terminal": [("cwd", False)],
        "run_persistent_command": [("command", True), ("persistent_terminal_id", True)],
        "kill_persistent_terminal": [("persistent_terminal_id", True)],
    }
    assert {tool.approval for tool in TOOLS.values()} == {"terminal"}
    assert list(TOOLS) == [tool.name for tool in TOOLS.values()]


@pytest.mark.parametrize("name", TOOLS)
def test_a_schema_is_json_schema(name: str) -> None:
    tool = TOOLS[name]
    schema = tool.schema()
    assert set(schema) == {"type", "properties", "required", "additionalProperties"}
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert set(schema["required"]) <= set(schema["properties"])
    for each in schema["properties"].values():
        assert each["type"] in ("string", "number", "boolean")
        assert each["description"].endswith(".")
    assert len(tool.description) > 40
    assert re.fullmatch(r"[a-z_]{1,64}", tool.name)


@pytest.mark.parametrize("name", TOOLS)
async def test_arguments_that_do_not_fit_are_named(rt: Runtime, name: str, heard: Listener) -> None:
    right: dict[str, Any] = {each.name: "x" for each in TOOLS[name].parameters}
    wrong: list[tuple[Any, str]] = [
        ({**right, "comand": "x"}, f"tool {name} has no argument 'comand'; it takes {', '.join(right)}"),
        ([], f"the arguments of tool {name} must be an object"),
        (None, f"the arguments of tool {name} must be an object"),
    ]
    for parameter in TOOLS[name].parameters:
        values: list[Any] = [1, True, ["x"], {}]
        message = f"'{parameter.name}' of tool {name} must be a string"
        wrong += [({**right, parameter.name: value}, message) for value in values]
        if parameter.required:
            without = {key: value for key, value in right.items() if key != parameter.name}
            wrong.append((without, f"tool {name} needs the argument '{parameter.name}': "))
            wrong.append(({**right, parameter.name: None}, f"'{parameter.name}' of tool {name} must be a string"))
    for arguments, message in wrong:
        with pytest.raises(errors.InvalidRequest, match=re.escape(message)):
            await TOOLS[name].call(rt, arguments)
    assert heard.events == []


async def test_an_optional_argument_may_be_null(rt: Runtime, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(work)
    assert (await call(rt, "run_command", command="pwd", cwd=None)).data["result"] == f"{work}\n"
    assert (await call(rt, "open_persistent_terminal", cwd=None)).data["cwd"] == str(work)


@pytest.mark.parametrize("name", COMMANDS)
async def test_a_command_that_is_none_is_refused(rt: Runtime, work: Path, name: str) -> None:
    more = {"persistent_terminal_id": await opened(rt, work)} if name == "run_persistent_command" else {}
    before = rt.terminals()
    for command in ("", " \n", "a\0b"):
        with pytest.raises(errors.InvalidCommand):
            await call(rt, name, command=command, **more)
    with pytest.raises(errors.IncompleteCommand):
        await call(rt, name, command="echo 'open", **more)
    assert rt.terminals() == before


# Persistent terminals.


async def test_a_persistent_terminal_keeps_its_state_until_it_is_killed(rt: Runtime, work: Path) -> None:
    terminal = await opened(rt, work, "A")
    other = await opened(rt, work / "src", "A")

    first = await call(rt, "run_persistent_command", command="export A=1; cd docs", persistent_terminal_id=terminal)
    second = await call(
        rt, "run_persistent_command", "A", command="echo $A; pwd; false", persistent_terminal_id=terminal
    )

    assert (first.text, first.data["cwd"]) == ("[exit code 0]", f"{work}/docs")
    assert second.text == f"1\n{work}/docs\n[exit code 1]"
    assert second.data == {
        "result": f"1\n{work}/docs\n",
        "resolve_reason": {"type": "done", "exit_code": 1},
        "terminal": terminal,
        "cwd": f"{work}/docs",
        "truncated": False,
        "artifact": None,
    }
    assert second.command is not None
    assert (second.command.session, second.command.exit_code) == ("A", 1)
    assert [each.id for each in rt.terminals(session="A")] == [terminal, other]

    killed = await call(rt, "kill_persistent_terminal", persistent_terminal_id=terminal)
    assert (killed.text, killed.data, killed.command) == (
        f"Terminal {terminal} is closed, and everything that ran in it has ended.",
        {},
        None,
    )
    assert [each.id for each in rt.terminals()] == [other]
    for name, more in (("run_persistent_command", {"command": "true"}), ("kill_persistent_terminal", {})):
        with pytest.raises(errors.TerminalNotFound, match=f"no terminal '{terminal}'; there are: {other}"):
            await call(rt, name, persistent_terminal_id=terminal, **more)


async def test_a_persistent_terminal_says_where_it_is(rt: Runtime, work: Path) -> None:
    result = await call(rt, "open_persistent_terminal", "A", cwd=str(work))

    terminal = result.data["persistent_terminal_id"]
    assert result.text == f"Terminal {terminal} is open in {work} (bash)."
    assert result.data == {"persistent_terminal_id": terminal, "cwd": str(work), "shell": "bash"}
    # It is where its session is, and nobody else is given it.
    assert (await call(rt, "open_persistent_terminal", "A")).data["cwd"] == str(work)
    assert (await rt.run("true", cwd=work, session="A")).terminal not in [each.id for each in rt.terminals()[:2]]
    with pytest.raises(errors.InvalidDirectory, match="/no/such/place"):
        await call(rt, "open_persistent_terminal", cwd="/no/such/place")


async def test_a_long_persistent_command_goes_on_in_the_background(
    rt: Runtime, work: Path, gate: Gate, dial: Dial
) -> None:
    terminal = await opened(rt, work, "A")
    dial.turn(tools__wait_persistent_s=0.3)

    result = await call(
        rt, "run_persistent_command", "A", command="echo so far; cat gate", persistent_terminal_id=terminal
    )

    assert result.text == f"so far\n[still running in terminal {terminal}]"
    assert result.data["resolve_reason"] == {"type": "timeout"}
    command = rt.last_command(terminal)
    assert command is not None
    assert command.is_running
    with pytest.raises(errors.TerminalBusy, match="busy with `echo so far; cat gate`"):
        await call(rt, "run_persistent_command", command="true", persistent_terminal_id=terminal)
    gate.let("the rest\n")
    await over(command)
    assert (command.exit_code, command.output().text) == (0, "so far\nthe rest\n")
    assert "the rest" in await rt.report("A")


async def test_killing_a_terminal_ends_what_runs_in_it(rt: Runtime, work: Path, dial: Dial) -> None:
    terminal = await opened(rt, work)
    dial.turn(tools__wait_persistent_s=0.0)
    await call(
        rt,
        "run_persistent_command",
        command="sh -c 'trap \"\" INT TERM HUP; echo $$; while :; do sleep 1; done'",
        persistent_terminal_id=terminal,
    )
    command = rt.last_command(terminal)
    assert command is not None
    assert await command.wait_for(r"\d+\n", PATIENCE_S)
    pid = int(command.output().text)

    await call(rt, "kill_persistent_terminal", persistent_terminal_id=terminal)

    assert not is_alive(pid)
    assert command.state is State.KILLED


async def test_an_interrupt_ends_the_call_promptly_with_what_was_printed(rt: Runtime, work: Path) -> None:
    terminal = await opened(rt, work)
    calling = asyncio.create_task(
        call(rt, "run_persistent_command", command="echo so far; exec sleep 1000", persistent_terminal_id=terminal)
    )
    async with asyncio.timeout(PATIENCE_S):
        while (command := rt.last_command(terminal)) is None:
            await asyncio.sleep(0)
    assert await command.wait_for("so far", PATIENCE_S)

    # What `exec` made of the shell is interrupted too; the terminal is gone with it.
    command.interrupt()
    result = await calling

    assert result.data["result"].startswith("so far\n")
    assert result.data["resolve_reason"]["type"] == "interrupted"


async def test_a_question_in_a_persistent_terminal_can_be_answered(rt: Runtime, work: Path) -> None:
    terminal = await opened(rt, work)

    result = await call(
        rt,
        "run_persistent_command",
        command="printf 'Go on? [y/N] '; read -r x; echo \"<$x>\"",
        persistent_terminal_id=terminal,
    )

    assert result.data["resolve_reason"] == {"type": "needs_input", "prompt": "Go on? [y/N] "}
    assert result.text == f"Go on? [y/N] \n[waiting for input in terminal {terminal}]"
    command = rt.last_command(terminal)
    assert command is not None
    command.write("y\r")
    await over(command)
    assert command.result().text.endswith("<y>\n")


# Temporary terminals: gone in every case.


async def test_a_temporary_command_leaves_no_terminal(rt: Runtime, work: Path, heard: Listener) -> None:
    result = await call(rt, "run_command", "A", command="x=1; echo out; sh -c 'exit 7'", cwd=str(work))
    assert result.text == "out\n[exit code 7]"
    assert result.data["resolve_reason"] == {"type": "done", "exit_code": 7}
    assert result.command is not None
    assert (result.command.session, result.command.cwd) == ("A", str(work))
    assert rt.terminals() == []
    [ended] = [event for event in heard.events if isinstance(event, TerminalEnded)]
    assert (ended.terminal, ended.reason) == (result.data["terminal"], "its command has ended")

    # Nothing is shared with the next one, except where the session is.
    again = await call(rt, "run_command", "A", command="echo [$x]; pwd")
    assert again.data["result"] == f"[]\n{work}\n"


async def test_a_temporary_command_never_uses_a_terminal_that_is_there(rt: Runtime, work: Path) -> None:
    there = (await rt.run("true", cwd=work, session="A")).terminal

    result = await call(rt, "run_command", "A", command="true", cwd=str(work))

    assert result.data["terminal"] != there
    assert [each.id for each in rt.terminals()] == [there]


async def test_a_temporary_command_that_takes_too_long_is_killed(
    rt: Runtime, work: Path, dial: Dial, heard: Listener
) -> None:
    dial.turn(tools__wait_temporary_s=0.5)
    line = "sh -c 'trap \"\" INT TERM; echo $$; while :; do sleep 1; done'"

    result = await call(rt, "run_command", command=line, cwd=str(work))

    assert not is_alive(int(result.data["result"].split()[0]))
    assert result.data["resolve_reason"]["type"] == "timeout"
    assert "\n[killed: it took too long]\n[killed: it ran longer than 0.5 s]" in result.text
    assert result.command is not None
    assert result.command.state is State.KILLED
    assert result.command.exit_code != 0
    assert rt.terminals() == []


async def test_a_temporary_command_that_asks_is_ended_and_its_question_told(rt: Runtime, work: Path) -> None:
    result = await call(rt, "run_command", command="printf 'Name? '; read -r x; echo $x", cwd=str(work))

    assert result.command is not None
    assert result.command.state is State.KILLED
    assert result.data["resolve_reason"]["type"] == "killed"
    assert result.data["result"].startswith("Name? ")
    assert "it asked for input ('Name?') and nobody could answer; use a persistent terminal" in result.text
    assert rt.terminals() == []


async def test_a_temporary_terminal_is_gone_after_an_error(rt: Runtime, work: Path) -> None:
    with pytest.raises(errors.IncompleteCommand):
        await rt.run_temporary("echo 'open", cwd=work)
    assert rt.terminals() == []
    with pytest.raises(errors.InvalidPattern):
        await rt.run_temporary("true", cwd=work, answers=[Answer("(", "x")])
    assert rt.terminals() == []


async def test_a_temporary_terminal_may_end_itself(rt: Runtime, work: Path) -> None:
    result = await call(rt, "run_command", command="echo bye; exit 5", cwd=str(work))
    assert (result.data["result"], result.data["resolve_reason"]) == ("bye\n", {"type": "done", "exit_code": 5})

    lost = await call(rt, "run_command", command="kill -9 $$", cwd=str(work))
    assert lost.data["resolve_reason"] == {"type": "lost", "exit_code": None}
    assert lost.text.startswith("[lost]\n[terminal t_")
    assert rt.terminals() == []


async def test_a_cancelled_temporary_command_leaves_nothing(rt: Runtime, work: Path, heard: Listener) -> None:
    line = "sh -c 'trap \"\" INT TERM HUP; echo $$ >pid; while :; do sleep 1; done'"
    running = asyncio.create_task(call(rt, "run_command", command=line, cwd=str(work)))
    await heard.until(lambda: any(isinstance(event, CommandStarted) for event in heard.events))
    [terminal] = rt.terminals()
    async with asyncio.timeout(PATIENCE_S):
        while not ((work / "pid").exists() and (work / "pid").read_text().endswith("\n")):
            await asyncio.sleep(0.002)  # another process tells nobody
    pid = int((work / "pid").read_text())

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert (rt.terminals(), terminal.is_open) == ([], False)
    await gone(pid)


@pytest.mark.parametrize("turns", [0, 1, 2, 5, 20, 100])
async def test_a_temporary_command_cancelled_at_any_moment_leaves_nothing(rt: Runtime, work: Path, turns: int) -> None:
    running = asyncio.create_task(call(rt, "run_command", command="sleep 1000", cwd=str(work)))
    for _ in range(turns):
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert rt.terminals() == []


@pytest.mark.parametrize("way", ["run_command", "open_persistent_terminal"])
async def test_a_terminal_that_is_ready_too_late_for_its_caller_is_closed(
    rt: Runtime, work: Path, heard: Listener, way: str
) -> None:
    arguments = {"command": "touch ran"} if way == "run_command" else {}
    running = asyncio.create_task(call(rt, way, cwd=str(work), **arguments))

    def too_late(event: Event) -> None:
        if isinstance(event, TerminalOpened):
            running.cancel()

    rt.subscribe(too_late)

    with pytest.raises(asyncio.CancelledError):
        await running

    assert rt.terminals() == []
    await heard.until(lambda: any(isinstance(event, TerminalEnded) for event in heard.events))
    assert not (work / "ran").exists()


async def test_prompts_of_a_temporary_command_are_answered(rt: Runtime, work: Path) -> None:
    line = "printf 'Continue? '; read a; printf 'Name? '; read b; echo \"<$a|$b>\"; sh -c 'exit 4'"

    result = await rt.run_temporary(line, cwd=work, answers=[Answer(r"Name\?", "Ann"), Answer(r"Continue\?", "y")])

    assert (result.state, result.exit_code, result.warnings) == (State.DONE, 4, [])
    assert result.text.endswith("<y|Ann>\n")
    assert rt.terminals() == []


async def test_a_prompt_that_never_comes_ends_by_the_limit(rt: Runtime, work: Path) -> None:
    result = await rt.run_temporary("echo begun; exec sleep 1000", cwd=work, wait_s=0.5, answers=[Answer("never", "x")])

    assert (result.state, result.text[:6]) == (State.KILLED, "begun\n")
    assert "killed: it ran longer than 0.5 s" in result.warnings
    assert rt.terminals() == []


async def test_a_shell_that_never_comes_up_costs_only_the_terminal(
    rt: Runtime, work: Path, home: Path, dial: Dial
) -> None:
    (home / ".bashrc").write_text("exec sleep 1000\n")
    dial.turn(terminal__shell_integration_timeout_s=0.2)

    result = await rt.run_temporary("echo once >>ran; echo fine", cwd=work)
    killed = await rt.run_temporary("echo begun; exec sleep 1000", cwd=work, wait_s=0.2)

    assert (result.provider, result.text, (work / "ran").read_text()) == ("pipe", "fine\n", "once\n")
    assert result.warnings == ["no sign of the shell integration within 0.2 s; run without a terminal instead"]
    assert (killed.state, killed.text) == (State.KILLED, "begun\n")
    assert killed.warnings[-1] == "killed: it ran longer than 0.2 s"
    assert rt.terminals() == []


async def test_a_long_output_names_its_artifact(rt: Runtime, work: Path) -> None:
    result = await call(rt, "run_command", command="seq 5000", cwd=str(work))

    assert result.data["truncated"] is True
    artifact = result.data["artifact"]
    assert result.text.endswith(f"5000\n[exit code 0]\n[the complete output is artifact {artifact}]")
    page = await rt.read_artifact_lines(artifact, 2500, 2)
    assert page.text.split() == ["2500", "2501"]
