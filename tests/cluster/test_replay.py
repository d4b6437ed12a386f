"""Every byte once, in order, in both directions, whatever breaks: the parts that need no machine, against a model.

The model is a terminal that counts writes, an agent that sends output in any pieces and from any offset that it may,
and a network that loses what is on its way when a connection is cut.
"""

from collections import deque

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hermitty.cluster.inflow import Inflow, Missing, Taken
from hermitty.cluster.outbox import Entry, Outbox
from hermitty.wire.nodelink import messages as m
from tests.wire.test_hostlink import cut

# Output.


def told(inflow: Inflow, pieces: list[tuple[int, bytes]]) -> tuple[bytes, bytes]:
    """What is kept and what is told of pieces that must all be taken."""
    kept = fresh = b""
    for offset, data in pieces:
        taken = inflow.take(offset, data)
        assert isinstance(taken, Taken)
        kept += taken.known + taken.fresh
        fresh += taken.fresh
    return kept, fresh


OUTPUT = st.binary(max_size=60)


PLACES = st.integers(0, 60)
# Each connection: where it begins to send, where it breaks, and where what it sends is cut.
CONNECTIONS = st.lists(st.tuples(PLACES, PLACES, st.lists(PLACES, max_size=3)), max_size=6)


@given(OUTPUT, PLACES, PLACES, CONNECTIONS)
def test_output_is_the_same_however_it_is_cut_and_repeated(
    output: bytes, first: int, since: int, connections: list[tuple[int, int, list[int]]]
) -> None:
    first, since = sorted((min(first, len(output)), min(since, len(output))))
    inflow = Inflow(first=first, since=since)
    pieces: list[tuple[int, bytes]] = []
    have = first
    for begin, end, places in [*connections, (60, 60, [])]:
        # From anywhere up to where the output has come.
        at = min(begin, have)
        for piece in cut(output[at:end], places):
            pieces.append((at, piece))
            at += len(piece)
        have = max(have, at)

    kept, fresh = told(inflow, pieces)

    assert (kept, fresh) == (output[first:], output[since:])
    assert inflow.have == len(output)
    assert inflow.is_caught_up


@given(OUTPUT.filter(bool), st.data())
def test_a_gap_is_noticed_and_never_passed_over(output: bytes, data: st.DataObject) -> None:
    taken = data.draw(st.integers(0, len(output) - 1))
    gap = data.draw(st.integers(1, 20))
    inflow = Inflow(first=0, since=0)
    assert inflow.take(0, output[:taken]) == Taken(b"", output[:taken])

    assert inflow.take(taken + gap, b"x") == Missing(gap)
    assert inflow.have == taken
    assert inflow.missing_at(taken + gap) == gap
    assert inflow.missing_at(taken) == 0


@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 20))
def test_output_that_was_only_to_be_kept_may_have_gone(first: int, known: int, beyond: int) -> None:
    since = first + known
    for start in range(first, since + 1):
        inflow = Inflow(first=first, since=since)
        taken = inflow.take(start, b"x" * (since - start + 2))
        assert taken == Taken(b"x" * (since - start), b"xx", start if start > first else None)
    # Not what has to be told: only that is missing.
    assert Inflow(first=first, since=since).take(since + beyond, b"x") == Missing(beyond)


def test_what_is_kept_may_not_have_a_hole() -> None:
    inflow = Inflow(first=0, since=10)
    assert inflow.take(2, b"ab") == Taken(b"ab", b"", 2)
    assert not inflow.is_caught_up

    assert inflow.take(6, b"x") == Missing(2)


@given(st.integers(0, 100), st.integers(0, 100), st.binary(max_size=100))
def test_what_came_before_is_nothing(first: int, offset: int, data: bytes) -> None:
    inflow = Inflow(first=first, since=first)
    data = data[: max(0, first - offset)]

    assert inflow.take(min(offset, first), data) == Taken()
    assert inflow.have == first


# Both directions.


class Terminal:
    """What the durable host keeps: output, and how many writes came."""

    def __init__(self) -> None:
        self.output = b""
        self.writes = 0
        self.typed: list[bytes] = []


