"""What somebody wants run, checked once at the door."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hermitty.config import RunSettings, Settings
from hermitty.engine.interact import Answer, checked_answers
from hermitty.errors import InvalidRequest
from hermitty.host.base import Stream
from hermitty.model import CommandId, ProviderName, checked_command_id, checked_line, checked_time, is_encodable
from hermitty.sandbox.spec import Sandbox


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One command, with everything that was said about it. Times of None are replaced by the settings."""

    command: str | Sequence[str]
    cwd: str | os.PathLike[str] | None = None
    session: str | None = None
    workspace: str | None = None
    shell: str | None = None
    provider: ProviderName = "pty"
    env: Mapping[str, str] = field(default_factory=dict)
    wait_s: float | None = None
    kill_after_s: float | None = None
    answers: Sequence[Answer] = ()
    on_output: Callable[[Stream, bytes], None] | None = None
    command_id: str | None = None
    sandbox: Sandbox | None = None
    merged: bool = False

    def root(self, cwd: str) -> str | None:
        """Return the root of the project: the workspace if it is named by a path, else the directory."""
        if self.workspace is not None and os.path.isabs(self.workspace):
            return self.workspace
        return cwd if cwd != os.sep else None

    def check(self) -> None:
        """Raise an error that names what is wrong, before anything is done."""
        if self.provider not in ("pty", "pipe"):
            raise InvalidRequest(f"provider {self.provider!r} is not known; use pty or pipe")
        if isinstance(self.command, str) or not isinstance(self.command, Sequence):
            checked_line(self.command)
        checked_answers(self.answers)
        is_piped = self.provider == "pipe" or not isinstance(self.command, str)
        if self.on_output is not None and not is_piped:
            raise InvalidRequest("on_output is for the pipe provider; a terminal's command has a handle with events()")
        if self.merged and not is_piped:
            raise InvalidRequest("merged is for the pipe provider; a terminal has one output")
        if self.answers and is_piped:
            raise InvalidRequest("prompts can be answered in a terminal only; use the pty provider")
        checked_time("wait_s", self.wait_s)
        checked_time("kill_after_s", self.kill_after_s)
        checked_env(self.env)
        checked_command_id(self.command_id)

    def wait(self, settings: Settings) -> float | None:
        """Return how long the caller waits."""
        if self.wait_s is not None:
            return self.wait_s
        return settings.tools.wait_interactive_s if self.answers else settings.run.wait_s

    @property
    def id(self) -> CommandId | None:
        """Return the id that the command is to have, if the caller chose one."""
        return checked_command_id(self.command_id)

    def kill_after(self, settings: RunSettings) -> float | None:
        """Return when the command is killed."""
        return settings.kill_after_s if self.kill_after_s is None else self.kill_after_s


def checked_env(env: Mapping[str, str]) -> dict[str, str]:
    """Return variables that can be set, or raise InvalidRequest."""
    for name, value in env.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise InvalidRequest(f"environment variable {name!r} cannot be set: names and values are texts")
        if not name or "=" in name or "\0" in name + value or not is_encodable(name + value):
            raise InvalidRequest(f"environment variable {name!r} cannot be set")
    return dict(env)
