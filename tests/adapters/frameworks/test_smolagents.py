"""smolagents: whole agents, one that calls tools and one that writes code, with a model of ours."""

import asyncio
from typing import Any

import pytest
from smolagents import CodeAgent, LogLevel, Model, ToolCallingAgent
from smolagents.models import (
    ChatMessage,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    MessageRole,
    get_tool_json_schema,
)

from hermitty.adapters.agent_session import AgentSession
from hermitty.adapters.smolagents import terminal_tools
from hermitty.adapters.tooling import TERMINAL_TOOLS
from tests.adapters.frameworks.conftest import Person, Script, Work
from tests.support.shells import PATIENCE_S


class ScriptedModel(Model):  # type: ignore[misc]
    """Calls what the script says."""

    def __init__(self, script: Script) -> None:
        super().__init__(model_id="scripted")
        self._script = script
        self._calls = 0

    def generate(self, messages: list[Any], **kwargs: Any) -> ChatMessage:
        last = messages[-1]
        said = None
        if last.role == MessageRole.TOOL_RESPONSE:
            said = "".join(each["text"] for each in last.content).removeprefix("Observation:\n")
        call = self._script.next(said) or ("final_answer", {"answer": "done"})
        self._calls += 1
        function = ChatMessageToolCallFunction(name=call[0], arguments=call[1])
        calls = [ChatMessageToolCall(id=f"call_{self._calls}", type="function", function=function)]
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=calls)


class CodingModel(Model):  # type: ignore[misc]
    """Writes one piece of code."""

    def __init__(self, code: str) -> None:
        super().__init__(model_id="scripted")
        self._code = code

    def generate(self, messages: list[Any], **kwargs: Any) -> ChatMessage:
        return ChatMessage(role=MessageRole.ASSISTANT, content=f"Thought: so.\n<code>\n{self._code}\n</code>")


def run(script: Script, session: AgentSession) -> str:
    agent = ToolCallingAgent(
        tools=terminal_tools(session), model=ScriptedModel(script), verbosity_level=LogLevel.OFF, max_steps=20
    )
    return str(agent.run("go"))


def test_an_agent_works_in_terminals(sync_session: AgentSession, work: Work, person: Person) -> None:
    script = Script(work.tool_steps())
    assert run(script, sync_session) == "done"
    work.check_tool_texts(script.texts)
    assert person.asked == ["touch unwanted", "touch allowed"]


async def test_an_agent_in_a_thread_of_an_asynchronous_program(session: AgentSession, work: Work) -> None:
    script = Script(work.tool_steps())
    async with asyncio.timeout(PATIENCE_S):
        assert await asyncio.to_thread(run, script, session) == "done"
    work.check_tool_texts(script.texts)


def test_an_agent_that_writes_code(sync_session: AgentSession, work: Work) -> None:
    code = "told = run_command('pwd', cwd='sub') + '|' + run_command(command='touch unwanted')\nfinal_answer(told)"
    agent = CodeAgent(
        tools=terminal_tools(sync_session), model=CodingModel(code), verbosity_level=LogLevel.OFF, max_steps=2
    )
    assert agent.run("go") == (f"{work.path}/sub\n[exit code 0]|[not done: not allowed: the test said no: as it is]")
    assert not (work.path / "unwanted").exists()


async def test_an_agent_that_would_block_its_own_event_loop_is_told(session: AgentSession) -> None:
    [tool] = terminal_tools(session, ["run_command"])
    with pytest.raises(ValueError, match="belongs to the event loop that would wait for it"):
        tool(command="echo hi")


def test_the_model_is_told_the_words_and_schemas_of_the_table(sync_session: AgentSession) -> None:
    told = [get_tool_json_schema(tool)["function"] for tool in terminal_tools(sync_session)]
    assert [each["name"] for each in told] == list(TERMINAL_TOOLS)
    for each in told:
        tool = TERMINAL_TOOLS[each["name"]]
        assert each["description"] == tool.description
        assert each["parameters"]["required"] == tool.schema()["required"]
        assert list(each["parameters"]["properties"]) == list(tool.schema()["properties"])
