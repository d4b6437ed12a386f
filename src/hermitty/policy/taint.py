"""Which lines change what names mean in the shell that runs them."""

from typing import Final

from hermitty.policy.effects import Effect, Verdict
from hermitty.policy.judged import JudgedLine

# They run code in the shell itself, or set its variables.
_IN_SHELL: Final = frozenset(
    {
        *("eval", "source", ".", "enable", "builtin", "command", "fc", "zmodload", "autoload", "emulate", "sched"),
        *("export", "declare", "typeset", "local", "readonly", "integer", "float", "set", "unset", "read", "mapfile"),
        *("readarray", "printf", "print", "let", "getopts", "vared", "test", "["),
    }
)


def taint_of(line: JudgedLine) -> str | None:
    """Say how a line changes what later commands of its shell mean; None: it does not."""
    if not line.is_understood:
        return "a command ran there that could not be analysed"
    for one in line.worrying:
        if one.effect is Effect.SESSION:
            return f"a command ran there that {one.reason}"
    for command in line.commands:
        name = command.argv[0].text if command.argv else ""
        is_foreign = any(
            one.effect in (Effect.EXEC, Effect.UNKNOWN) and one.verdict is not Verdict.ALLOW for one in command.findings
        )
        if is_foreign and (name is None or name in _IN_SHELL):
            return f"{name or 'a command'} ran code there that is not known"
    return None
