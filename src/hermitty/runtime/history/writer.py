"""Recording commands without making anybody wait: one thread owns the database, one bounded queue leads to it.

Everything that waits in the queue is committed at once. What cannot be recorded is counted, told, and noted in the
history itself; a command never fails because its record does.
"""

import asyncio
import contextlib
import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path

from hermitty.config import HistorySettings
from hermitty.errors import HermittyError, HostUnavailable
from hermitty.runtime.history.at_path import AtPath
from hermitty.runtime.history.entry import (
    COMMAND_LIMIT_BYTES,
    HistoryEntry,
    HistoryPage,
    HistoryQuery,
    presentable,
    shortened,
)
from hermitty.runtime.history.store import HistoryDatabase, is_damage, is_locked

# Commands that end within this time are written together.
_GATHER_S = 0.25
_QUEUE_BYTES = 8 * 1024 * 1024
# A history that is closed while another process has it locked gives up after so many tries of a second each.
_LAST_TRIES = 5
# Old entries are looked for when the database is opened, and after so many writes.
_PRUNE_EVERY = 1000


@dataclass(frozen=True, slots=True)
class _Record:
    entry: HistoryEntry
    length: int
    mask: bool


@dataclass(frozen=True, slots=True)
class _Search:
    query: HistoryQuery
    answer: Future[HistoryPage] = field(default_factory=Future)


