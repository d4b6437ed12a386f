"""Who has which terminal, and who gets one next. Nothing here waits.

A request is granted in one step: an idle terminal that fits, else room for a new one, else the place of an idle
terminal that nobody needs. Otherwise it stays in the queue of its workspace, and whenever something changes, all that
can be granted is granted, in the order in which it was asked for.
"""

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from hermitty.config import ReuseSettings
from hermitty.engine.reuse import Candidate, ExtraEnv, Request, Use, choose
from hermitty.engine.terminal import Terminal
from hermitty.errors import InvalidRequest
from hermitty.model import TerminalId
from hermitty.paths import canonical, identity


@dataclass(slots=True, eq=False)
class Entry:
    """A terminal and who has it. `held` is IDLE, LEASED or SWITCHING: what we know; the rest the terminal tells."""

    terminal: Terminal
    number: int
    shell: str
    session: str | None
    workspace: str | None
    env: ExtraEnv
    keep: bool
    first_env: Mapping[str, str] | None
    is_counted: bool = True
    name: str | None = None
    opened_at: float = 0.0  # seconds since 1970
    held: Use = Use.LEASED
    switches: int = 0
    taint: str | None = None  # why the policy allows nothing there by itself
    kept: bytes | None = None  # what was kept of it for another process
    last_used: int = 0
    idle_since: float = 0.0
    # The directory the shell stands in, as it was when the shell came there: links may lead elsewhere by now,
    # and another directory may have its name.
    cwd: str | None = None
    place: str | None = None
    directory: tuple[int, int] | None = None

    @property
    def use(self) -> Use:
        """Tell whether it can be given away."""
        terminal = self.terminal
        if self.keep or not terminal.is_open or not terminal.takes_commands or terminal.paused_by is not None:
            return Use.UNUSABLE
        return Use.BUSY if self.held is Use.IDLE and terminal.is_busy else self.held

    def look(self) -> None:
        """Note where the shell stands now."""
        cwd = self.terminal.cwd
        directory = identity(cwd) if cwd else None
        if (cwd, directory) != (self.cwd, self.directory):
            self.cwd, self.directory = cwd, directory
            self.place = canonical(cwd) if cwd else None

    def as_candidate(self) -> Candidate:
        """Describe it for the choice."""
        if self.terminal.cwd != self.cwd:
            self.look()
        return Candidate(
            self.terminal.id,
            self.place,
            self.shell,
            use=self.use,
            session=self.session,
            workspace=self.workspace,
            env=self.env,
            switches=self.switches,
            last_used=self.last_used,
            sandbox=self.terminal.sandbox,
        )


@dataclass(slots=True, eq=False)
class Opening:
    """Room for a terminal that does not exist yet, once the one whose place it takes is gone."""

    session: str | None
    workspace: str | None
    after: asyncio.Task[None] | None = None
    is_counted: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Reserved:
    """A terminal that was chosen, and whose it was before."""

    entry: Entry
    needs_switch: bool
    session_before: str | None


Grant = Reserved | Opening


@dataclass(frozen=True, slots=True, eq=False)
class Waiter:
    """A request in the queue. A `fresh` one wants a new terminal whatever there is."""

    request: Request
    fresh: bool
    grant: asyncio.Future[Grant]


