"""From what a server answers to the errors that the same request would have raised here."""

import json
from typing import Any

from hermitty import errors
from hermitty.errors import HermittyError, RemoteError

# Where the server tells of an error in another way than here: what its own answers are called.
_MESSAGE_CHARACTERS = 4000


def _classes(kind: type[HermittyError]) -> dict[str, type[HermittyError]]:
    found = {kind.code: kind}
    for each in kind.__subclasses__():
        if each.__module__ == errors.__name__:
            found |= _classes(each)
    return found


def error_of(status: int, body: bytes) -> HermittyError:
    """Make the error that an answer tells of. A code that is not known here is a RemoteError with its name."""
    try:
        told = json.loads(body)["error"]
        code, message = str(told["code"]), str(told["message"])[:_MESSAGE_CHARACTERS]
        fields = {str(name): value for name, value in told.items() if name not in ("code", "message")}
    except (ValueError, TypeError, KeyError, RecursionError, AttributeError):
        return RemoteError(f"the server answered with status {status}, and not as a hermitty server would", "", status)
    kind = _classes(HermittyError).get(code)
    if kind is None or kind in (HermittyError, RemoteError):
        return _filled(RemoteError(message, code, status), fields)
    # Each class is made from other arguments; what they became is told.
    error = kind.__new__(kind)
    HermittyError.__init__(error, message)
    return _filled(error, fields)


def _filled(error: HermittyError, fields: dict[str, Any]) -> HermittyError:
    for name, value in fields.items():
        if name.isidentifier() and not name.startswith("_") and not hasattr(type(error), name):
            setattr(error, name, tuple(value) if isinstance(value, list) else value)
    return error
