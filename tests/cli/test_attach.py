"""`hermitty attach`: a full terminal, driven through a real PTY, which is as it was afterwards."""

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.cli.local_tty import DetachKey
from hermitty.errors import InvalidRequest
from hermitty.model import Size
from hermitty.vt.ghostty import GhosttyScreen
from tests.cli.conftest import Run, SitDown
from tests.client.conftest import TOKEN
from tests.client.threaded import Threaded, threaded_server
from tests.support.runtimes import Gate

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of POSIX")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Threaded]:
    with threaded_server(tmp_path, monkeypatch) as server:
        yield server


@pytest.fixture
def environment(environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    return {**environment, "HERMITTY_STATE_DIR": str(tmp_path / "state"), "HERMITTY_TOKEN": TOKEN}


@pytest.fixture
def person(server: Threaded, desk: SitDown) -> SitDown:
    """Sits somebody down at `hermitty ARGS...`, while there is a server."""
    return desk


@pytest.fixture
def terminal(server: Threaded, tmp_path: Path) -> str:
    """The id of a terminal with something on its screen."""

    async def opened() -> str:
        terminal = await server.server.runtime.open_terminal(cwd=tmp_path, name="main")
        await terminal.run("echo be''fore")
        return str(terminal.id)

    found: str = server.call(opened)
    return found


def test_it_is_painted_typed_into_and_left(person: SitDown, terminal: str, server: Threaded) -> None:
    somebody = person("attach", "main")
    somebody.see(b"before")
    somebody.see(b"ready>", after=b"before")
    somebody.type(b"echo $((6*7)) $(stty size)\r")
    somebody.see(b"42 20 50")
    somebody.type(b"\x1d")
    assert somebody.leave() == 0
    assert f"left; terminal {terminal} goes on".encode() in somebody.seen
    assert server.call(lambda: server.server.runtime.terminal(terminal).is_open)


def test_what_was_on_the_screen_stays_there_and_the_farewell_is_below(person: SitDown, terminal: str) -> None:
    somebody = person("attach", terminal)
    somebody.see(b"ready>", after=b"before")
    somebody.type(b"\x1d")
    assert somebody.leave() == 0
    screen = GhosttyScreen(Size(50, 20))
    screen.feed(somebody.seen)
    shown = screen.text().splitlines()
    screen.close()
    prompt = max(number for number, line in enumerate(shown) if line.startswith("ready>"))
    assert shown[prompt + 1].startswith("hermitty: left; terminal ")


def test_the_size_follows(person: SitDown, terminal: str) -> None:
    somebody = person("attach", terminal)
    somebody.see(b"ready>", after=b"before")
    somebody.type(b"trap 'echo size $(stty size)' WINCH; echo tr''apped\r")
    somebody.see(b"trapped")
    somebody.resize(61, 17)
    somebody.see(b"size 17 61")
    somebody.type(b"\x1d")
    assert somebody.leave() == 0


def test_the_end_of_the_shell_is_ours(person: SitDown, terminal: str) -> None:
    somebody = person("attach", terminal)
    somebody.see(b"ready>", after=b"before")
    somebody.type(b"exit 7\r")
    assert somebody.leave() == 7
    assert b"has ended: its shell exited with code 7" in somebody.seen


def test_whoever_only_watches_types_nothing_and_keeps_the_size(
    person: SitDown, terminal: str, server: Threaded
) -> None:
    size = server.call(lambda: server.server.runtime.terminal(terminal).size)
    somebody = person("attach", "--view", terminal)
    somebody.see(b"before")
    somebody.type(b"echo ty''ped\r")
    server.call(lambda: server.server.runtime.run_in(terminal, "echo by an agent"))
    somebody.see(b"by an agent\r\n")
    somebody.type(b"\x1d")
    assert somebody.leave() == 0
    assert b"typed" not in somebody.seen
    assert server.call(lambda: server.server.runtime.terminal(terminal).size) == size


def test_our_terminal_does_not_answer_and_is_usual_afterwards(person: SitDown, terminal: str) -> None:
    somebody = person("attach", terminal)
    somebody.see(b"ready>", after=b"before")
    ask = rb"printf '\033[6n\033[c\033]11;?\007\033[?1000;1006h\033[?25l\033[?1049h'; echo as''ked"
    somebody.type(ask + b"\r")
    somebody.see(b"asked")
    assert re.search(rb"\x1b\[6n|\x1b\[c|\x1b\]11;\?", somebody.seen) is None
    assert b"\x1b[?1000;1006h" in somebody.seen
    somebody.type(b"\x1d")
    assert somebody.leave() == 0
    after = somebody.seen.rpartition(b"asked")[2]
    assert b"\x1b[?1049l" in after
    assert b"\x1b[?25h" in after
    assert re.search(rb"\x1b\[\?[0-9;]*1000;[0-9;]*1006;[0-9;]*l", after)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_the_terminal_as_it_was(person: SitDown, terminal: str, number: signal.Signals) -> None:
    somebody = person("attach", terminal)
    somebody.see(b"before")
    os.kill(somebody.process.pid, number)
    assert somebody.leave() == 128 + number


def test_breaks_are_mended_without_a_lost_or_doubled_byte(
    person: SitDown, terminal: str, server: Threaded, tmp_path: Path
) -> None:
    somebody = person("attach", "--url", server.proxy.url, terminal)
    somebody.see(b"ready>", after=b"before")
    # One for each: whoever has read one to its end may not have closed it yet.
    gates = [Gate(tmp_path / f"gate{number}") for number in range(1, 6)]
    somebody.type(b"for i in $(seq 1 5); do cat gate$i; done\r")
    for number, gate in enumerate(gates, start=1):
        gate.let(f"<{number}>\n")
        somebody.see(b"<%d>" % number)
        server.call(server.proxy.cut)
    somebody.see(b"ready> ", after=b"<5>")
    assert re.findall(rb"<(\d)>", somebody.seen.rpartition(b"done\r")[2]) == [b"1", b"2", b"3", b"4", b"5"]
    somebody.type(b"\x1d")
    assert somebody.leave() == 0


def test_a_longer_break_is_told_and_taken_back(person: SitDown, terminal: str, server: Threaded) -> None:
    somebody = person("attach", "--url", server.proxy.url, terminal)
    somebody.see(b"ready>", after=b"before")

    def close() -> None:
        server.proxy.is_closed = True
        server.proxy.cut()

    server.call(close)
    somebody.see(b"hermitty: connection lost")
    server.proxy.is_closed = False
    somebody.see(b"X", after=b"connection lost")  # as many cells are erased
    somebody.type(b"echo ba''ck\r")
    somebody.see(b"back")
    somebody.type(b"\x1d")
    assert somebody.leave() == 0


def test_one_leaves_while_the_connection_is_lost(person: SitDown, terminal: str, server: Threaded) -> None:
    somebody = person("attach", "--url", server.proxy.url, terminal)
    somebody.see(b"before")

    def close() -> None:
        server.proxy.is_closed = True
        server.proxy.cut()

    server.call(close)
    somebody.see(b"connection lost")
    somebody.type(b"\x1d")
    assert somebody.leave() == 0


def test_a_new_one_is_attached_to_at_once(person: SitDown, server: Threaded) -> None:
    somebody = person("open", "--attach", "--name", "fresh")
    somebody.see(b"ready>")
    somebody.type(b"exit 4\r")
    assert somebody.leave() == 4


def test_without_a_terminal_it_says_so(hermitty: Run, terminal: str) -> None:
    done = hermitty("attach", terminal)
    assert done.returncode == 125
    assert b"attach needs a terminal as standard input and output" in done.stderr


@pytest.mark.parametrize(
    ("key", "typed", "before"),
    [
        ("ctrl-]", b"ab\x1dcd", b"ab"),
        ("ctrl-]", b"\x1b[93;5u", b""),
        ("ctrl-]", b"x\x1b[27;5;93~", b"x"),
        ("ctrl-a", b"\x01", b""),
        ("^A", b"1\x01", b"1"),
        ("Ctrl+\\", b"\x1c", b""),
    ],
)
def test_the_key_that_leaves_is_known_in_every_form(key: str, typed: bytes, before: bytes) -> None:
    assert DetachKey(key).cut(typed) == (before, True)


def test_other_keys_do_not_leave() -> None:
    assert DetachKey("ctrl-]").cut(b"\x1b[A]abc") == (b"\x1b[A]abc", False)
    assert DetachKey("none").cut(b"\x1d") == (b"\x1d", False)
    for wrong in ("", "x", "ctrl-", "ctrl-1", "alt-x"):
        with pytest.raises(InvalidRequest):
            DetachKey(wrong)
