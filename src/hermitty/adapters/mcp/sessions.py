"""The sessions of calls: each call keeps its session alive, and one that nobody calls for hours is released."""

import asyncio
from collections.abc import Callable

from hermitty.adapters.mcp.clients import AnyContext, SessionOf

# Longer than a model leaves a build alone.
_IDLE_S = 4 * 3600.0


class Sessions:
    """Names the sessions of calls, and releases those that we named when they are idle."""

    def __init__(self, name: SessionOf, release: Callable[[str], None], *, idle_s: float = _IDLE_S) -> None:
        self._name = name
        self._release = release
        self._idle_s = idle_s
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def __call__(self, ctx: AnyContext, given: str | None) -> str:
        """Return the name of the session that a call belongs to."""
        session = self._name(ctx, given)
        if given is None:
            if (timer := self._timers.get(session)) is not None:
                timer.cancel()
            self._timers[session] = asyncio.get_running_loop().call_later(self._idle_s, self._over, session)
        return session

    def close(self) -> None:
        """Forget all of them."""
        for timer in self._timers.values():
            timer.cancel()

    def _over(self, session: str) -> None:
        del self._timers[session]
        self._release(session)
