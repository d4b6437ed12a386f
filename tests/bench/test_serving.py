"""The benchmarks of the server: their parts, and each of them with counts so small that the numbers mean nothing."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.flood import Flood, Flooded
from bench.plan import Plan
from bench.report import Measurement
from bench.serve_costs import colourful_screen, measure_api, measure_attach, measure_many, measure_memory
from bench.serve_flow import measure_echo, measure_relay, measure_stuck
from bench.serving import Viewers, ending_with, relay_server, terminado_server
from bench.websockets import BINARY, PONG, TEXT, Frames, accept_answer, client_frame, server_frame

SMALL = Plan(
    rounds=2,
    flood_rounds=1,
    flood_bytes=300_000,
    viewers=(1, 2),
    keys_per_turn=3,
    requests_per_turn=3,
    attaches=2,
    terminals=3,
    printing_terminals=1,
)

kinds = st.sampled_from([TEXT, BINARY, PONG])
payloads = st.one_of(st.binary(max_size=200), st.sampled_from([bytes(126), bytes(65_535), b"x" * 65_536]))


@given(frames=st.lists(st.tuples(st.sampled_from([server_frame, client_frame]), kinds, payloads)), cuts=st.data())
def test_frames_cut_anywhere_are_the_same(
    frames: list[tuple[Callable[[int, bytes], bytes], int, bytes]], cuts: st.DataObject
) -> None:
    stream = b"".join(build(kind, payload) for build, kind, payload in frames)
    places = sorted(cuts.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    reader = Frames()
    found = []
    for start, end in zip([0, *places], [*places, len(stream)], strict=True):
        found += reader.feed(stream[start:end])
    assert found == [(kind, payload) for _, kind, payload in frames]


def test_a_masked_payload_is_read() -> None:
    # The example of RFC 6455, 5.7.
    assert Frames().feed(bytes.fromhex("818537fa213d7f9f4d5158")) == [(TEXT, b"Hello")]


def test_an_upgrade_is_accepted_as_the_standard_says() -> None:
    # The example of RFC 6455, 1.3.
    assert b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" in accept_answer(b" dGhlIHNhbXBsZSBub25jZQ==")


def test_what_is_echoed_is_not_taken_for_the_end() -> None:
    typed, marker = ending_with("cat file", 7)
    assert marker == "end_7_"
    assert marker not in typed


def test_a_colourful_screen_fills_its_rows() -> None:
    lines = colourful_screen(120, 3).decode().splitlines()
    assert len(lines) == 3
    assert {line.count("\x1b[38;5;") for line in lines} == {30}


def test_a_viewer_with_less_than_everything_is_counted() -> None:
    assert Flooded(0.5, [1.0, 0.999, 1.001], 0).skipping == 1


async def test_all_viewers_of_the_bare_relay_get_every_byte(tmp_path: Path) -> None:
    flood = Flood(tmp_path / "flood", 300_000)
    async with relay_server() as server, Viewers() as viewers:
        path = await server.open_terminal("any")
        await viewers.join("all", server, [path] * 3)
        for frames in (True, False):
            flooded = await flood.to(viewers, "all", frames=frames)
            assert (len(flooded.shares), flooded.skipping, flooded.resets) == (3, 0, 0)
        await viewers.leave("all")


async def test_viewers_that_lose_their_server_say_so(capfd: pytest.CaptureFixture[str]) -> None:
    async with Viewers() as viewers:
        async with relay_server() as server:
            await viewers.join("all", server, [await server.open_terminal("any")])
        with pytest.raises((AssertionError, ConnectionError)):
            await viewers.order("keys", group="all", count=1)
    assert "AssertionError: the server ended" in capfd.readouterr().err


async def test_terminado_is_watched_in_its_own_language(tmp_path: Path) -> None:
    pytest.importorskip("terminado")
    flood = Flood(tmp_path / "flood", 100_000)
    async with terminado_server() as server, Viewers() as viewers:
        await viewers.join("all", server, [await server.open_terminal("any")] * 2)
        flooded = await flood.to(viewers, "all")
    assert (len(flooded.shares), flooded.skipping) == (2, 0)


Measure = Callable[[Plan], Awaitable[list[Measurement]]]


@pytest.mark.parametrize(
    ("measure", "metrics"),
    [
        (measure_relay, {"relay_1_viewer", "relay_2_viewers"}),
        (measure_echo, {"echo", "echo_p99_during_unwatched_flood", "echo_p99_during_watched_flood"}),
        (measure_api, {"api_run_true"}),
        (measure_attach, {"attach_full_screen", "attach_with_history"}),
        (measure_many, {"many_opened", "many_attached", "many_printed"}),
        (measure_stuck, {"stuck_viewer_time"}),
        (measure_memory, set()),
    ],
)
async def test_the_server_is_measured(measure: Measure, metrics: set[str]) -> None:
    found = {each.metric: each for each in await measure(SMALL)}
    # Others depend on what is installed, and on what the system tells about memory.
    assert metrics <= set(found)
    assert all(each.value > 0 for name, each in found.items() if name in metrics)
    for name in ("relay_1_viewer", "relay_2_viewers"):
        if name in found:
            assert (found[name].details["delivered"], found[name].details["viewers_that_skipped"]) == (1, 0)
