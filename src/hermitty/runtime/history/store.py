"""The one SQLite file of the state directory, which several processes share, and the history of commands in it.

WAL with synchronous=NORMAL: what is committed survives the death of the process; a power failure may cost the last
moments, but not the file. `user_version` counts the migrations that were applied.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path

from hermitty.errors import HostUnavailable, NotSupported
from hermitty.model import State
from hermitty.runtime.history.entry import Cursor, HistoryEntry, HistoryPage, HistoryQuery
from hermitty.runtime.places import make_private

# Each migration is a list of statements. Never change one that was released: add another.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE commands (
            number INTEGER PRIMARY KEY,
            command_id TEXT NOT NULL UNIQUE,
            command TEXT NOT NULL,
            source TEXT NOT NULL,
            started_at REAL NOT NULL,
            state TEXT NOT NULL,
            duration_s REAL,
            exit_code INTEGER,
            signal TEXT,
            session TEXT,
            workspace TEXT,
            terminal TEXT,
            provider TEXT NOT NULL,
            shell TEXT,
            cwd TEXT,
            cwd_after TEXT,
            decision TEXT,
            rule TEXT,
            output_bytes INTEGER NOT NULL,
            artifact TEXT
        )
        """,
        "CREATE INDEX commands_by_time ON commands (started_at, number)",
        "CREATE INDEX commands_by_session ON commands (session, started_at, number)",
        # Commands that could not be recorded: when that was noticed, how many, why.
        "CREATE TABLE gaps (at REAL NOT NULL, count INTEGER NOT NULL, reason TEXT NOT NULL)",
    ),
    # What `hermitty.runtime.state` keeps. Texts that are not UTF-8 are stored as BLOBs.
    (
        """
        CREATE TABLE workspaces (
            id TEXT PRIMARY KEY, name TEXT, root TEXT, layout BLOB, changed_at REAL NOT NULL
        ) WITHOUT ROWID
        """,
        "CREATE TABLE sessions (number INTEGER PRIMARY KEY, session TEXT NOT NULL UNIQUE, directory TEXT NOT NULL)",
        """
        CREATE TABLE results (
            number INTEGER PRIMARY KEY, command_id TEXT NOT NULL UNIQUE, ended_at REAL NOT NULL, size INTEGER NOT NULL,
            result BLOB NOT NULL
        )
        """,
        "CREATE INDEX results_by_time ON results (ended_at, number, size)",
        "CREATE TABLE questions (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, record BLOB NOT NULL)",
    ),
)

_COLUMNS = tuple(item.name for item in fields(HistoryEntry))
_INSERT = (
    f"INSERT INTO commands ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))}) "
    f"ON CONFLICT (command_id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS[1:])}"
)

# How long SQLite waits for another process before it says that the database is locked.
_BUSY_S = 1.0

Identity = tuple[int, int]


