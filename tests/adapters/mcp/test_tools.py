"""The tools, as a client of either era sees them."""

import asyncio
import base64
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import ImageContent

from hermitty.adapters.mcp.terminals import LONGEST_WAIT_S
from hermitty.runtime.api import Runtime
from hermitty.runtime.tools import TOOLS
from tests.adapters.mcp.conftest import Connect, call, data, failure, said
from tests.support.kernel import gone, is_alive
from tests.support.notes import Note
from tests.support.runtimes import Dial
from tests.support.shells import PATIENCE_S

OWN = [
    *("run", "start", "wait", "read", "search_output", "write", "send_keys", "screen", "list", "open", "kill", "check"),
]


async def started(client: Client, command: str, work: Path, until: str) -> dict[str, Any]:
    """Start a command, and wait until it has printed something."""
    begun = await data(client, "start", command=command, cwd=str(work))
    waited = await data(client, "wait", target=begun["id"], until="match", pattern=until)
    assert waited["reason"] == "match"
    return begun


# E1


async def test_the_list_of_tools_is_the_same_for_everybody(connect: Connect) -> None:
    async with connect() as one:
        first = (await one.list_tools()).tools
    async with connect() as other:
        second = (await other.list_tools()).tools

    assert first == second
    assert [tool.name for tool in first] == [*OWN, *TOOLS]
    assert all(tool.description and tool.output_schema and tool.annotations for tool in first)


async def test_the_tools_of_the_specification_have_its_schemas(connect: Connect) -> None:
    async with connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert {name: tools[name].input_schema for name in TOOLS} == {name: tool.schema() for name, tool in TOOLS.items()}
    assert {name: tools[name].description for name in TOOLS} == {name: t.description for name, t in TOOLS.items()}


async def test_a_schema_says_everything_in_few_words(connect: Connect) -> None:
    async with connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    run = tools["run"].input_schema
    assert run["required"] == ["command"]
    assert run["additionalProperties"] is False
    assert run["properties"]["cwd"]["type"] == "string"
    assert all("title" not in each for each in run["properties"].values())
    assert len(json.dumps([tool.input_schema for tool in tools.values()])) < 12_000


# E2


async def test_no_tool_waits_longer_than_hosts_do(connect: Connect) -> None:
    async with connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    for name, argument in (("run", "yield_s"), ("wait", "timeout_s")):
        schema = tools[name].input_schema["properties"][argument]
        assert (schema["maximum"], schema["default"]) == (LONGEST_WAIT_S, 30)
        assert f"{LONGEST_WAIT_S:g}" in schema["description"]
    assert LONGEST_WAIT_S < 60


async def test_a_command_that_takes_longer_goes_on(connect: Connect, work: Path) -> None:
    async with connect() as client:
        result = await call(client, "run", command="read x; echo got $x", cwd=str(work), yield_s=0)
        found = result.structured_content
        assert isinstance(found, dict)
        assert found["state"] == "running"
        assert f"command {found['id']} in terminal {found['terminal']}; use wait" in said(result)

        await call(client, "write", target=found["id"], text="it", enter=True)
        done = await data(client, "wait", target=found["id"])

    assert (done["state"], done["exit_code"], done["reason"]) == ("done", 0, "exit")
    assert done["text"].endswith("got it\n")


async def test_the_session_keeps_its_directory(connect: Connect, work: Path) -> None:
    (work / "deep").mkdir()
    async with connect() as client:
        await call(client, "run", command="cd deep", cwd=str(work))
        assert (await data(client, "run", command="pwd"))["text"] == f"{work}/deep\n"
        elsewhere = await data(client, "run", command="pwd", session="another", cwd=str(work))
        assert elsewhere["text"] == f"{work}\n"
        assert (await data(client, "run", command="true"))["session"].startswith("mcp-test-client-")


# E3


