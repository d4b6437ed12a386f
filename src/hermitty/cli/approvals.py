"""`hermitty approvals`: who allowed what, newest first."""

import argparse
import shutil
import sys
import time
from typing import Any

from hermitty.cli.escapes import visible
from hermitty.errors import InvalidRequest
from hermitty.runtime.audit import read_audit
from hermitty.runtime.places import find_places
from hermitty.wire.records import to_json

_HEADINGS = ("when", "outcome", "level", "by", "session", "command")


def show_approvals(options: argparse.Namespace) -> int:
    """Print what was asked for and return the exit code."""
    if options.limit < 1:
        raise InvalidRequest(f"--limit must be 1 or more, not {options.limit}")
    if options.pending or options.reply is not None:
        from hermitty.cli.questions import answer_question, list_questions

        return list_questions(options) if options.reply is None else answer_question(options)

    def is_wanted(record: dict[str, Any]) -> bool:
        return (
            (not options.answers or record.get("how") == "answer")
            and (not options.denied or record.get("outcome") != "allow")
            and (options.session is None or record.get("session") == options.session)
        )

    if options.server or options.url:
        from hermitty.cli.questions import read_remote_audit

        # The server does not choose by answers; what is left of the newest is shown.
        records = [record for record in read_remote_audit(options) if is_wanted(record)]
    else:
        records = read_audit(find_places().audit_file, limit=options.limit, wanted=is_wanted)
    if options.json:
        for record in records:
            print(to_json(record))
    elif records:
        _print(records)
    else:
        print("hermitty: nothing was decided yet", file=sys.stderr)
    if not options.json:
        print("hermitty: questions that still wait are listed with --pending", file=sys.stderr)
    return 0


def _print(records: list[dict[str, Any]]) -> None:
    rows = [_HEADINGS, *(_row(record) for record in records)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS) - 1)]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for row in rows:
        line = "  ".join((*(text.ljust(size) for text, size in zip(row, widths, strict=False)), row[-1]))
        print(line if width is None or len(line) <= width else line[: width - 1] + "…")


def _row(record: dict[str, Any]) -> tuple[str, ...]:
    by = record.get("by") or record.get("rule") or record.get("how") or "-"
    return (
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record["at"])),
        *(visible(str(text)) for text in (record.get("outcome"), record.get("level"), by)),
        visible(str(record.get("session") or "-")),
        visible(record["command"]),
    )
