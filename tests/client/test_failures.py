"""Errors of a server are the same errors here."""

import inspect
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty import errors
from hermitty.client.failures import error_of
from hermitty.server.errors import body_of, status_of

SAMPLES = [
    errors.TerminalBusy("t_1", "make"),
    errors.TerminalNotFound("t_9", ["t_1", "t_2"]),
    errors.InvalidDirectory("/x", "does not exist"),
    errors.UnknownShell("tcsh", ["bash", "sh"]),
    errors.CommandDenied("rm", "no", level="high", rule="r_1", by="Ann"),
    errors.ApprovalTimeout("rm", 3.0),
    errors.TerminalClosed("t_1", "its shell exited with code 0"),
    errors.InvalidOffset("offset", 5, first=0, last=3),
    errors.MissingScope("run", ["view"]),
    errors.TooManyRequests("requests", 2.0),
    errors.IncompleteCommand("echo '"),
]


@pytest.mark.parametrize("error", SAMPLES, ids=lambda error: error.code)
def test_an_error_comes_through_with_its_class_message_and_fields(error: errors.HermittyError) -> None:
    found = error_of(status_of(error), json.dumps(body_of(error)).encode())
    assert (type(found), str(found), found.code) == (type(error), str(error), error.code)
    assert vars(found) == vars(error)


def test_every_error_class_is_known_by_its_code() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.HermittyError)]
    for kind in set(kinds) - {errors.HermittyError, errors.RemoteError}:
        found = error_of(400, json.dumps({"error": {"code": kind.code, "message": "m"}}).encode())
        assert type(found) is kind


def test_a_code_that_is_not_known_is_a_remote_error() -> None:
    found = error_of(418, b'{"error": {"code": "teapot", "message": "short and stout", "spout": ["one"]}}')
    assert isinstance(found, errors.RemoteError)
    assert (found.remote_code, found.status, found.message) == ("teapot", 418, "short and stout")
    assert vars(found)["spout"] == ("one",)


@given(st.one_of(st.binary(), st.sampled_from([b"[]", b"{}", b'{"error": []}', b'{"error": {"code": 1}}', b"null"])))
def test_any_body_is_an_error(body: bytes) -> None:
    assert isinstance(error_of(500, body), errors.HermittyError)


def test_fields_cannot_replace_what_an_error_is() -> None:
    told = {"code": "terminal_busy", "message": "m", "__class__": "x", "with_traceback": 1, "args": 2, "_x": 3}
    found = error_of(409, json.dumps({"error": told}).encode())
    assert type(found) is errors.TerminalBusy
    assert found.args == ("m",)
    assert callable(found.with_traceback)
