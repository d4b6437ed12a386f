"""The database at a path: opened when it is needed, and again when another file has its place."""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from hermitty.errors import NotSupported
from hermitty.runtime.history.store import Identity, identity_of, move_aside


class Opened(Protocol):
    """A database that is open."""

    @property
    def is_in_place(self) -> bool:
        """Tell whether the file is still the one that was opened."""

    def close(self) -> None:
        """Close it."""


DatabaseT = TypeVar("DatabaseT", bound=Opened)


class AtPath(Generic[DatabaseT]):
    """One database at a time. `opened` is told of each that is opened. A file of a newer hermitty stays refused."""

    def __init__(
        self, path: Path, make: Callable[[Path], DatabaseT], opened: Callable[[DatabaseT], object] = lambda _: None
    ) -> None:
        self._path = path
        self._make = make
        self._opened = opened
        self._database: DatabaseT | None = None
        self._tried: Identity | None = None  # the file that was opened, or could not be
        self._refused: NotSupported | None = None

    def database(self) -> DatabaseT:
        """Return it. Raises sqlite3.Error as SQLite does, and NotSupported for a newer one."""
        if self._refused is not None:
            raise self._refused
        if self._database is not None and not self._database.is_in_place:
            self.close()
        if self._database is None:
            self._tried = identity_of(self._path)
            try:
                self._database = self._make(self._path)
            except NotSupported as error:
                self._refused = error
                raise
            self._opened(self._database)
        return self._database

    def close(self) -> None:
        """Close it; whoever asks again opens it again."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def make_room(self, now: float) -> Path | None:
        """Move a damaged file aside and return where it is now; None: somebody else was quicker.

        Raises HostUnavailable when it cannot be moved.
        """
        self.close()
        return move_aside(self._path, now) if identity_of(self._path) == self._tried else None
