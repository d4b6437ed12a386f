"""Values of the host seam as messages and back: nothing changes on the way. How nodes are shown, and who has room."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.cluster import translation as tr
from hermitty.cluster.placement import Capacity, NodeInfo, PlaceSpec
from hermitty.cluster.presence import NodeState
from hermitty.cluster.ray import node_info
from hermitty.cluster.room import no_room
from hermitty.cluster.status import NodeStatus, ShownState, Since, count_states, known_capacity, shown_state
from hermitty.errors import InvalidRequest
from hermitty.host.base import FoundPty, PipeSpec, PtySpec, TtyState, Waiting
from hermitty.host.translation import found_pty, tty_state
from hermitty.model import ExitStatus, Size, TerminalId
from hermitty.sandbox.spec import Confinement, Effective, Mode
from hermitty.wire.nodelink import messages as m
from hermitty.wire.nodelink.frames import MAX_FRAME, Decoder, encode
from tests.wire.test_hostlink import TEXTS

COUNTS = st.integers(0, 2**62)
SIZES = st.builds(Size, st.integers(1, 500), st.integers(1, 500))
ENVIRONMENTS = st.dictionaries(TEXTS, TEXTS, max_size=3)
ORDERS = st.none() | st.builds(
    Confinement,
    st.sampled_from(Mode).filter(lambda mode: mode.value != "off"),
    st.just("/work"),
    write=st.lists(st.sampled_from(["/a", "/b c"]), max_size=2).map(tuple),
    network=st.sampled_from(["none", "host"]),
    pids=st.none() | st.integers(1, 1000),
)
FILE_NAMES = st.text("abc.", min_size=1, max_size=5).filter(lambda name: name not in (".", ".."))


def sent(message: Any) -> Any:
    """A message as the other end reads it."""
    (read,) = Decoder(MAX_FRAME).feed(encode(message))
    return read


@given(
    st.builds(
        PtySpec,
        terminal=TEXTS.map(TerminalId),
        program=TEXTS,
        args=st.lists(TEXTS, max_size=3).map(tuple),
        cwd=TEXTS,
        env=ENVIRONMENTS,
        size=SIZES,
        directory=TEXTS,
        files=st.dictionaries(FILE_NAMES, st.binary(max_size=20), max_size=3),
        log_bytes=COUNTS,
        sandbox=ORDERS,
    )
)
def test_what_is_to_be_opened_arrives_as_it_is(spec: PtySpec) -> None:
    assert tr.pty_spec(sent(tr.open_message(1, spec))) == spec


@given(
    st.builds(
        PipeSpec,
        owner=TEXTS,
        argv=st.lists(TEXTS, min_size=1, max_size=3).map(tuple),
        cwd=TEXTS,
        env=ENVIRONMENTS,
        stdin=st.booleans(),
        merged=st.booleans(),
        sandbox=ORDERS,
    )
)
def test_what_is_to_be_started_arrives_as_it_is(spec: PipeSpec) -> None:
    assert tr.pipe_spec(sent(tr.start_message(1, spec))) == spec


STATUSES = st.none() | st.builds(ExitStatus, st.none() | st.integers(0, 255), st.none() | st.integers(1, 64))


@given(
    st.builds(
        FoundPty, TEXTS.map(TerminalId), COUNTS, TEXTS, SIZES, COUNTS, COUNTS, COUNTS, COUNTS, exit_status=STATUSES
    )
)
def test_what_was_found_is_told_as_it_is(found: FoundPty) -> None:
    answer = sent(m.FoundList(1, (tr.found_item(found),)))

    assert [found_pty(each) for each in answer.terminals] == [found]


@given(
    st.builds(
        TtyState,
        st.sampled_from(Waiting),
        st.none() | st.booleans(),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.none() | TEXTS,
    )
)
def test_what_a_kernel_knows_is_told_as_it_is(state: TtyState) -> None:
    assert tty_state(sent(tr.state_message(1, state))) == state


def test_a_word_of_a_later_version_is_unknown() -> None:
    told = tr.state_message(1, TtyState())
    later = m.State(1, "MEDITATING", *(getattr(told, name) for name in told.__slots__[2:]))

    assert tty_state(later).waiting is Waiting.UNKNOWN


def test_what_is_enforced_is_told_as_it_is() -> None:
    held = Effective(Mode.STRICT, "bubblewrap", "none", (("pids", "rlimit"),), (("memory", "no control group"),))

    assert tr.effective(tr.effective_text(held)) == held
    assert tr.effective(tr.effective_text(None)) is None


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc/passwd", "../x", "a\0b"])
def test_a_file_never_leads_elsewhere(name: str) -> None:
    with pytest.raises(InvalidRequest):
        tr.checked_name(name)
    spec = PtySpec(TerminalId("t"), "sh", (), "/", {}, Size(), "/d", files={name: b""})
    with pytest.raises(InvalidRequest):
        tr.pty_spec(tr.open_message(1, spec))


# How nodes are shown.


@pytest.mark.parametrize("state", NodeState)
def test_a_node_drains_only_while_it_is_there(state: NodeState) -> None:
    assert shown_state(state, is_draining=False) == state.value
    assert shown_state(state, is_draining=True) == ("draining" if state is NodeState.LIVE else state.value)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["live", "lost", "draining"]))))
def test_since_is_when_the_state_became_what_it_is(steps: list[tuple[str, ShownState]]) -> None:
    now = 0.0
    since = Since(lambda: now)
    became: dict[str, tuple[ShownState, float]] = {}
    for node, state in steps:
        now += 1
        if node not in became or became[node][0] != state:
            became[node] = (state, now)
        assert since.note(node, state) == became[node][1]
    since.forget("a")
    since.forget("a")
    now += 1
    assert since.note("a", "live") == now


def test_every_state_is_counted() -> None:
    def node(state: ShownState) -> NodeStatus:
        return NodeStatus("i", "n", "k", "r", state, 0.0, 0, "", Capacity(), {})

    assert count_states([node("live"), node("lost"), node("live")]) == {
        "connecting": 0, "live": 2, "draining": 0, "unreachable": 0, "lost": 1
    }  # fmt: skip


def test_what_the_engine_gives_away_counts_and_else_what_the_machine_has() -> None:
    assert known_capacity(Capacity(), Capacity(4, 100)) == Capacity(4, 100)
    assert known_capacity(Capacity(2.5, None), Capacity(4, 100)) == Capacity(2.5, 100)
    assert known_capacity(Capacity(0.0, 0), Capacity(4, 100)) == Capacity(0.0, 0)


def test_what_ray_tells_of_a_node_is_understood() -> None:
    told = {
        "NodeManagerHostname": "machine",
        "Resources": {"CPU": 4.0, "memory": 1024.0, "node:10.0.0.1": 1.0},
        "Labels": {"ray.io/node-id": "abc", "hermitty-node": "one", "zone": "a"},
    }
    assert node_info("k", told) == NodeInfo("k", "one", Capacity(4.0, 1024), {"zone": "a"})
    assert node_info("k", {"NodeManagerHostname": "machine"}) == NodeInfo("k", "machine")


# Room.


@pytest.mark.parametrize(
    ("spec", "nodes", "free", "text"),
    [
        (
            PlaceSpec("/w", 64.0, 2 << 30, {"z": "a"}),
            [NodeInfo("1", "one", Capacity(4.0, 8 << 30), {"z": "b"}), NodeInfo("2", "two", Capacity(1.0))],
            Capacity(),
            "workspace '/w', which wants 64 CPU and 2 GiB with z=a; there are one (4 CPU and 8 GiB, z=b), two (1 CPU)",
        ),
        (
            PlaceSpec(""),
            [NodeInfo("1", "one")],
            Capacity(),
            "terminals of no workspace, which want a place; there is one",
        ),
        (
            PlaceSpec("w", 1),
            [NodeInfo(str(number), f"n{number}") for number in range(10)],
            Capacity(),
            "workspace 'w', which wants 1 CPU; there are n0, n1, n2, n3, n4, n5, n6, n7, and 2 more",
        ),
        (
            PlaceSpec("w", 1),
            [NodeInfo("1", "one")],
            Capacity(0.5, 3 << 30),
            "workspace 'w', which wants 1 CPU; there is one; free in all: 0.5 CPU and 3 GiB",
        ),
        (PlaceSpec("w"), [], Capacity(), "workspace 'w', which wants a place; there are no nodes"),
    ],
)
def test_who_finds_no_room_is_told_what_was_asked_and_what_there_is(
    spec: PlaceSpec, nodes: list[NodeInfo], free: Capacity, text: str
) -> None:
    assert no_room(spec, nodes, free).message == f"no node has room for {text}"


@given(st.integers(0, 2**60))
def test_any_amount_of_memory_can_be_said(count: int) -> None:
    assert "e+" not in no_room(PlaceSpec("w", memory_bytes=count), [], Capacity()).message
