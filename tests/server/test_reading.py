"""From bytes to typed requests and back; errors in the one shape; the OpenAPI document; numbers."""

import inspect
import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty import errors
from hermitty.errors import HermittyError, InvalidJson, InvalidRequest
from hermitty.server import openapi, replies, requests
from hermitty.server.counters import Counters, Metric, exposition, memory_bytes
from hermitty.server.errors import STATUSES, body_of, http_body, status_of
from hermitty.server.reading import InvalidField, read_body, read_json, read_query, write_json
from hermitty.server.table import ROUTES

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
BODIES = [route.body for route in ROUTES if isinstance(route.body, type) and issubclass(route.body, msgspec.Struct)]
QUERIES = [route.query for route in ROUTES if route.query is not None]


@pytest.mark.parametrize(
    ("data", "message", "field"),
    [
        (b"{}", "the body needs the field 'command'", "command"),
        (b'{"command": 1}', "the body, field 'command': expected `str | array`, got `int`", "command"),
        (b'{"command": "a", "comand": 1}', "the body has no field 'comand'; did you mean 'command'?", "comand"),
        (b'{"command": "a", "answers": [{}]}', "the body needs the field 'answers[0].prompt'", "answers[0].prompt"),
        (b"[]", "the body: expected `object`, got `array`", ""),
        (b"", "the body needs the field 'command'", "command"),
    ],
)
def test_a_mistake_is_named_with_its_place(data: bytes, message: str, field: str) -> None:
    with pytest.raises(InvalidField) as caught:
        read_body(data, requests.Run)
    assert (str(caught.value), caught.value.field) == (message, field)


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()), st.sampled_from(BODIES))
def test_any_bytes_are_a_request_or_a_mistake(data: bytes, kind: type) -> None:
    try:
        assert isinstance(read_body(data, kind), kind)
    except InvalidRequest as error:
        assert status_of(error) == 400
        write_json(body_of(error))


@given(st.lists(st.tuples(st.text(max_size=10), st.text(max_size=20)), max_size=4), st.sampled_from(QUERIES))
def test_any_query_is_a_request_or_a_mistake(pairs: list[tuple[str, str]], kind: type) -> None:
    try:
        assert isinstance(read_query(pairs, kind), kind)
    except InvalidRequest as error:
        write_json(body_of(error))


@given(st.data(), st.sampled_from(QUERIES))
def test_known_parameters_with_any_text_are_a_request_or_a_mistake(data: st.DataObject, kind: type) -> None:
    names = [field.encode_name for field in msgspec.structs.fields(kind)]
    values = (
        st.text(max_size=20) | st.integers().map(str) | st.floats().map(str) | st.sampled_from(["true", "null", ""])
    )
    pairs = data.draw(st.dictionaries(st.sampled_from(names), values))
    try:
        found: object = read_query(pairs.items(), kind)
    except InvalidRequest:
        return
    numbers = [value for name in names if isinstance(value := getattr(found, name), float)]
    assert [value for value in numbers if value != value or value in (float("inf"), -float("inf"))] == []


def test_a_parameter_without_a_value_is_left_out() -> None:
    with pytest.raises(InvalidField, match="leave it out"):
        read_query([("since", "null")], requests.LogQuery)
    assert read_query([("session", "null")], requests.CommandsQuery).session == "null"


def test_a_parameter_is_given_once() -> None:
    with pytest.raises(InvalidField, match="twice"):
        read_query([("limit", "1"), ("limit", "2")], requests.CommandsQuery)


@given(st.binary())
def test_any_json_is_read_or_refused(data: bytes) -> None:
    try:
        read_json(data)
    except InvalidJson as error:
        assert error.code == "invalid_json"


@given(st.text(), st.text(alphabet=st.sampled_from("\ud800\udc80\udfff"), max_size=3))
def test_any_text_is_written(text: str, surrogates: str) -> None:
    value = json.loads(write_json(replies.ErrorFields(code="x", message=text + surrogates)))
    assert value["message"].startswith(text.encode("utf-8", "replace").decode())