class Network(RuleBasedStateMachine):
    """A gateway with one terminal on a node. What is on its way is lost with its connection."""

    def __init__(self) -> None:
        super().__init__()
        self.terminal = Terminal()
        # The agent: what it has sent and done in this connection.
        self.sent = 0
        self.count = 0
        self.handle = 0
        # The gateway.
        self.inflow = Inflow(first=0, since=0)
        self.outbox = Outbox()
        self.seen = b""
        self.said: list[bytes] = []
        # The network.
        self.is_up = False
        self.to_node: deque[Entry] = deque()
        self.to_gateway: deque[m.Data | m.Applied] = deque()

    @rule(data=st.binary(min_size=1, max_size=8))
    def print_something(self, data: bytes) -> None:
        self.terminal.output += data

    @rule(data=st.binary(max_size=4))
    def type_something(self, data: bytes) -> None:
        self.said.append(data)
        self._say(m.Write(self.handle, len(self.said), 0, data))

    @rule(cols=st.integers(1, 9))
    def say_something_else(self, cols: int) -> None:
        self._say(m.Resize(self.handle, cols, 1))

    def _say(self, entry: Entry) -> None:
        self.outbox.add(entry)
        if self.outbox.is_open:
            self.to_node.append(entry)

    @precondition(lambda self: not self.is_up)
    @rule(overlap=st.integers(0, 5))
    def connect(self, overlap: int) -> None:
        """Take the terminal over: output comes from where it ended, or from somewhat before."""
        self.is_up = True
        self.handle += 1
        self.count = 0
        self.sent = max(0, self.inflow.have - overlap)
        self.to_node.extend(self.outbox.reopen(self.handle, self.terminal.writes))

    @precondition(lambda self: self.is_up)
    @rule()
    def break_the_connection(self) -> None:
        self.is_up = False
        self.outbox.close()
        self.to_node.clear()
        self.to_gateway.clear()

    @precondition(lambda self: self.is_up)
    @rule(most=st.integers(1, 6))
    def send_output(self, most: int) -> None:
        piece = self.terminal.output[self.sent : self.sent + most]
        self.to_gateway.append(m.Data(self.handle, self.sent, piece))
        self.sent += len(piece)

    @precondition(lambda self: self.to_node)
    @rule()
    def one_thing_arrives_at_the_node(self) -> None:
        entry = self.to_node.popleft()
        assert entry.handle == self.handle
        self.count += 1
        if isinstance(entry, m.Write):
            assert entry.number == self.terminal.writes + 1, "the node would end the connection"
            self.terminal.writes = entry.number
            self.terminal.typed.append(entry.data)

    @precondition(lambda self: self.is_up)
    @rule()
    def confirm(self) -> None:
        self.to_gateway.append(m.Applied(self.handle, self.count, 0))

    @precondition(lambda self: self.to_gateway)
    @rule()
    def one_thing_arrives_at_the_gateway(self) -> None:
        event = self.to_gateway.popleft()
        if isinstance(event, m.Applied):
            self.outbox.confirm(event.count)
            return
        taken = self.inflow.take(event.offset, event.data)
        assert isinstance(taken, Taken)
        self.seen += taken.fresh

    @invariant()
    def nothing_is_doubled_or_out_of_order(self) -> None:
        assert self.terminal.output.startswith(self.seen)
        assert self.terminal.typed == self.said[: self.terminal.writes]

    def teardown(self) -> None:
        """Nothing is lost, either: with one more connection that holds, everything is there."""
        if self.is_up:
            self.break_the_connection()
        self.connect(3)
        while self.to_node:
            self.one_thing_arrives_at_the_node()
        while self.sent < len(self.terminal.output):
            self.send_output(5)
        self.confirm()
        while self.to_gateway:
            self.one_thing_arrives_at_the_gateway()
        assert self.seen == self.terminal.output
        assert self.terminal.typed == self.said
        assert len(self.outbox) == 0


TestNetwork = Network.TestCase
