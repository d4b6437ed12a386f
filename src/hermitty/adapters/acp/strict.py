"""Parameters that run or change something, checked before the SDK reads them.

The SDK leaves out what it does not understand: of the arguments ["-n", 1] it hands on one, and of [1] none, which
would make a program with arguments a line for the shell. What an agent sends is taken as it is, or refused.
"""

from collections.abc import Callable, Mapping

from hermitty.adapters.acp import faults

Check = Callable[[object], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def _is_text_or_nothing(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_list_of_texts(value: object) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(each, str) for each in value))


def _is_list_of_variables(value: object) -> bool:
    return value is None or (
        isinstance(value, list)
        and all(
            isinstance(each, dict) and isinstance(each.get("name"), str) and isinstance(each.get("value"), str)
            for each in value
        )
    )


_OF_A_TERMINAL: Mapping[str, Check] = {"sessionId": _is_text, "terminalId": _is_text}
_CHECKS: Mapping[str, Mapping[str, Check]] = {
    "terminal/create": {
        "sessionId": _is_text,
        "command": _is_text,
        "args": _is_list_of_texts,
        "env": _is_list_of_variables,
        "cwd": _is_text_or_nothing,
        "outputByteLimit": _is_count,
    },
    "terminal/output": _OF_A_TERMINAL,
    "terminal/wait_for_exit": _OF_A_TERMINAL,
    "terminal/kill": _OF_A_TERMINAL,
    "terminal/release": _OF_A_TERMINAL,
    "fs/read_text_file": {"sessionId": _is_text, "path": _is_text, "line": _is_count, "limit": _is_count},
    "fs/write_text_file": {"sessionId": _is_text, "path": _is_text, "content": _is_text},
}


def check(method: str, params: object) -> None:
    """Raise an error that names the parameters which are wrong."""
    checks = _CHECKS.get(method)
    if checks is None:
        return
    if not isinstance(params, dict):
        raise faults.invalid("an object is needed")
    wrong = [name for name, is_right in checks.items() if not is_right(params.get(name))]
    if wrong:
        raise faults.invalid(f"{', '.join(wrong)} must be what the protocol says")
