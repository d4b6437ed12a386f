"""Who else wants to know what commands do: a seam for whatever keeps their output or counts them."""

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from hermitty.engine.command import Command
    from hermitty.engine.terminal import Terminal


class Observer(Protocol):
    """Is told everything about the commands of terminals, at once and in order. It must be quick and never raise."""

    def began(self, terminal: "Terminal", command: "Command") -> None:
        """A command was sent, or typed by a person."""

    def output(self, terminal: "Terminal", command: "Command", data: bytes) -> None:
        """A command printed something."""

    def ended(self, terminal: "Terminal", command: "Command") -> None:
        """A command is over; its state and exit code are set."""

    def keep(self, command: "Command") -> dict[str, Any]:
        """Return what another process needs to go on observing a command, as JSON values. What is kept must be safe."""

    def resumed(self, terminal: "Terminal", command: "Command", kept: dict[str, Any]) -> None:
        """Go on with a command that began in another process, from where it was kept."""

    def closed(self, terminal: "Terminal") -> None:
        """A terminal is closed, and everything of it that could be freed is."""

    def artifact(self, command: "Command") -> str | None:
        """Return the name under which the complete output of a command is kept, if it is."""


class NoObserver:
    """Keeps nothing."""

    def began(self, terminal: "Terminal", command: "Command") -> None:
        """Ignore it."""

    def output(self, terminal: "Terminal", command: "Command", data: bytes) -> None:
        """Ignore it."""

    def ended(self, terminal: "Terminal", command: "Command") -> None:
        """Ignore it."""

    def keep(self, command: "Command") -> dict[str, Any]:
        """Keep nothing."""
        return {}

    def resumed(self, terminal: "Terminal", command: "Command", kept: dict[str, Any]) -> None:
        """Ignore it."""

    def closed(self, terminal: "Terminal") -> None:
        """Ignore it."""

    def artifact(self, command: "Command") -> str | None:
        """Return nothing."""
        return None
