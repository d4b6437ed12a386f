"""Guards around every test: what a test starts or opens is over when the test is.

No child process, asyncio task or file descriptor outlives its test and the fixtures made for it. What
fixtures of a wider scope hold is theirs: it is there before the guard looks first. Tasks are watched
everywhere; children and descriptors on Linux, where /proc lists them.

Below them are the places that tests work in.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from hermitty.runtime.places import Places, find_places

pytest.register_assert_rewrite("tests.support", "tests.contract")

# Time on a busy machine says nothing about an example; tests that wait have their own timeouts. The same code is tried
# with the same examples; `--hypothesis-profile=explore` looks for others.
hypothesis.settings.register_profile("hermitty", deadline=None, derandomize=True)
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.load_profile("hermitty")

ON_LINUX = sys.platform == "linux"

# These take long with few tests. Begun last, they would keep one of several workers busy when the others are through.
LONG = (
    *("soak/", "cluster/ray/", "web/", "server/durable/", "bench/"),
    *("cluster/", "server/", "sandbox/", "adapters/", "cli/"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files that take long first; the order is otherwise as it was."""
    here = Path(__file__).parent

    def turn(item: pytest.Item) -> int:
        place = item.path.relative_to(here).as_posix() if item.path.is_relative_to(here) else ""
        return next((turn for turn, name in enumerate(LONG) if place.startswith(name)), len(LONG))

    items.sort(key=turn)


def open_descriptors() -> dict[int, str]:
    """What each open descriptor of this process refers to; empty where the system does not tell."""
    if not ON_LINUX:
        return {}
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:  # the descriptor that listed the directory
            continue
    return found


def children() -> set[int]:
    """The child processes of this one, with those that ended and were not waited for."""
    if not ON_LINUX:
        return set()
    try:
        # One system call for the usual answer: there is none at all.
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return set()
    found: set[int] = set()
    for each in Path("/proc/self/task").glob("*/children"):  # a child is listed with the thread that forked it
        with contextlib.suppress(FileNotFoundError):  # a thread that has just ended
            found.update(map(int, each.read_text().split()))
    return found


def describe_child(pid: int) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
    except OSError:
        return f"child process {pid}"
    ended = ", ended but never waited for" if rest.split()[0] == "Z" else ""
    return f"child process {pid}: {command or name}{ended}"


def end_child(pid: int) -> None:
    """Kill and reap a leaked child, so that it does not outlive the test run or disturb the next test."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):  # it ended by itself, and that is fine
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@pytest.fixture(scope="session")
def abandoned_tasks() -> Iterator[list[str]]:
    """Tasks that still ran when their event loop was about to close; the guard of a test empties the list."""
    # A runner cancels what is left before it closes its loop, so this is the last moment at which it shows,
    # and the first at which all asynchronous fixtures are through.
    abandoned: list[str] = []
    close = asyncio.Runner.close

    def close_and_tell(runner: asyncio.Runner) -> None:
        with contextlib.suppress(RuntimeError):  # the runner was closed before
            abandoned.extend(f"asyncio task {task!r}" for task in asyncio.all_tasks(runner.get_loop()))
        close(runner)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio.Runner, "close", close_and_tell)
        yield abandoned


@pytest.fixture(autouse=True)
def private_places(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep tests away from the settings and the state of whoever runs them."""
    monkeypatch.setenv("HERMITTY_CONFIG", os.devnull)
    monkeypatch.setenv("HERMITTY_STATE_DIR", str(tmp_path_factory.getbasetemp() / "state"))


@pytest.fixture(autouse=True)
def nothing_outlives_the_test(abandoned_tasks: list[str]) -> Iterator[None]:
    """Fail a test that leaves a child process, a task or a descriptor behind, and name it.

    An automatic fixture is the first of its test to be set up and the last to be torn down. The event loop
    comes and goes in between, with its selector and its socket pair.
    """
    abandoned_tasks.clear()
    children_before = children()
    descriptors_before = open_descriptors()
    yield
    left = list(abandoned_tasks)
    for pid in sorted(children() - children_before):
        left.append(describe_child(pid))
        end_child(pid)
    left += [
        f"descriptor {number}: {target}"
        for number, target in sorted(open_descriptors().items())
        if descriptors_before.get(number) != target
    ]
    if left:
        pytest.fail("the test left behind:\n  " + "\n  ".join(left), pytrace=False)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home directory."""
    home = tmp_path / "home"
    home.mkdir()
    return home


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A project to run in."""
    work = tmp_path / "work"
    work.mkdir()
    return work


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    """A state directory and a file of settings of the test's own; no server is named."""
    monkeypatch.setenv("HERMITTY_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("HERMITTY_CONFIG", str(tmp_path / "config" / "config.toml"))
    monkeypatch.delenv("HERMITTY_TOKEN", raising=False)
    monkeypatch.delenv("HERMITTY_URL", raising=False)
    return find_places()
