"""Errors as answers: one table from what can go wrong to HTTP statuses, and the one shape of their bodies."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from hermitty import errors

# The most special class of an error counts; what is not named is a mistake of the request.
STATUSES: dict[type[errors.HermittyError], int] = {
    errors.HermittyError: 400,
    errors.InvalidRequest: 400,
    errors.TooLarge: 413,
    errors.InvalidSettings: 400,
    errors.IncompleteCommand: 400,
    errors.NotSupported: 422,
    errors.SandboxUnavailable: 422,
    errors.NotAuthenticated: 401,
    errors.AccessRefused: 403,
    errors.TooManyRequests: 429,
    errors.CommandDenied: 403,
    errors.ApprovalTimeout: 504,
    errors.CommandSkipped: 409,
    errors.TerminalNotFound: 404,
    errors.SessionNotFound: 404,
    errors.ArtifactNotFound: 404,
    errors.ApprovalNotFound: 404,
    errors.RuleNotFound: 404,
    errors.CommandNotFound: 404,
    errors.WorkspaceNotFound: 404,
    errors.RecordingNotFound: 404,
    errors.ToolNotFound: 404,
    errors.TokenNotFound: 404,
    errors.TerminalBusy: 409,
    errors.TerminalPaused: 409,
    errors.AlreadyAnswered: 409,
    errors.CommandEnded: 409,
    errors.CommandIdTaken: 409,
    errors.SettingFixed: 409,
    errors.TerminalClosed: 410,
    errors.InputOverflow: 429,
    errors.HostUnavailable: 503,
}

# What aiohttp answers by itself.
_HTTP_CODES = {
    400: "invalid_request",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    411: "length_required",
    413: "too_large",
    415: "unsupported_media_type",
    417: "expectation_failed",
    426: "upgrade_required",
    431: "headers_too_large",
    503: "too_many_connections",
}
INTERNAL_CODE = "internal_error"
_FIELD_CHARACTERS = 1000


def status_of(error: errors.HermittyError) -> int:
    """Return the status that tells of an error."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def body_of(error: errors.HermittyError) -> dict[str, Any]:
    """Return the body that tells of an error: its code, its message and its fields."""
    fields = {name: plain for name, value in vars(error).items() if (plain := _plain(value)) is not _NOTHING}
    return _body(error.code, error.message, fields)


def http_body(status: int, message: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return the body for what HTTP itself refuses."""
    usual = HTTPStatus(status)
    code = _HTTP_CODES.get(status, usual.phrase.lower().replace(" ", "_").replace("-", "_"))
    return _body(code, message or usual.description.lower() or usual.phrase.lower(), fields)


def internal_body(reference: str) -> dict[str, Any]:
    """Return the body for what should not have happened; the log has the rest under the reference."""
    message = f"something went wrong in the server; its log tells more, with the reference {reference}"
    return _body(INTERNAL_CODE, message, {"reference": reference})


def _body(code: str, message: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in fields.items() if name not in ("code", "message")}
    return {"error": {"code": code, "message": message, **rest}}


_NOTHING = object()


def _plain(value: object) -> object:
    """Return a field as JSON has it, if it has."""
    if isinstance(value, str):
        return value[:_FIELD_CHARACTERS]
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if abs(value) < 1e300 else None
    if isinstance(value, tuple | list):
        return [plain for each in value[:50] if (plain := _plain(each)) is not _NOTHING]
    return _NOTHING
