"""What a server keeps of the past: complete outputs of commands, and the history."""

from typing import Any

from hermitty.client.http import Http, part
from hermitty.client.values import Cursor, HistoryPage, SearchResult, build, history_of, search_of
from hermitty.output.pages import Page


async def read_page(http: Http, artifact_id: str, offset: int, limit: int | None) -> Page:
    """Return a piece of an output, from an offset on."""
    path, query = f"/api/artifacts/{part(artifact_id)}", {"offset": offset, "limit": limit}
    told = (await http.get(path, query=query)).json()
    data = str(told["text"]).encode()
    if "\ufffd" in told["text"]:
        # Text cannot say which bytes these were.
        data = (await http.get(path, query={**query, "format": "raw"})).body
    return build(Page, told, data=data)


async def read_lines(http: Http, artifact_id: str, first: int, count: int) -> Page:
    """Return lines of an output; the first line is number 1."""
    told = (await http.get(f"/api/artifacts/{part(artifact_id)}/lines", query={"first": first, "count": count})).json()
    return build(Page, told, data=str(told["text"]).encode())


async def search(http: Http, artifact_id: str, pattern: str, offset: int) -> SearchResult:
    """Find lines of an output."""
    told = await http.get(f"/api/artifacts/{part(artifact_id)}", query={"search": pattern, "offset": offset})
    return search_of(told.json())


async def read_history(http: Http, query: Any) -> HistoryPage:
    """Return commands that ran, newest first. The query is anything with the fields of a `HistoryQuery`, or None."""
    names = ("search", "session", "failed", "since", "until", "limit")
    values = {name: getattr(query, name, None) for name in names}
    before = getattr(query, "before", None)
    place = None if before is None else Cursor(before.started_at, before.number).text
    told = await http.get("/api/history", query={**values, "failed": values["failed"] or None, "before": place})
    return history_of(told.json())
