"""Terminals by id, session and workspace: getting one, giving it back, closing it.

The ledger decides who gets what, in one step. What takes time after that (changing directory, opening a shell) is done
by a task of the registry, which ends with it; the terminal is reserved all the while.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine, Mapping, MutableMapping
from dataclasses import replace
from typing import Any

from hermitty.config import ReuseSettings
from hermitty.engine.host_opener import Found, Opener
from hermitty.engine.lease import Lease, TerminalInfo
from hermitty.engine.ledger import Entry, Grant, Ledger, Opening, Reserved
from hermitty.engine.owners import entry_of, keep
from hermitty.engine.pool import Voice, close_terminal
from hermitty.engine.reaping import Reaper
from hermitty.engine.reuse import Request, Use
from hermitty.engine.supply import Supply, Wish
from hermitty.engine.terminal import Terminal
from hermitty.errors import HermittyError, HostUnavailable, InvalidRequest, TerminalBusy, TerminalNotFound
from hermitty.events import CommandFinished, TerminalEvent, TerminalOpened
from hermitty.model import Size, TerminalId
from hermitty.paths import absolute, canonical, identity
from hermitty.sandbox.spec import Confinement
from hermitty.shell.environment import restore_line

__all__ = ["Lease", "Opener", "Registry", "TerminalInfo"]


# So many terminals of another process are taken over at the same time.
_ADOPTED_AT_ONCE = 16
_ADOPTION_TRIES = 3


class Registry:
    """Owns terminals, and the spares kept for them. Everything ends with `close`."""

    def __init__(
        self,
        opener: Opener,
        settings: ReuseSettings | None = None,
        *,
        emit: Callable[[TerminalEvent], None] | None = None,
        directories: MutableMapping[str, str] | None = None,
    ) -> None:
        self._opener = opener
        self._emit = emit
        self._ledger = Ledger(settings or ReuseSettings(), self._close_later)
        self._supply = Supply(opener, self.settings, self._close_later)
        # Where sessions began.
        self._directories: MutableMapping[str, str] = {} if directories is None else directories
        self._work: set[asyncio.Future[Any]] = set()  # openings and adoptions
        self._closings: set[asyncio.Task[None]] = set()
        self._reaper = Reaper(self._ledger)
        self._is_closed = False
        self.has_left = False  # what runs in terminals goes on, and nobody here hears of it

    @property
    def settings(self) -> ReuseSettings:
        """Return the settings; they hold from the next request on."""
        return self._ledger.settings

    def configure(self, settings: ReuseSettings) -> None:
        """Go on with other settings. Nothing is closed for them, but whoever waits may be served now."""
        self._ledger.settings = settings
        self._supply.pool.limit_to(settings.spares)
        self._ledger.serve_all()

    # Getting a terminal.

    async def acquire(
        self,
        cwd: str | os.PathLike[str],
        *,
        session: str | None = None,
        workspace: str | None = None,
        shell: str | None = None,
        env: Mapping[str, str] | None = None,
        sandbox: Confinement | None = None,
    ) -> Lease:
        """Return a terminal in that directory: one that is idle if any will do, else a new one.

        A relative directory is meant from where the session began. Waits while the workspace has as many terminals as
        it may have. Cancelling gives everything back; a terminal on its way to another directory is closed.
        """
        return await self._fulfil(await self._wish(cwd, session, workspace, shell, env, sandbox))

    async def open(
        self,
        cwd: str | os.PathLike[str],
        *,
        session: str | None = None,
        workspace: str | None = None,
        shell: str | None = None,
        env: Mapping[str, str] | None = None,
        size: Size | None = None,
        keep: bool = False,
        is_extra: bool = False,
        name: str | None = None,
        sandbox: Confinement | None = None,
    ) -> Lease:
        """Return a new terminal. One to `keep` is never given to others, nor closed to make room or for idling.

        An extra one does not count for the limit, and so never waits for others to be given back.
        """
        wish = await self._wish(cwd, session, workspace, shell, env, sandbox)
        return await self._fulfil(replace(wish, size=size, fresh=True, keep=keep, is_extra=is_extra, name=name))

    async def adopt(self) -> int:
        """Go on with the terminals that another process left, and tell how many there are."""
        adopted = 0
        for _ in range(_ADOPTION_TRIES):
            waiting = await self._opener.found()
            outcomes: list[bool | None] = []
            for first in range(0, len(waiting), _ADOPTED_AT_ONCE):
                # A host that is another machine takes its time to answer.
                batch = asyncio.gather(*map(self._adopt, waiting[first : first + _ADOPTED_AT_ONCE]))
                self._work.add(batch)
                batch.add_done_callback(self._work.discard)
                outcomes += await batch
            adopted += outcomes.count(True)
            if None not in outcomes:
                break
        self._ledger.serve_all()
        return adopted

    async def _adopt(self, found: Found) -> bool | None:
        """Go on with one of them, if it is still open. One whose host is cut off meanwhile stays where it is.

        One that the other process was about to close is closed, whether that process lived to see it or not. None: it
        was waited for too long, and some of its output is gone since it was found; it can be found again.
        """
        voice, terminal, entry = Voice(), None, None
        try:
            terminal = await found.make(voice)
            entry = None if terminal is None else entry_of(found.owner, terminal)
            if terminal is None or entry is None:
                await found.close()
                return False
            self._ledger.expect(entry)
            await found.take_over(terminal)
        except (HostUnavailable, TerminalNotFound):
            return False
        except InvalidRequest:
            return None
        finally:
            if entry is not None and entry.terminal.has_begun:
                self._ledger.arrived(entry)  # also if this was cancelled while it caught up
            elif terminal is not None:
                self._ledger.arriving.pop(terminal.id, None)
                terminal.screen.close()
        _keep(entry)  # its session may have been released meanwhile
        self._touch(entry)
        if terminal.is_open:
            self._on_event(TerminalOpened(terminal.id, terminal.shell, terminal.cwd or "", terminal.quality))
        is_open = terminal.is_open
        voice.speak_to(self._on_event, terminal.cwd or "")
        return is_open

    # Who has what.

    def terminal(self, terminal_id: str) -> Terminal:
        """Return a terminal by its id."""
        return self._entry(terminal_id).terminal

    def owner(self, terminal_id: str) -> tuple[str | None, str | None]:
        """Return the session and the workspace of a terminal, until nothing of it is left: every command asks."""
        entry = self._passing(terminal_id) or self._entry(terminal_id)
        return entry.session, entry.workspace

    def info(self, terminal_id: str) -> TerminalInfo:
        """Return what the registry knows of a terminal, until nothing of it is left."""
        entry = self._passing(terminal_id) or self._entry(terminal_id)
        is_leased = entry.held is not Use.IDLE
        return TerminalInfo(
            entry.number,
            entry.session,
            entry.workspace,
            entry.switches,
            is_leased,
            entry.name,
            entry.keep,
            entry.opened_at,
        )

    def terminals(
        self, *, busy: bool | None = None, session: str | None = None, workspace: str | None = None
    ) -> list[Terminal]:
        """Return the open terminals, oldest first: all, or those of a session, of a workspace, (not) running."""
        self._ledger.purge()
        return [
            entry.terminal
            for entry in sorted(self._ledger.entries.values(), key=lambda entry: entry.number)  # not as they arrived
            if busy in (None, entry.terminal.is_busy)
            and session in (None, entry.session)
            and workspace in (None, entry.workspace)
        ]

    def background_terminals(self, *, busy: bool | None = None) -> list[Terminal]:
        """Return the terminals that belong to no session."""
        return [each for each in self.terminals(busy=busy) if self._ledger.entries[each.id].session is None]

    def session_cwd(self, session: str) -> str | None:
        """Return where the session's most recently used terminal is, or where the session began."""
        self._ledger.purge()
        own = [entry for entry in self._ledger.entries.values() if entry.session == session]
        last = max(own, key=lambda entry: entry.last_used, default=None)
        return (last.terminal.cwd if last else None) or self._directories.get(session)

    def path(self, cwd: str | os.PathLike[str], session: str | None) -> str:
        """Return the absolute path of a directory; a relative one is meant from where the session began."""
        return absolute(cwd, self._directories.get(session) if session is not None else None)

    def session_root(self, session: str) -> str | None:
        """Return where a session began."""
        return self._directories.get(session)

    def begin_session(self, session: str, path: str) -> None:
        """Note where a session begins, unless it has begun."""
        self._directories.setdefault(session, path)

    def shell(self, wanted: str | None) -> str:
        """Return the program that a shell's name stands for, as far as it is known; None is the default shell."""
        return self._opener.known_shell(wanted)

    async def find_shell(self, wanted: str | None, workspace: str | None) -> str:
        """Return the program that a shell's name stands for where a workspace is."""
        return await self._opener.shell(wanted, workspace)

    def sessions(self) -> list[str]:
        """Return the sessions that have begun and were not released, oldest first."""
        self._ledger.purge()
        bound = (entry.session for entry in self._ledger.entries.values())
        return list(dict.fromkeys([*self._directories, *(each for each in bound if each is not None)]))

    def rename(self, terminal_id: str, name: str | None) -> None:
        """Give a terminal a name for people, or none."""
        entry = self._entry(terminal_id)
        entry.name = name
        _keep(entry)

    def taint(self, terminal_id: str, why: str) -> None:
        """Keep why the policy allows nothing in a terminal by itself."""
        entry = self._ledger.entries.get(TerminalId(terminal_id))
        if entry is not None:
            entry.taint = why
            _keep(entry)

    def taints(self) -> dict[TerminalId, str]:
        """Return the terminals in which the policy allows nothing by itself, and why."""
        return {each: entry.taint for each, entry in self._ledger.entries.items() if entry.taint is not None}

    def bind(self, terminal_id: str, session: str | None) -> None:
        """Give a terminal to a session, or to none."""
        entry = self._entry(terminal_id)
        entry.session = session
        _keep(entry)
        self._ledger.serve(entry.workspace)

    def release_session(self, session: str) -> None:
        """Unbind the terminals of a session. They go on, their output can be read, and others may use them."""
        now = asyncio.get_running_loop().time()
        for entry in self._ledger.entries.values():
            if entry.session == session:
                entry.idle_since = now
        self._directories.pop(session, None)
        for entry in self._ledger.unbind(session):
            _keep(entry)
        self._ledger.serve_all()

    async def end_session(self, session: str, *, kill: bool = True) -> None:
        """Close the terminals of a session and everything they run; without `kill`, only release them."""
        own = [entry for entry in self._ledger.entries.values() if entry.session == session and kill]
        closings = [self._ledger.discard(entry, f"session {session} has ended") for entry in own]
        self.release_session(session)
        if closings:
            await asyncio.wait(closings)
            # A request may have been under way with one of them, and have got another one instead.
            self.release_session(session)

    async def close_terminal(self, terminal_id: str, reason: str = "it was closed") -> None:
        """Close a terminal and everything started from it, and wait until that is done."""
        self._entry(terminal_id)
        if (closing := self.discard(terminal_id, reason)) is not None:
            await asyncio.wait({closing})

    def discard(self, terminal_id: str, reason: str) -> asyncio.Task[None] | None:
        """Close a terminal in the background, in a task that is the registry's; None when it is gone already."""
        entry = self._ledger.entries.get(TerminalId(terminal_id))
        if entry is None:
            return None
        closing = self._ledger.discard(entry, reason)
        self._ledger.serve(entry.workspace)
        return closing

    def contribute_path(self, contributor: str, path: str | None, *, prepend: bool = False) -> None:
        """Set what a contributor adds to the PATH of new terminals; None removes it."""
        self._supply.contribute_path(contributor, path, prepend=prepend)

    def drop_spares(self) -> None:
        """Replace the spares: new terminals are to start with other variables or settings."""
        self._supply.pool.clear()

    def overdue(self, now: float) -> list[Terminal]:
        """Return the terminals of no session that were idle for too long at a time of the event loop's clock."""
        return self._reaper.overdue(now)

    async def settled(self) -> None:
        """Wait until no spare is being opened and nothing is being closed."""
        while self._closings:
            await asyncio.wait(self._closings)
        await self._supply.pool.settled()

    async def leave(self) -> None:
        """Let go of every terminal: those whose PTY is durable go on, and can be adopted by another registry."""
        await self._stop()
        for entry in list(self._ledger.entries.values()):
            if entry.terminal.is_open and entry.terminal.pty.is_durable:
                _keep(entry)
                entry.terminal.keep()
            else:
                self._ledger.discard(entry, "the registry was closed")
        await self.settled()
        self.has_left = True

    async def close(self) -> None:
        """Close every terminal. Whoever waits for one is told; nothing is given any more."""
        await self._stop()
        for entry in list(self._ledger.entries.values()):
            self._ledger.discard(entry, "the registry was closed")
        await self.settled()

    async def _stop(self) -> None:
        self._is_closed = True
        self._reaper.stop()
        self._ledger.refuse_all(_closed)
        for work in self._work:
            work.cancel()
        while self._work:
            await asyncio.wait(self._work)
        await self._supply.pool.close()

    # Carrying out what was granted.

    async def _fulfil(self, wish: Wish) -> Lease:
        while not self._is_closed:
            grant = await self._granted(wish)
            if isinstance(grant, Opening):
                lease = await self._owned(self._open(grant, wish), wish)
            elif self._is_ready(grant, wish):
                lease = self._lease(grant.entry)
            else:
                lease = await self._owned(self._prepare(grant, wish), wish)
            if lease is not None:
                return lease
        raise _closed()

    async def _granted(self, wish: Wish) -> Grant:
        if wish.is_extra:
            return self._ledger.open_extra(wish.request)
        waiter = self._ledger.ask(wish.request, fresh=wish.fresh)
        try:
            return await waiter.grant
        except asyncio.CancelledError:
            self._ledger.withdraw(waiter)
            raise

    async def _owned(self, work: Coroutine[Any, Any, Lease | None], wish: Wish) -> Lease | None:
        """Do work in a task that `close` can end, and that ends when its caller is cancelled."""
        task = asyncio.get_running_loop().create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            task.add_done_callback(lambda done: self._unclaimed(done, wish))
            raise
        if task.cancelled():
            raise _closed()
        return task.result()

    def _unclaimed(self, task: asyncio.Task[Lease | None], wish: Wish) -> None:
        """Take back what was ready in the very moment in which its caller was cancelled."""
        if task.cancelled() or task.exception() is not None or (lease := task.result()) is None:
            return
        if wish.keep:
            # It would be nobody's, and nobody could get it.
            self.discard(lease.terminal.id, "nobody needs it any more")
        else:
            lease.release()

    def _is_ready(self, grant: Reserved, wish: Wish) -> bool:
        return not (_needs_directory(grant, wish) or _needs_reset(grant))

    async def _prepare(self, grant: Reserved, wish: Wish) -> Lease | None:
        """Bring a reserved terminal to its directory; a new one takes its place if it does not get there.

        Returns None when somebody began to use the terminal meanwhile.
        """
        entry, terminal = grant.entry, grant.entry.terminal
        try:
            if _needs_reset(grant):
                await _restore_environment(entry)
            is_there = not _needs_directory(grant, wish) or await terminal.change_directory(wish.path)
        except (HermittyError, TimeoutError) as exc:
            if isinstance(exc, TerminalBusy) and terminal.is_busy:
                self._ledger.undo(grant)
                return None
            is_there = False
        except BaseException:
            self._ledger.discard(entry, "it was on its way to another directory")
            self._ledger.serve(entry.workspace)
            raise
        if not is_there:
            return await self._open(self._ledger.replace(entry, f"it did not get to {wish.path}"), wish)
        entry.switches += grant.needs_switch
        entry.held = Use.LEASED
        return self._lease(entry, switched=grant.needs_switch)

    async def _open(self, opening: Opening, wish: Wish) -> Lease:
        """Open a terminal in the room that was kept for it, from a spare if there is one."""
        try:
            if opening.after is not None:
                await asyncio.wait({opening.after})
            await self._opener.check_directory(wish.path, wish.request.workspace)
            terminal, voice = await self._supply.make(wish)
            first_env = await self._first_environment(terminal)
        except BaseException:
            self._ledger.undo(opening)
            raise
        entry = self._ledger.add(
            opening,
            lambda number: Entry(
                terminal,
                number,
                wish.request.shell,
                opening.session,
                opening.workspace,
                wish.request.env,
                wish.keep,
                first_env,
                opening.is_counted,
                wish.name,
                time.time(),
            ),
        )
        self._touch(entry)
        self._supply.pool.opened(wish.plan, wish.path)
        voice.speak_to(self._on_event, wish.path)
        return self._lease(entry, created=True)

    async def _first_environment(self, terminal: Terminal) -> dict[str, str] | None:
        if not self.settings.reset_env or not terminal.takes_commands:
            return None
        try:
            return await terminal.environment()
        except BaseException:
            self._close_later(terminal, "it could not be opened")
            raise

    # Keeping the books.

    async def _wish(
        self,
        cwd: str | os.PathLike[str],
        session: str | None,
        workspace: str | None,
        shell: str | None,
        env: Mapping[str, str] | None,
        sandbox: Confinement | None,
    ) -> Wish:
        if self._is_closed:
            raise _closed()
        path = self.path(cwd, session)
        await self._opener.check_directory(path, workspace)
        if session is not None:
            self.begin_session(session, path)
        extra = dict(env or {})
        program = await self._opener.shell(shell, workspace)
        request = Request(canonical(path), program, session, workspace, env=frozenset(extra.items()), sandbox=sandbox)
        wish = Wish(request, path, extra)
        self._supply.pool.asked(wish.plan, path)
        return wish

    def _entry(self, terminal_id: str) -> Entry:
        self._ledger.purge()
        try:
            return self._ledger.entries[TerminalId(terminal_id)]
        except KeyError:
            raise TerminalNotFound(terminal_id, list(self._ledger.entries)) from None

    def _passing(self, terminal_id: str) -> Entry | None:
        """Return the entry of a terminal that is there for nobody, but still or already tells what happens in it."""
        known = TerminalId(terminal_id)
        return self._ledger.leaving.get(known) or self._ledger.arriving.get(known)

    def _lease(self, entry: Entry, *, created: bool = False, switched: bool = False) -> Lease:
        _keep(entry)
        return Lease(entry.terminal, lambda: self._give_back(entry), created=created, switched=switched)

    def _give_back(self, entry: Entry) -> None:
        if self._ledger.entries.get(entry.terminal.id) is entry:
            self._touch(entry)
            self._ledger.give_back(entry)
            # Only now: a spare must not compete with the command that somebody waits for.
            self._supply.pool.refill()

    def _on_event(self, event: TerminalEvent) -> None:
        entry = self._ledger.entries.get(event.terminal)
        if entry is not None and isinstance(event, CommandFinished):
            self._touch(entry)
        if self._emit is not None:
            self._emit(event)
        if entry is not None:
            self._ledger.serve(entry.workspace)

    def _touch(self, entry: Entry) -> None:
        self._ledger.touch(entry, asyncio.get_running_loop().time())
        self._reaper.arm()

    def _close_later(self, terminal: Terminal, reason: str) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(close_terminal(terminal, reason))
        self._closings.add(task)
        task.add_done_callback(self._closings.discard)
        return task


def _needs_directory(grant: Reserved, wish: Wish) -> bool:
    """Tell whether the shell must be sent there: it is elsewhere, or in a removed directory of that name."""
    return grant.needs_switch or identity(wish.path) != grant.entry.directory


def _needs_reset(grant: Reserved) -> bool:
    moved = grant.needs_switch or grant.session_before != grant.entry.session
    return moved and grant.entry.first_env is not None


async def _restore_environment(entry: Entry) -> None:
    """Lead the shell back to the variables it had after opening."""
    terminal = entry.terminal
    line = restore_line(terminal.dialect, entry.first_env or {}, await terminal.environment())
    if line is not None:
        await terminal.run_quietly(line)


def _keep(entry: Entry) -> None:
    """Keep whose a terminal is. Without room for that it goes on, and the next change tries again."""
    try:
        keep(entry)
    except OSError as exc:
        entry.kept = None
        problem = "terminal %s would not be found by another process: %s"
        logging.getLogger("hermitty.engine").warning(problem, entry.terminal.id, exc.strerror)


def _closed() -> InvalidRequest:
    return InvalidRequest("the registry is closed; no terminal can be had from it")
