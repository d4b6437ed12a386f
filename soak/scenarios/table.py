"""Which scenarios there are, and how often each is chosen."""

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from soak.scenarios import asking, commands, endings, flows, hostile
from soak.world import Hand


@dataclass(frozen=True, slots=True)
class Scenario:
    """Something that a worker does."""

    name: str
    weight: int
    run: Callable[[Hand], Awaitable[None]]


SCENARIOS: tuple[Scenario, ...] = (
    Scenario("count", 20, commands.count_lines),
    Scenario("keep", 10, commands.keep_all),
    Scenario("codes", 12, commands.exit_codes),
    Scenario("stay", 10, commands.stay_somewhere),
    Scenario("again", 10, commands.send_again),
    Scenario("prompt", 6, commands.answer_prompts),
    Scenario("process", 4, commands.run_process),
    Scenario("flood", 8, flows.watch_flood),
    Scenario("deluge", 2, flows.watch_deluge),
    Scenario("lazy", 3, flows.ignore_flood),
    Scenario("stop", 8, endings.stop_commands),
    Scenario("timed", 4, endings.stop_by_time),
    Scenario("leave", 8, endings.leave_behind),
    Scenario("sandbox", 8, endings.leave_in_sandbox),
    Scenario("brief", 8, endings.pass_by),
    Scenario("resize", 5, endings.resize_often),
    Scenario("ask", 8, asking.ask_people),
    Scenario("nonsense", 8, hostile.send_nonsense),
    Scenario("messages", 4, hostile.watch_nonsense),
)


def choose(dice: random.Random, scenarios: Sequence[Scenario], skipped: frozenset[str] = frozenset()) -> Scenario:
    """Choose by weight among those that can run here."""
    left = [each for each in scenarios if each.name not in skipped]
    return dice.choices(left, weights=[each.weight for each in left])[0]