async def test_a_wait_ends_with_what_it_waits_for(connect: Connect, work: Path) -> None:
    async with connect() as client:
        begun = await started(client, "echo ready on port 80; cat", work, r"port \d+")
        matched = await call(client, "wait", target=begun["terminal"], until="match", pattern=r"port \d+")
        assert "[it printed 'port 80']" in said(matched)

        idle = await data(client, "wait", target=begun["id"], until="idle", idle_s=0.1)
        assert idle["reason"] in ("idle", "needs_input")
        over = await data(client, "wait", target=begun["id"], until="match", pattern="never", timeout_s=0.1)
        assert over["reason"] in ("timeout", "needs_input")

        await call(client, "send_keys", target=begun["id"], keys=["ctrl-d"])
        assert (await data(client, "wait", target=begun["id"]))["reason"] == "exit"
        after = await data(client, "wait", target=begun["id"], until="match", pattern="never")
        assert after["reason"] == "exit"


async def test_a_wait_ends_with_a_question(connect: Connect, work: Path) -> None:
    async with connect() as client:
        begun = await data(client, "start", command="printf 'Name? '; read x", cwd=str(work))
        waited = await data(client, "wait", target=begun["id"], until="needs_input")
        assert (waited["reason"], waited["state"]) == ("needs_input", "needs_input")
        assert waited["needs_input"]["prompt"].startswith("Name?")
        result = await call(client, "wait", target=begun["id"])
        assert "waiting for input for 'Name?'" in said(result)


async def test_an_expression_that_would_take_for_ever_does_not(connect: Connect, work: Path) -> None:
    async with connect() as client:
        line = f"echo {'a' * 200}b; cat"
        begun = await started(client, line, work, "b")
        waited = await data(client, "wait", target=begun["id"], until="match", pattern="(a+)+$", timeout_s=0.2)
        assert waited["reason"] in ("timeout", "needs_input")
        text = await failure(client, "wait", target=begun["id"], until="match", pattern=r"(?=x)y")
        assert "is not a regular expression" in text
        assert "give the pattern" in await failure(client, "wait", target=begun["id"], until="match")


# E4


async def test_output_is_there_after_the_end(connect: Connect, work: Path) -> None:
    async with connect() as client:
        done = await data(client, "run", command="seq 10", cwd=str(work))
        await call(client, "kill", target=done["terminal"])

        whole = await data(client, "read", target=done["id"])
        assert whole == {"text": done["text"], "offset": 0, "line": 1, "next_offset": None, "size": 21}
        tail = await data(client, "read", target=done["id"], offset=-3)
        assert (tail["text"], tail["offset"]) == ("10\n", 18)
        lines = await data(client, "read", target=done["id"], line=-2, count=1)
        assert (lines["text"], lines["line"], lines["next_offset"]) == ("9\n", 9, 18)
        assert (await data(client, "read", target=done["id"], offset=21))["text"] == ""


async def test_a_long_output_is_read_in_pages(connect: Connect, work: Path) -> None:
    async with connect() as client:
        result = await call(client, "run", command="seq 20000", cwd=str(work))
        found = result.structured_content
        assert isinstance(found, dict)
        assert found["truncated"]
        assert f"read or search_output with target {found['id']} has all]" in said(result)

        page = await data(client, "read", target=found["id"], limit=50_000)
        text = page["text"]
        while page["next_offset"] is not None:
            page = await data(client, "read", target=found["id"], offset=page["next_offset"], limit=50_000)
            text += page["text"]
        assert text.split() == [str(n) for n in range(1, 20001)]
        last = await data(client, "read", target=found["artifact"], line=-1)
        assert (last["text"], last["line"]) == ("20000\n", 20000)
        hits = await data(client, "search_output", target=found["id"], pattern="^1999[89]$")
        assert [(hit["line"], hit["text"]) for hit in hits["matches"]] == [(19998, "19998"), (19999, "19999")]


async def test_output_is_read_while_it_grows(connect: Connect, work: Path) -> None:
    async with connect() as client:
        begun = await started(client, "seq 3; cat", work, "3")
        assert (await data(client, "read", target=begun["id"]))["text"] == "1\n2\n3\n"
        found = await call(client, "search_output", target=begun["id"], pattern="2")
        assert said(found).startswith("2: 2\n[1 matching line in ")
        assert "3" in (await data(client, "read", target=begun["terminal"]))["text"]
        await call(client, "kill", target=begun["id"])


