"""Dataclasses as JSON and back: what their fields say is checked, once, where bytes become values.

Fields that a class does not have are skipped, so that later versions may tell more.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints


def plain(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as JSON has them."""
    return {field.name: _plain_value(getattr(value, field.name)) for field in fields(value)}


def _plain_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain_value(each) for each in value]
    return plain(value) if hasattr(value, "__dataclass_fields__") else value


def build(kind: type[object], values: Mapping[str, Any]) -> Any:
    """Make a dataclass of a JSON object. Raises ValueError with the name of a field that is missing or wrong."""
    checked = {}
    # mypy does not see that classes can be hashed.
    for name, check in _checks(kind).items():  # type: ignore[arg-type]
        try:
            checked[name] = check(values[name])
        except (TypeError, KeyError, ValueError, OverflowError):
            raise ValueError(name) from None
    return kind(**checked)


@cache
def _checks(kind: type[object]) -> dict[str, Callable[[Any], Any]]:
    return {name: _check_for(hint) for name, hint in get_type_hints(kind).items()}


def _check_for(hint: Any) -> Callable[[Any], Any]:
    origin, args = get_origin(hint), get_args(hint)
    if origin is tuple:
        each = _check_for(args[0])
        return lambda value: tuple(each(item) for item in _checked(value, list))
    if origin is dict:
        return lambda value: {key: _checked(item, str) for key, item in _checked(value, dict).items()}
    if origin is Literal:
        return lambda value: _one_of(value, args)
    if isinstance(hint, UnionType):
        (inner,) = (_check_for(arg) for arg in args if arg is not NoneType)
        return lambda value: None if value is None else inner(value)
    if hasattr(hint, "__dataclass_fields__"):
        return lambda value: build(hint, _checked(value, dict))
    if hint is float:
        return lambda value: float(_checked(value, int, float))
    if hint is int:
        return _whole
    return lambda value: _checked(value, hint)


def _checked(value: Any, *kinds: type[Any]) -> Any:
    # A bool is an int to Python, and not to us.
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise TypeError
    return value


def _whole(value: Any) -> int:
    number: int = _checked(value, int)
    if not -(2**63) <= number < 2**63:
        raise TypeError
    return number


def _one_of(value: Any, choices: tuple[Any, ...]) -> Any:
    if value not in choices:
        raise TypeError
    return value
