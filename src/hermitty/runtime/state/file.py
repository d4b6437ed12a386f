"""The SQLite file of the state directory, for short writes from the event loop.

A write is in the file when the call returns: the death of the process does not take it back. The disk is waited for by
a thread. What another process has locked is tried again. What cannot be written is counted and told; it is nobody's
failure. Reading raises HostUnavailable then.
"""

import asyncio
import contextlib
import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hermitty.errors import HermittyError, HostUnavailable
from hermitty.runtime.history.at_path import AtPath
from hermitty.runtime.history.store import Database, is_damage, is_locked

T = TypeVar("T")

# The event loop waits no longer than this for another process or the thread of the history, and tries again later. A
# result that waits is lost if this process is killed meanwhile; the thread may be slow, but has little to do.
_BUSY_MS = 250
_RETRY_S = 0.1
_BACKLOG_BYTES = 8 * 1024 * 1024
# The disk is waited for after so many bytes, as SQLite does by itself, but not in the event loop.
_CHECKPOINT_BYTES = 4 * 1024 * 1024
# What was written meanwhile is moved in the next round, which is shorter.
_CHECKPOINT_TRIES = 20


@dataclass(frozen=True, slots=True)
class _Write:
    do: Callable[[sqlite3.Connection], None]
    cost_bytes: int


class StateFile:
    """One connection, opened at the first use. For one thread.

    `tell` hears of problems, once as long as one lasts; `lost` counts the writes that were given up. `forgotten` is
    called when what was remembered of the file does not count any more: a write failed, or it is another file.
    """

    def __init__(
        self,
        path: Path,
        *,
        tell: Callable[[str], None] | None = None,
        forgotten: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = path
        self.lost = 0
        self.problem = ""  # why the last write was given up; empty after one that was not
        self._tell = tell or logging.getLogger("hermitty.state").warning
        self._forgotten = forgotten
        self._clock = clock
        self._file = AtPath(path, Database, self._prepare)
        self._last_problem = ""
        self._backlog: deque[_Write] = deque()  # in their order, because another process has the file
        self._backlog_bytes = 0
        self._retry: asyncio.TimerHandle | None = None
        self._since_checkpoint = 0
        self._checkpointer: threading.Thread | None = None
        self._closed = False

    def read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return rows. Raises HostUnavailable, or NotSupported for a file of a newer hermitty."""
        if self._backlog:
            self._flush()

        def read(database: Database) -> list[tuple[Any, ...]]:
            return database.connection.execute(sql, values).fetchall()

        try:
            return self._with_database(read)
        except sqlite3.Error as exc:
            raise HostUnavailable(f"state {str(self.path)!r} cannot be read: {exc}") from exc

    def write(self, do: Callable[[sqlite3.Connection], None], size: int = 0) -> bool:
        """Do something in a transaction; False when that is given up. `size` is how many bytes it stores."""
        cost = size + 1024
        if self._closed:
            return self.give_up("the store is closed")
        if self._backlog_bytes + cost > _BACKLOG_BYTES:
            return self.give_up(f"another program has {self.path.name} locked, and too much waits")
        self._backlog.append(_Write(do, cost))
        self._backlog_bytes += cost
        return self._flush()

    def _flush(self) -> bool:
        """Store what waits; False when it is lost."""
        if not self._backlog:
            return True

        def write(database: Database) -> None:
            with database.transaction() as db:
                for write in self._backlog:
                    write.do(db)

        try:
            self._with_database(write)
        except sqlite3.Error as error:
            self._forgotten()
            if is_locked(error):
                self._try_again()
                return True
            return self._lose(str(error))
        except HermittyError as error:
            return self._lose(str(error))
        self._since_checkpoint += self._backlog_bytes
        self._backlog.clear()
        self._backlog_bytes = 0
        self._last_problem = self.problem = ""
        self._stop_retrying()
        if self._since_checkpoint > _CHECKPOINT_BYTES:
            self._checkpoint()
        return True

    def _with_database(self, use: Callable[[Database], T]) -> T:
        """Use the file; one that is damaged is moved aside first."""
        try:
            return use(self._opened())
        except sqlite3.Error as error:
            if not is_damage(error) or not self._replace_damaged(error):
                raise
            return use(self._opened())

    def _opened(self) -> Database:
        if self._closed:
            raise HostUnavailable("the state is closed")
        return self._file.database()

    def _prepare(self, database: Database) -> None:
        self._forgotten()
        database.connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        database.connection.execute("PRAGMA wal_autocheckpoint = 0")

    def _replace_damaged(self, error: sqlite3.Error) -> bool:
        self._forgotten()
        try:
            target = self._file.make_room(self._clock())
        except HermittyError:
            return False
        if target is not None:
            self._tell(f"state: {self.path} was damaged ({error}); it is {target.name} now, and a new one was begun")
        return True

    def close(self) -> None:
        """Store what waits, and close the file. Nothing is stored from then on."""
        if self._closed:
            return
        self._flush()
        if self._backlog:
            self._lose(f"another program has {self.path.name} locked")
        self._closed = True
        self._stop_retrying()
        if self._checkpointer is not None:
            self._checkpointer.join()
        self._file.close()

    def _checkpoint(self) -> None:
        if self._checkpointer is None or not self._checkpointer.is_alive():
            self._since_checkpoint = 0
            self._checkpointer = threading.Thread(
                target=_checkpoint, args=(self.path,), name="hermitty-state", daemon=True
            )
            self._checkpointer.start()

    def _try_again(self) -> None:
        self._problem(f"state: another program has {self.path.name} locked; what is to be stored waits")
        if self._retry is None and not self._closed:
            with contextlib.suppress(RuntimeError):  # no event loop: the next call tries again
                self._retry = asyncio.get_running_loop().call_later(_RETRY_S, self._flush_later)

    def _flush_later(self) -> None:
        self._retry = None
        self._flush()

    def _stop_retrying(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None

    def _lose(self, why: str) -> bool:
        self.lost += len(self._backlog)
        self._backlog.clear()
        self._backlog_bytes = 0
        self.problem = why
        self._problem(f"state: what should outlive a restart is not stored for now: {why}")
        return False

    def give_up(self, why: str) -> bool:
        """Count a write that cannot be done, and tell."""
        self.lost += 1
        self.problem = why
        self._problem(f"state: what should outlive a restart is not stored: {why}")
        return False

    def _problem(self, text: str) -> None:
        """Tell a problem, once as long as it lasts."""
        if text != self._last_problem:
            self._last_problem = text
            self._tell(text)


def _checkpoint(path: Path) -> None:
    """Move what was written from the side file into the file. Nobody has to wait for it."""
    with contextlib.suppress(sqlite3.Error):  # the next one, or the history, does it
        uri = f"{path.absolute().as_uri()}?mode=rw"
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = NORMAL")
            for _ in range(_CHECKPOINT_TRIES):
                _, written, moved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                if moved == written:
                    break  # the side file is used again from its start
