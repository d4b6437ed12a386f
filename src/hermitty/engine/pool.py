"""Warm spares: shells that are open before anybody asks for them.

One spare is kept for each of the plans (shell and workspace) that real terminals were opened for most recently, never
more than the limit. Spares are opened one at a time, in the background, in the directory last asked for; nobody sees
them before they are taken. When one cannot be opened, the pool rests until a real terminal could be.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from hermitty.engine.terminal import Terminal
from hermitty.errors import HermittyError
from hermitty.events import CwdChanged, TerminalEvent, TerminalOpened
from hermitty.paths import identity
from hermitty.sandbox.spec import Confinement


@dataclass(frozen=True, slots=True)
class Plan:
    """What makes one spare as good as another."""

    shell: str
    workspace: str | None
    sandbox: Confinement | None = None


class Voice:
    """A terminal's events, held back until somebody owns it."""

    def __init__(self) -> None:
        self._held: list[TerminalEvent] = []
        self._listener: Callable[[TerminalEvent], None] | None = None

    def __call__(self, event: TerminalEvent) -> None:
        """Pass on an event, or keep it."""
        if self._listener is not None:
            self._listener(event)
        elif not isinstance(event, CwdChanged):
            self._held.append(event)

    def speak_to(self, listener: Callable[[TerminalEvent], None], cwd: str) -> None:
        """Tell what was held back, as if the terminal had been opened in `cwd` now, and everything from now on."""
        self._listener = listener
        held, self._held = self._held, []
        for event in held:
            listener(replace(event, cwd=cwd) if isinstance(event, TerminalOpened) else event)


@dataclass(frozen=True, slots=True, eq=False)
class Spare:
    """An open terminal that nobody has seen, and the directory it was opened in."""

    terminal: Terminal
    voice: Voice
    cwd: str
    identity: tuple[int, int] | None


OpenSpare = Callable[[Plan, str, Voice], Awaitable[Terminal]]


class Pool:
    """Keeps spares. Everything it opened and nobody took is closed with it."""

    def __init__(self, open_spare: OpenSpare, *, limit: int = 5, delay_s: float = 0.0) -> None:
        self._open_spare = open_spare
        self._limit = limit
        self._delay_s = delay_s  # a program that is done at once should not have a shell started, and killed again
        # Plans with the directory last asked for, the most recent last.
        self._plans: dict[Plan, str] = {}
        self._spares: dict[Plan, Spare] = {}
        self._discarded: list[Spare] = []
        self._filling: asyncio.Task[None] | None = None
        self._generation = 0
        self._has_failed = False
        self._is_closed = False

    def __len__(self) -> int:
        """Count the shells that are open, those about to be closed too."""
        return len(self._spares) + len(self._discarded)

    def opened(self, plan: Plan, cwd: str) -> None:
        """Note that a real terminal was opened: another one like it may be wanted soon."""
        self._has_failed = False
        self._remember(plan, cwd)
        self.limit_to(self._limit)

    def limit_to(self, limit: int) -> None:
        """Keep at most so many spares from now on, those of the most recent plans."""
        self._limit = limit
        while len(self._plans) > limit:
            self._forget(next(iter(self._plans)))

    def asked(self, plan: Plan, cwd: str) -> None:
        """Note a directory that somebody asked for, if the plan is one we keep a spare for."""
        if plan in self._plans:
            self._remember(plan, cwd)

    def take(self, plan: Plan) -> Spare | None:
        """Give away the spare of a plan, or None when there is none."""
        spare = self._spares.pop(plan, None)
        if spare is not None and not spare.terminal.is_open:
            self._discarded.append(spare)
            return None
        return spare

    def refill(self) -> None:
        """Start to open what is missing, unless that is going on already."""
        if self._filling is None and not self._is_closed and (self._discarded or self._missing() is not None):
            self._filling = asyncio.get_running_loop().create_task(self._fill())
            self._filling.add_done_callback(self._filled)

    def clear(self) -> None:
        """Replace all spares: new terminals start with other variables or settings now."""
        self._generation += 1
        self._discarded += self._spares.values()
        self._spares.clear()
        self.refill()

    async def settled(self) -> None:
        """Wait until nothing is being opened or closed."""
        while self._filling is not None:
            await asyncio.wait({self._filling})

    async def close(self) -> None:
        """Close every spare and open no more."""
        self._is_closed = True
        if self._filling is not None:
            self._filling.cancel()
            await self.settled()
        self._discarded += self._spares.values()
        self._spares.clear()
        await self._close_discarded()

    def _remember(self, plan: Plan, cwd: str) -> None:
        self._plans.pop(plan, None)
        self._plans[plan] = cwd

    def _forget(self, plan: Plan) -> None:
        del self._plans[plan]
        if (spare := self._spares.pop(plan, None)) is not None:
            self._discarded.append(spare)

    def _missing(self) -> Plan | None:
        """Return the most recent plan without a spare."""
        if self._has_failed:
            return None
        return next((plan for plan in reversed(self._plans) if plan not in self._spares), None)

    async def _fill(self) -> None:
        if not self._discarded:
            await asyncio.sleep(self._delay_s)
        while True:
            # First out, then in: there are never more than the limit.
            await self._close_discarded()
            plan = self._missing()
            if plan is None:
                return
            await self._fill_one(plan)

    def _filled(self, _task: asyncio.Task[None]) -> None:
        self._filling = None

    async def _fill_one(self, plan: Plan) -> None:
        generation = self._generation
        cwd = self._plans[plan]
        voice = Voice()
        try:
            terminal = await self._open_spare(plan, cwd, voice)
        except (HermittyError, OSError):
            # Nobody asked for it. Whoever asks for a real one will be told what is wrong.
            self._has_failed = True
            return
        spare = Spare(terminal, voice, cwd, identity(cwd))
        if not terminal.takes_commands:
            self._has_failed = True
        if self._has_failed or generation != self._generation or plan not in self._plans:
            self._discarded.append(spare)
        else:
            self._spares[plan] = spare

    async def _close_discarded(self) -> None:
        while self._discarded:
            spare = self._discarded[0]
            await close_terminal(spare.terminal, "it was not needed any more")
            self._discarded.remove(spare)


async def close_terminal(terminal: Terminal, reason: str) -> None:
    """Close a terminal, whatever state it is in, and wait until nothing of it is left."""
    if terminal.is_open:
        await terminal.close(reason)
    await terminal.finished()
