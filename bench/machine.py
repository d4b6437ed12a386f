"""The machine under the benchmarks: its load, memory and processes, and surroundings that are the same everywhere."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

# What would make shells start or behave differently from one machine to the next, or write into somebody's history.
_PERSONAL = (
    *("BASH_ENV", "ENV", "PROMPT_COMMAND", "PS1", "INPUTRC", "HISTFILE", "HISTCONTROL", "ZDOTDIR", "TMUX", "TMUX_PANE"),
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"),
    *("PYTHONDONTWRITEBYTECODE", "PYTHONSTARTUP", "PYTHONPROFILEIMPORTTIME"),
)


@contextlib.contextmanager
def plain_surroundings() -> Iterator[None]:
    """Give this process, and all shells it starts, an empty home directory: nobody's startup files are measured."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="bench-home-", ignore_cleanup_errors=True) as home:
        # Two shells do more for a new user: zsh asks what its startup file should hold, and fish reads all manual
        # pages, in the background, for minutes.
        Path(home, ".zshrc").touch()
        Path(home, ".local/share/fish/generated_completions").mkdir(parents=True)
        for name in _PERSONAL:
            os.environ.pop(name, None)
        os.environ |= {"HOME": home, "SHELL": "/bin/bash", "TERM": "xterm-256color"}
        # Modules are compiled once and then loaded as from any installed package, without a trace in the source tree.
        os.environ["PYTHONPYCACHEPREFIX"] = f"{home}/pycache"
        try:
            yield
        finally:
            os.environ.clear()
            os.environ |= before


def load() -> float:
    """Return the load average of the last minute."""
    return os.getloadavg()[0]


def is_busy() -> bool:
    """Tell whether others leave too little of the machine for trustworthy numbers."""
    return load() > (os.cpu_count() or 1) / 2


def processor_seconds(process: int) -> float | None:
    """Return the processor time that a process has used, without its children; None where it is not told exactly."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e9
    except OSError:
        return None


def resident_bytes() -> int | None:
    """Return the memory of this process that is not swapped out; None where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def proportional_bytes(process: int) -> int | None:
    """Return the memory of a process, shared pages divided among those who share them; None where it is not told.

    Not for this process: what it shares with its shells (libc) counts less, the more of them there are.
    """
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
