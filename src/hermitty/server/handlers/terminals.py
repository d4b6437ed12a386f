"""Terminals: open, look, change, type, destroy."""

import asyncio
import base64
import binascii

from aiohttp import web
from msgspec import UNSET

from hermitty.errors import InvalidRequest, TerminalClosed, TerminalNotFound, TerminalPaused
from hermitty.runtime.api import Command, Terminal
from hermitty.runtime.pictures import png_later, svg
from hermitty.server import replies, requests
from hermitty.server.reading import sandbox_of
from hermitty.server.routing import Call

_LOG_BYTES = 1024 * 1024


async def open_terminal(call: Call[requests.OpenTerminal, None]) -> replies.Terminal:
    """Open a terminal. It goes on whoever leaves."""
    body, parts = call.body, call.parts
    terminal = await parts.runs.detached(
        parts.runtime.open_terminal(
            cwd=body.cwd,
            shell=body.shell,
            session=body.session,
            workspace=body.workspace,
            env=body.env,
            cols=body.cols,
            rows=body.rows,
            name=body.name,
            sandbox=sandbox_of(body.sandbox),
        )
    )
    shown = parts.views.terminal(terminal)
    # Who hears of a terminal that is opened does not know yet who opened it.
    parts.feed.publish("terminal_changed", {"terminal": shown})
    return shown


async def list_terminals(call: Call[None, requests.TerminalsQuery]) -> replies.Terminals:
    """List the terminals that are open."""
    query = call.query
    return replies.Terminals(terminals=call.parts.views.terminals(workspace=query.workspace, session=query.session))


async def show_terminal(call: Call[None, None]) -> replies.Terminal:
    """Look at a terminal."""
    return call.parts.views.terminal(_terminal(call))


async def change_terminal(call: Call[requests.ChangeTerminal, None]) -> replies.Terminal:
    """Rename a terminal, give it to a session, or let a person have it."""
    terminal, body, runtime = _free_terminal(call), call.body, call.parts.runtime
    if body.name is not UNSET:
        runtime.rename(terminal.id, body.name)
    if body.session is not UNSET:
        runtime.bind(terminal.id, body.session)
    if body.paused is True:
        runtime.pause(terminal.id, call.access.name)
    elif body.paused is False:
        runtime.unpause(terminal.id)
    return _changed(call, terminal)


async def delete_terminal(call: Call[None, None]) -> None:
    """Destroy a terminal. When this is answered, its processes are gone; again is fine."""
    terminal_id, parts = call.path("id"), call.parts
    try:
        _free_terminal(call)
        await parts.runs.detached(parts.runtime.close_terminal(terminal_id))
    except TerminalNotFound:
        if not parts.views.was_there(terminal_id):
            raise


async def type_input(call: Call[requests.Input, None]) -> None:
    """Type into a terminal, whatever it is doing."""
    type_into(_free_terminal(call), call.body)


async def resize(call: Call[requests.Resize, None]) -> replies.Terminal:
    """Change the size of a terminal."""
    terminal = _free_terminal(call)
    terminal.resize(call.body.cols, call.body.rows)
    return _changed(call, terminal)


async def show_screen(call: Call[None, requests.ScreenQuery]) -> web.Response:
    """Show the screen of a terminal: as text, as bytes that repaint it, or as a picture."""
    terminal, query = _terminal(call), call.query
    terminal.check_open()
    screen = terminal.screen
    match query.format:
        case "text":
            text = screen.history_text() if query.history else screen.text()
            return _plain(text.encode("utf-8", "replace"), "text/plain", charset="utf-8")
        case "ansi":
            return _plain(screen.repaint(), "application/octet-stream")
        case "svg":
            return _plain(svg(screen).encode("utf-8", "replace"), "image/svg+xml")
        case "png":
            return _plain(await asyncio.to_thread(png_later(screen)), "image/png")


async def read_log(call: Call[None, requests.LogQuery]) -> web.Response:
    """Read the raw output of a terminal by its offset."""
    log, query = _terminal(call).log, call.query
    since = log.start if query.since is None else query.since
    until = min(log.end, max(since, log.start) + (query.limit or _LOG_BYTES))
    piece = log.read(since, until if since <= log.end else None)
    headers = {
        "X-Hermitty-Offset": str(piece.offset),
        "X-Hermitty-Next": str(piece.end),
        "X-Hermitty-End": str(log.end),
        "X-Hermitty-Missed": str(piece.missed),
    }
    return _plain(piece.data, "application/octet-stream", headers=headers)


def type_into(target: Terminal | Command, body: requests.Input) -> None:
    """Type what a body says: exactly one of its fields."""
    given = [name for name in ("text", "base64", "key") if getattr(body, name) is not None]
    if len(given) != 1:
        raise InvalidRequest(f"give exactly one of text, base64 and key, not {' and '.join(given) or 'none'}")
    if body.key is not None:
        target.send_key(body.key)
    elif body.text is not None:
        target.write(body.text)
    else:
        target.write(_bytes(body.base64 or ""))


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text.encode("ascii", "replace"), validate=True)
    except (binascii.Error, ValueError) as exc:
        raise InvalidRequest(f"base64 is not valid: {exc}") from exc


def _free_terminal(call: "Call[object, object]") -> Terminal:
    """Return a terminal to do something to, or raise TerminalPaused: a person has it, and keeps agents out."""
    terminal = _terminal(call)
    if terminal.paused_by is not None and not call.access.may_touch(terminal.paused_by):
        raise TerminalPaused(terminal.id, terminal.paused_by)
    return terminal


def _terminal(call: "Call[object, object]") -> Terminal:
    return call.parts.runtime.terminal(call.path("id"))


def _changed(call: "Call[object, object]", terminal: Terminal) -> replies.Terminal:
    if not terminal.is_open:
        raise TerminalClosed(terminal.id, terminal.closed_because or "it has ended")
    shown = call.parts.views.terminal(terminal)
    call.parts.feed.publish("terminal_changed", {"terminal": shown})
    call.parts.attachments.look(terminal.id, by=call.access.name)
    return shown


def _plain(
    data: bytes, media_type: str, *, charset: str | None = None, headers: dict[str, str] | None = None
) -> web.Response:
    return web.Response(body=data, content_type=media_type, charset=charset, headers=headers)
