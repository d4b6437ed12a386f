"""`hermitty ls`, `open`, `send`, `screen`, `log`, `kill`: the terminals of a running server.

Names, titles and commands are other people's texts: they reach our terminal with their control characters made
visible.
"""

import argparse
import asyncio
import base64
import codecs
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from hermitty.cli.escapes import visible
from hermitty.cli.finding import choose, connect, find_terminal, terminals_of
from hermitty.client.http import Http, part
from hermitty.client.values import TerminalView, terminal_of
from hermitty.errors import InvalidRequest
from hermitty.wire.records import to_json

_HEADINGS = ("id", "#", "name", "state", "command", "cwd", "session", "viewers")
_LOG_PAGE = 1024 * 1024
# What the body of a request may hold, with room for the rest of it.
_INPUT_BYTES = 256 * 1024


def list_terminals(options: argparse.Namespace) -> int:
    """Print the terminals and return the exit code."""

    async def work() -> int:
        async with connect(options) as http:
            told = await terminals_of(http, workspace=options.workspace, session=options.session)
        if options.json:
            for each in told:
                print(to_json(each))
        elif told:
            _print([_row(terminal_of(each)) for each in told])
        else:
            print("hermitty: no terminals; open one with `hermitty open`", file=sys.stderr)
        return 0

    return asyncio.run(work())


def open_terminal(options: argparse.Namespace) -> int:
    """Open a terminal, print its id or attach to it, and return the exit code."""

    async def work() -> int:
        async with connect(options) as http:
            body: dict[str, Any] = {
                "cwd": _directory(http, options.cwd),
                "shell": options.shell,
                "name": options.name,
                "session": options.session,
                "workspace": options.workspace,
                "sandbox": options.sandbox,
            }
            if options.attach and sys.stdout.isatty():
                size = shutil.get_terminal_size()
                body |= {"cols": size.columns, "rows": size.lines}
            answer = await http.send("POST", "/api/terminals", body=body, answer_s=None)
            told = answer.json()
            if not options.attach:
                print(to_json(told) if options.json else visible(str(told["id"])))
                return 0
            from hermitty.cli.attach import attach_to

            return await attach_to(http, terminal_of(told), key="ctrl-]")

    return asyncio.run(work())


def send_input(options: argparse.Namespace) -> int:
    """Type into a terminal and return the exit code."""
    if options.text is None and not options.keys and not options.enter:
        raise InvalidRequest("say what to type: a text, --key or --enter")
    data = sys.stdin.buffer.read() if options.text == "-" else os.fsencode(options.text or "")
    keys = [*options.keys, *(["enter"] if options.enter else [])]

    async def work() -> int:
        async with connect(options) as http:
            view = await find_terminal(http, options.terminal)
            path = f"/api/terminals/{part(view.id)}/input"
            for at in range(0, len(data), _INPUT_BYTES):
                piece = base64.b64encode(data[at : at + _INPUT_BYTES]).decode()
                await http.send("POST", path, body={"base64": piece})
            for key in keys:
                await http.send("POST", path, body={"key": key})
        return 0

    return asyncio.run(work())


def show_screen(options: argparse.Namespace) -> int:
    """Print the screen of a terminal or write it to a file, and return the exit code."""
    is_shown = options.output is None and sys.stdout.isatty()
    if is_shown and options.format in ("svg", "png"):
        raise InvalidRequest(f"a picture is for a file: add -o screen.{options.format}, or redirect the output")
    if options.history and options.format != "text":
        raise InvalidRequest("--history is for --format text")

    async def work() -> bytes:
        async with connect(options) as http:
            view = await find_terminal(http, options.terminal)
            query = {"format": options.format, "history": options.history or None}
            return (await http.get(f"/api/terminals/{part(view.id)}/screen", query=query)).body

    data = asyncio.run(work())
    if options.output is not None:
        try:
            Path(options.output).write_bytes(data)
        except OSError as exc:
            raise InvalidRequest(f"{options.output!r} cannot be written: {exc.strerror}") from exc
        return 0
    if options.format == "text" and not data.endswith(b"\n"):
        data += b"\n"
    with _Shown(is_harmless=is_shown) as shown:
        shown.write(data)
    return 0


def show_log(options: argparse.Namespace) -> int:
    """Print the output of a terminal and return the exit code."""
    if options.since is not None and options.since < 0:
        raise InvalidRequest(f"--since must be 0 or more, not {options.since}")

    async def work() -> int:
        async with connect(options) as http:
            view = await find_terminal(http, options.terminal)
            with _Shown(is_harmless=sys.stdout.isatty() and not options.raw) as shown:
                offset = await _show_pages(http, view.id, options.since, shown)
                if options.follow:
                    await _show_more(http, view.id, offset, shown)
        return 0

    return asyncio.run(work())


