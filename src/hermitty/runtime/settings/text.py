"""Settings written as plain text, as in environment variables.

`HERMITTY_TERMINAL__COLS=100` sets `terminal.cols`; a few have a short name too. Lists are separated by commas or
written as JSON, tables are JSON, `none` is no value.
"""

import json

from hermitty.config import Setting, all_settings

PREFIX = "HERMITTY_"
SEPARATOR = "__"

# What people set by hand.
SHORT_NAMES = {
    "HERMITTY_SHELL": "terminal.shell",
    "HERMITTY_COLS": "terminal.cols",
    "HERMITTY_ROWS": "terminal.rows",
    "HERMITTY_WAIT_S": "run.wait_s",
    "HERMITTY_KILL_AFTER_S": "run.kill_after_s",
    "HERMITTY_HISTORY": "history.enabled",
}

_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def variable_of(setting: Setting) -> str:
    """Return the name of the variable that sets it."""
    return f"{PREFIX}{setting.group}{SEPARATOR}{setting.field}".upper()


def setting_of(variable: str) -> str | None:
    """Return the dotted name that a variable means, known or not; None when it is not about a setting."""
    if variable in SHORT_NAMES:
        return SHORT_NAMES[variable]
    group, separator, field = variable.removeprefix(PREFIX).partition(SEPARATOR)
    if not variable.startswith(PREFIX) or not separator:
        return None
    return f"{group}.{field.replace(SEPARATOR, '.')}".lower()


def parse_text(setting: Setting, text: str) -> object:
    """Return the value behind a text; a text that means nothing comes back as it is, for the check to name."""
    text = text.strip()
    if setting.optional and text.lower() in ("none", ""):
        return None
    if setting.kind is bool:
        return _WORDS.get(text.lower(), text)
    if setting.kind is tuple:
        return _list(text)
    if setting.kind is str:
        return text
    try:
        return json.loads(text) if setting.kind is dict else setting.kind(text)
    except (ValueError, RecursionError):
        return text


def _list(text: str) -> object:
    if text.startswith("["):
        try:
            return tuple(json.loads(text))
        except (ValueError, TypeError, RecursionError):
            return text
    return tuple(item for part in text.split(",") if (item := part.strip()))


def variables() -> dict[str, str]:
    """Return the variable of every setting, by dotted name."""
    return {name: variable_of(setting) for name, setting in all_settings().items()}
