"""LangChain: a chat model of ours with tools bound to it, and the loop of an agent around it."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool

from hermitty.adapters.agent_session import AgentSession
from hermitty.adapters.langchain import terminal_tools
from hermitty.adapters.tooling import TERMINAL_TOOLS
from tests.adapters.frameworks.conftest import Person, Script, Work
from tests.support.shells import PATIENCE_S


class ScriptedModel(BaseChatModel):
    """Calls what the script says."""

    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        last = messages[-1]
        call = self.script.next(str(last.content) if isinstance(last, ToolMessage) else None)
        message = AIMessage("done")
        if call is not None:
            message = AIMessage("", tool_calls=[ToolCall(name=call[0], args=call[1], id=f"call_{len(messages)}")])
        return ChatResult(generations=[ChatGeneration(message=message)])


async def converse(script: Script, tools: Sequence[Any]) -> list[BaseMessage]:
    """What an agent does: the model calls, the tools answer, until the model is done."""
    model, by_name = ScriptedModel(script=script), {tool.name: tool for tool in tools}
    messages: list[BaseMessage] = [HumanMessage("go")]
    async with asyncio.timeout(PATIENCE_S):
        while True:
            said = await model.ainvoke(messages)
            messages.append(said)
            if not said.tool_calls:
                return messages
            messages += [await by_name[call["name"]].ainvoke(call) for call in said.tool_calls]


def converse_and_wait(script: Script, tools: Sequence[Any]) -> list[BaseMessage]:
    model, by_name = ScriptedModel(script=script), {tool.name: tool for tool in tools}
    messages: list[BaseMessage] = [HumanMessage("go")]
    while True:
        said = model.invoke(messages)
        messages.append(said)
        if not said.tool_calls:
            return messages
        messages += [by_name[call["name"]].invoke(call) for call in said.tool_calls]


def answers(messages: list[BaseMessage]) -> list[ToolMessage]:
    return [each for each in messages if isinstance(each, ToolMessage)]


async def test_an_agent_works_in_terminals(session: AgentSession, work: Work, person: Person) -> None:
    script = Script(work.tool_steps())
    told = answers(await converse(script, terminal_tools(session)))

    work.check_tool_texts(script.texts)
    assert person.asked == ["touch unwanted", "touch allowed"]
    assert [each.status for each in told] == ["success", "error", *["success"] * 6, "error", "success"]
    assert (told[0].artifact["exit_code"], told[0].artifact["state"]) == (3, "done")
    assert (told[6].artifact["exit_code"], told[6].artifact["state"]) == (None, "running")


def test_an_agent_without_an_event_loop(sync_session: AgentSession, work: Work) -> None:
    script = Script(work.tool_steps())
    converse_and_wait(script, terminal_tools(sync_session))
    work.check_tool_texts(script.texts)


async def test_an_agent_in_a_thread_of_its_own(session: AgentSession, work: Work) -> None:
    script = Script(work.tool_steps())
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.to_thread(converse_and_wait, script, terminal_tools(session))
    work.check_tool_texts(script.texts)


async def test_an_asynchronous_agent_over_a_runtime_without_an_event_loop(
    sync_session: AgentSession, work: Work
) -> None:
    script = Script(work.tool_steps())
    await converse(script, terminal_tools(sync_session))
    work.check_tool_texts(script.texts)


async def test_a_call_that_would_wait_for_itself_says_so(session: AgentSession) -> None:
    [run] = terminal_tools(session, ["run_command"])
    with pytest.raises(ValueError, match="use the framework's asynchronous calls"):
        run.invoke({"command": "echo hi"})


async def test_cancelling_a_call_kills_the_command(session: AgentSession, work: Work) -> None:
    [run] = terminal_tools(session, ["run_command"])
    call = asyncio.create_task(run.ainvoke({"command": "cat gate"}))
    async with work.reader() as left:
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await left()


def test_the_model_is_told_the_words_and_schemas_of_the_table(sync_session: AgentSession) -> None:
    told = [convert_to_openai_tool(tool)["function"] for tool in terminal_tools(sync_session)]
    assert [(each["name"], each["description"]) for each in told] == [
        (tool.name, tool.description) for tool in TERMINAL_TOOLS.values()
    ]
    for each in told:
        schema = TERMINAL_TOOLS[each["name"]].schema()
        assert {key: each["parameters"][key] for key in schema} == schema