def kill_terminals(options: argparse.Namespace) -> int:
    """End terminals and return the exit code."""
    if bool(options.terminals) == options.all:
        raise InvalidRequest("say which terminals: their ids, or --all")

    async def work() -> int:
        async with connect(options) as http:
            there = [terminal_of(told) for told in await terminals_of(http)]
            if options.all:
                if there and not options.yes and not _may_end(there):
                    return 1
                meant = there
            else:
                meant = [choose(each, there) for each in options.terminals]
            for view in dict.fromkeys(meant):
                await http.send("DELETE", f"/api/terminals/{part(view.id)}", repeatable=True)
        return 0

    return asyncio.run(work())


async def _show_pages(http: Http, terminal_id: str, since: int | None, shown: "_Shown") -> int:
    """Show what is kept from an offset on; return where it goes on."""
    while True:
        query = {"since": since, "limit": _LOG_PAGE}
        answer = await http.get(f"/api/terminals/{part(terminal_id)}/log", query=query)
        missed = int(answer.headers.get("X-Hermitty-Missed", 0))
        if missed and since is not None:
            print(f"hermitty: {missed} bytes from offset {since} on are no longer kept", file=sys.stderr)
        shown.write(answer.body)
        since = int(answer.headers["X-Hermitty-Next"])
        if since >= int(answer.headers["X-Hermitty-End"]) or not answer.body:
            return since


async def _show_more(http: Http, terminal_id: str, offset: int, shown: "_Shown") -> None:
    """Show what comes, until the terminal ends."""
    from hermitty.client.link import Lost, Output, Over, Picture, TerminalLink

    link = TerminalLink(http, terminal_id, size=None, history=False, since=offset)
    async for event in _each(link.events()):
        match event:
            case Output(_, data):
                shown.write(data)
                link.handled()
            case Picture():
                print("\nhermitty: some output came too fast and is missing here", file=sys.stderr)
            case Lost(reason):
                print(f"\nhermitty: connection lost ({visible(reason)}); trying again", file=sys.stderr)
            case Over(reason, _):
                print(f"\nhermitty: the terminal has ended: {visible(reason)}", file=sys.stderr)


async def _each(stream: Any) -> Any:
    """Yield what a stream yields, and close it with us."""
    try:
        async for event in stream:
            yield event
    finally:
        await stream.aclose()


class _Shown:
    """Standard output: as the bytes are, or without what does more to a terminal than draw."""

    def __init__(self, *, is_harmless: bool) -> None:
        self._is_harmless = is_harmless

    def __enter__(self) -> Self:
        if self._is_harmless:
            from hermitty.runtime.recording.harmless import USUAL, Harmless

            self._usual = USUAL
            self._filter = Harmless()
            self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        return self

    def __exit__(self, *exc: object) -> None:
        if self._is_harmless:
            sys.stdout.write(self._usual + "\n")  # the output ends with a prompt, mostly
        sys.stdout.flush()

    def write(self, data: bytes) -> None:
        """Show bytes of a terminal."""
        if self._is_harmless:
            sys.stdout.write(self._filter.feed(self._decoder.decode(data)))
            sys.stdout.flush()
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()


def _directory(http: Http, cwd: str | None) -> str | None:
    """Return the directory of a new terminal. A server of another machine has others than we do."""
    if not _is_here(http):
        return cwd
    return os.path.abspath(os.path.expanduser(cwd or "."))


def _is_here(http: Http) -> bool:
    return (urlsplit(http.address.url).hostname or "") in ("localhost", "127.0.0.1", "::1")


def _may_end(there: list[TerminalView]) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidRequest(f"this would end {len(there)} terminals, and there is no terminal to ask on; add --yes")
    print(f"hermitty: end {len(there)} terminals and everything in them? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _row(view: TerminalView) -> tuple[str, ...]:
    state = f"paused by {view.paused_by}" if view.paused_by else view.state
    if view.command is not None:
        command = view.command.command or "?"
    elif view.last is not None:
        code = "?" if view.last.exit_code is None else view.last.exit_code
        command = f"[{code}] {view.last.command or '?'}"
    else:
        command = "-"
    texts = (view.id, view.number, view.name or "-", state, _cut(command), view.cwd or "?", view.session or "-")
    return (*(visible(str(text)) for text in texts), str(view.viewers))


def _cut(text: str, most: int = 40) -> str:
    line = text.strip().split("\n")[0]
    return line if len(line) <= most and line == text.strip() else f"{line[: most - 1]}…"


def _print(rows: Iterable[tuple[str, ...]]) -> None:
    lines = [_HEADINGS, *rows]
    widths = [max(len(row[column]) for row in lines) for column in range(len(_HEADINGS))]
    for row in lines:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
