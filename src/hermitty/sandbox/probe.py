"""What this machine can do, found out by doing it. A binary that is there may still not be allowed to work.

Each mechanism is tried once in the life of a process. Whoever has an event loop asks in a thread.
"""

import errno
import marshal
import os
import platform
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType

from hermitty.sandbox import bubblewrap, seccomp

_PATIENCE_S = 10.0
# bubblewrap seals a part of what root could set the kernel with; layouts rely on that.
_TRIED = "! [ -w /proc/irq ] && ! [ -w /proc/bus ] && ! [ -w /proc/sysrq-trigger ]"

# The launcher is not looked up by its name: it comes with its order, compiled, by a descriptor that this is told.
_BEGIN = (
    "import marshal,posix,sys;d=int(sys.argv[1]);h=posix.read(d,posix.fstat(d).st_size);posix.close(d);"
    "c,o=marshal.loads(h);m={'__name__':'launcher'};exec(c,m);m['main'](o,sys.argv[2:])"
)


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Whether bubblewrap works. `program` is None when it is not there; `problem` is None when all is well."""

    program: str | None
    problem: str | None
    seccomp: bool = False
    takes_descriptors: bool = False  # version 0.10, and what distributions made of older ones

    @property
    def works(self) -> bool:
        """Tell whether it can be used."""
        return self.program is not None and self.problem is None


@dataclass(frozen=True, slots=True)
class Landlock:
    """The version of Landlock, as used together with a seccomp filter; 0 when it does not work."""

    version: int
    problem: str | None

    @property
    def works(self) -> bool:
        """Tell whether it can be used."""
        return self.version > 0


@dataclass(frozen=True, slots=True)
class Abilities:
    """All that was found out."""

    bubblewrap: Bubblewrap
    landlock: Landlock


_known: Abilities | None = None
_lock = threading.Lock()


def is_known() -> bool:
    """Tell whether asking takes no time."""
    return _known is not None


def abilities() -> Abilities:
    """Return what works here. The first time takes as long as starting a few programs."""
    global _known
    with _lock:
        if _known is None:
            _known = Abilities(try_bubblewrap(), try_landlock())
        return _known


def try_bubblewrap(program: str = "bwrap") -> Bubblewrap:
    """Run a program the way terminals are run."""
    found = shutil.which(program)
    if sys.platform != "linux":
        return Bubblewrap(None, "bubblewrap is for Linux only")
    if found is None:
        return Bubblewrap(None, "bubblewrap (bwrap) is not installed")
    words = [found, *bubblewrap.NAMESPACES, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    words += ["--tmpfs", "/tmp", "--remount-ro", "/tmp"]
    problem = _problem([*words, "--", "/bin/sh", "-c", _TRIED])
    if problem is not None:
        return Bubblewrap(found, problem)
    return Bubblewrap(found, None, _filter_works(words), _descriptors_work(words))


def try_landlock() -> Landlock:
    """Confine a process, and see whether that worked."""
    if sys.platform != "linux":
        return Landlock(0, "Landlock is for Linux only")
    steps = seccomp.program(seccomp.Filter(network=True, namespaces=True), platform.machine())
    if steps is None:
        return Landlock(0, f"the system calls of {platform.machine()} are not known")
    order = order_descriptor(launch_order([("read", True, "/")], steps, network="none", probe=True))
    try:
        done = subprocess.run(
            launched(order),
            pass_fds=(order,),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        version = int(done.stdout) if done.returncode == 0 else 0
    except (OSError, subprocess.TimeoutExpired, ValueError) as exc:
        return Landlock(0, f"it could not be tried: {exc}")
    finally:
        os.close(order)
    return Landlock(version, None if version else _last_line(done.stderr) or f"it ended with code {done.returncode}")


def launch_order(
    rules: Sequence[tuple[str, bool, str]],
    steps: bytes,
    *,
    network: str,
    probe: bool = False,
    data_bytes: int | None = None,
) -> dict[str, object]:
    """Return what the launcher is told. Rules are of a kind of access, whether it is a directory, and a path."""
    order: dict[str, object] = {"rules": list(rules), "network": network, "filter": steps}
    if data_bytes is not None:
        order["data"] = data_bytes
    return order | {"probe": True} if probe else order | {"parent": os.getpid()}


def launched(descriptor: int) -> list[str]:
    """Return the words that start the launcher, whose order is at that descriptor of its own; the program follows."""
    return [sys.executable, "-I", "-S", "-c", _BEGIN, str(descriptor)]


def order_descriptor(order: dict[str, object]) -> int:
    """Return a descriptor with the launcher and what it is told; the caller closes it. The same Python reads it."""
    return _holding("hermitty-launcher", marshal.dumps((_launcher(), order)))


@cache
def _launcher() -> CodeType:
    path = Path(__file__).with_name("launcher.py")
    return compile(path.read_bytes(), str(path), "exec", dont_inherit=True, optimize=2)


def _filter_works(words: list[str]) -> bool:
    steps = seccomp.program(seccomp.Filter(), platform.machine())
    if steps is None:
        return False
    descriptor = filter_descriptor(steps)
    try:
        words = [*words, "--seccomp", str(descriptor), "--", "/bin/sh", "-c", ":"]
        return _problem(words, keep=(descriptor,)) is None
    finally:
        os.close(descriptor)


def _descriptors_work(words: list[str]) -> bool:
    descriptor = os.open("/usr", os.O_PATH | os.O_CLOEXEC)
    try:
        words = [*words, "--ro-bind-fd", str(descriptor), "/usr", "--", "/bin/sh", "-c", ":"]
        return _problem(words, keep=(descriptor,)) is None
    finally:
        os.close(descriptor)


def filter_descriptor(steps: bytes) -> int:
    """Return a descriptor from which a filter can be read; the caller closes it."""
    return _holding("hermitty-filter", steps)


def _holding(name: str, data: bytes) -> int:
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    try:
        written = os.write(descriptor, data)
        if written != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _problem(words: list[str], keep: tuple[int, ...] = ()) -> str | None:
    """Run something that should end at once and well; say what went wrong."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=_PATIENCE_S,
            check=False,
            pass_fds=keep,
        )
    except subprocess.TimeoutExpired:
        return f"it did not end within {_PATIENCE_S:g} s"
    except OSError as exc:
        return f"it cannot be started: {exc.strerror or exc}"
    return None if done.returncode == 0 else _last_line(done.stderr) or f"it ended with code {done.returncode}"


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:300] if lines else ""