class Ledger:
    """The books of a registry. `close_later` closes a terminal in a task that somebody else owns."""

    def __init__(self, settings: ReuseSettings, close_later: Callable[[Terminal, str], asyncio.Task[None]]) -> None:
        self.settings = settings
        self.entries: dict[TerminalId, Entry] = {}
        # Not there yet, or no longer, for anybody; but what happens in them has an owner.
        self.arriving: dict[TerminalId, Entry] = {}
        self.leaving: dict[TerminalId, Entry] = {}
        self._close_later = close_later
        self._openings: set[Opening] = set()
        self._queues: dict[str | None, deque[Waiter]] = {}
        self._numbers = itertools.count(1)
        self._uses = itertools.count(1)

    def ask(self, request: Request, *, fresh: bool) -> Waiter:
        """Put a request at the end of the queue; it may be granted already when this returns."""
        waiter = Waiter(request, fresh, asyncio.get_running_loop().create_future())
        self._queues.setdefault(request.workspace, deque()).append(waiter)
        self.serve(request.workspace)
        return waiter

    def open_extra(self, request: Request) -> Opening:
        """Make room for a terminal beyond the limit, which does not count."""
        opening = Opening(request.session, request.workspace, is_counted=False)
        self._openings.add(opening)
        return opening

    def withdraw(self, waiter: Waiter) -> None:
        """Forget a request whose caller was cancelled, and take back what it was given."""
        grant = waiter.grant
        if grant.done() and not grant.cancelled() and grant.exception() is None:
            self.undo(grant.result())
        elif waiter in (queue := self._queues.get(waiter.request.workspace, deque())):
            queue.remove(waiter)

    def undo(self, grant: Grant) -> None:
        """Take back a grant that will not be used."""
        if isinstance(grant, Opening):
            self._openings.discard(grant)
            self.serve(grant.workspace)
        else:
            grant.entry.session = grant.session_before
            self.give_back(grant.entry)

    def give_back(self, entry: Entry) -> None:
        """Let others have a terminal."""
        entry.held = Use.IDLE
        self.serve(entry.workspace)

    def add(self, opening: Opening, new: Callable[[int], Entry]) -> Entry:
        """Put a new terminal in the room that was kept for it, with the next number."""
        entry = new(next(self._numbers))
        self._openings.discard(opening)
        self.entries[entry.terminal.id] = entry
        return entry

    def expect(self, entry: Entry) -> None:
        """Keep a place for a terminal that was somebody else's and is being taken over, with its number."""
        self.arriving[entry.terminal.id] = entry
        self._numbers = itertools.count(max(entry.number + 1, next(self._numbers)))

    def arrived(self, entry: Entry) -> None:
        """Enter a terminal that was expected."""
        del self.arriving[entry.terminal.id]
        self.entries[entry.terminal.id] = entry

    def replace(self, entry: Entry, reason: str) -> Opening:
        """Close a terminal, and keep its place for a new one."""
        opening = Opening(entry.session, entry.workspace, is_counted=entry.is_counted)
        self._openings.add(opening)
        opening.after = self.discard(entry, reason)
        return opening

    def discard(self, entry: Entry, reason: str) -> asyncio.Task[None]:
        """Take a terminal out of the books and close it; return the task that does."""
        terminal = entry.terminal
        self.entries.pop(terminal.id, None)
        self.leaving[terminal.id] = entry
        closing = self._close_later(terminal, reason)
        closing.add_done_callback(lambda _: self.leaving.pop(terminal.id, None))
        return closing

    def touch(self, entry: Entry, now: float) -> None:
        """Note that a terminal was used until now."""
        entry.last_used = next(self._uses)
        entry.idle_since = now
        if entry.terminal.cwd != entry.cwd:
            entry.look()

    def purge(self) -> None:
        """Forget terminals whose shell has ended."""
        for entry in [each for each in self.entries.values() if not each.terminal.is_open]:
            self.discard(entry, "its shell has ended")

    def unbind(self, session: str) -> list[Entry]:
        """Let a session have no terminals, those being opened included; return those that it had."""
        own = [holder for holder in self._holders() if holder.session == session]
        for holder in own:
            holder.session = None
        return [holder for holder in own if isinstance(holder, Entry)]

    def refuse_all(self, error: Callable[[], InvalidRequest]) -> None:
        """Tell everybody who waits that nothing will come."""
        for queue in self._queues.values():
            for waiter in queue:
                if not waiter.grant.done():
                    waiter.grant.set_exception(error())
        self._queues.clear()

    def serve_all(self) -> None:
        """Grant what can be granted now, everywhere."""
        for workspace in list(self._queues):
            self.serve(workspace)

    def serve(self, workspace: str | None) -> None:
        """Grant what can be granted now in a workspace."""
        self.purge()
        queue = self._queues.get(workspace)
        if not queue:
            return
        idle = {
            entry.terminal.id: entry.as_candidate()
            for entry in self.entries.values()
            if entry.workspace == workspace and entry.use is Use.IDLE
        }
        room = self.settings.terminals_per_workspace - self._count(workspace)
        left: deque[Waiter] = deque()
        while queue and (idle or room > 0):
            waiter = queue.popleft()
            if waiter.grant.done():
                continue  # its caller was cancelled
            grant = self._grant(waiter, idle, has_room=room > 0)
            if grant is None:
                left.append(waiter)
                continue
            room -= isinstance(grant, Opening) and grant.after is None
            waiter.grant.set_result(grant)
        queue.extendleft(reversed(left))
        if not queue:
            del self._queues[workspace]

    def _grant(self, waiter: Waiter, idle: dict[TerminalId, Candidate], *, has_room: bool) -> Grant | None:
        request, settings = waiter.request, self.settings
        if not waiter.fresh:
            choice = choose(idle.values(), request, max_switches=settings.max_switches, steal=settings.steal)
            if choice is not None:
                del idle[choice.candidate.id]
                entry = self.entries[choice.candidate.id]
                reserved = Reserved(entry, choice.tier.is_near, entry.session)
                entry.held = Use.SWITCHING if choice.tier.is_near else Use.LEASED
                entry.session = request.session
                return reserved
        opening = Opening(request.session, request.workspace)
        if not has_room:
            victim = self._least_needed(idle, request)
            if victim is None:
                return None
            del idle[victim]
            opening.after = self.discard(self.entries[victim], "its place was needed")
        self._openings.add(opening)
        return opening

    def _least_needed(self, idle: Mapping[TerminalId, Candidate], request: Request) -> TerminalId | None:
        """Return the idle terminal to close for a new one: unbound before the asking session's own, oldest first.

        Its own ones count too: a session whose terminals fill the workspace would otherwise wait for itself.
        """
        ours = (None, request.session)
        found = [each for each in idle.values() if each.session in ours or self.settings.steal]
        first = min(found, key=lambda each: (each.session is not None, each.last_used), default=None)
        return first.id if first else None

    def _count(self, workspace: str | None) -> int:
        return sum(each.is_counted and each.workspace == workspace for each in self._holders())

    def _holders(self) -> Iterator[Entry | Opening]:
        yield from self.entries.values()
        yield from self.arriving.values()
        yield from self._openings
