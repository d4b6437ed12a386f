"""What needs no machine: outboxes, ids, choices, lists of nodes, shares, and the files of a node."""

import stat
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.cluster.chosen import Choice, ListChoice, LocalChoice, RayChoice, parse_choice, wanted_of
from hermitty.cluster.endpoint import Endpoint
from hermitty.cluster.listed import ListedPlacement, parse_nodes
from hermitty.cluster.names import Whereabouts, is_of, name_terminal, whereabouts
from hermitty.cluster.node import NodeFiles
from hermitty.cluster.outbox import Entry, Outbox
from hermitty.cluster.placement import PlaceSpec, Shares
from hermitty.cluster.ray import token_environment
from hermitty.errors import HostUnavailable, InvalidRequest
from hermitty.model import TerminalId
from hermitty.wire.nodelink import messages as m

# Outboxes.


class Node:
    """A node that does what it is told, loses its connection at any point, and remembers what a host would."""

    def __init__(self) -> None:
        self.writes = 0
        self.typed: list[bytes] = []
        self.files: dict[str, bytes] = {}
        self.count = 0

    def take(self, entry: Entry) -> None:
        self.count += 1
        if isinstance(entry, m.Write):
            assert entry.number == self.writes + 1
            self.writes = entry.number
            self.typed.append(entry.data + b" with " + self.files.get("line", b""))
        elif isinstance(entry, m.PutFile):
            self.files[entry.name] = entry.data


STEPS = st.lists(st.sampled_from(["write", "file", "arrive", "confirm", "break", "mend"]), max_size=60)


@given(STEPS)
def test_everything_arrives_once_and_in_order_whatever_breaks(steps: list[str]) -> None:
    box, node = Outbox(), Node()
    on_the_way: list[Entry] = list(box.reopen(1, 0))
    expected: list[bytes] = []
    said, line = 0, b""
    for number, step in enumerate([*steps, "break", "mend", "arrive", "confirm"]):
        entry: Entry | None = None
        if step == "write":
            said += 1
            expected.append(b"%d with %s" % (said, line))
            entry = m.Write(1, said, 0, b"%d" % said)
        elif step == "file":
            line = b"line %d" % number
            entry = m.PutFile(1, "line", line)
        if entry is not None:
            box.add(entry)
            if box.is_open:
                on_the_way.append(entry)
        elif step == "arrive":
            for each in on_the_way:
                node.take(each)
            on_the_way.clear()
        elif step == "confirm" and box.is_open:
            box.confirm(node.count)
        elif step == "break":
            box.close()
            on_the_way.clear()
        elif step == "mend" and not box.is_open:
            node.count = 0
            on_the_way = box.reopen(2, node.writes)
            assert all(each.handle == 2 for each in on_the_way)

    assert node.typed == expected
    assert node.files.get("line", b"") == line
    assert len(box) == 0


def test_of_files_that_nobody_can_have_read_only_the_last_is_kept() -> None:
    box = Outbox()
    for number in range(100):
        box.add(m.PutFile(1, "screen", b"%d" % number))
    box.add(m.Write(1, 1, 0, b"x"))
    box.add(m.PutFile(1, "screen", b"last"))

    assert box.reopen(1, 0) == [
        m.PutFile(1, "screen", b"99"), m.Write(1, 1, 0, b"x"), m.PutFile(1, "screen", b"last")
    ]  # fmt: skip


# Ids.


@given(st.from_regex(r"t_[0-9a-f]{12}", fullmatch=True), st.text("0123456789abcdef", min_size=8, max_size=8))
def test_an_id_tells_where_its_terminal_is(terminal: str, node: str) -> None:
    named = name_terminal(TerminalId(terminal), node, "0123456789abcdef")

    where = whereabouts(named)
    assert where == Whereabouts(node, "01234567")
    assert is_of(where, node, "0123456789abcdef")
    assert not is_of(where, node, "1123456789abcdef")


@given(st.text())
def test_other_texts_tell_nothing(text: str) -> None:
    assert whereabouts(text) is None or text.startswith("t_")


# Choices.


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("local:1", LocalChoice(1)),
        ("local:256", LocalChoice(256)),
        ("nodes.toml", ListChoice(Path("nodes.toml"))),
        ("ray://auto", RayChoice("auto", PlaceSpec(""), {})),
        ("ray://head:10001", RayChoice("ray://head:10001", PlaceSpec(""), {})),
        ("ray://head:6379?direct=1", RayChoice("head:6379", PlaceSpec(""), {})),
        (
            "ray://auto?cpu=0.5&memory=2g&label.zone=a&namespace=n&state=/s/{name}",
            RayChoice("auto", PlaceSpec("", 0.5, 2 << 30, {"zone": "a"}), {"namespace": "n", "state": "/s/{name}"}),
        ),
    ],
)
def test_a_cluster_is_chosen_by_what_a_person_writes(text: str, choice: Choice) -> None:
    assert parse_choice(text) == choice
    assert wanted_of(choice).workspace == ""


