"""Parses a command line for whatever shell it is for. Never raises; time is linear and nesting is bounded."""

from hermitty.policy.fish_parser import parse_fish
from hermitty.policy.posix_parser import parse_posix
from hermitty.policy.pwsh_parser import parse_pwsh
from hermitty.policy.sanity import MAX_BYTES
from hermitty.policy.syntax.script import Problem, Script

# Other shells that read what we understand of `sh` in the same way.
_LIKE_SH = frozenset(("sh", "dash", "ash", "ksh"))


def parse(line: str, shell: str) -> Script:
    """Return the tree of a line. What was not understood is among its problems."""
    if len(line) > MAX_BYTES:
        return _refused(line, shell, "the line is too long")
    if shell in ("bash", "zsh"):
        return parse_posix(line, shell)
    if shell in _LIKE_SH:
        return parse_posix(line, "sh")
    if shell == "fish":
        return parse_fish(line)
    if shell in ("pwsh", "powershell"):
        return parse_pwsh(line)
    return _refused(line, shell, f"lines for {shell} are not analysed")


def _refused(line: str, shell: str, reason: str) -> Script:
    return Script(shell, (), (Problem(reason, 0, len(line)),), 0, len(line))
