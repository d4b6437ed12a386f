"""Small facts that outlive a server: workspaces, where sessions began, results, questions that wait for an answer.

They are in the SQLite file of the history, through a connection of their own. Every call is short enough for the event
loop, and everything is bounded.
"""

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hermitty.errors import InvalidRequest
from hermitty.runtime.state.file import StateFile

LAYOUT_LIMIT_BYTES = 256 * 1024
MAX_RESULTS = 2000
MAX_RESULT_BYTES = 64 * 1024 * 1024

_NAME_LIMIT = 4096
_RECORD_LIMIT_BYTES = 4 * 1024 * 1024
_MAX_WORKSPACES = 1000
_MAX_SESSIONS = 10_000
_MAX_QUESTIONS = 1000


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace that somebody used. `root` is its directory."""

    id: str
    name: str | None
    root: str | None


class StateStore:
    """The facts of one state directory. For one thread. The file comes with the first use; whoever made it closes it.

    Methods that write return whether the fact is stored, or will be; `tell` hears of problems. Methods that read raise
    HostUnavailable, and NotSupported for a file of a newer hermitty.
    """

    def __init__(
        self,
        path: Path,
        *,
        tell: Callable[[str], None] | None = None,
        max_results: int = MAX_RESULTS,
        max_result_bytes: int = MAX_RESULT_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._max_results = max_results
        self._max_result_bytes = max_result_bytes
        self._clock = clock
        self._tally: tuple[int, int] | None = None  # how many results there are, and their bytes
        self._file = StateFile(path, tell=tell, forgotten=self._forget_tally, clock=clock)

    @property
    def lost(self) -> int:
        """Return how many facts could not be stored, since the start."""
        return self._file.lost

    @property
    def problem(self) -> str:
        """Return why the last fact was not stored; empty if it was."""
        return self._file.problem

    def close(self) -> None:
        """Store what waits, and close the file. Nothing is stored from then on."""
        self._file.close()

    # Workspaces.

    def workspaces(self) -> list[Workspace]:
        """Return all of them, by id."""
        rows = self._file.read("SELECT id, name, root FROM workspaces ORDER BY id")
        return [Workspace(_text(wid), _optional(name), _optional(root)) for wid, name, root in rows]

    def workspace(self, wid: str) -> Workspace | None:
        """Return one of them."""
        rows = self._file.read("SELECT id, name, root FROM workspaces WHERE id = ?", _stored(wid))
        return next((Workspace(_text(found), _optional(name), _optional(root)) for found, name, root in rows), None)

    def put_workspace(self, wid: str, *, name: str | None = None, root: str | None = None) -> bool:
        """Remember a workspace. What is None stays as it was. Of too many, the least recently changed is forgotten."""
        _check_names(wid, name, root)
        return self._put_workspace(wid, {"name": name, "root": root}, 1024)

    def layout(self, wid: str) -> bytes | None:
        """Return the layout of a workspace's page, as it was put."""
        rows = self._file.read("SELECT layout FROM workspaces WHERE id = ?", _stored(wid))
        return next((bytes(layout) for (layout,) in rows if layout is not None), None)

    def put_layout(self, wid: str, data: bytes) -> bool:
        """Remember the layout of a workspace's page. Raises InvalidRequest when it is too long."""
        _check_names(wid)
        if len(data) > LAYOUT_LIMIT_BYTES:
            raise InvalidRequest(f"a layout has at most {LAYOUT_LIMIT_BYTES} bytes, not {len(data)}")
        return self._put_workspace(wid, {"layout": data}, len(data))

    # Sessions.

    def sessions(self) -> dict[str, str]:
        """Return in which directory each session began, the oldest first."""
        rows = self._file.read("SELECT session, directory FROM sessions ORDER BY number")
        return {_text(session): _text(directory) for session, directory in rows}

    def begin_session(self, session: str, directory: str) -> bool:
        """Remember where a session began."""
        if max(len(session), len(directory)) > _NAME_LIMIT:
            return self._file.give_up("a name is too long")

        def do(db: sqlite3.Connection) -> None:
            _do(
                db,
                "INSERT INTO sessions (session, directory) VALUES (?, ?) "
                "ON CONFLICT (session) DO UPDATE SET directory = excluded.directory",
                _stored(session),
                _stored(directory),
            )
            (span,) = db.execute("SELECT max(number) - min(number) FROM sessions").fetchone()
            if span >= _MAX_SESSIONS:
                _keep_newest(db, "sessions", _MAX_SESSIONS)

        return self._file.write(do)

    def end_session(self, session: str) -> bool:
        """Forget a session."""
        return self._file.write(lambda db: _do(db, "DELETE FROM sessions WHERE session = ?", _stored(session)))

    # Results.

    def result(self, command_id: str) -> bytes | None:
        """Return what was put for a command."""
        rows = self._file.read("SELECT result FROM results WHERE command_id = ?", _stored(command_id))
        return next((bytes(result) for (result,) in rows), None)

    def put_result(self, command_id: str, json_bytes: bytes, ended_at: float) -> bool:
        """Remember the result of a command. Those that ended longest ago are forgotten first."""
        size = len(json_bytes)
        if size > min(_RECORD_LIMIT_BYTES, self._max_result_bytes) or len(command_id) > _NAME_LIMIT:
            return self._file.give_up(f"a result of {size} bytes is too long")

        def do(db: sqlite3.Connection) -> None:
            count, total = self._counted(db)
            stored = _stored(command_id)
            new = "INSERT INTO results (command_id, ended_at, size, result) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
            if db.execute(new, (stored, ended_at, size, json_bytes)).rowcount:
                count, total = count + 1, total + size
            else:
                ((before,),) = db.execute("SELECT size FROM results WHERE command_id = ?", (stored,))
                change = "UPDATE results SET ended_at = ?, size = ?, result = ? WHERE command_id = ?"
                _do(db, change, ended_at, size, json_bytes, stored)
                total += size - before
            while count > self._max_results or total > self._max_result_bytes:
                oldest = db.execute("SELECT number, size FROM results ORDER BY ended_at, number LIMIT 1").fetchone()
                if oldest is None:
                    break  # another process forgot some
                _do(db, "DELETE FROM results WHERE number = ?", oldest[0])
                count, total = count - 1, total - oldest[1]
            self._tally = count, total

        return self._file.write(do, size)

    def unfinished(self) -> list[bytes]:
        """Return the results of commands that have not ended: those that were put with an infinite time."""
        return [bytes(result) for (result,) in self._file.read("SELECT result FROM results WHERE ended_at > 1e300")]

    # Questions.

    def questions(self) -> list[bytes]:
        """Return the records of questions that wait for an answer, the oldest first."""
        return [bytes(record) for (record,) in self._file.read("SELECT record FROM questions ORDER BY number")]

    def question_records(self) -> list[tuple[str, bytes]]:
        """Return the ids and records of questions that wait for an answer, the oldest first."""
        rows = self._file.read("SELECT id, record FROM questions ORDER BY number")
        return [(_text(question_id), bytes(record)) for question_id, record in rows]

    def put_question(self, question_id: str, record: bytes) -> bool:
        """Remember a question until it is dropped. Of too many, the oldest are forgotten."""
        if len(record) > _RECORD_LIMIT_BYTES or len(question_id) > _NAME_LIMIT:
            return self._file.give_up(f"a question of {len(record)} bytes is too long")

        def do(db: sqlite3.Connection) -> None:
            _do(
                db,
                "INSERT INTO questions (id, record) VALUES (?, ?) "
                "ON CONFLICT (id) DO UPDATE SET record = excluded.record",
                _stored(question_id),
                record,
            )
            _keep_newest(db, "questions", _MAX_QUESTIONS)

        return self._file.write(do, len(record))

    def drop_question(self, question_id: str) -> bool:
        """Forget a question."""
        return self._file.write(lambda db: _do(db, "DELETE FROM questions WHERE id = ?", _stored(question_id)))

    def _put_workspace(self, wid: str, values: dict[str, str | bytes | None], cost_bytes: int) -> bool:
        given = {column: value for column, value in values.items() if value is not None}
        names = ("id", "changed_at", *given)
        stored = [value if isinstance(value, bytes) else _stored(value) for value in given.values()]
        at = self._clock()

        def do(db: sqlite3.Connection) -> None:
            _do(
                db,
                f"INSERT INTO workspaces ({', '.join(names)}) VALUES ({', '.join('?' * len(names))}) "
                f"ON CONFLICT (id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in names[1:])}",
                _stored(wid),
                at,
                *stored,
            )
            _do(
                db,
                "DELETE FROM workspaces WHERE id IN "
                "(SELECT id FROM workspaces ORDER BY changed_at DESC, id LIMIT -1 OFFSET ?)",
                _MAX_WORKSPACES,
            )

        return self._file.write(do, cost_bytes)

    def _counted(self, db: sqlite3.Connection) -> tuple[int, int]:
        if self._tally is None:
            self._tally = db.execute("SELECT count(*), coalesce(sum(size), 0) FROM results").fetchone()
        assert self._tally is not None
        return self._tally

    def _forget_tally(self) -> None:
        self._tally = None


def _keep_newest(db: sqlite3.Connection, table: str, count: int) -> None:
    _do(
        db,
        f"DELETE FROM {table} WHERE number IN (SELECT number FROM {table} ORDER BY number DESC LIMIT -1 OFFSET ?)",
        count,
    )


def _do(db: sqlite3.Connection, sql: str, *values: object) -> None:
    db.execute(sql, values)


def _check_names(*names: str | None) -> None:
    for name in names:
        if name is not None and len(name) > _NAME_LIMIT:
            raise InvalidRequest(f"the names and the root of a workspace have at most {_NAME_LIMIT} characters")


def _stored(text: str | None) -> str | bytes | None:
    """Return a text as SQLite takes it: file names may hold bytes that are no text."""
    if text is None:
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _text(stored: object) -> str:
    return stored.decode("utf-8", "surrogatepass") if isinstance(stored, bytes) else str(stored)


def _optional(stored: object) -> str | None:
    return None if stored is None else _text(stored)
