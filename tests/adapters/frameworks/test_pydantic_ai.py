"""Pydantic AI: a whole agent, whose model is a function."""

import asyncio
import contextlib
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from hermitty.adapters.agent_session import AgentSession
from hermitty.adapters.pydantic_ai import terminal_toolset
from hermitty.runtime.tools import TOOLS
from tests.adapters.frameworks.conftest import Person, Script, Work
from tests.support.shells import PATIENCE_S


def returned(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


def model_of(script: Script) -> FunctionModel:
    def think(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts = returned(messages[-1:])
        call = script.next(str(parts[0].content) if parts else None)
        return ModelResponse(parts=[TextPart("done") if call is None else ToolCallPart(*call)])

    return FunctionModel(think)


async def test_an_agent_works_in_terminals(session: AgentSession, work: Work, person: Person) -> None:
    script = Script(work.tool_steps())
    agent = Agent(model_of(script), toolsets=[terminal_toolset(session)])
    async with asyncio.timeout(PATIENCE_S):
        result = await agent.run("go")

    assert result.output == "done"
    work.check_tool_texts(script.texts)
    assert person.asked == ["touch unwanted", "touch allowed"]
    first = returned(result.all_messages())[0]
    assert (first.metadata["exit_code"], first.metadata["state"]) == (3, "done")


async def test_the_model_is_told_the_words_and_schemas_of_the_table(session: AgentSession) -> None:
    told: list[Any] = []

    def think(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        told.extend(info.function_tools)
        return ModelResponse(parts=[TextPart("done")])

    await Agent(FunctionModel(think), toolsets=[terminal_toolset(session, list(TOOLS))]).run("go")
    assert {each.name: (each.description, each.parameters_json_schema) for each in told} == {
        tool.name: (tool.description, tool.schema()) for tool in TOOLS.values()
    }


async def test_cancelling_the_run_kills_the_command(session: AgentSession, work: Work) -> None:
    script = Script([("run_command", {"command": "cat gate"})])
    agent = Agent(model_of(script), toolsets=[terminal_toolset(session)])
    run = asyncio.create_task(agent.run("go"))
    async with work.reader() as left:
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await left()


def test_an_agent_without_an_event_loop(sync_session: AgentSession, work: Work) -> None:
    script = Script(work.tool_steps())
    agent = Agent(model_of(script), toolsets=[terminal_toolset(sync_session)])
    with contextlib.closing(asyncio.new_event_loop()) as loop:
        asyncio.set_event_loop(loop)  # the framework would make one, and leave it open
        assert agent.run_sync("go").output == "done"
        asyncio.set_event_loop(None)
    work.check_tool_texts(script.texts)
