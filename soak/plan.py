"""How long, how hard, and with which dice."""

import random
from dataclasses import dataclass

KB = 1024
MB = 1024 * KB


@dataclass(frozen=True, slots=True)
class Plan:
    """One soak. Times are in seconds."""

    seconds: float = 900.0
    seed: int = 0
    workers: int = 6
    # Servers are killed in the first part; the last one then lives long enough to show what it leaks.
    kill_every_s: float = 30.0
    killing_part: float = 0.6
    # Three eighths of a log are there whatever happens. A flood is shorter, so that its viewers must get every byte; a
    # deluge is longer than the whole of it.
    flood_bytes: tuple[int, int] = (2 * MB, 4 * MB)
    deluge_bytes: tuple[int, int] = (14 * MB, 20 * MB)
    log_bytes: int = 12 * MB
    question_timeout_s: float = 6.0
    sample_s: float = 1.0
    # Only ends what hangs.
    patience_s: float = 300.0
    # How much the median of the last quarter may exceed that of the second one.
    growth_bytes: int = 16 * MB
    growth_part: float = 0.15
    # A server remembers so many commands that are over, and so much output of terminals that are closed. It is judged
    # from when it has them; one that lived too short a time for that may grow by as much as they take.
    known_commands: int = 1000
    caches_bytes: int = 24 * MB

    def dice(self, name: object) -> random.Random:
        """Return dice of somebody's own: what one worker throws does not depend on the others."""
        return random.Random(f"{self.seed} {name}")


def short_plan(seconds: float, seed: int) -> Plan:
    """Return the version for a machine that has other things to do: facts only, less of everything."""
    return Plan(
        seconds=seconds,
        seed=seed,
        workers=3,
        kill_every_s=6.0,
        flood_bytes=(MB // 2, MB),
        deluge_bytes=(5 * MB, 6 * MB),
        log_bytes=4 * MB,
        question_timeout_s=3.0,
        growth_bytes=12 * MB,
    )
