"""What the judges of single programs may ask and call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hermitty.policy.arguments import Arg
from hermitty.policy.effects import Finding


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a line would run. Paths are absolute and normalised; None is not known."""

    cwd: str | None = None
    workspace: str | None = None
    home: str | None = None
    shell: str = "bash"
    secrets: tuple[str, ...] = ()  # directories of secrets beyond those that everybody has: our own


class Judge(Protocol):
    """Judges what a program would run in turn."""

    @property
    def here(self) -> Surroundings:
        """Return where the program would run: `cd` earlier in the line counts."""

    def command(self, args: Sequence[Arg]) -> list[Finding]:
        """Judge a program with its arguments, such as the one behind `env`, `xargs` or `find -exec`."""

    def script(self, text: Arg, shell: str) -> list[Finding]:
        """Judge a text that another shell would run, such as the one behind `sh -c`."""
