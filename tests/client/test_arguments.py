"""Arguments as the body of a request has them."""

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from hermitty import Answer, errors
from hermitty.client.arguments import as_json


@dataclass(frozen=True, slots=True)
class Wish:
    """Something with the fields of a sandbox."""

    mode: str

    def to_json(self) -> dict[str, str]:
        """Return it as an object."""
        return {"mode": self.mode}


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        ({"command": "make", "session": "s", "cols": 80}, {"command": "make", "session": "s", "cols": 80}),
        ({"cwd": Path("/a/b"), "env": MappingProxyType({"A": "1"})}, {"cwd": "/a/b", "env": {"A": "1"}}),
        ({"answers": (Answer("Name?", "Ann"),)}, {"answers": [{"prompt": "Name?", "reply": "Ann"}]}),
        ({"sandbox": "strict"}, {"sandbox": "strict"}),
        ({"sandbox": Wish("strict")}, {"sandbox": {"mode": "strict"}}),
        ({"wait_s": 0, "kill_after_s": 1.5}, {"wait_s": 0, "kill_after_s": 1.5}),
        (dict.fromkeys(("cwd", "env", "sandbox", "wait_s")), dict.fromkeys(("cwd", "env", "sandbox", "wait_s"))),
    ],
)
def test_arguments_become_json(arguments: dict[str, Any], body: dict[str, Any]) -> None:
    assert as_json(**arguments) == body


@pytest.mark.parametrize("name", ["wait_s", "kill_after_s"])
def test_a_time_that_is_none_is_never_sent(name: str) -> None:
    with pytest.raises(errors.InvalidTime):
        as_json(**{name: -1})