# E5


async def test_a_result_is_text_and_data(connect: Connect, work: Path) -> None:
    async with connect() as client:
        result = await call(client, "run", command="printf 'one\\ntwo'; (exit 3)", cwd=str(work))
    found = result.structured_content
    assert isinstance(found, dict)
    assert found["text"] == "one\ntwo"
    assert (found["exit_code"], found["state"], found["quality"]) == (3, "done", "rich")
    assert said(result).startswith("one\ntwo\n[exit code 3, ")
    assert len(result.content) == 1


async def test_a_failure_comes_with_a_hint(connect: Connect, work: Path) -> None:
    async with connect() as client:
        result = await call(client, "run", command="gti status", cwd=str(work))
    assert "[hint: " in said(result)


# E6


async def test_annotations_say_what_a_tool_does(connect: Connect) -> None:
    async with connect() as client:
        tools = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
    reads = {name for name, hints in tools.items() if hints and hints.read_only_hint}
    assert reads == {"wait", "read", "search_output", "screen", "list", "check"}
    acts = {name for name, hints in tools.items() if hints and hints.destructive_hint and hints.open_world_hint}
    assert acts == {"run", "start", "write", "send_keys", "run_command", "run_persistent_command"}
    ends = {name for name, hints in tools.items() if hints and hints.destructive_hint and hints.idempotent_hint}
    assert ends == {"kill", "kill_persistent_terminal"}


# E7


async def test_progress_grows_and_tells_the_last_line(connect: Connect, work: Path) -> None:
    told: list[tuple[float, str | None]] = []
    first, enough = asyncio.Event(), asyncio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))
        (first if len(told) == 1 else enough).set()

    async with connect() as client, asyncio.timeout(PATIENCE_S):
        line = "echo first; read x; echo second; read x"
        await data(client, "run", command=line, cwd=str(work), yield_s=50)  # it asks for input, which ends the call
        busy = [each for each in (await data(client, "list"))["terminals"] if each["is_busy"]]
        following = asyncio.create_task(
            client.call_tool(
                "wait",
                {"target": busy[0]["id"], "until": "match", "pattern": "never", "timeout_s": 50},
                progress_callback=note,
            )
        )
        await first.wait()
        await call(client, "write", target=busy[0]["id"], text="", enter=True)
        await enough.wait()
        await call(client, "kill", target=busy[0]["id"])
        await following
        count = len(told)

    assert [message for _, message in told[:2]] == ["first", "second"]
    assert all(one[0] < two[0] for one, two in pairwise(told))
    assert len(told) == count


# E8


async def test_a_cancelled_run_ends_its_command(connect: Connect, rt: Runtime, work: Path) -> None:
    async with connect() as client, asyncio.timeout(PATIENCE_S):
        with Note(work / "pid") as note:
            calling = asyncio.create_task(
                client.call_tool("run", {"command": "exec sh -c 'echo $$ >pid; exec sleep 1000'", "cwd": str(work)})
            )
            pid = await note.number()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await gone(pid)
        # The terminal that ran `exec` is gone with it.
        assert not any(each.is_busy for each in rt.terminals())


async def test_a_cancelled_wait_leaves_the_command_alone(connect: Connect, rt: Runtime, work: Path) -> None:
    async with connect() as client, asyncio.timeout(PATIENCE_S):
        begun = await started(client, "sh -c 'echo $$; sleep 1000'", work, r"\d+")
        pid = int((await data(client, "read", target=begun["id"]))["text"])
        waiting = asyncio.create_task(client.call_tool("wait", {"target": begun["id"]}))
        await data(client, "list")  # the wait has come: calls come one after the other
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await data(client, "wait", target=begun["id"], timeout_s=0))["state"] == "running"
        assert is_alive(pid)
        killed = await data(client, "kill", target=begun["id"])
        assert killed["state"] == "killed"
        await gone(pid)
        assert (await data(client, "kill", target=begun["id"])) == killed


# Input and screens.


