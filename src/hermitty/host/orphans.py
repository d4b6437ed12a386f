"""Ending what somebody who is gone has started.

Every process that a host starts carries the host's token in its environment, as the first part of a mark, and in its
brand. When the host was killed, its programs are found by that: also those that left their session and lost their
parent. That a connection has ended says nothing of him who was at its other end: his process must be gone.
"""

import asyncio
import os
import re
import signal
import time

from hermitty.pty import processes
from hermitty.pty.processes import ProcessInfo

_TOKEN = re.compile(r"[0-9a-f]{16}\Z")
# A killed process takes a moment to leave, and one that forks is looked for again.
_PATIENCE_S = 2.0
_LOOK_S = 0.005
# Whoever is killed loses his connections a moment before he is gone.
_LEAVING_S = 2.0


def is_token(text: str) -> bool:
    """Tell whether this is the token of a host. Anything else must never choose processes to kill."""
    return _TOKEN.match(text) is not None


def kill_marked(token: str) -> int:
    """Kill every process that carries a host's token, with its children; return how many were alive."""
    if not is_token(token):
        return 0
    table = processes.process_table()
    prefix = f"{token}.".encode()
    found: set[int] = set()
    frontier = [
        pid
        for pid in table
        if (table.owner(pid) or b"").startswith(prefix) or processes.is_branded(table.brand(pid), token)
    ]
    while frontier:
        pid = frontier.pop()
        if pid not in found:
            found.add(pid)
            frontier.extend(table.children.get(pid, ()))
    # Whoever cleans up may have been started from such a terminal himself.
    found.discard(os.getpid())
    return processes.send(table, found, signal.SIGKILL)


async def end_left_by(owner: ProcessInfo | None, token: str) -> None:
    """Kill what somebody left behind who has just lost his connections. If he goes on without them, it is his."""
    if owner is not None and await _is_gone(owner):
        await end_marked(token)


async def _is_gone(process: ProcessInfo) -> bool:
    deadline = time.monotonic() + _LEAVING_S
    while (now := processes.read_process(process.pid)) is not None:
        if now.started != process.started or now.is_zombie:
            return True
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(_LOOK_S)
    return True


async def end_marked(token: str) -> None:
    """Kill what carries a token until nothing is left."""
    deadline = time.monotonic() + _PATIENCE_S
    while kill_marked(token) and time.monotonic() < deadline:
        await asyncio.sleep(_LOOK_S)


def end_marked_now(token: str) -> None:
    """Do the same without an event loop, or before one matters."""
    deadline = time.monotonic() + _PATIENCE_S
    while kill_marked(token) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
