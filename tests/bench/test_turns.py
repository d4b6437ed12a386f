import contextlib
from collections.abc import AsyncIterator

import pytest

from bench.turns import Contender, time_calls, time_commands, time_openings


class Shell:
    """Writes down what it is asked to do, and fails from the given command on."""

    def __init__(self, name: str, diary: list[str], works: int) -> None:
        self.name = name
        self.diary = diary
        self.works = works

    async def run_true(self) -> None:
        if self.works == 0:
            raise OSError(f"{self.name} broke")
        self.works -= 1
        self.diary.append(self.name)


def contender(name: str, diary: list[str], *, samples: int = 1, works: int = 1000, is_peer: bool = False) -> Contender:
    @contextlib.asynccontextmanager
    async def open_it() -> AsyncIterator[Shell]:
        diary.append(f"+{name}")
        try:
            yield Shell(name, diary, works)
        finally:
            diary.append(f"-{name}")

    return Contender(name, open_it, samples, is_peer=is_peer)


async def test_contenders_take_turns_and_the_order_is_reversed_in_every_other_round() -> None:
    diary: list[str] = []
    found = await time_commands([contender("a", diary, samples=2), contender("b", diary)], rounds=3, warm_up=1)
    assert diary == ["+a", "a", "+b", "b", *"aab", *"baa", *"aab", "-b", "-a"]
    assert {name: [len(turn) for turn in turns] for name, turns in found.items()} == {"a": [2, 2, 2], "b": [1, 1, 1]}


async def test_openings_are_closed_before_the_next_one() -> None:
    diary: list[str] = []
    found = await time_openings([contender("a", diary), contender("b", diary)], rounds=1)
    assert diary == ["+a", "a", "-a", "+b", "b", "-b"] * 2
    assert {name: len(turns) for name, turns in found.items()} == {"a": 1, "b": 1}


async def test_calls_take_turns() -> None:
    diary: list[str] = []

    async def note(name: str) -> None:
        diary.append(name)

    found = await time_calls({"a": lambda: note("a"), "b": lambda: note("b")}, rounds=2)
    assert diary == ["a", "b", "b", "a"]
    assert [len(found["a"]), len(found["b"])] == [2, 2]


@pytest.mark.parametrize("works", [0, 1, 2])
async def test_a_peer_that_fails_is_left_out_by_name(works: int, capsys: pytest.CaptureFixture[str]) -> None:
    diary: list[str] = []
    contenders = [contender("peer", diary, works=works, is_peer=True), contender("ours", diary)]
    found = await time_commands(contenders, rounds=3, warm_up=1)
    assert list(found) == ["ours"]
    assert len(found["ours"]) == 3
    assert capsys.readouterr().err == "bench: peer is left out: OSError: peer broke\n"
    assert diary[-2:] == ["-ours", "-peer"]


@pytest.mark.parametrize("works", [0, 1, 2])
async def test_without_ours_there_is_no_result(works: int) -> None:
    diary: list[str] = []
    with pytest.raises(OSError, match="ours broke"):
        await time_commands([contender("ours", diary, works=works)], rounds=3, warm_up=1)
    assert diary[-1] == "-ours"
