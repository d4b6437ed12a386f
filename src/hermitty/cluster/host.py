"""Several machines as one host.

The unit of placement is the workspace: its terminals share files, and so a node. What belongs to no workspace is one
unit as well. A node that is not live, or drains, gets nothing new; the workspace goes elsewhere, and what runs goes on
where it is.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

from hermitty.cluster import names
from hermitty.cluster.link import LinkTimes
from hermitty.cluster.place import PLACE, Place
from hermitty.cluster.placement import Backend, NodeInfo, Placement, PlaceSpec
from hermitty.cluster.presence import NodeState
from hermitty.cluster.remote import RemoteHost
from hermitty.cluster.rooms import Rooms
from hermitty.cluster.status import NodeStatus, Since, known_capacity, shown_state
from hermitty.errors import HermittyError, HostUnavailable, TerminalNotFound
from hermitty.host.base import FoundPty, Host, HostedProcess, HostedPty, PipeSpec, ProcessSink, PtySpec, Sink
from hermitty.model import TerminalId

# Room that no terminal uses is given back after a moment: the next one of the workspace may come soon.
_RELEASE_S = 10.0


class ClusterHost:
    """A `Host` made of many. `on_return` is told when a node has come whose terminals may be waiting."""

    def __init__(
        self,
        placement: Placement,
        *,
        programs: tuple[str, ...] = (),
        times: LinkTimes | None = None,
        wanted: PlaceSpec | None = None,
        release_s: float = _RELEASE_S,
        gateway: str = "",
    ) -> None:
        self._placement = placement
        self._programs = programs
        self._times = times or LinkTimes()
        self._wanted = wanted or PlaceSpec("")
        self._rooms = Rooms(release_s, lambda workspace: self._run(self._release(workspace)))
        self._gateway = gateway or secrets.token_hex(8)
        self._remotes: dict[str, RemoteHost] = {}
        self._infos: dict[str, NodeInfo] = {}
        self._since = Since()
        self._seen: dict[str, NodeState] = {}  # the state of each node when it changed last
        self._gone: set[str] = set()  # nodes of which the engine says that they are gone
        self._places: dict[str, Place] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._left: dict[TerminalId, RemoteHost] = {}  # where each terminal was found, or is about to be opened
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self.on_return: Callable[[], None] | None = None

    @property
    def backend(self) -> Backend:
        """Return what kind of engine knows the nodes."""
        return self._placement.backend

    # Nodes.

    async def connect(self) -> None:
        """Begin: look for every node, and wait until each was reached or turned out not to be there."""
        for node in await self._placement.nodes():
            self._add(node)
        self._run(self._watch())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._times.ready_s):
                while any(remote.state is NodeState.CONNECTING for remote in self._remotes.values()):
                    await self._change()

    def nodes(self) -> list[NodeStatus]:
        """Return how the nodes are."""
        return [self._status(node, remote) for node, remote in self._remotes.items()]

    def _status(self, node: str, remote: RemoteHost) -> NodeStatus:
        info = self._infos[node]
        state = shown_state(remote.state, is_draining=remote.is_draining)
        return NodeStatus(
            id=node,
            name=remote.name,
            key=remote.key,
            incarnation=remote.incarnation,
            state=state,
            since=self._since.note(node, state),
            terminals=remote.terminals,
            problem=remote.problem,
            capacity=known_capacity(info.capacity, remote.capacity),
            labels=info.labels,
        )

    async def drain(self, node: str, *, on: bool = True) -> None:
        """Give a node no new terminals, or again. Raises HostUnavailable when it cannot be told."""
        await self._remotes[node].drain(on=on)

    async def until(self, is_so: Callable[[list[NodeStatus]], bool]) -> None:
        """Wait until something is so with the nodes."""
        while not is_so(self.nodes()):
            await self._change()

    def _add(self, node: NodeInfo) -> None:
        self._gone.discard(node.id)
        self._infos[node.id] = node
        if node.id in self._remotes:
            return
        remote = RemoteHost(
            node.name,
            partial(self._placement.endpoint, node.id),
            gateway=self._gateway,
            programs=self._programs,
            times=self._times,
            on_change=partial(self._node_changed, node.id),
            on_closed=self._closed,
        )
        self._remotes[node.id] = remote
        self._status(node.id, remote)
        remote.look()

    def _node_changed(self, node: str, remote: RemoteHost) -> None:
        before, self._seen[node] = self._seen.get(node), remote.state
        if node in self._remotes:
            self._status(node, remote)
        if remote.state is NodeState.LOST and node in self._gone:
            self._run(self._forget(node))
        if remote.state is NodeState.LIVE and before is not remote.state and self.on_return is not None:
            self.on_return()
        self._changed.set()

    async def _forget(self, node: str) -> None:
        """Stop looking for a node that is gone for everybody."""
        remote = self._remotes.pop(node, None)
        self._seen.pop(node, None)
        self._infos.pop(node, None)
        self._since.forget(node)
        if remote is not None:
            await remote.leave()

    async def _watch(self) -> None:
        async for change in self._placement.watch():
            if change.kind == "joined":
                self._add(change.node)
            else:
                self._gone.add(change.node.id)
                remote = self._remotes.get(change.node.id)
                if remote is not None and remote.state in (NodeState.LOST, NodeState.CONNECTING):
                    await self._forget(change.node.id)
            self._changed.set()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    # Places.

    async def at(self, workspace: str | None) -> Host:
        """Return where the terminals of a workspace live; a node is chosen when there is none, or it is gone."""
        name = workspace or ""
        async with self._locks.setdefault(name, asyncio.Lock()):
            place = self._places.get(name)
            if place is None or not await self._is_usable(place.remote):
                place = await self._choose(name)
            return place

    async def _is_usable(self, remote: RemoteHost) -> bool:
        if remote.state is NodeState.UNREACHABLE:
            # An agent that was restarted is back soon, with the files of the workspace.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(2 * self._times.answer_s):
                    while remote.state is NodeState.UNREACHABLE:
                        await self._change()
        return remote.is_live and not remote.is_draining

    async def _choose(self, workspace: str) -> Place:
        if workspace in self._places:
            del self._places[workspace]
            await self._placement.release(workspace)
        try:
            async with asyncio.timeout(self._times.ready_s):
                while not (live := self._usable()):
                    await self._change()
        except TimeoutError as exc:
            states = ", ".join(f"{node.name} is {node.state}" for node in self.nodes()) or "there is none"
            raise HostUnavailable(f"no node can take a terminal: {states}") from exc
        node = await self._placement.reserve(replace(self._wanted, workspace=workspace), live)
        place = Place(workspace, self._remotes[node], self._rooms.opened, self._closed)
        self._places[workspace] = place
        self._rooms.look(workspace)
        return place

    def _usable(self) -> list[str]:
        return [
            node
            for node, remote in self._remotes.items()
            if remote.is_live and not remote.is_draining and node not in self._gone
        ]

    def _closed(self, terminal: TerminalId) -> None:
        self._rooms.closed(terminal)
        self._changed.set()

    async def _release(self, workspace: str) -> None:
        async with self._locks.setdefault(workspace, asyncio.Lock()):
            if not self._rooms.is_used(workspace):
                self._rooms.forget(workspace)
                self._places.pop(workspace, None)
                with contextlib.suppress(HermittyError):
                    await self._placement.release(workspace)
        lock = self._locks.get(workspace)
        if lock is not None and not lock.locked() and workspace not in self._places:
            del self._locks[workspace]

    # The host.

    def name_terminal(self, terminal: TerminalId) -> TerminalId:
        """Return the same id: places give names that tell more."""
        return terminal

    async def make_directory(self, terminal: TerminalId) -> str:
        """Make a private directory where terminals of no workspace live."""
        return await (await self._default()).make_directory(terminal)

    async def open(self, spec: PtySpec, sink: Sink) -> HostedPty:
        """Start a program on a new PTY, where terminals of no workspace live."""
        return await (await self._default()).open(spec, sink)

    async def start(self, spec: PipeSpec, sink: ProcessSink) -> HostedProcess:
        """Start a program with pipes, where terminals of no workspace live."""
        return await (await self._default()).start(spec, sink)

    async def found(self) -> list[FoundPty]:
        """Return what earlier gateways left, on every node that can be reached, and learn where workspaces are."""
        all_found: list[FoundPty] = []
        for node, remote in list(self._remotes.items()):
            if not remote.is_live:
                continue
            with contextlib.suppress(HermittyError):  # it was cut off meanwhile; it will be back
                for each in await remote.found():
                    self._left[each.terminal] = remote
                    try:
                        await self._learn(each, node, remote)
                    except HermittyError:
                        if not remote.is_live:
                            raise
                        continue  # this one stays where it is
                    all_found.append(each)
        for workspace in await self._placement.reserved():
            if workspace not in self._rooms and workspace not in self._places:
                await self._placement.release(workspace)
        return all_found

    async def _learn(self, found: FoundPty, node: str, remote: RemoteHost) -> None:
        place = await remote.read_file(found, PLACE)
        if place is None:
            return
        workspace = place.decode(errors="replace")
        if workspace not in self._places and not remote.is_draining:
            with contextlib.suppress(HostUnavailable):  # there is no room any more; it goes on all the same
                await self._placement.reserve(replace(self._wanted, workspace=workspace), [node])
            self._places[workspace] = Place(workspace, remote, self._rooms.opened, self._closed)
        self._rooms.opened(workspace, found.terminal)

    async def read_file(self, found: FoundPty, name: str) -> bytes | None:
        """Read a file of a PTY that was found."""
        remote = self._left.get(found.terminal)
        if remote is None:
            raise HostUnavailable(f"terminal {found.terminal} is not among those that were found")
        return await remote.read_file(found, name)

    async def take_over(self, terminal: TerminalId, sink: Sink, *, since: int) -> HostedPty:
        """Go on with a PTY that was found."""
        remote = self._left.pop(terminal, None) or self._by_name(terminal)
        return await remote.take_over(terminal, sink, since=since)

    def _by_name(self, terminal: TerminalId) -> RemoteHost:
        where = names.whereabouts(terminal)
        for remote in self._remotes.values():
            if where is not None and names.is_of(where, remote.key, remote.incarnation):
                return remote
        raise TerminalNotFound(terminal, self._rooms.terminals)

    async def find_program(self, name: str) -> str | None:
        """Return the path of a program, where terminals of no workspace live."""
        return await (await self._default()).find_program(name)

    def known_program(self, name: str) -> str | None:
        """Return the path of a program, as any node knows it."""
        remote = self._any()
        return None if remote is None else remote.known_program(name)

    async def check_directory(self, path: str) -> None:
        """Raise InvalidDirectory unless `path` can be entered, where terminals of no workspace live."""
        await (await self._default()).check_directory(path)

    def environment(self) -> dict[str, str]:
        """Return the environment of a node: those of a cluster are alike."""
        remote = self._any()
        return {} if remote is None else remote.environment()

    async def leave(self) -> None:
        """Let go of every node: terminals go on, and room that nobody uses is given back."""
        unused = self._rooms.stop()
        await asyncio.gather(*(self._release(workspace) for workspace in unused))
        await self._end()

    async def aclose(self) -> None:
        """Close every terminal that is used here."""
        self._rooms.stop()
        await asyncio.gather(*(remote.close_all() for remote in self._remotes.values()))
        for workspace in list(self._places):
            with contextlib.suppress(HermittyError):
                await self._placement.release(workspace)
        await self._end()

    async def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(remote.leave() for remote in self._remotes.values()))
        await self._placement.aclose()

    async def _default(self) -> Host:
        return await self.at(None)

    def _any(self) -> RemoteHost | None:
        place = self._places.get("")
        if place is not None:
            return place.remote
        return next((remote for remote in self._remotes.values() if remote.welcome is not None), None)

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