# Errors.


def test_every_error_has_a_status_and_a_code_of_its_own() -> None:
    found = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, HermittyError)]
    codes = [each.code for each in found]
    assert len(codes) == len(set(codes))
    for each in found:
        error = each.__new__(each)
        assert 400 <= status_of(error) <= 504
    assert set(STATUSES) <= set(found)
    documented = openapi.document()["components"]["responses"]
    assert {str(status) for status in STATUSES.values()} <= set(documented)


def test_the_fields_of_an_error_are_told() -> None:
    assert body_of(errors.TerminalBusy("t_1", "make")) == {
        "error": {
            "code": "terminal_busy",
            "message": "terminal t_1 is busy with `make`; wait, interrupt it or open another",
            "terminal_id": "t_1",
            "command": "make",
        }
    }
    missing = body_of(errors.MissingScope("run", ["view"]))["error"]
    assert (missing["scope"], missing["scopes"]) == ("run", ["view"])
    assert http_body(405)["error"]["code"] == "method_not_allowed"
    assert http_body(418)["error"]["code"]


# The document.


def test_the_committed_document_is_the_one_of_the_table() -> None:
    committed = Path(__file__).parents[2] / "docs" / "openapi.json"
    assert committed.read_text(encoding="utf-8") == openapi.text(), (
        "run: python -m hermitty.server.openapi docs/openapi.json"
    )


def test_every_route_is_in_the_document_once() -> None:
    paths = openapi.document()["paths"]
    listed = [(method.upper(), path) for path, methods in paths.items() for method in methods]
    assert sorted(listed) == sorted([*((route.method, route.path) for route in ROUTES), ("GET", "/openapi.json")])
    ids = [operation["operationId"] for methods in paths.values() for operation in methods.values()]
    assert len(ids) == len(set(ids))


def test_the_promised_routes_are_there() -> None:
    promised = {
        *("POST /api/terminals", "GET /api/terminals", "GET /api/workspaces/{wid}/terminals"),
        *("GET /api/terminals/{id}", "DELETE /api/terminals/{id}", "POST /api/run"),
        *("POST /api/terminals/{id}/commands", "GET /api/commands/{cid}", "POST /api/commands/{cid}/interrupt"),
        *("POST /api/terminals/{id}/input", "POST /api/terminals/{id}/resize", "GET /api/terminals/{id}/screen"),
        *("GET /api/terminals/{id}/log", "GET /api/artifacts/{aid}", "POST /api/sessions/{sid}/release"),
        *("GET /api/sessions/{sid}/report", "POST /api/check", "GET /api/approvals", "POST /api/approvals/{id}"),
        *("GET /api/history", "GET /api/settings", "PUT /api/settings", "GET /api/rules", "DELETE /api/rules"),
        *("GET /api/recordings/{tid}.cast", "GET /api/events", "GET /healthz", "GET /metrics"),
    }
    assert promised <= {f"{route.method} {route.path}" for route in ROUTES}


# Numbers.


def test_commands_are_counted_by_the_minute() -> None:
    counters = Counters(started_at=0.0)
    for at in (0.0, 30.0, 61.0, 3599.0, 3601.0, 3601.0):
        counters.command_ended(at)
    counted = counters.per_minute(3605.0)
    assert (len(counted), counted[-1], counted[-2], counted[0]) == (60, 2, 1, 1)
    assert (sum(counted), counters.commands) == (4, 6)
    assert counters.per_minute(10_000.0) == [0] * 60


def test_metrics_are_written_as_prometheus_reads_them() -> None:
    text = exposition([Metric("a_total", "counter", "Words.", 3), Metric("b", "gauge", "More.", {"x": 1.5}, "kind")])
    assert text == (
        '# HELP a_total Words.\n# TYPE a_total counter\na_total 3\n# HELP b More.\n# TYPE b gauge\nb{kind="x"} 1.5\n'
    )
    assert memory_bytes() is None or (memory_bytes() or 0) > 1_000_000
