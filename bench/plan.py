"""How much is measured."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """Counts of everything. More of them is less noise and more time."""

    rounds: int = 10
    commands_per_turn: int = 200
    openings_per_turn: int = 4
    drain_rounds: int = 3
    drain_bytes: int = 100_000_000
    terminals: int = 500
    process_rounds: int = 15
    text_rounds: int = 7
    text_bytes: int = 8_000_000


QUICK = Plan(
    rounds=3,
    commands_per_turn=50,
    openings_per_turn=2,
    drain_rounds=3,
    drain_bytes=10_000_000,
    terminals=50,
    process_rounds=5,
    text_rounds=3,
    text_bytes=1_000_000,
)
