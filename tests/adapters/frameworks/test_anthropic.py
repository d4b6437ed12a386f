"""Anthropic's bash tool: a client against an API of ours, with the SDK's tool runner and by hand."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.types import ToolUseBlock

from hermitty.adapters.agent_session import AgentSession
from hermitty.adapters.anthropic import BASH_TOOL, bash_tool, sync_bash_tool, tool_result
from hermitty.runtime.api import Runtime
from tests.adapters.frameworks.conftest import Person, Script, Work
from tests.support.shells import PATIENCE_S


class Api:
    """The Messages API, with a script for a model."""

    def __init__(self, script: Script) -> None:
        self.requests: list[dict[str, Any]] = []
        self._script = script

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        self.requests.append(body)
        last = body["messages"][-1]["content"]
        said = None
        if not isinstance(last, str):
            [block] = last
            content = block["content"]
            said = content if isinstance(content, str) else "".join(each["text"] for each in content)
        call = self._script.next(said)
        block = {"type": "text", "text": "done"}
        if call is not None:
            block = {"type": "tool_use", "id": f"toolu_{len(self.requests)}", "name": call[0], "input": call[1]}
        return httpx2.Response(
            200,
            json={
                "id": f"msg_{len(self.requests)}",
                "type": "message",
                "role": "assistant",
                "model": "scripted",
                "content": [block],
                "stop_reason": "end_turn" if call is None else "tool_use",
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
        )

    @property
    def results(self) -> list[dict[str, Any]]:
        """The blocks that answered the model's calls."""
        return [block for request in self.requests[1:] for block in request["messages"][-1]["content"]]


def script_of(work: Work) -> Script:
    return Script([("bash", lambda said, line=line: {"command": line()}) for line in work.shell_steps()])  # type: ignore[misc]


@contextlib.asynccontextmanager
async def client_of(api: Api) -> AsyncIterator[anthropic.AsyncAnthropic]:
    transport = httpx2.MockTransport(api)
    async with anthropic.AsyncAnthropic(
        api_key="none", http_client=httpx2.AsyncClient(transport=transport), max_retries=0
    ) as client:
        yield client


@contextlib.contextmanager
def sync_client_of(api: Api) -> Iterator[anthropic.Anthropic]:
    transport = httpx2.MockTransport(api)
    with anthropic.Anthropic(api_key="none", http_client=httpx2.Client(transport=transport), max_retries=0) as client:
        yield client


async def test_the_tool_runner_works_in_one_terminal(session: AgentSession, work: Work, person: Person) -> None:
    script = script_of(work)
    api = Api(script)
    async with client_of(api) as client, asyncio.timeout(PATIENCE_S):
        runner = client.beta.messages.tool_runner(
            model="scripted", max_tokens=100, tools=[bash_tool(session)], messages=[{"role": "user", "content": "go"}]
        )
        final = await runner.until_done()

    assert final.stop_reason == "end_turn"
    assert api.requests[0]["tools"] == [BASH_TOOL]
    work.check_shell_texts(script.texts)
    assert [bool(each.get("is_error")) for each in api.results] == [False, True, *[False] * 4, True, False]
    assert person.asked == ["touch unwanted", "touch allowed"]


def test_the_tool_runner_without_an_event_loop(sync_session: AgentSession, work: Work) -> None:
    script = script_of(work)
    with sync_client_of(Api(script)) as client:
        runner = client.beta.messages.tool_runner(
            model="scripted",
            max_tokens=100,
            tools=[sync_bash_tool(sync_session)],
            messages=[{"role": "user", "content": "go"}],
        )
        assert runner.until_done().stop_reason == "end_turn"
    work.check_shell_texts(script.texts)


async def test_blocks_are_answered_by_hand(session: AgentSession, work: Work) -> None:
    script = script_of(work)
    messages: list[Any] = [{"role": "user", "content": "go"}]
    async with client_of(Api(script)) as client, asyncio.timeout(PATIENCE_S):
        while True:
            message = await client.messages.create(
                model="scripted", max_tokens=100, tools=[BASH_TOOL], messages=messages
            )
            if message.stop_reason != "tool_use":
                break
            messages.append({"role": "assistant", "content": message.content})
            results = [await tool_result(session, each) for each in message.content if each.type == "tool_use"]
            messages.append({"role": "user", "content": results})
    work.check_shell_texts(script.texts)


def block(**given: Any) -> ToolUseBlock:
    return ToolUseBlock.model_validate({"type": "tool_use", "id": "toolu_1", "name": "bash", "input": given})


async def test_a_restart_ends_everything_and_begins_anew(session: AgentSession, rt: Runtime) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await tool_result(session, block(command="x=1"))
        [before] = rt.terminals()
        assert await tool_result(session, block(restart=True)) == {
            "type": "tool_result",
            "tool_use_id": "toolu_1",
            "content": "[the terminal was restarted; its variables and programs are gone]",
        }
        assert rt.terminals() == []
        assert (await tool_result(session, block(command="echo x=$x")))["content"] == "x=\n[exit code 0]"
        [after] = rt.terminals()
        assert after.id != before.id


@pytest.mark.parametrize("given", [{}, {"command": ""}, {"command": None}, {"command": 3}, {"restart": "yes"}])
async def test_a_call_without_a_command_is_answered(session: AgentSession, rt: Runtime, given: dict[str, Any]) -> None:
    assert await tool_result(session, block(**given)) == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": "[not done: give a command, or restart: true]",
        "is_error": True,
    }
    assert rt.terminals() == []


async def test_another_tool_is_not_bash(session: AgentSession) -> None:
    other = ToolUseBlock.model_validate(
        {"type": "tool_use", "id": "toolu_1", "name": "fish", "input": {"command": "ls"}}
    )
    result = await tool_result(session, other)
    assert result.get("is_error")
    assert "'fish'" in str(result.get("content"))