async def test_a_program_is_typed_for_and_looked_at(connect: Connect, work: Path) -> None:
    async with connect() as client:
        opened = await data(client, "open", cwd=str(work), name="mine", cols=40, rows=10)
        begun = await data(client, "run", command="cat", terminal_id=opened["id"], yield_s=0)
        await call(client, "write", target=opened["id"], text="héllo\n")
        await data(client, "wait", target=begun["id"], until="match", pattern="^héllo$")
        shown = await call(client, "screen", terminal_id=opened["id"])
        assert "héllo" in said(shown)
        assert f"[screen of {opened['id']}, 40x10; cursor at row " in said(shown)
        pictured = await call(client, "screen", terminal_id=opened["id"], format="image")
        picture = pictured.content[1]
        assert isinstance(picture, ImageContent)
        assert base64.b64decode(picture.data).startswith(b"\x89PNG")
        listed = await call(client, "list")
        assert f"{opened['id']} 'mine' bash in {work}: runs {begun['id']}: cat" in said(listed)

        await call(client, "send_keys", target=begun["id"], keys=["ctrl-c"])
        over = await data(client, "wait", target=begun["id"])
        assert (over["exit_code"], over["signal"]) == (130, "SIGINT")


async def test_nothing_is_typed_for_a_shell(connect: Connect, work: Path) -> None:
    async with connect() as client:
        opened = await data(client, "open", cwd=str(work))
        told = await failure(client, "write", target=opened["id"], text="touch bad\n")
        assert "give its shell a command with run" in told
        begun = await data(client, "run", command="cat", terminal_id=opened["id"], yield_s=0)
        for text in ("\x03touch bad\n", "x\x04\x04touch bad\n", "\x1atouch bad\n"):
            assert "goes on after a character" in await failure(client, "write", target=begun["id"], text=text)
        for key in ("ctrl-c", "^C", "C-d", "control+z", "\x1c"):
            assert "press that one last" in await failure(client, "send_keys", target=begun["id"], keys=[key, "a"])
        await call(client, "write", target=begun["id"], text="\x03")
        assert "has ended; nothing was sent" in await failure(client, "write", target=begun["id"], text="touch bad\n")
        await data(client, "run", command="true", terminal_id=opened["id"])
    assert not (work / "bad").exists()


# E12


async def test_what_is_wrong_is_told_with_what_helps(connect: Connect, work: Path) -> None:
    async with connect() as client:
        opened = await data(client, "open", cwd=str(work))
        assert opened["id"] in await failure(client, "run", command="true", terminal_id="t_nowhere")
        assert opened["id"] in await failure(client, "screen", terminal_id="t_nowhere")
        begun = await started(client, "echo x; cat", work, "x")
        assert f"running now: {begun['id']}" in await failure(client, "wait", target="c_0000000000000000")
        assert "was not found or is not known; found here: " in await failure(
            client, "run", command="true", shell="nosuch"
        )
        assert "working directory" in await failure(client, "run", command="true", cwd="/nowhere/at/all")
        assert "it was given up and nothing ran" in await failure(
            client, "run", command="echo 'open", cwd=str(work), yield_s=1
        )
        assert "leave cwd, shell, env out" in await failure(
            client, "run", command="true", cwd=str(work), terminal_id=opened["id"]
        )
        assert "give offset or line, not both" in await failure(client, "read", target=begun["id"], offset=0, line=1)
        assert "use 0 to " in await failure(client, "read", target=begun["id"], offset=10**9)
        busy = await failure(client, "run", command="true", terminal_id=begun["terminal"])
        assert "is busy with `echo x; cat`" in busy
        unknown = await client.call_tool("rum", {})
        assert "there is no tool 'rum'; there are: run, start, " in said(unknown)


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("run", {}, "run: command: it is needed. It takes: command, cwd, "),
        ("run", {"command": "true", "timeout": 5}, "timeout: there is no such argument"),
        ("run", {"command": "true", "yield_s": 56}, "yield_s: Input should be less than or equal to 55"),
        ("run", {"command": "true", "yield_s": -1}, "yield_s: "),
        ("run", {"command": "true", "yield_s": float("nan")}, "yield_s: "),
        ("run", {"command": 7}, "command: "),
        ("run", {"command": "true", "env": {"A": 1}}, "env.A: "),
        ("run", {"command": "true", "env": {"A=B": "x"}}, "cannot be set"),
        ("run", {"command": "a\0b"}, "NUL bytes"),
        ("run", {"command": "   "}, "the command is empty"),
        ("read", {"target": "../../etc/passwd"}, "names no output"),
        ("read", {"target": "a_../../x"}, "is not the id of an artifact"),
        ("read", {"target": "c_x", "limit": 10**9}, "limit: "),
        ("open", {"cols": 0}, "cols: "),
        ("send_keys", {"target": "t_x", "keys": []}, "keys: "),
        ("wait", {"target": "c_x", "until": "doomsday"}, "until: "),
        ("kill", {"target": ""}, "target: "),
        ("kill", {"target": "t_x"}, "no terminal 't_x'; there are: none"),
        ("run_command", {"command": "true", "shell": "zsh"}, "shell: there is no such argument"),
    ],
)
async def test_hostile_arguments_are_refused_in_words(
    connect: Connect, rt: Runtime, name: str, arguments: dict[str, Any], told: str
) -> None:
    async with connect() as client:
        result = await client.call_tool(name, arguments)
    assert result.is_error
    assert told in said(result)
    assert rt.terminals() == []


