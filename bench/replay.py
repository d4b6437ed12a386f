"""How many terminals agents need: a trace of their commands, replayed with real shells through the registry.

The same lines with the same timing are then given to two other rules: reuse only in exactly the directory asked for
(own terminal first, then anybody's idle one), and a terminal for each command. Line N of the trace starts at tick N and
holds its terminal for `runs` ticks; a session is released with the end of its last command.
"""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.plan import Plan
from bench.report import Measurement, at_least, at_most
from hermitty.config import ReuseSettings, Settings
from hermitty.engine.host_opener import HostOpener
from hermitty.engine.registry import Registry
from hermitty.engine.reuse import Candidate, Request, Use, choose
from hermitty.host.local import LocalHost
from hermitty.model import TerminalId
from hermitty.vt.ghostty import GhosttyScreen

TRACE = Path(__file__).parent / "data" / "agent_trace.jsonl"


@dataclass(frozen=True, slots=True)
class Step:
    """One command of the trace. The first part of `cwd` is the workspace."""

    session: str
    cwd: str
    command: str
    runs: int

    @property
    def workspace(self) -> str:
        """Return the project it belongs to."""
        return self.cwd.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Rule:
    """How terminals are shared."""

    max_switches: int
    steal: bool
    reuse: bool = True


OURS = Rule(max_switches=5, steal=False)
EXACT = Rule(max_switches=0, steal=True)
ONE_EACH = Rule(max_switches=0, steal=False, reuse=False)


@dataclass(frozen=True, slots=True)
class Tally:
    """What a rule took."""

    created: int
    most_alive: int


@dataclass(slots=True)
class Replayed:
    """What the live replay saw."""

    created: int = 0
    most_alive: int = 0
    switched: int = 0
    wrong_directory: int = 0
    failed: int = 0
    left_in: list[str] = field(default_factory=list)  # where each command left its shell

    @property
    def tally(self) -> Tally:
        """Return what can be compared with other rules."""
        return Tally(self.created, self.most_alive)


def read_trace(path: Path = TRACE) -> list[Step]:
    """Read a trace."""
    return [Step(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def simulate(trace: Sequence[Step], left_in: Sequence[str], rule: Rule) -> Tally:
    """Count the terminals that a rule takes for a trace whose commands leave their shells in these directories."""
    ends = _last_ticks(trace)
    alive: dict[TerminalId, Candidate] = {}
    held: dict[int, list[TerminalId]] = {}
    created = most_alive = 0
    for tick, step in enumerate(trace):
        for terminal in held.pop(tick, []):
            if rule.reuse:
                alive[terminal] = replace(alive[terminal], use=Use.IDLE, last_used=tick)
            else:
                del alive[terminal]
        for session in ends.get(tick, []):
            alive = {
                key: replace(each, session=None) if each.session == session else each for key, each in alive.items()
            }
        request = Request(f"/{step.cwd}", "bash", step.session, step.workspace)
        choice = choose(alive.values(), request, max_switches=rule.max_switches, steal=rule.steal)
        if choice is None:
            created += 1
            used = Candidate(TerminalId(f"t_{created}"), None, "bash", workspace=step.workspace)
        else:
            used = replace(choice.candidate, switches=choice.candidate.switches + choice.tier.is_near)
        alive[used.id] = replace(used, cwd=left_in[tick], session=step.session, use=Use.LEASED)
        held.setdefault(tick + step.runs, []).append(used.id)
        most_alive = max(most_alive, len(alive))
    return Tally(created, most_alive)


async def replay(trace: Sequence[Step], root: Path) -> Replayed:
    """Run every command of a trace with real shells, in directories made below `root`."""
    root = _make_directories(trace, root)
    host = LocalHost()
    # Spares would be shells that no command asked for.
    registry = Registry(HostOpener(host, Settings, GhosttyScreen), ReuseSettings(spares=0))
    seen = Replayed()
    ends = _last_ticks(trace)
    held: dict[int, list[Callable[[], None]]] = {}
    try:
        for tick, step in enumerate(trace):
            for release in held.pop(tick, []):
                release()
            for session in ends.get(tick, []):
                registry.release_session(session)
            wanted = root / step.cwd
            lease = await registry.acquire(wanted, session=step.session, workspace=step.workspace, shell="bash")
            result = await lease.terminal.run(f'echo "$PWD"; {step.command}', wait_s=None)
            held.setdefault(tick + step.runs, []).append(lease.release)
            seen.created += lease.created
            seen.switched += lease.switched
            seen.most_alive = max(seen.most_alive, len(registry.terminals()))
            seen.wrong_directory += result.text.partition("\n")[0] != str(wanted)
            seen.failed += result.exit_code != 0
            seen.left_in.append(f"/{Path(lease.terminal.cwd or root).relative_to(root).as_posix()}")
    finally:
        await registry.close()
        await host.aclose()
    return seen


async def measure_replay(plan: Plan) -> list[Measurement]:
    """Replay the trace, and compare with the other rules. It is short, so every plan measures all of it."""
    trace = read_trace()
    with tempfile.TemporaryDirectory(prefix="bench-replay-") as root:
        seen = await replay(trace, Path(root))
    ours, exact, one_each = (simulate(trace, seen.left_in, rule) for rule in (OURS, EXACT, ONE_EACH))
    if ours != seen.tally:
        raise RuntimeError(f"the registry used {seen.tally}, but its rule says {ours}")
    details: Mapping[str, float | int | str] = {
        "commands": len(trace),
        "sessions": len({step.session for step in trace}),
        "switched": seen.switched,
        "failed": seen.failed,
    }
    return [
        Measurement(
            "replay_terminals_created",
            seen.created,
            "terminals",
            ratio=exact.created / seen.created,
            peers={"exact directory": exact.created, "one for each command": one_each.created},
            target=at_least(5, of="ratio"),
            details=details,
        ),
        Measurement(
            "replay_terminals_alive",
            seen.most_alive,
            "terminals",
            peers={"exact directory": exact.most_alive, "one for each command": one_each.most_alive},
        ),
        Measurement(
            "replay_wrong_directories",
            seen.wrong_directory + seen.failed,
            "commands",
            target=at_most(0),
        ),
    ]


def _make_directories(trace: Sequence[Step], root: Path) -> Path:
    """Make every directory that a trace starts in or goes to; return the root by the name that shells report."""
    root = root.resolve()
    for step in trace:
        gone_to = step.command.lstrip("(").partition(" && ")[0]
        below = gone_to.removeprefix("cd ") if gone_to.startswith("cd ") else "."
        (root / step.cwd / below).mkdir(parents=True, exist_ok=True)
    return root


def _last_ticks(trace: Sequence[Step]) -> dict[int, list[str]]:
    """Return which sessions are over at which tick."""
    last = {step.session: 0 for step in trace}
    for tick, step in enumerate(trace):
        last[step.session] = max(last[step.session], tick + step.runs)
    over: dict[int, list[str]] = {}
    for session, tick in last.items():
        over.setdefault(tick, []).append(session)
    return over
