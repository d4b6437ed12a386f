"""What a relay has to know about the messages that pass through it. Pure.

Over HTTP a message has headers that it has not on a pipe, and a call has neither a directory nor a connection of its
own: the relay names the session and where it begins.
"""

import os
import re
from collections.abc import Mapping
from typing import Any

from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
)
from mcp.types import ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse

from hermitty.adapters.mcp.clients import SESSION_HEADER as SESSION_NAME_HEADER

SESSION_HEADER = "mcp-session-id"
VERSION_HEADER = MCP_PROTOCOL_VERSION_HEADER
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_CLIENT_KEY = "io.modelcontextprotocol/clientInfo"

# Which tools take a session, and which a directory. The specification's take no session: a header names it, and they
# are given the directory in which it begins.
_WITH_SESSION = frozenset({"run", "start", "open", "check", "list"})
_BEGINNING = frozenset({"run", "start", "open"})
_WITH_CWD = frozenset({"run", "start", "open", "check"})
_SPEC_WITH_CWD = frozenset({"run_command", "open_persistent_terminal"})
_SPEC = _SPEC_WITH_CWD | {"run_persistent_command", "kill_persistent_terminal"}

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_NAME_CHARACTERS = 40

CONNECTION_CLOSED = -32000
INTERNAL_ERROR = -32603

Answer = JSONRPCResponse | JSONRPCError


def newer_headers(request: JSONRPCRequest) -> dict[str, str] | None:
    """Return the headers of a request of the newer protocol, None if it is of the older one."""
    params = request.params or {}
    version = _mapping(params.get("_meta")).get(_VERSION_KEY)
    if not isinstance(version, str):
        return None
    headers = {VERSION_HEADER: encode_header_value(version), MCP_METHOD_HEADER: encode_header_value(request.method)}
    name = params.get(NAME_BEARING_METHODS.get(request.method, ""))
    if isinstance(name, str):
        headers[MCP_NAME_HEADER] = encode_header_value(name)
    return headers


def client_name(request: JSONRPCRequest) -> str | None:
    """Return what the client calls itself in a request, as one word."""
    params = request.params or {}
    told = (
        params.get("clientInfo") if request.method == "initialize" else _mapping(params.get("_meta")).get(_CLIENT_KEY)
    )
    name = _mapping(told).get("name")
    return _NOT_IN_NAMES.sub("-", name).strip("-")[:_NAME_CHARACTERS] or None if isinstance(name, str) else None


def failure(request: JSONRPCRequest, message: str, code: int = CONNECTION_CLOSED) -> JSONRPCError:
    """Answer a request with what went wrong on the way."""
    return JSONRPCError(jsonrpc="2.0", id=request.id, error=ErrorData(code=code, message=message))


class Places:
    """Gives calls their session, and tells a session that begins in which directory it does.

    A session that the server knows has a directory: `begun` are those of which that is known. `directory` is None when
    the server is on another machine, whose directories are its own.
    """

    def __init__(self, directory: str | None, mark: str) -> None:
        self._directory = directory
        self._mark = mark
        self._client = "unknown"
        self.own: str | None = None  # once a call has used it
        self.begun: set[str] = set()

    def meet(self, request: JSONRPCRequest) -> None:
        """Remember who the client is, until a session is named after it."""
        if self.own is None and (name := client_name(request)):
            self._client = name

    def asks_about(self, request: JSONRPCRequest) -> str | None:
        """Return the session of which must be known whether it has begun, before the call can be sent."""
        name, arguments = _call(request)
        if self._directory is None or name not in _WITH_CWD or arguments.get("terminal_id") is not None:
            return None
        session = self._session(arguments)
        return None if session in self.begun else session

    def headers(self, request: JSONRPCRequest) -> dict[str, str]:
        """Return the header that names the session of a call which cannot name it itself."""
        return {SESSION_NAME_HEADER: self._session({})} if _call(request)[0] in _SPEC else {}

    def placed(self, request: JSONRPCRequest) -> JSONRPCRequest:
        """Return the call with its session, and with a directory if the session has not begun."""
        name, arguments = _call(request)
        placed = dict(arguments)
        if name in _WITH_SESSION:
            placed["session"] = self._session(arguments)
        begins = name in _WITH_CWD and arguments.get("terminal_id") is None and placed["session"] not in self.begun
        if (begins or name in _SPEC_WITH_CWD) and self._directory is not None:
            placed["cwd"] = self._absolute(arguments.get("cwd"))
        if placed == arguments:
            return request
        return request.model_copy(update={"params": {**(request.params or {}), "arguments": placed}})

    def answered(self, placed: JSONRPCRequest, answer: Answer) -> None:
        """Note that a call has begun its session."""
        name, arguments = _call(placed)
        if name not in _BEGINNING or not isinstance(answer, JSONRPCResponse) or answer.result.get("isError"):
            return
        if answer.result.get("resultType", "complete") == "complete" and arguments.get("terminal_id") is None:
            self.begun.add(str(arguments.get("session")))

    def _session(self, arguments: Mapping[str, Any]) -> Any:
        given = arguments.get("session")
        if given:
            return given
        if self.own is None:
            self.own = f"mcp-{self._client}-{self._mark}"
        return self.own

    def _absolute(self, cwd: Any) -> Any:
        """A relative directory is meant from that of the client. What is no directory is told by the server."""
        assert self._directory is not None
        if cwd is None:
            return self._directory
        is_path = isinstance(cwd, str) and not cwd.lower().startswith("file://")
        return os.path.join(self._directory, cwd) if is_path else cwd


def _call(request: JSONRPCRequest) -> tuple[str, Mapping[str, Any]]:
    """Return which tool is called with what; no name when it is no call."""
    params = request.params or {}
    name, arguments = params.get("name"), params.get("arguments")
    if request.method != "tools/call" or not isinstance(name, str):
        return "", {}
    return (name, _mapping(arguments)) if arguments is None or isinstance(arguments, Mapping) else ("", {})


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
