"""Lines for tests of the whole policy: judged in one place, never run."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hermitty.policy.check import check
from hermitty.policy.context import Surroundings
from hermitty.policy.decision import Decision

HERE = Surroundings(cwd="/home/me/work", workspace="/home/me/work", home="/home/me")
CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Labelled:
    """A line of the corpus with what is expected of it."""

    command: str | tuple[str, ...]
    shell: str
    expect: str
    level: str | None
    kind: str

    @property
    def decision(self) -> str:
        """The decision that is expected."""
        return {"safe": "allow", "confirm": "ask", "block": "block"}[self.expect]


def labelled(file: Path) -> Iterator[Labelled]:
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        command = row["command"]
        words = command if isinstance(command, str) else tuple(command)
        yield Labelled(words, row["shell"], row["expect"], row.get("level"), row["class"])


def decide(command: str | Sequence[str], shell: str = "bash", here: Surroundings = HERE) -> Decision:
    return check(command, shell, here)
