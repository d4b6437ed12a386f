"""Where the terminals of one workspace live: a node, with the room that was reserved there."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hermitty.cluster.remote import RemoteHost
from hermitty.host.base import FoundPty, Host, HostedProcess, HostedPty, PipeSpec, ProcessSink, PtySpec, Sink
from hermitty.model import TerminalId

# What a node keeps of a terminal for the next gateway: the workspace that it belongs to.
PLACE = "kept.place"


@dataclass(frozen=True, slots=True)
class Place:
    """A `Host` for one workspace. Places are equal when they are of the same workspace on the same node."""

    workspace: str
    remote: RemoteHost
    opened: Callable[[str, TerminalId], None] = field(compare=False)
    closed: Callable[[TerminalId], None] = field(compare=False)

    async def at(self, workspace: str | None) -> Host:
        """Return this place."""
        return self

    def name_terminal(self, terminal: TerminalId) -> TerminalId:
        """Return an id that tells the node and the run of its host."""
        return self.remote.name_terminal(terminal)

    async def make_directory(self, terminal: TerminalId) -> str:
        """Make a private directory for one terminal, which has its room from now on."""
        self.opened(self.workspace, terminal)
        try:
            return await self.remote.make_directory(terminal)
        except BaseException:
            self.closed(terminal)
            raise

    async def open(self, spec: PtySpec, sink: Sink) -> HostedPty:
        """Start a program on a new PTY, which remembers its workspace."""
        self.opened(self.workspace, spec.terminal)
        try:
            return await self.remote.open(replace(spec, files={**spec.files, PLACE: self.workspace.encode()}), sink)
        except BaseException:
            self.closed(spec.terminal)
            raise

    async def start(self, spec: PipeSpec, sink: ProcessSink) -> HostedProcess:
        """Start a program with pipes."""
        return await self.remote.start(spec, sink)

    async def found(self) -> list[FoundPty]:
        """Return what was left on the node."""
        return await self.remote.found()

    async def read_file(self, found: FoundPty, name: str) -> bytes | None:
        """Read a file of a PTY that was found."""
        return await self.remote.read_file(found, name)

    async def take_over(self, terminal: TerminalId, sink: Sink, *, since: int) -> HostedPty:
        """Go on with a PTY that was found."""
        return await self.remote.take_over(terminal, sink, since=since)

    async def find_program(self, name: str) -> str | None:
        """Return the path of a program on the node."""
        return await self.remote.find_program(name)

    def known_program(self, name: str) -> str | None:
        """Return the path of a program, if it is known."""
        return self.remote.known_program(name)

    async def check_directory(self, path: str) -> None:
        """Raise InvalidDirectory unless `path` can be entered on the node."""
        await self.remote.check_directory(path)

    def environment(self) -> dict[str, str]:
        """Return the environment of the node."""
        return self.remote.environment()

    async def leave(self) -> None:
        """Do nothing: the cluster leaves its nodes."""

    async def aclose(self) -> None:
        """Do nothing: the cluster closes its nodes."""
