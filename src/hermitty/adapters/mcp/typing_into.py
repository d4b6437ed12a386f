"""Typing for a program that runs, and never for the shell behind it: its lines go through the policy.

What may end the program (Ctrl-C, Ctrl-D, Ctrl-Z, Ctrl-\\) is the last thing of a call, and the call returns when the
program has ended or has had the time to. What comes after it would else be read by the shell as a command.
"""

from collections.abc import Sequence

from hermitty.errors import InvalidRequest
from hermitty.runtime.api import Command, Runtime

_MOST_CHARACTERS = 100_000
_MOST_KEYS = 1000
_ENDS_IT = frozenset("\x03\x04\x1a\x1c")
_ENDING_KEYS = frozenset({"ctrl-c", "ctrl-d", "ctrl-z", "ctrl-\\"})
_REACTS_WITHIN_S = 1.0


def running_command(runtime: Runtime, target: str) -> Command:
    """Return the command that is meant, or raise an error that says what to do."""
    if target.startswith("c_"):
        handle = runtime.command(target).handle
        if not isinstance(handle, Command):
            raise InvalidRequest("this command has no terminal to type into; run it without provider pipe")
        return handle
    terminal = runtime.terminal(target)
    if terminal.current is None:
        raise InvalidRequest(
            f"nothing runs in terminal {target}, so nothing reads what is typed; give its shell a command with run"
        )
    return terminal.current


def check_text(text: str) -> bool:
    """Tell whether a text may end the program, or raise InvalidRequest."""
    if not text:
        raise InvalidRequest("there is nothing to type: text is empty")
    if len(text) > _MOST_CHARACTERS:
        raise InvalidRequest(f"text has {len(text)} characters; type at most {_MOST_CHARACTERS} at once")
    if any(mark in _ENDS_IT for mark in text[:-1]):
        raise InvalidRequest(
            "text goes on after a character that may end the program (Ctrl-C, Ctrl-D, Ctrl-Z, Ctrl-\\); "
            "send that one alone, look what happens, and use run for what the shell is to do"
        )
    return text[-1] in _ENDS_IT


def check_keys(keys: Sequence[str]) -> bool:
    """Tell whether keys may end the program, or raise InvalidRequest."""
    if not keys:
        raise InvalidRequest("there are no keys to press")
    if len(keys) > _MOST_KEYS:
        raise InvalidRequest(f"{len(keys)} keys are too many; press at most {_MOST_KEYS} at once")
    ending = [_ends(key) for key in keys]
    if any(ending[:-1]):
        raise InvalidRequest(
            "keys go on after one that may end the program (ctrl-c, ctrl-d, ctrl-z, ctrl-\\); press that one last, "
            "look what happens, and use run for what the shell is to do"
        )
    return ending[-1]


async def settle(command: Command, *, ends_it: bool) -> None:
    """Wait a moment for the end of a program that was told to end."""
    if ends_it and command.is_running:
        await command.ended(_REACTS_WITHIN_S)


def _ends(key: str) -> bool:
    named = key.lower().replace("control", "ctrl").replace("+", "-")
    if named.startswith(("^", "c-")):
        named = f"ctrl-{named[1:].removeprefix('-')}"
    return named in _ENDING_KEYS or key in _ENDS_IT
