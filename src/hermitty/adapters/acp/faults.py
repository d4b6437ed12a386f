"""Errors as JSON-RPC tells them."""

from acp.exceptions import RequestError as RequestError
from pydantic import ValidationError

from hermitty.errors import (
    ApprovalTimeout,
    CommandDenied,
    CommandSkipped,
    HermittyError,
    InvalidRequest,
    SessionNotFound,
    TerminalNotFound,
)

CANCELLED = -32800
NOT_FOUND = -32002
# Of the range that JSON-RPC leaves to servers; ACP has no code for a no.
NOT_ALLOWED = -32001


def cancelled() -> RequestError:
    """Say that a request was given up because the other side, or the person, wanted it."""
    return RequestError(CANCELLED, "Request cancelled")


def not_found(terminal_id: str) -> RequestError:
    """Say that a session has no such terminal, whoever else may have one."""
    return RequestError(NOT_FOUND, "Resource not found", {"terminalId": terminal_id[:200]})


def no_session(session_id: str) -> RequestError:
    """Say that there is no such session on this connection."""
    return RequestError(NOT_FOUND, "Resource not found", {"sessionId": session_id[:200]})


def invalid(problem: str) -> RequestError:
    """Say what is wrong with the parameters."""
    return RequestError(-32602, f"Invalid params: {problem}", {"details": problem})


def of_validation(error: ValidationError) -> RequestError:
    """Say which parameters are wrong. What was sent is not sent back: it may be long, or no JSON."""
    problems = [
        {"at": ".".join(map(str, each["loc"]))[:200], "problem": each["msg"][:200]}
        for each in error.errors(include_url=False, include_context=False, include_input=False)[:20]
    ]
    return RequestError(-32602, "Invalid params", {"errors": problems})


def of_hermitty(error: HermittyError) -> RequestError:
    """Translate an error of the runtime."""
    data = {"code": error.code, "details": error.message}
    match error:
        case InvalidRequest():
            return RequestError(-32602, f"Invalid params: {error.message}", data)
        case TerminalNotFound() | SessionNotFound():
            return RequestError(NOT_FOUND, "Resource not found", data)
        case ApprovalTimeout() | CommandDenied() | CommandSkipped():
            return RequestError(NOT_ALLOWED, error.message, data)
        case _:
            return RequestError(-32603, f"Internal error: {error.message}", data)
