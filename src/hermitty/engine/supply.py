"""New terminals: from a spare that only has to change its directory, or opened from the ground up."""

import asyncio
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hermitty.config import ReuseSettings
from hermitty.engine.host_opener import Opener
from hermitty.engine.pool import Plan, Pool, Spare, Voice
from hermitty.engine.reuse import Request
from hermitty.engine.terminal import Terminal
from hermitty.errors import HermittyError
from hermitty.model import Size, TerminalId
from hermitty.paths import identity, same_path
from hermitty.shell.environment import PathContributions


@dataclass(frozen=True, slots=True)
class Wish:
    """A request with what only a new terminal needs to know."""

    request: Request
    path: str
    env: Mapping[str, str]
    size: Size | None = None
    fresh: bool = False
    keep: bool = False
    is_extra: bool = False
    name: str | None = None

    @property
    def plan(self) -> Plan:
        """Return which spares would do."""
        return Plan(self.request.shell, self.request.workspace, self.request.sandbox)


class Supply:
    """Makes terminals for wishes, and keeps spares for those to come."""

    def __init__(
        self,
        opener: Opener,
        settings: ReuseSettings,
        close_later: Callable[[Terminal, str], asyncio.Task[None]],
    ) -> None:
        self._opener = opener
        self._close_later = close_later
        self._paths = PathContributions()
        self.pool = Pool(self._open_spare, limit=settings.spares, delay_s=settings.spare_delay_s)

    def contribute_path(self, contributor: str, path: str | None, *, prepend: bool = False) -> None:
        """Set what a contributor adds to the PATH of new terminals; None removes it."""
        if self._paths.contribute(contributor, path, prepend=prepend):
            self.pool.clear()

    async def make(self, wish: Wish) -> tuple[Terminal, Voice]:
        """Return a terminal in the directory of a wish, and its voice, which is silent so far."""
        return await self._warm(wish) or await self._cold(wish)

    async def _warm(self, wish: Wish) -> tuple[Terminal, Voice] | None:
        """Take a spare and bring it to the directory; None when there is none, or it does not get there."""
        spare = None if wish.env else self.pool.take(wish.plan)
        if spare is None:
            return None
        try:
            is_there = _is_at(spare, wish.path) or await spare.terminal.change_directory(wish.path)
        except (HermittyError, TimeoutError):
            is_there = False
        except BaseException:
            self._close_later(spare.terminal, "nobody needs it any more")
            raise
        if not is_there:
            self._close_later(spare.terminal, f"it did not get to {wish.path}")
            return None
        if wish.size is not None and wish.size != spare.terminal.size:
            spare.terminal.resize(wish.size.cols, wish.size.rows)
        return spare.terminal, spare.voice

    async def _cold(self, wish: Wish) -> tuple[Terminal, Voice]:
        voice = Voice()
        return await self._open(wish.plan, wish.path, voice, wish.env, wish.size), voice

    async def _open_spare(self, plan: Plan, cwd: str, voice: Voice) -> Terminal:
        return await self._open(plan, cwd, voice)

    async def _open(
        self, plan: Plan, cwd: str, voice: Voice, env: Mapping[str, str] | None = None, size: Size | None = None
    ) -> Terminal:
        return await self._opener.open(
            TerminalId(f"t_{secrets.token_hex(6)}"),
            cwd=cwd,
            shell=plan.shell,
            env=self._with_path(env or {}),
            size=size,
            emit=voice,
            workspace=plan.workspace,
            sandbox=plan.sandbox,
        )

    def _with_path(self, env: Mapping[str, str]) -> dict[str, str]:
        before = env.get("PATH", self._opener.environment().get("PATH", ""))
        after = self._paths.apply(before, separator=os.pathsep)
        return {**env, "PATH": after} if after != before else dict(env)


def _is_at(spare: Spare, path: str) -> bool:
    return same_path(spare.terminal.cwd, path) and spare.identity == identity(path)