async def test_bytes_that_are_no_text_are_answered(connect: Connect, work: Path) -> None:
    async with connect() as client:
        found = await data(client, "run", command="printf 'a\\377b\\033[31mred'", cwd=str(work))
        assert found["text"] == "a\ufffdbred"
        assert (await data(client, "read", target=found["id"]))["text"] == "a\ufffdbred"


# E15


async def test_no_tool_changes_what_the_policy_goes_by(
    connect: Connect, dial: Dial, tmp_path: Path, work: Path
) -> None:
    dial.turn(policy__mode="normal")
    rules = tmp_path / "state" / "rules"
    async with connect() as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert not [name for name in names if "rule" in name or "config" in name or "setting" in name]
        told = await failure(client, "run", command=f"mkdir -p {rules}/mine", cwd=str(work))
        assert "it needs an approval" in told
    assert not rules.exists()


# The specification's tools.


async def test_the_tools_of_the_specification_work(connect: Connect, rt: Runtime, work: Path) -> None:
    async with connect() as client:
        once = await call(client, "run_command", command="echo once; (exit 4)", cwd=str(work))
        assert said(once) == "once\n[exit code 4]"
        found = once.structured_content
        assert isinstance(found, dict)
        assert found["resolve_reason"] == {"type": "done", "exit_code": 4}
        assert rt.terminals() == []

        opened = await data(client, "open_persistent_terminal", cwd=str(work))
        name = opened["persistent_terminal_id"]
        await call(client, "run_persistent_command", command="x=kept", persistent_terminal_id=name)
        again = await call(client, "run_persistent_command", command="echo $x", persistent_terminal_id=name)
        assert said(again) == "kept\n[exit code 0]"
        ended = await call(client, "kill_persistent_terminal", persistent_terminal_id=name)
        assert ended.structured_content == {}
        assert rt.terminals() == []


async def test_a_check_runs_nothing(connect: Connect, dial: Dial, work: Path) -> None:
    dial.turn(policy__mode="normal")
    async with connect() as client:
        result = await call(client, "check", command="touch x", cwd=str(work))
        assert said(result).startswith("ask (low): a person is asked first\n")
        assert (await data(client, "check", command="ls"))["decision"] == "allow"
    assert not (work / "x").exists()


async def test_two_hundred_calls_twenty_at_once(connect: Connect, work: Path) -> None:
    async with connect() as client:
        room = asyncio.Semaphore(20)

        async def one(number: int) -> str:
            async with room:
                return str((await data(client, "run", command=f"echo {number}", cwd=str(work)))["text"])

        found = await asyncio.gather(*(one(number) for number in range(200)))
    assert found == [f"{number}\n" for number in range(200)]
