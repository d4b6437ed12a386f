"""Arguments of a runtime's calls, as the body of a request has them. What no server would take is never sent."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from hermitty.model import checked_time
from hermitty.paths import as_path


class Answering(Protocol):
    """When output matches `prompt`, `reply` and Enter are typed: `hermitty.Answer`."""

    @property
    def prompt(self) -> str:
        """Return the pattern."""

    @property
    def reply(self) -> str:
        """Return what to type."""


def as_json(**arguments: Any) -> dict[str, Any]:
    """Return arguments by their names as JSON has them, or raise what the runtime of this process would."""
    return {
        name: _AS_JSON[name](value) if name in _AS_JSON and value is not None else value
        for name, value in arguments.items()
    }


# Those that are not plain values, or that may be wrong.
_AS_JSON: Mapping[str, Callable[[Any], Any]] = {
    "answers": lambda answers: [{"prompt": each.prompt, "reply": each.reply} for each in answers],
    "cwd": as_path,
    "env": dict,
    "kill_after_s": lambda value: checked_time("kill_after_s", value),
    # A mode, an object, or what has its fields.
    "sandbox": lambda wish: wish.to_json() if hasattr(wish, "to_json") else wish,
    "wait_s": lambda value: checked_time("wait_s", value),
}
