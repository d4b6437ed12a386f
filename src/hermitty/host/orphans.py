"""Ending what somebody who is gone has started.

Every process that a host starts carries the host's token in its environment, as the first part of a mark, and in its
brand. When the host was killed, its programs are found by that: also those that left their session and lost their
parent.
"""

import asyncio
import os
import re
import signal
import time

from hermitty.pty import processes

_TOKEN = re.compile(r"[0-9a-f]{16}\Z")
# A killed process takes a moment to leave, and one that forks is looked for again.
_PATIENCE_S = 2.0
_LOOK_S = 0.005


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
