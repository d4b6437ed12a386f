"""What the MCP conformance suite expects of a server under test, added to ours in tests only.

The suite calls tools, prompts and resources by fixed names. They say nothing about terminals; they let its scenarios
run against our server, its transport and its settings.
"""

import base64
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context, MCPServer, Resolve, Sample
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.types import (
    AudioContent,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    SetLevelRequestParams,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel, Field

AnyContext = Context[Any, Any]
Requests = dict[str, CreateMessageRequest | ListRootsRequest | ElicitRequest]
WHAT = "For the conformance suite."
Answer = CallToolResult | InputRequiredResult

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = base64.b64encode(
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0"
).decode()


def text(content: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=content)])


def form(message: str, **properties: Any) -> ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(prompt: str, tokens: int) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(text=prompt))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=tokens))


def content_of(ctx: AnyContext, key: str) -> dict[str, Any] | None:
    """What the client answered to a form, if it did."""
    said = (ctx.input_responses or {}).get(key)
    content = getattr(said, "content", None)
    return content if isinstance(content, dict) else None


def add_fixtures(server: "MCPServer[Any]") -> None:
    """Register everything that the suite asks for."""
    _add_contents(server)
    _add_talk(server)
    _add_rounds(server)
    _add_resources(server)
    _add_prompts(server)
    _add_old_capabilities(server)


def _add_contents(server: "MCPServer[Any]") -> None:
    def embedded(uri: str, kind: str, content: str) -> EmbeddedResource:
        return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=kind, text=content))

    @server.tool(description=WHAT)
    async def test_simple_text() -> CallToolResult:
        return text("This is a simple text response for testing.")

    @server.tool(description=WHAT)
    async def test_image_content() -> CallToolResult:
        return CallToolResult(content=[ImageContent(data=PNG, mime_type="image/png")])

    @server.tool(description=WHAT)
    async def test_audio_content() -> CallToolResult:
        return CallToolResult(content=[AudioContent(data=WAV, mime_type="audio/wav")])

    @server.tool(description=WHAT)
    async def test_embedded_resource() -> CallToolResult:
        content = "This is an embedded resource content."
        return CallToolResult(content=[embedded("test://embedded-resource", "text/plain", content)])

    @server.tool(description=WHAT)
    async def test_multiple_content_types() -> CallToolResult:
        data = '{"test":"data","value":123}'
        return CallToolResult(
            content=[
                TextContent(text="Multiple content types test:"),
                ImageContent(data=PNG, mime_type="image/png"),
                embedded("test://mixed-content-resource", "application/json", data),
            ]
        )

    @server.tool(description=WHAT)
    async def test_error_handling() -> CallToolResult:
        raise ToolError("This tool intentionally returns an error for testing")


