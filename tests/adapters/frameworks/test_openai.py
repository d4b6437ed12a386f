"""OpenAI's Agents SDK with a model of ours, and function schemas as the APIs want them."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import agents
import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import (
    ResponseFunctionShellToolCall,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from openai.types.responses.response_output_item import LocalShellCall

from hermitty.adapters.agent_session import AgentSession
from hermitty.adapters.openai import dispatch, function_schemas, function_tools, local_shell_tool, shell_tool
from hermitty.adapters.tooling import TERMINAL_TOOLS
from hermitty.errors import ToolNotFound
from tests.adapters.frameworks.conftest import Person, Script, Work
from tests.support.shells import PATIENCE_S

# The SDK would send traces away.
OFFLINE = RunConfig(tracing_disabled=True)


class ScriptedModel(Model):
    """Calls what the script says, in the form of one of the three kinds of tools."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.answers: list[Any] = []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:  # noqa: A002
        said = None
        if not isinstance(input, str) and len(input) > 1:
            self.answers.append(input[-1])
            said = _text(input[-1]["output"])
        call = self._script.next(said)
        return ModelResponse(output=[self._item(call)], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError

    def _item(self, call: tuple[str, dict[str, Any]] | None) -> Any:
        number = f"call_{len(self.answers)}"
        if call is None:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
        name, arguments = call
        if name == "shell":
            return ResponseFunctionShellToolCall.model_validate(
                {"id": number, "call_id": number, "type": "shell_call", "status": "completed", "action": arguments}
            )
        if name == "local_shell":
            action = {"type": "exec", "env": {}, **arguments}
            return LocalShellCall.model_validate(
                {"id": number, "call_id": number, "type": "local_shell_call", "status": "completed", "action": action}
            )
        return ResponseFunctionToolCall(
            call_id=number, type="function_call", name=name, arguments=json.dumps(arguments), status="completed"
        )


def _text(output: Any) -> str:
    if isinstance(output, str):
        return output
    return "\n".join(each["stdout"] or each["stderr"] for each in output)


async def run(script: Script, *tools: Any) -> ScriptedModel:
    model = ScriptedModel(script)
    async with asyncio.timeout(PATIENCE_S):
        agent = Agent(name="tester", model=model, tools=list(tools))
        result = await Runner.run(agent, "go", run_config=OFFLINE, max_turns=20)
    assert result.final_output == "done"
    return model


async def test_an_agent_works_with_functions(session: AgentSession, work: Work, person: Person) -> None:
    script = Script(work.tool_steps())
    await run(script, *function_tools(session))
    work.check_tool_texts(script.texts)
    assert person.asked == ["touch unwanted", "touch allowed"]


async def test_an_agent_works_in_one_shell(session: AgentSession, work: Work, person: Person) -> None:
    script = Script([("shell", lambda said, line=line: {"commands": [line()]}) for line in work.shell_steps()])  # type: ignore[misc]
    model = await run(script, shell_tool(session))
    work.check_shell_texts(script.texts)
    assert [each["output"][0]["outcome"] for each in model.answers] == [
        {"type": "exit", "exit_code": 3},
        {"type": "exit", "exit_code": 126},
        {"type": "exit", "exit_code": 0},
        {"type": "exit", "exit_code": 0},
        {"type": "exit", "exit_code": 0},
        {"type": "timeout"},
        {"type": "exit", "exit_code": 126},
        {"type": "exit", "exit_code": 0},
    ]
    assert person.asked == ["touch unwanted", "touch allowed"]


async def test_commands_of_a_call_run_one_after_the_other(session: AgentSession, work: Work) -> None:
    script = Script([("shell", {"commands": ["cd sub", "pwd"], "timeout_ms": int(PATIENCE_S * 1000)})])
    [answer] = (await run(script, shell_tool(session))).answers
    assert [each["stdout"] for each in answer["output"]] == ["[exit code 0]", f"{work.path}/sub\n[exit code 0]"]


async def test_a_time_limit_of_the_call_leaves_the_command_running(session: AgentSession, work: Work) -> None:
    script = Script([("shell", {"commands": ["cat gate", "pwd"], "timeout_ms": 1})])
    [answer] = (await run(script, shell_tool(session))).answers
    first, second = answer["output"]
    assert first["outcome"] == {"type": "timeout"}
    assert second["outcome"] == {"type": "exit", "exit_code": 126}
    assert "not run: an earlier command has the terminal" in second["stderr"]
    work.let()
    assert (await session.run("echo after")).text == "after\n[exit code 0]"


async def test_streams_can_be_separate(session: AgentSession, work: Work) -> None:
    lines = ["echo out; echo err >&2; (exit 4)", "touch unwanted"]
    script = Script([("shell", {"commands": lines})])
    [answer] = (await run(script, shell_tool(session, streams="separate"))).answers
    assert answer["output"] == [
        {"stdout": "out\n", "stderr": "err\n", "outcome": {"type": "exit", "exit_code": 4}},
        {
            "stdout": "",
            "stderr": "[not done: not allowed: the test said no: as it is]",
            "outcome": {"type": "exit", "exit_code": 126},
        },
    ]
    assert not (work.path / "unwanted").exists()


async def test_what_takes_too_long_without_a_terminal_is_killed(session: AgentSession, work: Work) -> None:
    script = Script([("shell", {"commands": ["cat gate"], "timeout_ms": 1})])
    [answer] = (await run(script, shell_tool(session, streams="separate"))).answers
    assert answer["output"][0]["outcome"] == {"type": "timeout"}
    assert answer["output"][0]["stderr"].startswith("[killed]")


async def test_the_model_limits_the_length_of_the_output(session: AgentSession) -> None:
    script = Script([("shell", {"commands": ["seq 100"], "max_output_length": 10})])
    [answer] = (await run(script, shell_tool(session))).answers
    assert answer["output"][0]["stdout"] == "1\n2\n3\n4\n5\n"
    assert answer["max_output_length"] == 10


async def test_the_older_shell_tool_runs_programs(session: AgentSession, work: Work) -> None:
    script = Script(
        [
            ("local_shell", {"command": ["echo", "a  b", "$HOME"]}),
            ("local_shell", {"command": ["touch", "unwanted"]}),
            ("local_shell", {"command": ["pwd"], "working_directory": str(work.path / "sub")}),
            ("local_shell", {"command": ["id"], "user": "root"}),
        ]
    )
    await run(script, local_shell_tool(session))
    assert script.texts == [
        "a  b $HOME\n[exit code 0]",
        "[not done: not allowed: the test said no: as it is]",
        f"{work.path}/sub\n[exit code 0]",
        "[not done: commands run as the user whose terminals these are; leave user out]",
    ]
    assert not (work.path / "unwanted").exists()


@pytest.mark.parametrize("api", ["responses", "chat"])
def test_schemas_are_strict(api: Any) -> None:
    tools = function_schemas(api=api)
    functions = [each["function"] if api == "chat" else each for each in tools]
    assert [each["type"] for each in tools] == ["function"] * len(TERMINAL_TOOLS)
    assert [each["name"] for each in functions] == list(TERMINAL_TOOLS)
    for each in functions:
        parameters = each["parameters"]
        assert each["strict"] is True
        assert parameters["additionalProperties"] is False
        assert parameters["required"] == list(parameters["properties"])
        # The SDK's own check of what the strict mode takes changes nothing.
        assert agents.strict_schema.ensure_strict_json_schema(json.loads(json.dumps(parameters))) == parameters
    assert functions[0]["parameters"]["properties"]["cwd"]["type"] == ["string", "null"]


def test_schemas_can_be_chosen() -> None:
    assert [each["name"] for each in function_schemas(names=["run_command"])] == ["run_command"]
    with pytest.raises(ToolNotFound):
        function_schemas(names=["format_disk"])


async def test_calls_are_dispatched_by_name(session: AgentSession) -> None:
    assert await dispatch(session, "run_command", '{"command": "echo hi", "cwd": null}') == "hi\n[exit code 0]"
    assert await dispatch(session, "run_command", "{") == (
        "[not done: the arguments are not JSON: Expecting property name enclosed in double quotes: "
        "line 1 column 2 (char 1)]"
    )
    assert (await dispatch(session, "format_disk", "{}")).startswith("[not done: no tool 'format_disk'; there are: ")
    assert "has no argument 'sudo'" in await dispatch(session, "run_command", {"command": "ls", "sudo": True})
