"""What every host does, it does for confined programs too: the contract, by each mechanism, in each kind of host."""

import os
from pathlib import Path

import pytest

from hermitty.host.base import Host, HostedProcess, HostedPty, PipeSpec, PtySpec
from hermitty.host.local import LocalHost
from hermitty.host.starter import connect
from hermitty.model import ExitStatus, Size, TerminalId
from hermitty.pty.foreground import children
from hermitty.pty.wrapped import _number_inside
from hermitty.sandbox.spec import Confinement, Mode
from tests.contract.host_contract import HostContract
from tests.host.conftest import state
from tests.support.recorders import ProcessRecorder, Recorder

__all__ = ["state"]

# The first process of the namespace is bubblewrap's, the second one the program.
_PROGRAM = 2


class ConfinedContract(HostContract):
    """The contract, with a workspace where the programs run and a home elsewhere."""

    mechanism: str
    home: Path

    @pytest.fixture(autouse=True)
    def around(self, mechanism: str, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.mechanism = mechanism
        self.home = tmp_path_factory.mktemp("home")

    async def open(
        self, host: Host, script: str, cwd: Path, *, name: str = "t_1", files: dict[str, bytes] | None = None
    ) -> tuple[HostedPty, Recorder]:
        sink = Recorder()
        terminal = TerminalId(name)
        spec = PtySpec(
            terminal=terminal,
            program="/bin/sh",
            args=("-c", script),
            cwd=str(cwd),
            env={**host.environment(), "HOME": str(self.home), "MARK": "of the test"},
            size=Size(cols=97, rows=31),
            directory=await host.make_directory(terminal),
            files=files or {},
            sandbox=self.order(cwd),
        )
        pty = await host.open(spec, sink)
        assert pty.sandbox is not None
        assert pty.sandbox.mechanism == self.mechanism
        return pty, sink

    async def start(
        self, host: Host, script: str, cwd: Path, *, stdin: bool = False
    ) -> tuple[HostedProcess, ProcessRecorder]:
        sink = ProcessRecorder()
        env = {**host.environment(), "HOME": str(self.home)}
        argv = ("/bin/sh", "-c", script)
        spec = PipeSpec(owner="c_1", argv=argv, cwd=str(cwd), env=env, stdin=stdin, sandbox=self.order(cwd))
        return await host.start(spec, sink), sink

    def order(self, cwd: Path) -> Confinement:
        """A sandbox as the settings make it, but that a weaker mechanism will do."""
        return Confinement(Mode.WORKSPACE, str(cwd), pids=1024, allow_weaker=True)

    def own_pid(self, hosted: HostedPty | HostedProcess) -> int:
        return _PROGRAM if self.mechanism == "bubblewrap" else hosted.pid

    def outside(self, hosted: HostedPty | HostedProcess, pids: list[int]) -> list[int]:
        if self.mechanism != "bubblewrap":
            return pids
        known = {_number_inside(pid): pid for pid in _below(hosted.pid)}
        return [known[pid] for pid in pids]

    def deaths(self, number: int) -> list[ExitStatus]:
        # bubblewrap tells of a death by signal with a code; the difference is known once somebody has looked inside.
        by_code = [ExitStatus(code=128 + number)] if self.mechanism == "bubblewrap" else []
        return [*super().deaths(number), *by_code]

    def signalled(self, count: int) -> range:
        # The namespace ends with the first one, while the others are being signalled.
        return range(count + 1) if self.mechanism == "bubblewrap" else super().signalled(count)


class TestConfinedByLocalHost(ConfinedContract):
    """A host in this process."""

    async def make_host(self) -> Host:
        return LocalHost()


class TestConfinedByDurableHost(ConfinedContract):
    """A host in a process of its own, which finds out by itself what works."""

    state: Path

    @pytest.fixture(autouse=True)
    def place(self, state: Path, mechanism: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.state = state
        if mechanism != "bubblewrap":
            fake = tmp_path / "programs" / "bwrap"
            fake.parent.mkdir()
            fake.write_text("#!/bin/sh\nexit 1\n")
            fake.chmod(0o755)
            monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")

    async def make_host(self) -> Host:
        return await connect(self.state)


def _below(pid: int) -> list[int]:
    found = children(pid)
    return found + [each for child in found for each in _below(child)]
