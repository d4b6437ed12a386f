"""What the server keeps of workspaces. `hermitty.runtime.state` has the implementation."""

from collections.abc import Sequence
from typing import Protocol


class StoredWorkspace(Protocol):
    """A workspace that somebody described."""

    @property
    def id(self) -> str:
        """Return its id."""

    @property
    def name(self) -> str | None:
        """Return how people call it."""

    @property
    def root(self) -> str | None:
        """Return its directory."""


class StateStore(Protocol):
    """Facts that outlive the server. Methods that write tell whether the fact is stored, or will be."""

    @property
    def lost(self) -> int:
        """Return how many facts could not be stored, since the start."""

    @property
    def problem(self) -> str:
        """Return why the last fact was not stored."""

    def workspaces(self) -> Sequence[StoredWorkspace]:
        """Return all of them."""

    def workspace(self, wid: str) -> StoredWorkspace | None:
        """Return one of them."""

    def put_workspace(self, wid: str, *, name: str | None = None, root: str | None = None) -> bool:
        """Remember a workspace; what is None stays as it was."""

    def layout(self, wid: str) -> bytes | None:
        """Return the layout of its page."""

    def put_layout(self, wid: str, data: bytes) -> bool:
        """Remember the layout of its page."""
