"""Messages between viewers and the server, and the frames that carry them."""

import contextlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.errors import InvalidMessage, MalformedMessage
from hermitty.wire import attach
from hermitty.wire.attach import (
    Ack,
    ClientMessage,
    Error,
    Hello,
    Ping,
    Pong,
    Resize,
    ServerMessage,
    Unknown,
    encode,
    parse_client,
    parse_server,
)

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "attach.json").read_text(encoding="utf-8"))
PARSERS = {"server": parse_server, "client": parse_client}


def named(message: Any) -> dict[str, Any]:
    return {"type": message.type, **asdict(message)}


@pytest.mark.parametrize("vector", VECTORS["messages"], ids=lambda each: each["message"]["type"])
def test_messages_are_written_as_the_page_expects_them(vector: dict[str, Any]) -> None:
    message = PARSERS[vector["from"]](json.dumps(vector["message"]))
    assert not isinstance(message, Unknown)
    assert named(message) == vector["message"]
    assert json.loads(encode(message)) == vector["message"]


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda each: each["text"][:40])
def test_what_is_no_message_is_refused(vector: dict[str, Any]) -> None:
    with pytest.raises(InvalidMessage) as caught:
        PARSERS[vector["from"]](vector["text"])
    assert caught.value.code == vector["code"]


def test_every_message_has_a_vector() -> None:
    for who, union in (("server", ServerMessage), ("client", ClientMessage)):
        there = {vector["message"]["type"] for vector in VECTORS["messages"] if vector["from"] == who}
        assert there == {kind.type for kind in get_args(union)}


def test_fields_that_are_not_known_are_ignored_and_those_with_a_default_may_lack() -> None:
    assert parse_client('{"type":"ping","more":[1,{"x":2}]}') == Ping()
    assert parse_server('{"type":"hello","terminal":"t","offset":1,"cols":2,"rows":3,"replay":"none"}') == Hello(
        "t", 1, 2, 3, "none"
    )


def test_a_type_that_is_not_known_is_no_mistake() -> None:
    assert parse_client('{"type":"dance","cols":1}') == Unknown("dance")
    assert parse_client('{"type":"hello"}') == Unknown("hello")  # only servers say that


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 50_000, "9" * 5000, '{"type":"ack","offset":' + "9" * 5000 + "}"]
)
def test_deep_or_long_nonsense_is_malformed(text: str) -> None:
    with pytest.raises(MalformedMessage):
        parse_client(text)


def test_names_that_are_no_text_pass() -> None:
    text = encode(Error("x", "half \ud800"))
    assert text.isascii()
    assert parse_server(text) == Error("x", "half \ud800")


@given(
    st.text()
    | st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists).map(json.dumps)
)
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for parse in PARSERS.values():
        with contextlib.suppress(InvalidMessage):
            parse(text)


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.none(), max_size=2)


@given(
    kind=st.sampled_from([*get_args(ServerMessage), *get_args(ClientMessage)]),
    values=st.dictionaries(
        st.sampled_from(["cols", "rows", "offset", "locked", "replay", "id", "exit_code", "by", "count"]), VALUES
    ),
)
def test_any_values_are_taken_as_they_are_or_refused(kind: Any, values: dict[str, object]) -> None:
    parse = parse_server if kind in get_args(ServerMessage) else parse_client
    try:
        message = parse(json.dumps({"type": kind.type, **values}))
    except InvalidMessage:
        return
    assert type(message) is kind
    for name, value in values.items():
        if hasattr(message, name) and name in asdict(message):
            assert getattr(message, name) == value
            assert type(getattr(message, name)) is type(value)


@pytest.mark.parametrize(
    ("length", "header"),
    [
        (0, b"\x82\x00"),
        (1, b"\x82\x01"),
        (125, b"\x82\x7d"),
        (126, b"\x82\x7e\x00\x7e"),
        (65535, b"\x82\x7e\xff\xff"),
        (65536, b"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00"),
        (70_000, b"\x82\x7f\x00\x00\x00\x00\x00\x01\x11\x70"),
    ],
)
def test_a_frame_says_how_long_it_is(length: int, header: bytes) -> None:
    payload = bytes(index % 251 for index in range(length))
    assert attach.binary_frame(payload) == header + payload


def test_frames_say_what_they_are() -> None:
    assert attach.text_frame(Pong()) == b'\x81\x0f{"type":"pong"}'
    assert attach.ping_frame() == b"\x89\x00"
    assert attach.pong_frame(b"why") == b"\x8a\x03why"


@pytest.mark.parametrize(("text", "expected"), [("short", b"short"), ("é" * 100, "é".encode() * 61), ("\ud800", b"?")])
def test_the_reason_of_a_close_is_cut_between_characters(text: str, expected: bytes) -> None:
    assert attach.close_reason(text) == expected


def test_messages_are_values() -> None:
    assert {Resize(1, 2), Resize(1, 2), Ack(1)} == {Ack(1), Resize(1, 2)}
