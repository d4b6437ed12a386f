"""`hermitty history`: the commands that ran, newest first."""

import argparse
import dataclasses
import shutil
import sys
import time

from hermitty.cli.escapes import visible
from hermitty.errors import InvalidRequest
from hermitty.runtime.history.entry import HistoryEntry, HistoryPage, HistoryQuery
from hermitty.runtime.history.store import read_history
from hermitty.runtime.places import find_places
from hermitty.wire.records import to_json

_HEADINGS = ("when", "result", "took", "session", "command")


def show_history(options: argparse.Namespace) -> int:
    """Print what was asked for and return the exit code."""
    if options.limit < 1:
        raise InvalidRequest(f"--limit must be 1 or more, not {options.limit}")
    query = HistoryQuery(search=options.search, session=options.session, failed=options.failed, limit=options.limit)
    page = (
        _ask_server(options, query)
        if options.server or options.url
        else read_history(find_places().history_file, query)
    )
    if options.json:
        for entry in page.entries:
            print(to_json(_record(entry)))
    elif page.entries:
        _print(page.entries)
    else:
        print("hermitty: no such commands in the history", file=sys.stderr)
    if page.missing:
        print(f"hermitty: {page.missing} commands could not be recorded and are missing here", file=sys.stderr)
    return 0


def _ask_server(options: argparse.Namespace, query: HistoryQuery) -> HistoryPage:
    import asyncio

    from hermitty.cli.finding import connect
    from hermitty.client.values import history_of

    async def work() -> HistoryPage:
        async with connect(options) as http:
            wanted = {name: getattr(query, name) for name in ("search", "session", "limit")}
            told = history_of((await http.get("/api/history", query={**wanted, "failed": query.failed or None})).json())
        entries = [HistoryEntry(**dataclasses.asdict(entry)) for entry in told.entries]
        return HistoryPage(entries, None, told.missing)

    return asyncio.run(work())


def _record(entry: HistoryEntry) -> dict[str, object]:
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(entry.started_at))
    return {**dataclasses.asdict(entry), "started": started}


def _print(entries: list[HistoryEntry]) -> None:
    rows = [_HEADINGS, *(_row(entry) for entry in entries)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS) - 1)]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for row in rows:
        line = "  ".join((*(text.ljust(size) for text, size in zip(row, widths, strict=False)), row[-1]))
        print(line if width is None or len(line) <= width else line[: width - 1] + "…")


def _row(entry: HistoryEntry) -> tuple[str, ...]:
    return (
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.started_at)),
        visible(_result(entry)),
        "-" if entry.duration_s is None else _duration(entry.duration_s),
        visible(entry.session or "-"),
        visible(entry.command),
    )


def _result(entry: HistoryEntry) -> str:
    code = "?" if entry.exit_code is None else str(entry.exit_code)
    if entry.signal:
        return entry.signal
    return code if entry.state == "done" else str(entry.state)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02}m"