class History:
    """The history of commands in one file. `tell` hears of problems, perhaps in the thread of the writer.

    The file and the thread come with the first use. Whoever made it closes it.
    """

    def __init__(
        self,
        path: Path,
        settings: Callable[[], HistorySettings] = HistorySettings,
        *,
        tell: Callable[[str], None] | None = None,
        queue_bytes: int = _QUEUE_BYTES,
    ) -> None:
        self.path = path
        self.dropped = 0  # commands that were not recorded, since the start
        self._settings = settings
        self._latest = HistorySettings()
        self._tell = tell or logging.getLogger("hermitty.history").warning
        self._queue_bytes = queue_bytes
        self._changed = threading.Condition()
        self._queue: deque[_Record | _Search] = deque()
        self._queued_bytes = 0
        self._missing = 0  # dropped, and not yet noted in the history
        self._why = ""
        self._closing = False
        self._thread: threading.Thread | None = None
        self._over: Future[None] = Future()
        # Only the thread touches these.
        self._file = AtPath(path, HistoryDatabase, self._prune)
        self._last_problem = ""
        self._writes = 0

    def record(self, entry: HistoryEntry) -> bool:
        """Hand an entry over and return at once. False: it will not be recorded, by a setting or for lack of room."""
        settings = self._latest = self._settings()
        if not settings.enabled or (settings.ignore_space and entry.command.startswith(" ")):
            return False
        length = len(entry.command)
        if length > COMMAND_LIMIT_BYTES:
            entry = replace(entry, command=shortened(entry.command))
        with self._changed:
            full = self._queued_bytes + entry.cost_bytes > self._queue_bytes
            if not full and not self._closing:
                self._queued_bytes += entry.cost_bytes
                self._put(_Record(entry, length, settings.mask_secrets))
                return True
            is_first = self._missing == 0
            self._drop(1, "the history was closed" if self._closing else "they came faster than they could be stored")
        if is_first:
            self._tell(f"history: commands are not recorded for now: {self._why}")
        return False

    async def search(self, query: HistoryQuery) -> HistoryPage:
        """Return one page, newest first; everything recorded before is in it."""
        search = _Search(query)
        self._latest = self._settings()
        with self._changed:
            if self._closing:
                raise HostUnavailable("the history is closed")
            self._put(search)
        return await asyncio.wrap_future(search.answer)

    async def flush(self) -> None:
        """Wait until everything recorded so far is stored, or known to be lost."""
        if self._thread is not None and not self._closing:
            with contextlib.suppress(HermittyError):  # what could not be stored was told
                await self.search(HistoryQuery(limit=1))

    async def aclose(self) -> None:
        """Store what waits, and end the thread. Nothing is recorded from then on."""
        if self._start_closing():
            await asyncio.wrap_future(self._over)
            self.close()

    def close(self) -> None:
        """Do the same as `aclose`, and block meanwhile."""
        if self._start_closing() and self._thread is not None:
            self._thread.join()

    def _start_closing(self) -> bool:
        with self._changed:
            self._closing = True
            self._changed.notify()
            return self._thread is not None

    def _put(self, job: _Record | _Search) -> None:
        is_first = not self._queue
        self._queue.append(job)
        if self._thread is None:
            # A daemon: a program that forgets to close must still be able to end.
            self._thread = threading.Thread(target=self._work, name="hermitty-history", daemon=True)
            self._thread.start()
        # Records can wait for each other; who searches waits for an answer.
        if is_first or isinstance(job, _Search):
            self._changed.notify()

    def _drop(self, count: int, why: str) -> None:
        self.dropped += count
        self._missing += count
        self._why = why

    # What the thread does.

    def _work(self) -> None:
        try:
            while (jobs := self._next_jobs()) is not None:
                self._store([job for job in jobs if isinstance(job, _Record)])
                for job in jobs:
                    if isinstance(job, _Search):
                        self._answer(job)
        finally:
            self._file.close()
            if self._missing:
                self._tell(f"history: {self._missing} commands were not recorded: {self._why}")
            self._over.set_result(None)

    def _next_jobs(self) -> list[_Record | _Search] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closing)
            self._changed.wait_for(self._cannot_wait, timeout=_GATHER_S)
            jobs = list(self._queue)
            self._queue.clear()
            self._queued_bytes = 0
            return jobs or None

    def _cannot_wait(self) -> bool:
        return self._closing or isinstance(self._queue[-1], _Search) or self._queued_bytes > self._queue_bytes // 2

    def _store(self, records: list[_Record]) -> None:
        if not records:
            return
        entries = [presentable(record.entry, length=record.length, mask=record.mask) for record in records]
        tries = 0
        while True:
            try:
                self._write(entries)
                return
            except sqlite3.Error as error:
                if is_damage(error) and self._replace_damaged(error):
                    continue
                if not is_locked(error):
                    self._lose(len(entries), str(error))
                    return
                tries += 1
                self._problem("history: another program has it locked; commands wait to be recorded")
                if self._closing and tries >= _LAST_TRIES:
                    self._lose(len(entries), str(error))
                    return
            except HermittyError as error:
                self._lose(len(entries), str(error))
                return

    def _write(self, entries: list[HistoryEntry]) -> None:
        database = self._file.database()
        with self._changed:
            missing, why = self._missing, self._why
        database.write(entries, missing=missing, reason=why, now=time.time())
        with self._changed:
            self._missing -= missing
        if missing:
            self._tell(f"history: {missing} commands were not recorded: {why}")
        self._last_problem = ""
        self._writes += len(entries)
        if self._writes >= _PRUNE_EVERY:
            self._prune(database)

    def _prune(self, database: HistoryDatabase) -> None:
        settings = self._latest
        older_than = None if settings.keep_days is None else time.time() - settings.keep_days * 86400
        database.prune(older_than=older_than, max_entries=settings.max_entries)
        self._writes = 0

    def _replace_damaged(self, error: sqlite3.Error) -> bool:
        """Move a damaged file aside and tell; False when that is not possible."""
        try:
            target = self._file.make_room(time.time())
        except HermittyError as failed:
            self._problem(f"history: {failed}")
            return False
        if target is not None:
            self._tell(f"history: {self.path} was damaged ({error}); it is {target.name} now, and a new one was begun")
        return True

    def _answer(self, job: _Search) -> None:
        if not job.answer.set_running_or_notify_cancel():
            return  # whoever asked was cancelled
        try:
            page = self._file.database().search(job.query)
            with self._changed:
                missing = self._missing  # which the file cannot tell yet
            job.answer.set_result(replace(page, missing=page.missing + missing))
        except sqlite3.Error as error:
            job.answer.set_exception(HostUnavailable(f"history {str(self.path)!r} cannot be read: {error}"))
        except HermittyError as error:
            job.answer.set_exception(error)

    def _lose(self, count: int, why: str) -> None:
        with self._changed:
            self._drop(count, why)
        self._problem(f"history: commands are not recorded for now: {why}")

    def _problem(self, text: str) -> None:
        """Tell a problem, once as long as it lasts."""
        if text != self._last_problem:
            self._last_problem = text
            self._tell(text)
