"""`hermitty config`: every setting, its value, and who decided it."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from hermitty.cli.escapes import tell, visible
from hermitty.config import Setting, all_settings
from hermitty.runtime.history.masking import MASK, names_a_secret
from hermitty.runtime.places import find_places
from hermitty.runtime.settings.layers import LoadedSettings
from hermitty.runtime.settings.source import SettingsSource
from hermitty.runtime.settings.text import variable_of
from hermitty.wire.records import to_json


def configure(options: argparse.Namespace) -> int:
    """Do what `hermitty config` was asked and return the exit code."""
    if options.config_command == "path":
        print(find_places().config_file)
        return 0
    return _show(options)


def _show(options: argparse.Namespace) -> int:
    workspace = Path(os.path.abspath(options.workspace or os.curdir))
    source = SettingsSource(workspace=workspace, tell=tell)
    loaded = source.loaded()
    names = list(loaded.changed() if options.changed else all_settings())
    if options.json:
        print(to_json({"config_file": str(source.config_file), "settings": [_record(loaded, name) for name in names]}))
    elif names:
        _print(loaded, names, explain=options.explain)
    else:
        print("hermitty: every setting has its default", file=sys.stderr)
    return 0


def _record(loaded: LoadedSettings, name: str) -> dict[str, Any]:
    setting = all_settings()[name]
    origin = loaded.origins[name]
    return {
        "name": name,
        "value": _without_secrets(setting, loaded.settings.value(name)),
        "default": setting.default,
        "origin": str(origin),
        "kind": origin.kind,
        "place": origin.place or None,
        "line": origin.line,
        "doc": setting.doc.text,
        "allowed": setting.allowed,
        "variable": variable_of(setting),
    }


def _print(loaded: LoadedSettings, names: list[str], *, explain: bool) -> None:
    rows = [(name, _text(loaded, name), visible(str(loaded.origins[name]))) for name in names]
    widths = [max(len(row[column]) for row in (("setting", "value", ""), *rows)) for column in range(2)]
    # One long value does not push all origins off the screen.
    widths[1] = min(widths[1], 40)
    for name, value, origin in (("setting", "value", "origin"), *rows):
        print(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {origin}".rstrip())
        if explain and name in loaded.origins:
            setting = all_settings()[name]
            print(f"    {setting.doc.text} ({setting.allowed})")


def _text(loaded: LoadedSettings, name: str) -> str:
    """Return a value as a file of settings would have it."""
    value = _without_secrets(all_settings()[name], loaded.settings.value(name))
    if value is None:
        return "none"
    # JSON escapes control characters, which would otherwise reach the terminal.
    return json.dumps(value, ensure_ascii=not (isinstance(value, str) and value.isprintable()))


def _without_secrets(setting: Setting, value: Any) -> Any:
    if setting.kind is not dict:
        return value
    return {name: MASK if names_a_secret(name) else text for name, text in value.items()}