class User(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


class Defaults(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


def _add_talk(server: "MCPServer[Any]") -> None:
    """Tools that talk to the client while they run."""

    @server.tool(description=WHAT)
    async def test_tool_with_progress(ctx: AnyContext) -> CallToolResult:
        for done in (0, 50, 100):
            await ctx.report_progress(done, 100)
        return text("done")

    @server.tool(description=WHAT)
    async def test_tool_with_logging(ctx: AnyContext) -> CallToolResult:
        for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await ctx.request_context.session.send_log_message("info", message, related_request_id=ctx.request_id)
        return text("done")

    @server.tool(description=WHAT)
    async def test_logging_tool(ctx: AnyContext) -> CallToolResult:
        await ctx.request_context.session.send_log_message("info", "logged", related_request_id=ctx.request_id)
        return text("done")

    async def asked_model(prompt: str) -> Sample:
        return Sample([SamplingMessage(role="user", content=TextContent(text=prompt))], max_tokens=100)

    @server.tool(description=WHAT)
    async def test_sampling(
        prompt: str, result: Annotated[CreateMessageResult, Resolve(asked_model)]
    ) -> CallToolResult:
        return text(f"LLM response: {getattr(result.content, 'text', '')}")

    @server.tool(description=WHAT)
    async def test_missing_capability(
        prompt: Annotated[str, Field()] = "hello",
        result: Annotated[CreateMessageResult | None, Resolve(asked_model)] = None,
    ) -> CallToolResult:
        return text("done")

    @server.tool(description=WHAT)
    async def test_elicitation(ctx: AnyContext, message: str) -> CallToolResult:
        said = await ctx.elicit(message, User)
        return text(f"User response: action={said.action}, content={getattr(said, 'data', None)}")

    @server.tool(description=WHAT)
    async def test_streaming_elicitation(ctx: AnyContext) -> Answer:
        if (said := content_of(ctx, "user_name")) is not None:
            return text(f"Hello, {said.get('name')}!")
        return InputRequiredResult(input_requests={"user_name": form("What is your name?", name={"type": "string"})})

    @server.tool(description=WHAT)
    async def test_elicitation_sep1034_defaults(ctx: AnyContext) -> CallToolResult:
        said = await ctx.elicit("Defaults", Defaults)
        return text(f"Elicitation completed: action={said.action}, content={getattr(said, 'data', None)}")

    @server.tool(description=WHAT)
    async def test_elicitation_sep1330_enums(ctx: AnyContext) -> CallToolResult:
        names = ["option1", "option2", "option3"]
        titled = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second"), 1)]
        properties = {
            "untitledSingle": {"type": "string", "enum": names},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": names}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        }
        said = await ctx.request_context.session.elicit_form(
            message="Choose",
            requested_schema={"type": "object", "properties": properties, "required": []},
            related_request_id=ctx.request_context.request_id,
        )
        return text(f"Elicitation completed: action={said.action}, content={said.content}")


def _add_rounds(server: "MCPServer[Any]") -> None:
    """Tools that answer with what they need, and are called again with it."""

    @server.tool(description=WHAT)
    async def test_input_required_result_elicitation(ctx: AnyContext) -> Answer:
        said = content_of(ctx, "user_name")
        if said is not None and isinstance(said.get("name"), str):
            return text(f"Hello, {said['name']}!")
        return InputRequiredResult(input_requests={"user_name": form("What is your name?", name={"type": "string"})})

    @server.tool(description=WHAT)
    async def test_input_required_result_sampling(ctx: AnyContext) -> Answer:
        said = (ctx.input_responses or {}).get("capital_question")
        if said is not None:
            return text(getattr(getattr(said, "content", None), "text", "?"))
        return InputRequiredResult(input_requests={"capital_question": sample("What is the capital of France?", 100)})

    @server.tool(description=WHAT)
    async def test_input_required_result_list_roots(ctx: AnyContext) -> Answer:
        said = (ctx.input_responses or {}).get("client_roots")
        if said is not None:
            return text(", ".join(str(root.uri) for root in getattr(said, "roots", ())))
        return InputRequiredResult(input_requests={"client_roots": ListRootsRequest()})

    async def confirmed(ctx: AnyContext) -> Answer:
        if content_of(ctx, "confirm") is not None and ctx.request_state == "asked":
            return text("state-ok")
        asked: Requests = {"confirm": form("Please confirm", ok={"type": "boolean"})}
        return InputRequiredResult(input_requests=asked, request_state="asked")

    server.add_tool(confirmed, name="test_input_required_result_request_state", description=WHAT)
    server.add_tool(confirmed, name="test_input_required_result_tampered_state", description=WHAT)

    @server.tool(description=WHAT)
    async def test_input_required_result_multiple_inputs(ctx: AnyContext) -> Answer:
        if ctx.input_responses and len(ctx.input_responses) >= 3:
            return text("all there")
        return InputRequiredResult(
            input_requests={
                "user_name": form("What is your name?", name={"type": "string"}),
                "greeting": sample("Generate a greeting", 50),
                "client_roots": ListRootsRequest(),
            },
            request_state="asked",
        )

    @server.tool(description=WHAT)
    async def test_input_required_result_multi_round(ctx: AnyContext) -> Answer:
        if ctx.request_state == "two" and content_of(ctx, "step2") is not None:
            return text("done")
        if ctx.request_state == "one" and content_of(ctx, "step1") is not None:
            second: Requests = {"step2": form("Step 2: What is your favorite color?", color={"type": "string"})}
            return InputRequiredResult(input_requests=second, request_state="two")
        asked: Requests = {"step1": form("Step 1: What is your name?", name={"type": "string"})}
        return InputRequiredResult(input_requests=asked, request_state="one")

    @server.tool(description=WHAT)
    async def test_input_required_result_capabilities(ctx: AnyContext) -> Answer:
        if ctx.input_responses:
            return text("done")
        can = ctx.client_capabilities
        wanted: Requests = {}
        if can is not None and can.elicitation is not None:
            wanted["user_name"] = form("What is your name?", name={"type": "string"})
        if can is not None and can.sampling is not None:
            wanted["greeting"] = sample("Generate a greeting", 50)
        if can is not None and can.roots is not None:
            wanted["client_roots"] = ListRootsRequest()
        return InputRequiredResult(input_requests=wanted)


def _add_resources(server: "MCPServer[Any]") -> None:
    @server.resource("test://static-text", mime_type="text/plain")
    async def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    async def static_binary() -> bytes:
        return base64.b64decode(PNG)

    @server.resource("test://watched-resource", mime_type="text/plain")
    async def watched() -> str:
        return "watched"

    @server.resource("test://template/{id}/data", mime_type="application/json")
    async def template(id: str) -> str:  # noqa: A002 - the template's name
        return f'{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}'


def _add_prompts(server: "MCPServer[Any]") -> None:
    @server.prompt(description=WHAT)
    async def test_simple_prompt() -> list[UserMessage]:
        return [UserMessage("This is a simple prompt for testing.")]

    @server.prompt(description=WHAT)
    async def test_prompt_with_arguments(arg1: str, arg2: str) -> list[UserMessage]:
        return [UserMessage(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")]

    @server.prompt(description=WHAT)
    async def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803 - theirs
        content = TextResourceContents(
            uri=resourceUri, mime_type="text/plain", text="Embedded resource content for testing."
        )
        return [
            UserMessage(EmbeddedResource(resource=content)),
            UserMessage("Please process the embedded resource above."),
        ]

    @server.prompt(description=WHAT)
    async def test_prompt_with_image() -> list[UserMessage]:
        return [
            UserMessage(ImageContent(data=PNG, mime_type="image/png")),
            UserMessage("Please analyze the image above."),
        ]

    @server.prompt(description=WHAT)
    async def test_input_required_result_prompt(ctx: AnyContext) -> Any:
        if (said := content_of(ctx, "user_context")) is not None:
            return [UserMessage(f"Context: {said.get('context')}")]
        asked = form("What context should the prompt use?", context={"type": "string"})
        return InputRequiredResult(input_requests={"user_context": asked})


def _add_old_capabilities(server: "MCPServer[Any]") -> None:
    """What the older protocol has and our server does not offer: completion and logging."""

    async def complete(ctx: object, params: CompleteRequestParams) -> CompleteResult:
        return CompleteResult(completion=Completion(values=["paris", "park", "party"], total=3, has_more=False))

    async def set_level(ctx: object, params: SetLevelRequestParams) -> EmptyResult:
        return EmptyResult()

    server._lowlevel_server.add_request_handler("completion/complete", CompleteRequestParams, complete)
    server._lowlevel_server.add_request_handler("logging/setLevel", SetLevelRequestParams, set_level)
