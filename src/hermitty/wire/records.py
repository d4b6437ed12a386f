"""Records as JSON: the shapes that users and other programs rely on."""

import json
import re
from dataclasses import asdict
from typing import Any

from hermitty.model import CommandResult, NeedsInput, Quality, State

# The order in which people read them; the rest of the world does not care.
_RESULT_FIELDS = (
    "id", "command", "session", "terminal", "provider", "shell", "state", "exit_code", "signal", "quality", "text",
    "truncated", "omitted_bytes", "total_bytes", "artifact", "stdout", "stderr", "cwd", "duration_s", "needs_input",
    "warnings", "sandbox",
)  # fmt: skip


def result_to_dict(result: CommandResult) -> dict[str, Any]:
    """Return a result as plain values."""
    values = {name: getattr(result, name) for name in _RESULT_FIELDS}
    if result.needs_input is not None:
        values["needs_input"] = asdict(result.needs_input)
    if result.sandbox is None:
        del values["sandbox"]  # only there when something confined it
    return values


def result_of_dict(values: dict[str, Any]) -> CommandResult:
    """Make a result of what `result_to_dict` returned. Names that are not known are left out."""
    known = {name: values[name] for name in _RESULT_FIELDS if name in values}
    asked = known.get("needs_input")
    known["needs_input"] = None if asked is None else NeedsInput(**asked)
    known["state"] = State(known["state"])
    known["quality"] = Quality(known["quality"])
    return CommandResult(**known)


# Control characters beyond ASCII, and those that turn the direction of writing: terminals obey them.
_CONTROLS = re.compile("[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def to_json(value: Any) -> str:
    """Write JSON on one line, without anything that a terminal would obey.

    Bytes that were no text stay visible as replacement characters.
    """
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
