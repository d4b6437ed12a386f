"""Who decides the size of a terminal that several people watch.

A terminal has one size. The viewer that typed last decides it; before anybody has typed, the one that came last. What
the others ask for is remembered, and counts when they type or when whoever decides leaves or is hidden. A lock makes
one viewer decide until somebody unlocks it or that viewer leaves. Requests below the minimum count for nothing: they
come from pages that are being laid out.
"""

from dataclasses import dataclass

from hermitty.model import Size

MINIMUM = Size(20, 5)

# What a terminal reports when its window gets or loses the focus; nobody typed that.
_FOCUS_REPORTS = (b"\x1b[I", b"\x1b[O")


@dataclass(slots=True)
class _Claim:
    size: Size | None = None
    came: int = 0  # when it asked for a size first
    typed: int = 0  # when it typed last; 0 for never
    is_visible: bool = True


@dataclass(frozen=True, slots=True)
class Decision:
    """Who decides, and what."""

    viewer: int
    size: Size


class Sizing:
    """The wishes of the viewers that may type. Each method returns the decision when it has changed."""

    def __init__(self) -> None:
        self._claims: dict[int, _Claim] = {}
        self._clock = 0
        self._last: Decision | None = None
        self.holder: int | None = None

    def resize(self, viewer: int, size: Size) -> Decision | None:
        """Note the size that a viewer has room for."""
        if size.cols < MINIMUM.cols or size.rows < MINIMUM.rows:
            return None
        claim = self._claim(viewer)
        claim.size = size
        claim.came = claim.came or self._tick()
        return self._decide()

    def typed(self, viewer: int, data: bytes) -> Decision | None:
        """Note that a viewer typed."""
        if data in _FOCUS_REPORTS:
            return None
        self._claim(viewer).typed = self._tick()
        return self._decide()

    def show(self, viewer: int, *, visible: bool) -> Decision | None:
        """Note whether anybody can see a viewer's page."""
        self._claim(viewer).is_visible = visible
        return self._decide()

    def lock(self, viewer: int) -> Decision | None:
        """Let a viewer decide alone, unless another one does already."""
        if self.holder is None:
            self.holder = viewer
        return self._decide()

    def unlock(self) -> Decision | None:
        """Let everybody decide again."""
        self.holder = None
        return self._decide()

    def leave(self, viewer: int) -> Decision | None:
        """Forget a viewer."""
        self._claims.pop(viewer, None)
        if self.holder == viewer:
            self.holder = None
        return self._decide()

    def _claim(self, viewer: int) -> _Claim:
        return self._claims.setdefault(viewer, _Claim())

    def _tick(self) -> int:
        self._clock += 1
        return self._clock

    def _decide(self) -> Decision | None:
        if self.holder is not None:
            held = self._claims.get(self.holder)
            wishes = [] if held is None else [(self.holder, held)]
        else:
            wishes = [(viewer, claim) for viewer, claim in self._claims.items() if claim.is_visible]
        found = [(claim.typed, claim.came, viewer, claim.size) for viewer, claim in wishes if claim.size is not None]
        if not found:
            return None
        _, _, viewer, size = max(found, key=lambda each: each[:2])
        decision = Decision(viewer, size)
        if decision == self._last:
            return None
        self._last = decision
        return decision
