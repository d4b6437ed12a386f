"""The machine under the benchmarks: its load, memory and processes, and surroundings that are the same everywhere."""

import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

# What would make shells start or behave differently from one machine to the next.
_PERSONAL = ("BASH_ENV", "ENV", "PROMPT_COMMAND", "PS1", "INPUTRC", "ZDOTDIR", "XDG_CONFIG_HOME", "TMUX", "TMUX_PANE")


@contextlib.contextmanager
def plain_surroundings() -> Iterator[None]:
    """Give this process, and all shells it starts, an empty home directory: nobody's startup files are measured."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="bench-home-") as home:
        for name in _PERSONAL:
            os.environ.pop(name, None)
        os.environ |= {"HOME": home, "SHELL": "/bin/bash", "TERM": "xterm-256color"}
        try:
            yield
        finally:
            os.environ.clear()
            os.environ |= before


@contextlib.contextmanager
def deadline(limit_s: int) -> Iterator[None]:
    """Raise TimeoutError in the middle of whatever blocks, when the time is over."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"not done after {limit_s} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(limit_s)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def load() -> float:
    """Return the load average of the last minute."""
    return os.getloadavg()[0]


def is_busy() -> bool:
    """Tell whether others leave too little of the machine for trustworthy numbers."""
    return load() > (os.cpu_count() or 1) / 2


def proportional_bytes(process: int | str = "self") -> int | None:
    """Return the memory of a process, shared pages divided among those who share them; None where it is not told."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), None)


def children() -> set[int]:
    """Return the child processes of this one, with those that were not waited for."""
    lists = Path("/proc/self/task").glob("*/children")
    return {int(pid) for each in lists for pid in each.read_text().split()}


def open_descriptors() -> int:
    """Return how many descriptors this process has open."""
    return len(os.listdir("/dev/fd"))


def say(text: str) -> None:
    """Tell whoever watches; standard output is for the results alone."""
    print(text, file=sys.stderr, flush=True)
