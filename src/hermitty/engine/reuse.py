"""Which terminal serves a request: pure ranking of candidates.

Four tiers, best first: the session's own terminal in that very directory, its own that can change there, an unbound
one in that directory, an unbound one that can change there. In a tier the most recently used wins. Only idle
terminals of the same workspace, provider, shell, extra environment and sandbox count. A terminal changes directory for
others' requests a limited number of times; one that is there already may always be used.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from hermitty.model import ProviderName, TerminalId
from hermitty.paths import PathRelation, path_relation
from hermitty.sandbox.spec import Confinement

# Variables asked for besides those that every terminal gets.
ExtraEnv = frozenset[tuple[str, str]]
NO_EXTRA_ENV: ExtraEnv = frozenset()


class Use(StrEnum):
    """What a terminal is doing, as far as giving it away is concerned."""

    IDLE = "idle"
    BUSY = "busy"  # a command runs, an agent's or a person's
    LEASED = "leased"  # somebody has it, whether a command runs or not
    SWITCHING = "switching"  # leased, and on its way to another directory
    UNUSABLE = "unusable"  # closed, kept for one purpose, or it takes no commands


class Tier(IntEnum):
    """How good a candidate is; lower is better."""

    OWN_HERE = 1
    OWN_NEAR = 2
    FREE_HERE = 3
    FREE_NEAR = 4

    @property
    def is_near(self) -> bool:
        """Whether the directory must be changed first."""
        return self in (Tier.OWN_NEAR, Tier.FREE_NEAR)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A terminal, as the choice sees it. Paths are canonical; `last_used` grows with every use."""

    id: TerminalId
    cwd: str | None
    shell: str
    use: Use = Use.IDLE
    session: str | None = None
    workspace: str | None = None
    provider: ProviderName = "pty"
    env: ExtraEnv = NO_EXTRA_ENV
    switches: int = 0
    last_used: int = 0
    sandbox: Confinement | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody wants a terminal for."""

    cwd: str
    shell: str
    session: str | None = None
    workspace: str | None = None
    provider: ProviderName = "pty"
    env: ExtraEnv = NO_EXTRA_ENV
    sandbox: Confinement | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """The terminal to use, and why."""

    candidate: Candidate
    tier: Tier


def choose(
    candidates: Iterable[Candidate], request: Request, *, max_switches: int = 5, steal: bool = False
) -> Choice | None:
    """Return the best terminal for a request, or None when a new one is needed.

    With `steal`, idle terminals of other sessions count like unbound ones.
    """
    best: Choice | None = None
    for candidate in candidates:
        tier = _tier(candidate, request, max_switches, steal)
        if tier is None:
            continue
        if best is None or (tier, -candidate.last_used) < (best.tier, -best.candidate.last_used):
            best = Choice(candidate, tier)
    return best


def _tier(candidate: Candidate, request: Request, max_switches: int, steal: bool) -> Tier | None:
    if candidate.use is not Use.IDLE or not candidate.cwd:
        return None
    if (candidate.workspace, candidate.provider, candidate.shell, candidate.env, candidate.sandbox) != (
        request.workspace,
        request.provider,
        request.shell,
        request.env,
        request.sandbox,
    ):
        return None
    own = request.session is not None and candidate.session == request.session
    if not own and candidate.session is not None and not steal:
        return None
    relation = path_relation(candidate.cwd, request.cwd)
    if relation is PathRelation.SAME:
        return Tier.OWN_HERE if own else Tier.FREE_HERE
    if relation is PathRelation.UNRELATED or candidate.switches >= max_switches:
        return None
    return Tier.OWN_NEAR if own else Tier.FREE_NEAR