class Database:
    """The open file, with the newest schema. For one thread at a time. Raises sqlite3.Error as SQLite does."""

    def __init__(self, path: Path, *, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
        make_private(path.parent)
        try:
            # SQLite gives its side files the mode of the main one.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600))
        except FileExistsError:
            # One that is there is opened by SQLite alone: POSIX drops all locks that a process has on a file when it
            # closes any descriptor of it, and another process would take the file of our open connections for its own.
            pass
        except OSError as exc:
            raise HostUnavailable(f"history {str(path)!r} cannot be opened: {exc.strerror}") from exc
        self._path = path
        self._identity = identity_of(path)
        self.connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(migrations)
        except BaseException:
            self.connection.close()
            raise

    @property
    def is_in_place(self) -> bool:
        """Tell whether the file is still the one that was opened; somebody may have moved or deleted it."""
        return self._identity is not None and identity_of(self._path) == self._identity

    def close(self) -> None:
        """Close it."""
        self.connection.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Do everything within, or nothing."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield self.connection
            self.connection.execute("COMMIT")
        except BaseException:
            # SQLite has rolled back by itself when the disk is full or broken.
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    def _prepare(self, migrations: Sequence[Sequence[str]]) -> None:
        version = self._version()
        if version > len(migrations):
            raise NotSupported(
                f"history {str(self._path)!r} was written by a newer hermitty (schema {version}, this one knows "
                f"{len(migrations)}); use that one, or another HERMITTY_STATE_DIR"
            )
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = NORMAL")
        if version == len(migrations):
            return
        with self.transaction():
            # Another process may have been quicker.
            for number in range(self._version(), len(migrations)):
                for statement in migrations[number]:
                    self.connection.execute(statement)
                self.connection.execute(f"PRAGMA user_version = {number + 1}")

    def _version(self) -> int:
        (version,) = self.connection.execute("PRAGMA user_version").fetchone()
        assert isinstance(version, int)
        return version


class HistoryDatabase:
    """The history in an open database. For one thread at a time. Raises sqlite3.Error as SQLite does."""

    def __init__(self, path: Path, *, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
        self._database = Database(path, migrations=migrations)
        self._connection = self._database.connection

    @property
    def is_in_place(self) -> bool:
        """Tell whether the file is still the one that was opened; somebody may have moved or deleted it."""
        return self._database.is_in_place

    def close(self) -> None:
        """Close it."""
        self._database.close()

    def write(self, entries: Iterable[HistoryEntry], *, missing: int = 0, reason: str = "", now: float = 0.0) -> None:
        """Store entries, and a note of those that are missing, in one transaction."""
        with self._database.transaction():
            self._connection.executemany(_INSERT, (tuple(asdict(entry).values()) for entry in entries))
            if missing:
                self._connection.execute("INSERT INTO gaps VALUES (?, ?, ?)", (now, missing, reason))

    def prune(self, *, older_than: float | None, max_entries: int | None) -> None:
        """Forget what is too old or too much."""
        with self._database.transaction():
            if older_than is not None:
                self._connection.execute("DELETE FROM commands WHERE started_at < ?", (older_than,))
                self._connection.execute("DELETE FROM gaps WHERE at < ?", (older_than,))
            if max_entries is not None:
                self._connection.execute(
                    "DELETE FROM commands WHERE (started_at, number) <= "
                    "(SELECT started_at, number FROM commands ORDER BY started_at DESC, number DESC LIMIT 1 OFFSET ?)",
                    (max_entries,),
                )

    def search(self, query: HistoryQuery) -> HistoryPage:
        """Return one page of what is wanted, newest first."""
        where, values = _conditions(query)
        rows = self._connection.execute(
            f"SELECT number, {', '.join(_COLUMNS)} FROM commands WHERE {where} "
            "ORDER BY started_at DESC, number DESC LIMIT ?",
            (*values, query.limit + 1),
        ).fetchall()
        entries = [_entry(row[1:]) for row in rows[: query.limit]]
        more = len(rows) > query.limit and bool(entries)
        cursor = Cursor(entries[-1].started_at, rows[query.limit - 1][0]) if more else None
        (missing,) = self._connection.execute(
            "SELECT coalesce(sum(count), 0) FROM gaps WHERE at >= ? AND at <= ?",
            (query.since or 0.0, query.until if query.until is not None else 1e18),
        ).fetchone()
        return HistoryPage(entries, cursor, missing)


def is_damage(error: sqlite3.Error) -> bool:
    """Tell whether the file is no database, or no longer a good one."""
    return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def is_locked(error: sqlite3.Error) -> bool:
    """Tell whether another process has the database for itself at the moment."""
    return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def move_aside(path: Path, now: float) -> Path:
    """Rename a damaged database, with its side files, and return its new path."""
    when = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    count = 0
    while (target := path.with_name(f"{path.stem}.damaged-{when}{f'-{count}' if count else ''}{path.suffix}")).exists():
        count += 1
    try:
        path.rename(target)
        for ending in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                Path(f"{path}{ending}").rename(f"{target}{ending}")
    except OSError as exc:
        raise HostUnavailable(f"history {str(path)!r} is damaged and cannot be moved: {exc.strerror}") from exc
    return target


def read_history(path: Path, query: HistoryQuery) -> HistoryPage:
    """Search a history that some other process may be writing. A file that is not there is an empty history."""
    if not path.exists():
        return HistoryPage([], None, 0)
    try:
        with contextlib.closing(HistoryDatabase(path)) as database:
            return database.search(query)
    except sqlite3.Error as exc:
        hint = "; it is moved aside when the next command is recorded" if is_damage(exc) else ""
        raise HostUnavailable(f"history {str(path)!r} cannot be read: {exc}{hint}") from exc


def identity_of(path: Path) -> Identity | None:
    """Return what tells this file from another one of the same name."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _conditions(query: HistoryQuery) -> tuple[str, list[object]]:
    parts, values = ["1"], list[object]()
    if query.search:
        escaped = query.search.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        parts.append(r"command LIKE ? ESCAPE '\'")
        values.append(f"%{escaped}%".encode("utf-8", "backslashreplace").decode())
    if query.session is not None:
        parts.append("session = ?")
        values.append(query.session)
    if query.failed:
        parts.append(f"(exit_code <> 0 OR state IN ('{State.INTERRUPTED}', '{State.KILLED}', '{State.LOST}'))")
    if query.since is not None:
        parts.append("started_at >= ?")
        values.append(query.since)
    if query.until is not None:
        parts.append("started_at <= ?")
        values.append(query.until)
    if query.before is not None:
        parts.append("(started_at, number) < (?, ?)")
        values += [query.before.started_at, query.before.number]
    return " AND ".join(parts), values


def _entry(row: Sequence[object]) -> HistoryEntry:
    values = dict(zip(_COLUMNS, row, strict=True))
    values["state"] = State(str(values["state"]))
    return HistoryEntry(**values)  # type: ignore[arg-type]  # the columns are the fields, in their order
