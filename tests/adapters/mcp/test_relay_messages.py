"""What a relay makes of the messages that pass through it."""

from typing import Any

import pytest
from mcp.types import JSONRPCRequest, JSONRPCResponse

from hermitty.adapters.mcp.relay_messages import Places, client_name, newer_headers

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "a client, of sorts"},
}


def request(method: str, params: dict[str, Any] | None = None) -> JSONRPCRequest:
    return JSONRPCRequest(jsonrpc="2.0", id=1, method=method, params=params)


def calling(name: Any, arguments: Any = None) -> JSONRPCRequest:
    return request("tools/call", {"name": name, "arguments": arguments})


def arguments_of(placed: JSONRPCRequest) -> Any:
    return (placed.params or {}).get("arguments")


@pytest.mark.parametrize(
    ("message", "headers"),
    [
        (request("ping"), None),
        (request("tools/list", {"_meta": "x"}), None),
        (request("tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": 7}}), None),
        (
            request("tools/list", {"_meta": META}),
            {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"},
        ),
        (
            request("tools/call", {"_meta": META, "name": "rün"}),
            {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "=?base64?csO8bg==?="},
        ),
        (
            request("resources/read", {"_meta": META, "uri": "a://b\r\nX: y"}),
            {
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": "resources/read",
                "mcp-name": "=?base64?YTovL2INClg6IHk=?=",
            },
        ),
    ],
)
def test_a_request_of_the_newer_protocol_has_headers(message: JSONRPCRequest, headers: dict[str, str] | None) -> None:
    assert newer_headers(message) == headers


def test_a_client_says_its_name_in_either_era() -> None:
    assert client_name(request("tools/list", {"_meta": META})) == "a-client-of-sorts"
    assert client_name(request("initialize", {"clientInfo": {"name": "old"}})) == "old"
    assert client_name(request("initialize", {"clientInfo": {"name": "???"}})) is None
    assert client_name(request("initialize", {"clientInfo": 7})) is None
    assert client_name(request("ping")) is None


@pytest.mark.parametrize(
    ("name", "arguments", "placed"),
    [
        ("run", {"command": "x"}, {"command": "x", "session": "mcp-unknown-m", "cwd": "/here"}),
        ("run", {"cwd": "sub"}, {"cwd": "/here/sub", "session": "mcp-unknown-m"}),
        ("run", {"cwd": "/there"}, {"cwd": "/there", "session": "mcp-unknown-m"}),
        ("run", {"cwd": "file:///there"}, {"cwd": "file:///there", "session": "mcp-unknown-m"}),
        ("run", {"cwd": 7}, {"cwd": 7, "session": "mcp-unknown-m"}),
        ("run", {"terminal_id": "t_1"}, {"terminal_id": "t_1", "session": "mcp-unknown-m"}),
        ("open", {"session": "new"}, {"session": "new", "cwd": "/here"}),
        ("run", {"session": "known"}, {"session": "known"}),
        ("run", {"session": "known", "cwd": "sub"}, {"session": "known", "cwd": "sub"}),
        ("list", None, {"session": "mcp-unknown-m"}),
        ("run_command", {"command": "x"}, {"command": "x", "cwd": "/here"}),
        ("read", {"target": "c_1"}, {"target": "c_1"}),
        ("run", "nonsense", "nonsense"),
        (["run"], {}, {}),
    ],
)
def test_a_call_gets_its_session_and_its_directory(name: Any, arguments: Any, placed: Any) -> None:
    places = Places("/here", "m")
    places.begun.add("known")
    assert arguments_of(places.placed(calling(name, arguments))) == placed


def test_the_directories_of_another_machine_are_its_own() -> None:
    places = Places(None, "m")
    assert places.asks_about(calling("run", {"command": "x"})) is None
    assert arguments_of(places.placed(calling("run", {"cwd": "sub"}))) == {"cwd": "sub", "session": "mcp-unknown-m"}


@pytest.mark.parametrize(
    ("name", "result", "has_begun"),
    [
        ("run", {"content": []}, True),
        ("open", {"content": [], "resultType": "complete"}, True),
        ("run", {"content": [], "isError": True}, False),
        ("run", {"resultType": "input_required"}, False),
        ("check", {"content": []}, False),
    ],
)
def test_a_session_begins_with_the_first_call_that_works(name: str, result: dict[str, Any], has_begun: bool) -> None:
    places = Places("/here", "m")
    places.meet(request("initialize", {"clientInfo": {"name": "c"}}))
    assert places.asks_about(calling(name)) == "mcp-c-m"
    places.answered(places.placed(calling(name)), JSONRPCResponse(jsonrpc="2.0", id=1, result=result))
    assert places.asks_about(calling("run")) == (None if has_begun else "mcp-c-m")


def test_a_tool_that_takes_no_session_has_it_in_a_header() -> None:
    places = Places("/here", "mark")
    assert places.headers(calling("open_persistent_terminal", {})) == {"hermitty-session": "mcp-unknown-mark"}
    assert places.own == "mcp-unknown-mark"
    assert places.headers(calling("run", {"command": "true"})) == {}