@pytest.mark.parametrize(
    "text",
    ["", "local:", "local:0", "local:257", "local:x", "local:²", "ray://", "ray://?cpu=1", "http://x", "ray://h?cpus=1",
     "ray://h?cpu=-1", "ray://h?cpu=x", "ray://h?cpu=nan", "ray://h?memory=2t", "ray://h?memory=-1", "ray://h?memory="],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_choice(text)


# Lists.

LIST = """
[[nodes]]
name = "one"
address = "[::1]:80"
secret_file = "s"
authority = "ca.pem"
[[nodes]]
name = "two"
unix = "/run/two.sock"
secret_file = "s"
"""


async def test_a_list_tells_where_nodes_are(tmp_path: Path) -> None:
    (tmp_path / "list").write_text(LIST)
    (tmp_path / "s").write_text("00ff\n")
    placement = ListedPlacement(tmp_path / "list", look_s=0.001)

    assert [node.id for node in await placement.nodes()] == ["one", "two"]
    authority = str(tmp_path / "ca.pem")
    assert await placement.endpoint("one") == Endpoint(host="::1", port=80, secret=b"\0\xff", authority=authority)
    assert await placement.endpoint("two") == Endpoint(unix="/run/two.sock", secret=b"\0\xff")
    assert await placement.reserve(PlaceSpec("w"), ["two"]) == "two"
    with pytest.raises(HostUnavailable):
        await placement.endpoint("three")
    with pytest.raises(HostUnavailable):
        await placement.reserve(PlaceSpec("w"), [])
    (tmp_path / "s").unlink()
    with pytest.raises(HostUnavailable, match="secret"):
        await placement.endpoint("one")


async def test_a_list_that_changes_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text(LIST)
    placement = ListedPlacement(path, look_s=0.001)
    await placement.nodes()
    path.write_text(LIST.replace('"two"', '"three"'))

    changes = placement.watch()
    assert isinstance(changes, AsyncGenerator)
    async with aclosing(changes):
        found = [await anext(changes), await anext(changes)]

    assert [(change.kind, change.node.id) for change in found] == [("joined", "three"), ("gone", "two")]


@pytest.mark.parametrize(
    "text",
    ["[", "nodes = 1", "nodes = [1]", '[[nodes]]\nname = "a"', '[[nodes]]\nname = "a"\nsecret_file = "s"',
     '[[nodes]]\nname = "a"\nsecret_file = "s"\naddress = "x"',
     '[[nodes]]\nname = "a"\nsecret_file = "s"\naddress = "x:1"\nunix = "y"',
     '[[nodes]]\nname = "a"\nsecret_file = "s"\naddress = "x:1"\nport = "1"',
     '[[nodes]]\nname = 1\nsecret_file = "s"\naddress = "x:1"',
     '[[nodes]]\nname = "a"\nsecret_file = "s"\naddress = "x:1"\n' * 2],
)  # fmt: skip
def test_a_list_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_nodes(text)


def test_an_empty_list_has_no_nodes() -> None:
    assert parse_nodes("") == {}


# Shares.


def test_the_node_with_the_fewest_workspaces_gets_the_next() -> None:
    shares = Shares()

    assert [shares.reserve(name, ["x", "y"]) for name in "abcd"] == ["x", "y", "x", "y"]
    assert shares.reserve("a", ["x", "y"]) == "x"
    assert shares.reserve("a", ["y"]) == "y"
    assert shares.reserve("e", []) is None
    shares.release("a")
    shares.release("a")
    assert sorted(shares.reserved()) == ["b", "c", "d"]


# Files.


def test_a_node_chooses_its_key_and_secret_once(tmp_path: Path) -> None:
    keys: list[str] = []
    threads = [Thread(target=lambda: keys.append(NodeFiles(tmp_path / "n").key())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    files = NodeFiles(tmp_path / "n")

    assert len(set(keys)) == 1
    assert len(keys[0]) == 8
    assert files.own_secret() == files.own_secret()
    assert len(files.own_secret()) == 32
    assert stat.S_IMODE(files.secret.stat().st_mode) == 0o600
    assert not files.is_draining()
    files.drain(on=True)
    files.drain(on=True)
    assert NodeFiles(tmp_path / "n").is_draining()
    files.drain(on=False)
    files.drain(on=False)
    assert not files.is_draining()
    assert sorted(path.name for path in (tmp_path / "n" / "host").iterdir()) == ["node", "secret"]


# Ray's tokens.


def test_whoever_joins_a_cluster_that_wants_a_token_says_so(tmp_path: Path) -> None:
    token = tmp_path / "auth_token"
    assert token_environment({}, token) == {}
    assert token_environment({"RAY_AUTH_TOKEN": "x"}, token) == {"RAY_AUTH_MODE": "token"}
    token.write_text("x")
    assert token_environment({}, token) == {"RAY_AUTH_MODE": "token"}
    assert token_environment({"RAY_AUTH_MODE": "disabled"}, token) == {}
