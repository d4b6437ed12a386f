"""The host in this very process: the contract, and what only it does."""

import asyncio
import os
import resource
import stat
import sys
from pathlib import Path

import pytest

from hermitty.errors import HostUnavailable, InvalidDirectory
from hermitty.host.base import Host, PtySpec
from hermitty.host.local import LocalHost
from hermitty.model import Size, TerminalId
from tests.contract.host_contract import HostContract
from tests.support.kernel import few_descriptors
from tests.support.recorders import Recorder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has a host of its own")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


class TestLocalHost(HostContract):
    """The contract."""

    async def make_host(self) -> Host:
        return LocalHost()


def spec_for(directory: str, cwd: Path, *, files: dict[str, bytes] | None = None, **changes: str) -> PtySpec:
    return PtySpec(
        terminal=TerminalId("t_1"),
        program=changes.get("program", "/bin/sh"),
        args=("-c", changes.get("script", "true")),
        cwd=str(cwd),
        env={"PATH": os.environ["PATH"]},
        size=Size(),
        directory=directory,
        files=files or {},
    )


def modes_below(root: Path) -> dict[str, int]:
    """The permissions of a directory and everything in it; nothing when it is not there."""
    paths = [root, *root.rglob("*")] if root.exists() else []
    return {str(path.relative_to(root)): stat.S_IMODE(path.stat().st_mode) for path in paths}


async def test_private_files_are_for_the_user_only(tmp_path: Path) -> None:
    host = LocalHost()
    before = os.umask(0)
    try:
        directory = Path(await host.make_directory(TerminalId("t_1")))
        pty = await host.open(spec_for(str(directory), tmp_path, files={"secret": b"x"}), Recorder())
        pty.put_file("later", b"y")
    finally:
        os.umask(before)

    modes = modes_below(directory.parent)
    await host.aclose()

    assert modes == {"lock": 0o600, "t_1": 0o700, "t_1/secret": 0o600, "t_1/later": 0o600, ".": 0o700}
    assert modes_below(directory.parent) == {}


async def test_a_failed_open_leaves_nothing(tmp_path: Path) -> None:
    host = LocalHost()
    directory = await host.make_directory(TerminalId("t_1"))

    with pytest.raises(HostUnavailable):
        await host.open(spec_for(directory, tmp_path, program="x" * 4_000_000, files={"secret": b"x"}), Recorder())

    assert modes_below(Path(directory)) == {}
    await host.aclose()


async def test_a_directory_that_cannot_be_made_is_an_error_of_ours(tmp_path: Path) -> None:
    host = LocalHost()
    await host.make_directory(TerminalId("t_1"))

    with pytest.raises(HostUnavailable, match="cannot make a private directory"):
        await host.make_directory(TerminalId("t_1"))

    await host.aclose()


@linux_only
@pytest.mark.parametrize("left", range(6))
async def test_without_descriptors_the_error_is_ours_and_nothing_is_left(tmp_path: Path, left: int) -> None:
    host = LocalHost()
    sink = Recorder()

    async def open_one() -> None:
        directory = await host.make_directory(TerminalId("t_1"))
        await host.open(spec_for(directory, tmp_path, files={"a": b"x"}), sink)

    # The lock of the directory, and three for the terminal.
    with few_descriptors(left):
        if left >= 4:
            await open_one()
        else:
            with pytest.raises(HostUnavailable, match=r"[Tt]oo many open files"):
                await open_one()
    await host.aclose()


@linux_only
async def test_children_get_the_descriptor_limit_that_was_there_before(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft = min(900, limits[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, limits[1]))
    try:
        host = LocalHost()
        sink = Recorder()
        await host.open(spec_for(await host.make_directory(TerminalId("t_1")), tmp_path, script="ulimit -Sn"), sink)
        await sink.ended()
        await host.aclose()
        raised = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    assert sink.data == f"{soft}\r\n".encode()
    assert raised >= soft


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter everything")
async def test_a_directory_that_may_not_be_entered(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o600)

    with pytest.raises(InvalidDirectory, match="permission denied"):
        await LocalHost().check_directory(str(tmp_path / "closed"))


async def test_forty_terminals_open_and_close_at_once(tmp_path: Path) -> None:
    host = LocalHost()
    sinks = [Recorder() for _ in range(40)]

    async def open_one(number: int) -> None:
        terminal = TerminalId(f"t_{number}")
        spec = PtySpec(
            terminal=terminal,
            program="/bin/sh",
            args=("-c", f"echo number {number}; read x"),
            cwd=str(tmp_path),
            env={"PATH": os.environ["PATH"]},
            size=Size(),
            directory=await host.make_directory(terminal),
        )
        await host.open(spec, sinks[number])
        await sinks[number].printed(b"\n")

    await asyncio.gather(*map(open_one, range(40)))
    await host.aclose()

    assert [sink.data for sink in sinks] == [f"number {number}\r\n".encode() for number in range(40)]
    assert all(len(sink.statuses) == 1 for sink in sinks)
