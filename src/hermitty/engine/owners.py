"""What a registry keeps of the terminals that outlive it: whose they are."""

import json
from typing import Any

from hermitty.engine.host_opener import OWNER
from hermitty.engine.ledger import Entry
from hermitty.engine.reuse import Use
from hermitty.engine.terminal import Terminal

_VERSION = 1


def keep(entry: Entry) -> None:
    """Keep whose a terminal is, if it outlives this process and something has changed."""
    terminal = entry.terminal
    if not terminal.has_begun or not terminal.is_open or not terminal.pty.is_durable:
        return
    record = _record(entry)
    if record != entry.kept:
        entry.kept = record
        terminal.pty.put_file(OWNER, record)


def entry_of(record: dict[str, Any], terminal: Terminal) -> Entry | None:
    """Make the entry of a terminal from what was kept; None when another version wrote it."""
    if record.get("version") != _VERSION:
        return None
    return Entry(
        terminal,
        record["number"],
        record["shell"],
        record["session"],
        record["workspace"],
        frozenset((name, value) for name, value in record["env"]),
        record["keep"],
        record["first_env"],
        record["is_counted"],
        record["name"],
        record["opened_at"],
        held=Use.IDLE,
        switches=record["switches"],
        taint=record["taint"],
    )


def _record(entry: Entry) -> bytes:
    return json.dumps(
        {
            "version": _VERSION,
            "number": entry.number,
            "shell": entry.shell,
            "session": entry.session,
            "workspace": entry.workspace,
            "env": sorted(entry.env),
            "keep": entry.keep,
            "first_env": None if entry.first_env is None else dict(entry.first_env),
            "is_counted": entry.is_counted,
            "name": entry.name,
            "opened_at": entry.opened_at,
            "switches": entry.switches,
            "taint": entry.taint,
        },
        separators=(",", ":"),
    ).encode()
