"""Changing the user's file of settings by a few values, with everything else in it left as it is.

The text is edited by lines, and then read again: if it does not say exactly what it should, nothing is changed.
"""

import json
import os
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from hermitty.config import Setting, find_setting
from hermitty.errors import InvalidRequest, InvalidSettings, SettingFixed
from hermitty.runtime.rule_storage import change_file
from hermitty.runtime.settings.positions import key_lines
from hermitty.server.parts import SettingsPlace

# A plain value on one line, with what stands around it.
_PLAIN = re.compile(
    r"""^(\s*[\w."'-]+\s*=\s*)(?:true|false|[+-]?[\w.+-]+|"(?:\\.|[^"\\])*"|'[^']*')(\s*(?:\#.*)?)$""", re.DOTALL
)
# A value that is longer than this is not edited.
_MOST_LINES = 1000


def has_file(place: SettingsPlace) -> bool:
    """Tell whether there is a file that changes can go to."""
    return str(place.config_file) != os.devnull


def change_settings(place: SettingsPlace, changes: Mapping[str, object]) -> None:
    """Change settings by dotted name; UNSET takes one out of the file. Either all of them are changed, or none."""
    if not has_file(place):
        raise InvalidRequest("there is no file for your settings: HERMITTY_CONFIG names none")
    loaded = place.loaded()
    values: dict[str, object] = {}
    for name, given in changes.items():
        setting = find_setting(name)
        origin = loaded.origins[name]
        if origin.kind in ("environment", "argument"):
            raise SettingFixed(name, str(origin))
        values[name] = given if given is UNSET else _value(setting, given)
    loaded.settings.with_values({name: value for name, value in values.items() if value is not UNSET})
    if values:
        change_file(place.config_file, lambda text: edited(text, values))
        place.loaded()


def edited(text: str, values: Mapping[str, object]) -> str:
    """Return the text of a file with these values by dotted name; UNSET removes one. Raises InvalidSettings."""
    for name, value in values.items():
        text = _edited(text, find_setting(name), value)
    return text


def _edited(text: str, setting: Setting, value: object) -> str:
    before = _parsed(text)
    if not isinstance(before.get(setting.group, {}), dict):
        raise InvalidSettings(f"{setting.group} is not a table in the file; edit it by hand")
    wanted = _with(before, setting, value)
    for candidate in _candidates(text, setting, value, before):
        if _parsed_or_none(candidate) == wanted:
            return candidate
    raise InvalidSettings(f"setting {setting.name} cannot be changed in the file as it is written; edit it by hand")


def _candidates(text: str, setting: Setting, value: object, before: dict[str, Any]) -> list[str]:
    """Return the text edited in all the ways that may be right, the best first."""
    lines = text.split("\n")
    places = key_lines(text)
    there = setting.field in before.get(setting.group, {})
    written = None if value is UNSET else f"{setting.field} = {toml(value)}"
    if not there:
        return [text] if written is None else [_added(lines, setting, written, places)]
    at = places.get((setting.group, setting.field))
    if at is None:
        return []
    line = lines[at - 1]
    found: list[str] = []
    if written is not None and (plain := _PLAIN.match(line)):
        found.append("\n".join([*lines[: at - 1], f"{plain[1]}{toml(value)}{plain[2]}", *lines[at:]]))
    indent = line[: len(line) - len(line.lstrip())]
    key = line.partition("=")[0].strip() or setting.field
    new = [] if written is None else [f"{indent}{key} = {toml(value)}"]
    found += [
        "\n".join([*lines[: at - 1], *new, *lines[end:]]) for end in range(at, min(len(lines), at + _MOST_LINES) + 1)
    ]
    return found


def _added(lines: list[str], setting: Setting, written: str, places: Mapping[tuple[str, ...], int]) -> str:
    header = places.get((setting.group,))
    if header is not None and lines[header - 1].strip().startswith("["):
        return "\n".join([*lines[:header], written, *lines[header:]])
    start = "\n".join(lines)
    gap = "" if not start else "\n" if start.endswith("\n") else "\n\n"
    return f"{start}{gap}[{setting.group}]\n{written}\n"


def toml(value: object) -> str:
    """Write a value as TOML. TOML has no null: it is written "none"."""
    match value:
        case None:
            return '"none"'
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case str():
            return _quoted(value)
        case tuple() | list():
            return f"[{', '.join(map(toml, value))}]"
        case dict():
            return "{ " + ", ".join(f"{_quoted(str(name))} = {toml(each)}" for name, each in value.items()) + " }"
    raise InvalidSettings(f"a value of type {type(value).__name__} cannot be written")


def _quoted(text: str) -> str:
    # What JSON escapes, TOML does in the same way; a DEL character it must escape, too.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(setting: Setting, given: object) -> object:
    """Return a value from JSON as settings hold it."""
    return tuple(given) if setting.kind is tuple and isinstance(given, list) else given


def _with(content: dict[str, Any], setting: Setting, value: object) -> dict[str, Any]:
    group = dict(content.get(setting.group, {}))
    group.pop(setting.field, None)
    if value is not UNSET:
        group[setting.field] = _as_toml(value)
    changed = {**content, setting.group: group}
    return {name: part for name, part in changed.items() if part != {} or name in content}


def _as_toml(value: object) -> object:
    if value is None:
        return "none"
    return list(value) if isinstance(value, tuple) else value


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as exc:
        raise InvalidSettings(f"the file of settings is not valid TOML; edit it by hand: {exc}") from exc


def _parsed_or_none(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None
