"""The terminals of a server without `async`."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import hermitty.sync
from hermitty import errors, events
from hermitty.model import State
from hermitty.sync import SyncRuntime
from tests.client.conftest import TOKEN
from tests.client.threaded import threaded_server
from tests.support.shells import PATIENCE_S


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with threaded_server(tmp_path, monkeypatch) as server:
        yield server.url


@pytest.fixture
def rt(address: str) -> Iterator[SyncRuntime]:
    with hermitty.sync.open(url=address, token=TOKEN) as runtime:
        yield runtime


def test_everything_works_without_a_loop(rt: SyncRuntime, tmp_path: Path) -> None:
    assert rt.run("sh -c 'exit 3'", cwd=tmp_path).exit_code == 3
    terminal = rt.open_terminal(cwd=tmp_path, name="mine")
    command = terminal.start("printf 'Name? '; read x; echo \"<$x>\"")
    assert command.wait(PATIENCE_S).state is State.NEEDS_INPUT
    command.write("Ann")
    command.send_key("enter")
    assert command.wait(PATIENCE_S).text.endswith("<Ann>\n")
    assert command.output().text.endswith("<Ann>\n")
    seen = list(terminal.start("echo one; echo two").events(0))
    assert "".join(event.text for event in seen if isinstance(event, events.OutputArrived)) == "one\ntwo\n"
    assert "two" in terminal.screen_text()
    assert terminal.environment()["HOME"].endswith("home")
    rt.rename(terminal.id, "other")
    assert rt.info(terminal.id).name == "other"
    assert rt.check("echo hi").decision == "allow"
    assert len(rt.terminals()) == 2
    assert rt.history().entries
    with pytest.raises(errors.UnknownKey):  # at once: here, somebody waits
        terminal.send_key("no such key")
    with pytest.raises(errors.NotSupported):
        rt.gate  # noqa: B018
    terminal.close()
    with pytest.raises(errors.TerminalClosed):
        terminal.run("true")


def test_errors_while_connecting_leave_nothing(address: str) -> None:
    with pytest.raises(errors.NotAuthenticated):
        hermitty.sync.open(url=address, token="x" * 40)
    with pytest.raises(errors.ServerUnavailable):
        hermitty.sync.open(url="http://127.0.0.1:1", token="x" * 40)
    with pytest.raises(errors.InvalidRequest):
        hermitty.sync.open(token="x")
    assert [thread.name for thread in threading.enumerate() if thread.name == "hermitty"] == []
