"""How much is measured."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """Counts of everything. More of them is less noise and more time."""

    rounds: int = 10
    commands_per_turn: int = 300
    # Peers that take 50 ms and more for a command get fewer.
    slow_commands_per_turn: int = 10
    openings_per_turn: int = 12
    shell_commands_per_turn: int = 50
    drain_rounds: int = 4
    drain_bytes: int = 100_000_000
    terminals: int = 500
    process_rounds: int = 15
    text_rounds: int = 7
    text_bytes: int = 8_000_000
    flood_rounds: int = 5
    # To one viewer. Many get less, so that the slowest contender is done in time; rounds say more than bytes.
    flood_bytes: int = 100_000_000
    viewers: tuple[int, ...] = (1, 10, 50)
    keys_per_turn: int = 200
    requests_per_turn: int = 100
    attaches: int = 200
    printing_terminals: int = 20
    page_loads: int = 10
    page_rounds: int = 3
    page_bytes: int = 10_000_000


# Enough commands for a p99, everything else small.
QUICK = Plan(
    rounds=4,
    commands_per_turn=150,
    slow_commands_per_turn=2,
    openings_per_turn=4,
    shell_commands_per_turn=25,
    drain_rounds=2,
    drain_bytes=20_000_000,
    terminals=60,
    process_rounds=5,
    text_rounds=3,
    text_bytes=1_000_000,
    flood_rounds=2,
    flood_bytes=10_000_000,
    keys_per_turn=50,
    requests_per_turn=50,
    attaches=100,
    printing_terminals=5,
    page_loads=4,
    page_rounds=1,
)
