"""Messages between gateways and agents: what is written is read, however it is cut, and noise is never believed."""

import json
import struct
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.errors import InvalidRequest
from hermitty.wire.nodelink import messages as m
from hermitty.wire.nodelink.frames import MAX_FRAME, MAX_GREETING, Decoder, encode
from hermitty.wire.nodelink.proofs import is_proof, proof
from tests.wire.test_hostlink import cut, values_for

# The widths of the fields that are no JSON.
BINARY: dict[type[Any], dict[str, int]] = {
    m.Write: {"handle": 32, "number": 64, "answers_to": 64},
    m.Acknowledge: {"handle": 32, "offset": 64},
    m.Data: {"handle": 32, "offset": 64},
    m.Applied: {"handle": 32, "count": 64, "input_taken": 64},
    m.File: {"request": 32},
    m.ProcessInput: {"handle": 32},
    m.ProcessOutput: {"handle": 32, "stream": 8},
    m.PutFile: {"handle": 32},
}


def built(kind: type[Any]) -> st.SearchStrategy[Any]:
    values = {name: values_for(hint) for name, hint in get_type_hints(kind).items()}
    values |= {name: st.integers(0, 2**bits - 1) for name, bits in BINARY.get(kind, {}).items()}
    return st.builds(kind, **values)


KINDS = [kind for kind in get_args(m.Message) if kind is not m.Malformed]
MESSAGES: st.SearchStrategy[m.Message] = st.one_of([built(kind) for kind in KINDS])


def read(*chunks: bytes, limit: int = MAX_FRAME) -> list[m.Message]:
    decoder = Decoder(limit)
    return [message for chunk in chunks for message in decoder.feed(chunk)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_every_message_is_read_as_it_was_written(kind: type[Any], data: st.DataObject) -> None:
    message = data.draw(built(kind))

    assert read(encode(message)) == [message]


@given(st.lists(MESSAGES, max_size=5), st.lists(st.integers(0), max_size=8))
def test_messages_are_the_same_however_they_are_cut(messages: list[m.Message], places: list[int]) -> None:
    data = b"".join(map(encode, messages))

    assert read(*cut(data, places)) == messages


@given(st.binary(max_size=300), st.lists(st.integers(0), max_size=8))
def test_noise_is_noticed_once_and_raises_nothing(noise: bytes, places: list[int]) -> None:
    whole = read(noise)
    assert read(*cut(noise, places)) == whole
    assert sum(isinstance(message, m.Malformed) for message in whole) <= 1
    if whole and isinstance(whole[-1], m.Malformed):
        assert read(noise, encode(m.Ping(1))) == whole


@given(MESSAGES, st.data())
def test_a_frame_with_a_wrong_byte_is_another_message_or_malformed(message: m.Message, data: st.DataObject) -> None:
    frame = bytearray(encode(message))
    at = data.draw(st.integers(0, len(frame) - 1))
    frame[at] ^= data.draw(st.integers(1, 255))

    for found in read(bytes(frame)):
        assert isinstance(found, get_args(m.Message))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x01",
        b"\x01{}",
        b'\x01{"kind": "Nothing"}',
        b'\x01{"kind": "Ping"}',
        b'\x01{"kind": "Ping", "request": "1"}',
        b'\x01{"kind": "Ping", "request": true}',
        b'\x01{"kind": ["Ping"], "request": 1}',
        b"\x01" + b"[" * 5000,
        b'\x01{"kind": "Malformed", "problem": "x"}',
        b'\x01{"kind": "Write", "handle": 1, "number": 1, "answers_to": 0, "data": ""}',
        b"\x02" + b"\0" * 19,
        b"\x03" + b"\0" * 13,
        b"\x09\0\0\0\1\5ab",
        b"\x09\0\0",
        b"\xff",
    ],
)
def test_what_is_no_message_is_malformed(body: bytes) -> None:
    (found,) = read(struct.pack("!I", len(body)) + body)

    assert isinstance(found, m.Malformed)


def test_fields_of_a_later_version_are_skipped() -> None:
    body = b"\x01" + json.dumps({"kind": "Ping", "request": 7, "mood": "good"}).encode()

    assert read(struct.pack("!I", len(body)) + body) == [m.Ping(7)]


def test_somebody_who_has_proved_nothing_may_not_say_much() -> None:
    large = m.ProcessInput(1, b"x" * MAX_GREETING)
    decoder = Decoder()
    hello = m.Hello(m.VERSION, "1", "gateway", "g", "00", ())
    decoder.add(encode(hello) + encode(large) + encode(large))

    assert decoder.next() == hello
    decoder.limit = MAX_FRAME
    assert decoder.next() == large
    decoder.limit = MAX_GREETING
    assert isinstance(decoder.next(), m.Malformed)
    assert decoder.next() is None


def test_a_message_that_nobody_would_take_is_not_written() -> None:
    with pytest.raises(InvalidRequest):
        encode(m.PutFile(1, "kept.screen", b"x" * MAX_FRAME))
    with pytest.raises(InvalidRequest):
        encode(m.PutFile(1, "n" * 300, b""))


@given(st.binary(min_size=1), st.text(), st.text(), st.text())
def test_a_proof_holds_for_its_side_and_its_numbers_only(secret: bytes, asked: str, answered: str, other: str) -> None:
    given_proof = proof(secret, "agent", asked, answered)

    assert is_proof(given_proof, secret, "agent", asked, answered)
    assert not is_proof(given_proof, secret, "gateway", asked, answered)
    assert not is_proof(given_proof, secret + b"x", "agent", asked, answered)
    assert is_proof(given_proof, secret, "agent", other, answered) == (other == asked)
    assert not is_proof("\udce4"[:0], secret, "agent", asked, answered)
