"""Finding a host or starting one: exactly one, nobody's child, and with a reason when it does not work."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from hermitty.errors import HostMismatch, HostUnavailable
from hermitty.host import starter
from hermitty.host.base import PtySpec
from hermitty.host.client import HostClient
from hermitty.host.control import host_status, stop_host
from hermitty.host.daemon import DaemonOptions
from hermitty.host.local import LocalHost
from hermitty.host.place import HostPlace
from hermitty.host.starter import connect
from hermitty.model import Size, TerminalId
from hermitty.pty.processes import OWNER_VARIABLE, process_table, read_process
from hermitty.wire.hostlink import messages
from tests.contract.host_contract import pids_in
from tests.host.conftest import StartUser, kill
from tests.support.kernel import gone, is_alive, so
from tests.support.recorders import Recorder
from tests.support.shells import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def hosts_of(state: Path) -> list[int]:
    """The processes that are hosts of a state directory, or are about to be."""
    mark = f"hermitty.host\0{state}\0".encode()
    found = []
    for pid in process_table():
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if mark in command and is_alive(pid):
            found.append(pid)
    return found


def text_of(path: str) -> str:
    return Path(path).read_text()


async def test_without_a_host_none_is_found_and_nothing_is_made(state: Path) -> None:
    with pytest.raises(HostUnavailable, match="no host of terminals runs"):
        await connect(state, start=False)

    assert host_status(state) is None
    assert stop_host(state) is None
    assert os.listdir(state.parent) == []


async def test_a_host_is_nobodys_child_and_keeps_nothing_of_its_starter(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OWNER_VARIABLE, "of a terminal that the starter runs in")
    monkeypatch.setenv("PASSED_ON", "yes")
    inheritable = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(inheritable, True)
    host = await connect(state)
    os.close(inheritable)

    process = read_process(host.pid)
    assert process is not None
    assert os.getpid() not in (process.parent, process.session, process.group)
    assert process.session not in (process.pid, os.getsid(0))
    assert os.readlink(f"/proc/{host.pid}/cwd") == "/"
    variables = text_of(f"/proc/{host.pid}/environ").split("\0")
    assert "PASSED_ON=yes" in variables
    assert not [each for each in variables if each.startswith(OWNER_VARIABLE)]
    targets = [os.readlink(f"/proc/{host.pid}/fd/{number}") for number in range(3)]
    assert targets == [os.devnull, str(HostPlace(state).log), str(HostPlace(state).log)]
    everything = [os.readlink(f"/proc/{host.pid}/fd/{number}") for number in os.listdir(f"/proc/{host.pid}/fd")]
    assert everything.count(os.devnull) == 1
    assert not [each for each in everything if each.startswith("pipe:")]
    await host.aclose()


async def test_a_host_that_was_started_in_a_terminal_outlives_it(state: Path, tmp_path: Path) -> None:
    local, sink = LocalHost(), Recorder()
    start = (
        "import asyncio, pathlib, sys; from hermitty.host.starter import connect\n"
        "async def main(): host = await connect(pathlib.Path(sys.argv[1])); await host.leave()\n"
        "asyncio.run(main()); print('started', flush=True); input()"
    )
    name = TerminalId("t_outer")
    directory = await local.make_directory(name)
    args = ("-c", start, str(state))
    outer = await local.open(
        PtySpec(name, sys.executable, args, str(tmp_path), dict(os.environ), Size(80, 24), directory), sink
    )
    await sink.printed(b"started")
    status = host_status(state)
    assert status is not None

    await outer.close()

    assert is_alive(status.welcome.pid)
    host = await connect(state, start=False)
    assert host.pid == status.welcome.pid
    await host.aclose()
    await local.aclose()


async def test_starters_who_race_find_one_host(state: Path) -> None:
    async def one() -> HostClient | HostUnavailable:
        try:
            return await connect(state)
        except HostUnavailable as refused:
            return refused

    results = await asyncio.gather(*(one() for _ in range(6)))

    users = [each for each in results if isinstance(each, HostClient)]
    assert len(users) == 1
    # The others lost the race for its use, not for its start.
    assert {type(each).__name__ for each in results} == {"HostClient", "HostBusy"}
    await so(lambda: hosts_of(state) == [users[0].pid])  # the others are about to exit
    await users[0].aclose()


async def test_a_host_that_was_killed_is_replaced(state: Path) -> None:
    first = await connect(state)
    os.kill(first.pid, signal.SIGKILL)
    await first.link.gone.wait()
    await first.aclose()

    second = await connect(state)

    assert second.pid != first.pid
    assert hosts_of(state) == [second.pid]
    await second.aclose()


async def test_one_that_is_about_to_end_is_waited_for(state: Path) -> None:
    first = await connect(state)
    sink = Recorder()
    await first.open(await deaf_spec(first), sink)
    await sink.printed(b"\n")
    stopping = asyncio.create_task(asyncio.to_thread(stop_host, state))
    await first.link.gone.wait()

    second = await connect(state)

    await stopping
    assert second.pid != first.pid
    assert not is_alive(first.pid)
    await first.aclose()
    await second.aclose()


async def deaf_spec(host: HostClient) -> PtySpec:
    terminal = TerminalId("t_1")
    return PtySpec(
        terminal=terminal,
        program="/bin/sh",
        args=("-c", "trap '' HUP; setsid sleep 1000 & echo pid=$!; while :; do sleep 0.1; done"),
        cwd="/",
        env={"PATH": os.environ["PATH"]},
        size=Size(),
        directory=await host.make_directory(terminal),
    )


@pytest.mark.parametrize("cleaner", ["starter", "any host"])
async def test_what_a_killed_host_left_is_ended_by_the_next(
    state: Path, tmp_path: Path, start_user: StartUser, cleaner: str
) -> None:
    first = await connect(state, options=DaemonOptions(grace_s=PATIENCE_S))
    await first.leave()
    user = start_user("hold", script="(setsid sleep 1000 & echo pid=$!); echo pid=$$; read x")
    assert user.stdout is not None
    pids = pids_in(user.stdout.readline() + user.stdout.readline())
    kill(user)
    os.kill(first.pid, signal.SIGKILL)
    await gone(first.pid, pids[1])
    assert is_alive(pids[0])

    if cleaner == "starter":
        await (await connect(state)).aclose()
    else:
        local = LocalHost()
        await local.make_directory(TerminalId("t_1"))
        await local.aclose()

    await gone(*pids)


async def test_a_long_path_gets_a_short_socket(tmp_path: Path) -> None:
    state = tmp_path / ("long" * 40) / "state"
    host = await connect(state)
    address = HostPlace(state).read_address()
    assert address is not None
    try:
        assert len(address) <= 100
        assert not address.startswith(str(state))
        assert os.stat(os.path.dirname(address)).st_mode & 0o777 == 0o700
    finally:
        await host.aclose()
        stop_host(state)
    await gone(host.pid)
    assert not os.access(address, os.F_OK)


async def test_why_it_cannot_start_is_told(state: Path) -> None:
    os.mkdir(state)
    (state / "host").write_text("in the way")
    with pytest.raises(HostUnavailable, match="cannot be used: File exists"):
        await connect(state)

    (state / "host").unlink()
    (state / "host" / "lock").mkdir(parents=True)
    with pytest.raises(HostUnavailable, match=r"cannot be started: .*Is a directory"):
        await connect(state)
    await so(lambda: hosts_of(state) == [])


async def test_a_python_that_does_not_work_is_told_with_its_words(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'no such module, alas' >&2\nexit 1\n")
    broken.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(broken))
    with pytest.raises(HostUnavailable, match="cannot be started: no such module, alas"):
        await connect(state)

    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(HostUnavailable, match="does not know its Python"):
        await connect(state)


async def test_a_start_that_takes_too_long_is_given_up(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\necho $$ >&2\nexec sleep 1000\n")
    slow.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(slow))
    monkeypatch.setattr(starter, "_START_S", 0.3)

    with pytest.raises(HostUnavailable, match="did not start within"):
        await connect(state)

    pid = int(text_of(str(HostPlace(state).log)))
    os.kill(pid, signal.SIGKILL)
    await gone(pid)


async def test_a_cancelled_start_leaves_no_child(state: Path) -> None:
    for steps in range(3):
        connecting = asyncio.create_task(connect(state))
        for _ in range(steps):
            await asyncio.sleep(0)
        connecting.cancel()
        await asyncio.wait([connecting])
    # A host that was on its way comes all the same; nobody uses it, and it is there for the next one.
    host = await connect(state)
    await so(lambda: hosts_of(state) == [host.pid])
    await host.aclose()


async def test_a_host_of_another_version_is_named_with_what_helps(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = await connect(state)
    await host.leave()
    ours = messages.VERSION
    monkeypatch.setattr(messages, "VERSION", ours + 1)

    with pytest.raises(HostMismatch, match=rf"speaks version {ours}, .*version {ours + 1}; `hermitty host stop` ends"):
        await connect(state)

    status = host_status(state)
    assert status is not None
    assert status.welcome.version == ours
    assert stop_host(state) is not None
    await gone(host.pid)


async def test_old_files_of_a_host_are_no_host(state: Path) -> None:
    place = HostPlace(state)
    place.make()
    for text in ("", "{", "[]", '{"socket": 7}', '{"socket": "/nowhere/at/all"}', f'{{"socket": "{state}"}}'):
        place.lock.write_text(text)
        assert host_status(state) is None

    host = await connect(state)
    assert hosts_of(state) == [host.pid]
    await host.aclose()
