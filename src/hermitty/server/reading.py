"""From what clients send to typed requests, and from typed answers to JSON. Mistakes are named with their place."""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeVar

import msgspec

from hermitty.errors import InvalidJson, InvalidRequest
from hermitty.wire.records import to_json

T = TypeVar("T")

_PLACE = re.compile(r" - at `\$\.?(.*)`$", re.DOTALL)
_FIELD = re.compile(r"^Object (contains unknown|missing required) field `(.*?)`", re.DOTALL)
_UNKNOWN = "contains unknown"
_encoder = msgspec.json.Encoder()


class InvalidField(InvalidRequest):
    """A field of a request has a value that it cannot have, is missing, or is not known."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


def read_body(data: bytes, kind: Any) -> Any:
    """Make a request of the body. No body at all is an object without fields."""
    try:
        return _decoder(kind).decode(data or b"{}")
    except msgspec.ValidationError as exc:
        raise _invalid(str(exc), kind, "the body") from exc
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise InvalidJson(f"the body is not valid JSON: {_short(str(exc))}") from exc


def sandbox_of(wish: str | msgspec.Struct | None) -> str | dict[str, Any] | None:
    """Return a wish for a sandbox as the runtime takes it."""
    return msgspec.structs.asdict(wish) if isinstance(wish, msgspec.Struct) else wish


def read_json(data: bytes) -> Any:
    """Read any JSON."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise InvalidJson(f"the body is not valid JSON: {_short(str(exc))}") from exc


def read_query(pairs: Iterable[tuple[str, str]], kind: type[T]) -> T:
    """Make a request of query parameters, whose values are texts."""
    values: dict[str, str] = {}
    for name, value in pairs:
        if name in values:
            raise InvalidField(f"parameter {_short(name)!r} is given twice", name)
        values[name] = value
    try:
        query = msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as exc:
        raise _invalid(str(exc), kind, "the query") from exc
    for name in values:
        if getattr(query, name) is None:  # the text "null", which stands for nothing in a query
            raise InvalidField(f"the query, field {name!r}: leave it out instead", name)
    return query


def read_value(text: str, kind: Any, what: str) -> str:
    """Check a text of the path."""
    try:
        return str(msgspec.convert(text, kind))
    except msgspec.ValidationError as exc:
        raise InvalidField(f"{what} cannot be called that: {_lower(_short(str(exc)))}", what) from exc


def write_json(value: object) -> bytes:
    """Write an answer as JSON. Bytes that were no text stay visible as replacement characters."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return to_json(msgspec.to_builtins(value)).encode()


@cache
def _decoder(kind: Any) -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(kind)


def _invalid(message: str, kind: type[Any], what: str) -> InvalidField:
    """Say what is wrong, where, and what would be right."""
    place = _PLACE.search(message)
    path = place[1] if place else ""
    text = message[: place.start()] if place else message
    if (found := _FIELD.match(text)) is None:
        where = f"{what}, field {path!r}: " if path else f"{what}: "
        return InvalidField(_short(f"{where}{_lower(text)}"), path)
    name = found[2]
    field = f"{path}.{name}" if path else name
    known = [] if path else list(_fields(kind))
    if found[1] != _UNKNOWN:
        return InvalidField(f"{what} needs the field {field!r}", field)
    near = get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(known) or 'none'}" if known else ""
    return InvalidField(f"{what} has no field {_short(field)!r}{hint}", _short(field))


def _fields(kind: type[Any]) -> Mapping[str, object]:
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _short(text: str) -> str:
    return text if len(text) <= 500 else f"{text[:500]}…"
