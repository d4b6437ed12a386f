"""What the adapters share: schemas, arguments, texts, and what is said when a package is missing."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.adapters.tooling import (
    FOLLOWING,
    TERMINAL_TOOLS,
    chosen_tools,
    clean,
    find_tool,
    missing,
    parsed_arguments,
    reply_of_error,
    standing,
    strict_schema,
)
from hermitty.errors import CommandDenied, InvalidRequest, NotSupported, ToolNotFound
from hermitty.model import CommandId, CommandResult, NeedsInput, Quality, State, TerminalId
from hermitty.runtime.tools import TOOLS
from tests.support.shells import PATIENCE_S

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
# Bytes that were no text, as Python keeps them.
RAW_TEXT = st.binary().map(lambda data: data.decode("utf-8", "surrogateescape"))


def result(state: State, **values: Any) -> CommandResult:
    usual: dict[str, Any] = {
        "id": CommandId("c_1"),
        "command": "make",
        "terminal": TerminalId("t_1"),
        "provider": "pty",
        "shell": "bash",
        "exit_code": None,
        "signal": None,
        "quality": Quality.RICH,
        "text": "",
        "total_bytes": 0,
        "cwd": "/",
        "duration_s": 0.1,
    }
    return CommandResult(state=state, **{**usual, **values})


def test_the_tools_are_those_of_the_table_and_two_more() -> None:
    assert list(TERMINAL_TOOLS) == [*TOOLS, "wait_persistent_command", "type_into_persistent_terminal"]
    assert chosen_tools(None) == [*TOOLS.values(), *FOLLOWING]
    assert chosen_tools(["run_command"]) == [TOOLS["run_command"]]


def test_no_tool_is_about_rules_or_settings() -> None:
    words = {word for name in TERMINAL_TOOLS for word in name.split("_")}
    assert not words & {"rule", "rules", "policy", "setting", "settings", "approve", "approval", "answer"}


def test_a_tool_that_is_not_there_is_named() -> None:
    with pytest.raises(ToolNotFound, match="no tool 'nope'; there are: run_command, "):
        find_tool("nope")


def test_a_strict_schema_has_every_argument() -> None:
    assert strict_schema(TOOLS["run_command"]) == {
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command line, as one would type it in a shell."},
            "cwd": {
                "type": ["string", "null"],
                "description": "The directory to work in. Default: the session's own directory.",
            },
        },
        "required": ["command", "cwd"],
        "additionalProperties": False,
    }


@given(st.dictionaries(st.text(), JSON))
def test_arguments_come_as_an_object_or_as_its_json(values: dict[str, Any]) -> None:
    assert parsed_arguments(values) == values
    assert parsed_arguments(json.dumps(values)) == values


@pytest.mark.parametrize("given", [None, "", "  ", "{}", {}])
def test_no_arguments_are_none(given: Any) -> None:
    assert parsed_arguments(given) == {}


@given(st.text() | JSON.map(json.dumps) | st.lists(st.integers()) | st.integers(min_value=1))
def test_other_arguments_are_refused_and_nothing_else_happens(given: Any) -> None:
    try:
        assert isinstance(parsed_arguments(given), dict)
    except InvalidRequest as error:
        assert "the arguments" in str(error)


def test_deep_json_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        parsed_arguments("[" * 100_000)


@given(
    st.recursive(
        RAW_TEXT | st.none() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text("a"), inner)
    )
)
def test_clean_values_can_be_sent(value: Any) -> None:
    json.dumps(clean(value), ensure_ascii=False).encode()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_stays_as_it_is(text: str) -> None:
    assert clean({"a": [text]}) == {"a": [text]}


def test_an_error_is_a_reply() -> None:
    reply = reply_of_error(CommandDenied("make", "so \udcff it is"))
    assert (reply.text, reply.is_error) == ("[not done: not allowed: so ? it is]", True)
    assert reply.data == {"error": {"code": "command_denied", "message": "not allowed: so ? it is"}}


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (result(State.DONE, exit_code=2), "exit code 2"),
        (result(State.DONE), "exit code not known"),
        (result(State.RUNNING), "`make` is still running in terminal t_1"),
        (result(State.RUNNING, command="x" * 100), f"`{'x' * 79}…` is still running in terminal t_1"),
        (
            result(State.NEEDS_INPUT, needs_input=NeedsInput("Sure? ", False, "kernel")),
            "`make` waits for input in terminal t_1: 'Sure?'",
        ),
        (result(State.KILLED), "killed"),
        (result(State.LOST), "lost"),
    ],
)
def test_where_a_command_stands(where: CommandResult, words: str) -> None:
    assert standing(where) == words


def test_a_missing_package_names_its_extra() -> None:
    with pytest.raises(NotSupported, match=r"needs agents for this: pip install 'hermitty\[openai\]'"):
        missing("openai", ModuleNotFoundError("no", name="agents"), "agents")
    # What the package itself lacks is another matter.
    with pytest.raises(ModuleNotFoundError, match="no numpy"):
        missing("openai", ModuleNotFoundError("no numpy", name="numpy"), "agents")


@pytest.mark.parametrize(
    ("adapter", "package", "extra", "use"),
    [
        ("anthropic", "anthropic", "anthropic", ""),
        ("langchain", "langchain_core", "langchain", ""),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai", ""),
        ("smolagents", "smolagents", "smolagents", ""),
        ("openai", "agents", "openai", "hermitty.adapters.openai.shell_tool(None)"),
        ("openai", "agents", "openai", "hermitty.adapters.openai.local_shell_tool(None)"),
        ("openai", "agents", "openai", "hermitty.adapters.openai.function_tools(None)"),
    ],
)
def test_an_adapter_without_its_package_says_what_to_install(adapter: str, package: str, extra: str, use: str) -> None:
    code = f"""
import sys
sys.modules[{package!r}] = None
import hermitty.errors
try:
    import hermitty.adapters.{adapter}
    {use or "pass"}
except hermitty.errors.NotSupported as error:
    print(error.code, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert done.stdout == (
        f"not_supported hermitty.adapters needs {package} for this: pip install 'hermitty[{extra}]'\n"
    )


def test_schemas_of_functions_need_no_package_and_hermitty_stays_light() -> None:
    code = """
import sys
import hermitty
assert not any(name.startswith("hermitty.adapters") for name in sys.modules)
from hermitty.adapters.openai import function_schemas
assert len(function_schemas()) == 6
packages = {"agents", "openai", "anthropic", "langchain_core", "pydantic_ai", "smolagents", "mcp", "pydantic"}
print(sorted(packages & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert done.stdout == "[]\n"
