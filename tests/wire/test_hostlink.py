"""Messages of the durable host: what is written is read, however it is cut, and noise is noticed, never believed."""

import json
import struct
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty import errors
from hermitty.wire.hostlink import messages as m
from hermitty.wire.hostlink.frames import MAX_FRAME, Decoder, encode, error_of, failure

# Names and variables may be bytes that are no text; Python keeps those as lone surrogates.
TEXTS = st.text(max_size=20) | st.binary(max_size=20).map(lambda raw: raw.decode("utf-8", "surrogateescape"))


def values_for(hint: Any) -> st.SearchStrategy[Any]:
    origin, args = get_origin(hint), get_args(hint)
    if origin is tuple:
        return st.lists(values_for(args[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(TEXTS, TEXTS, max_size=3)
    if origin is Literal:
        return st.sampled_from(args)
    if isinstance(hint, UnionType):
        (inner,) = (arg for arg in args if arg is not NoneType)
        return st.none() | values_for(inner)
    if hint is int:
        return st.integers(-(2**63), 2**63 - 1)
    if hint is float:
        return st.floats(allow_nan=False)
    simple: dict[Any, st.SearchStrategy[Any]] = {str: TEXTS, bool: st.booleans(), bytes: st.binary(max_size=50)}
    return simple[hint] if hint in simple else built(hint)


def built(kind: type[Any]) -> st.SearchStrategy[Any]:
    given_values = {name: values_for(hint) for name, hint in get_type_hints(kind).items()}
    if kind in (m.Write, m.Acknowledge, m.Output, m.InputTaken):
        given_values |= {name: st.integers(0, 2**64 - 1) for name in given_values if name not in ("handle", "data")}
        given_values["handle"] = st.integers(0, 2**32 - 1)
    return st.builds(kind, **given_values)


KINDS = [kind for kind in get_args(m.Message) if kind is not m.Malformed]
MESSAGES: st.SearchStrategy[m.Message] = st.one_of([built(kind) for kind in KINDS])


def cut(data: bytes, places: list[int]) -> list[bytes]:
    at = sorted(place % (len(data) + 1) for place in places)
    return [data[start:stop] for start, stop in zip([0, *at], [*at, len(data)], strict=True)]


def read(*chunks: bytes) -> list[m.Message]:
    decoder = Decoder()
    return [message for chunk in chunks for message in decoder.feed(chunk)]


def framed(body: bytes, kind: int = 1) -> bytes:
    return struct.pack("!IB", len(body) + 1, kind) + body


@given(st.lists(MESSAGES, max_size=5), st.lists(st.integers(0), max_size=8))
def test_messages_cut_anywhere_are_read_as_they_were_written(messages: list[m.Message], places: list[int]) -> None:
    assert read(*cut(b"".join(map(encode, messages)), places)) == messages


@given(st.lists(MESSAGES, max_size=3), st.binary(max_size=200), st.lists(st.integers(0), max_size=8))
def test_noise_says_the_same_however_it_is_cut(messages: list[m.Message], noise: bytes, places: list[int]) -> None:
    data = b"".join(map(encode, messages)) + noise
    whole = read(data)

    assert read(*cut(data, places)) == whole
    assert whole[: len(messages)] == messages
    assert [isinstance(message, m.Malformed) for message in whole[:-1]] == [False] * (len(whole) - 1 if whole else 0)


@given(st.binary(max_size=100))
def test_any_frame_is_a_message_or_malformed(body: bytes) -> None:
    for kind in range(7):
        assert len(read(framed(body, kind))) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(KINDS), st.data())
def test_wrong_types_are_noticed_and_never_raise(kind: type[Any], data: st.DataObject) -> None:
    fields = {name: data.draw(JSON) for name in get_type_hints(kind)}
    body = json.dumps({"kind": kind.__name__, **fields}).encode()

    (message,) = read(framed(body))

    if not isinstance(message, m.Malformed):
        assert isinstance(message, kind)
        assert read(encode(message)) == [message]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"kind"',
        b'{"kind": []}',
        b'{"kind": "Nothing"}',
        b'{"kind": "Write"}',
        b'{"kind": "Malformed", "problem": "x"}',
        b'{"kind": "Close"}',
        b'{"kind": "Close", "request": true, "terminal": "t"}',
        b'{"kind": "Close", "request": 1.5, "terminal": "t"}',
        b'{"kind": "Close", "request": 99999999999999999999, "terminal": "t"}',
        b'{"kind": "Hello", "version": 1, "release": "", "role": "king", "pid": 1, "token": ""}',
        b"\xff\xfe",
        b"[" * 100_000,
        b"1" * 10_000,
    ],
)
def test_what_is_no_message_ends_the_reading(body: bytes) -> None:
    messages = read(framed(body), encode(m.Status(1)))

    assert [type(message) for message in messages] == [m.Malformed]


def test_fields_of_later_versions_are_skipped() -> None:
    assert read(framed(b'{"kind": "Status", "request": 3, "colour": [1]}')) == [m.Status(3)]


@pytest.mark.parametrize("size", [0, MAX_FRAME, 2**32 - 1])
def test_a_length_that_cannot_be_is_noticed_before_anything_is_kept(size: int) -> None:
    decoder = Decoder()

    assert [type(each) for each in decoder.feed(struct.pack("!I", size))] == [m.Malformed]
    assert decoder.feed(b"x" * 1000) == []


def test_the_longest_input_fits_and_more_is_refused() -> None:
    longest = m.Write(1, 2, 3, b"x" * (8 * 1024 * 1024))

    assert read(encode(longest)) == [longest]
    with pytest.raises(errors.InvalidRequest, match="too long"):
        encode(m.Write(1, 2, 3, b"x" * MAX_FRAME))


@pytest.mark.parametrize(
    "error",
    [
        errors.HostUnavailable("no PTY left"),
        errors.HostBusy("process 7 uses it"),
        errors.HostMismatch("version 2"),
        errors.InvalidRequest("no"),
        errors.NotSupported("not here"),
        errors.TerminalNotFound("t_9", ["t_1", "t_2"]),
    ],
)
def test_errors_arrive_as_what_they_were(error: errors.HermittyError) -> None:
    (answer,) = read(encode(failure(7, error, ("t_1", "t_2"))))

    assert isinstance(answer, m.Failed)
    arrived = error_of(answer)
    assert (type(arrived), arrived.message, answer.request) == (type(error), error.message, 7)


def test_an_error_of_another_version_is_still_one_of_ours() -> None:
    arrived = error_of(m.Refused(9, "9.0", 1, "unheard_of", "something new"))

    assert (type(arrived), arrived.message) == (errors.HostUnavailable, "something new")
