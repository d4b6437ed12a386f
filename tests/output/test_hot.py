"""Heat: whether more output is likely to follow soon."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.output.hot import COMPILING_S, PLAIN_S, Heat


def cools_after(*output: bytes, command: str = "") -> float:
    """How long after the last output the command is hot; all of it comes at once."""
    heat = Heat(command, now=100.0)
    for data in output:
        heat.on_output(data, 200.0)
    return heat.hot_until - 200.0


def test_the_times_are_two_and_fifteen_seconds() -> None:
    assert (PLAIN_S, COMPILING_S) == (2.0, 15.0)


def test_a_command_that_has_printed_nothing_is_not_hot() -> None:
    assert not Heat("sleep 100", now=5.0).is_hot(5.0)


def test_plain_output_is_hot_for_two_seconds() -> None:
    heat = Heat("ls", now=0.0)
    heat.on_output(b"file\r\n", 10.0)
    assert [heat.is_hot(now) for now in (10.0, 11.99, 12.0, 20.0)] == [True, True, False, False]
    heat.on_output(b"file\r\n", 30.0)
    assert [heat.is_hot(now) for now in (31.9, 32.0)] == [True, False]


@pytest.mark.parametrize(
    "output",
    [
        b"Compiling serde v1.0",
        b"[1/3] building...",
        b"\x1b[1;32mBundling\x1b[0m app.js",
        b"TRANSPILING\n",
        b"Generating code\r\n",
        b"Starting the development server",
        b"linking target",
    ],
)
def test_a_compiler_at_work_is_hot_for_fifteen_seconds(output: bytes) -> None:
    assert cools_after(output) == COMPILING_S


@pytest.mark.parametrize(
    "output",
    [
        b"compiled in 3 s",
        b"Compiling... done",
        b"build finished",
        b"building: success",
        b"compiling\ncompilation complete",
        b"Compiling\nerror: no such thing",
        b"compiling\n2 errors",
        b"Building\nFAILED",
        b"\x1b[32mdone\x1b[m",
    ],
)
def test_a_compiler_that_is_through_cools_like_plain_output(output: bytes) -> None:
    assert cools_after(output) == PLAIN_S


@pytest.mark.parametrize("output", [b"rebuildings", b"abandoned", b"recompiled_x", b"undone", b"mistarting"])
def test_parts_of_other_words_say_nothing(output: bytes) -> None:
    assert cools_after(b"compiling\n", output) == COMPILING_S
    assert cools_after(output) == PLAIN_S


def test_a_word_that_goes_on_is_another_word() -> None:
    assert cools_after(b"compiling\n", b"done") == PLAIN_S
    assert cools_after(b"compiling\n", b"done", b"x\n") == COMPILING_S
    assert cools_after(b"building", b"s\n") == PLAIN_S
    assert cools_after(b"x" * 60, b"compiling") == PLAIN_S


def test_plain_output_does_not_end_the_work_of_a_compiler() -> None:
    assert cools_after(b"compiling a\n", b"src/a.c\n") == COMPILING_S
    assert cools_after(b"compiling a\n", b"compiled a\n", b"src/a.c\n") == PLAIN_S
    assert cools_after(b"compiled a\n", b"compiling b\n") == COMPILING_S


@pytest.mark.parametrize("command", ["cargo build", "npm run build", "make -j8", "tsc -p .", "cd x && g++ a.cc"])
def test_the_command_of_a_compiler_is_hot_from_its_start(command: str) -> None:
    assert Heat(command, now=0.0).hot_until == COMPILING_S
    assert cools_after(b"...\n", command=command) == COMPILING_S
    assert cools_after(b"done\n", command=command) == PLAIN_S


@pytest.mark.parametrize("command", ["ls build-output", "echo makefile", "cat remake"])
def test_other_commands_are_not_taken_for_compilers(command: str) -> None:
    assert cools_after(b"...\n", command=command) == PLAIN_S


def test_a_finished_command_is_cold_at_once() -> None:
    heat = Heat("make", now=0.0)
    heat.on_output(b"compiling", 1.0)
    assert heat.is_hot(1.0)
    heat.on_finished()
    assert not heat.is_hot(1.0)


def test_of_a_flood_the_end_decides() -> None:
    assert cools_after(b"compiling\n" + b"x" * 100_000 + b"\ndone\n") == PLAIN_S
    assert cools_after(b"done\n" + b"x" * 100_000 + b"\ncompiling\n") == COMPILING_S


def test_a_flood_in_pieces_is_one_flood() -> None:
    filler = b"x\n" * 2048
    assert cools_after(filler + b"compiling\n", filler) == PLAIN_S
    assert cools_after(filler, filler + b"compiling\n") == COMPILING_S
    assert cools_after(filler, filler + b"compiling\n", b"x\n") == COMPILING_S
    assert cools_after(filler, filler + b"compi", b"ling\n") == COMPILING_S


def test_a_flood_does_not_hide_what_was_said_before_it() -> None:
    filler = b"x\n" * 2048
    assert cools_after(b"compiling\n", filler, filler) == COMPILING_S
    assert cools_after(b"compiling\n", b"done\n", filler, filler) == PLAIN_S


def test_whoever_asks_in_a_flood_sees_its_end_so_far() -> None:
    filler = b"x\n" * 2048
    heat = Heat("cat log", now=0.0)
    heat.on_output(filler, 1.0)
    heat.on_output(filler + b"compiling\n", 2.0)
    assert heat.hot_until == 2.0 + COMPILING_S
    heat.on_output(filler, 3.0)
    assert heat.hot_until == 3.0 + COMPILING_S
    heat.on_output(filler + b"done\n", 4.0)
    assert heat.hot_until == 4.0 + PLAIN_S


def test_a_finished_command_stays_cold_whatever_was_not_looked_at() -> None:
    heat = Heat("make", now=0.0)
    heat.on_output(b"compiling", 1.0)
    heat.on_finished()
    assert not heat.is_hot(1.0)
    assert not heat.is_hot(1.0)


WORDS = st.sampled_from([b"compiling", b"done", b"x", b" ", b"\n", b"\x1b[1;31m", b"error", b"s", b"_", b"a" * 50])


@given(st.lists(WORDS, max_size=8).map(b"".join), st.lists(st.integers(0, 200), max_size=6))
def test_output_cut_anywhere_gives_the_same_heat(output: bytes, cuts: list[int]) -> None:
    places = sorted({0, len(output), *(cut for cut in cuts if cut < len(output))})
    pieces = [output[start:end] for start, end in pairwise(places)]
    if output:
        assert cools_after(*pieces) == cools_after(output)


@given(st.lists(st.tuples(st.lists(WORDS, max_size=3).map(b"".join), st.booleans()), max_size=8))
def test_asking_changes_nothing(pieces: list[tuple[bytes, bool]]) -> None:
    heat = Heat("", now=100.0)
    for data, ask in pieces:
        heat.on_output(data, 200.0)
        assert not ask or heat.is_hot(200.0)
    assert not pieces or heat.hot_until - 200.0 == cools_after(*(data for data, _ in pieces))


@given(st.lists(st.binary()))
def test_any_bytes_make_it_hot(pieces: list[bytes]) -> None:
    assert not pieces or cools_after(*pieces) in (PLAIN_S, COMPILING_S)
