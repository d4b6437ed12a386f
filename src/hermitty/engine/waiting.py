"""Is a program waiting for somebody to type? Judged from what the kernel tells, and from prompts where it does not."""

import re

from hermitty.host.base import TtyState, Waiting
from hermitty.model import NeedsInput

# A look is worth it only when the output has paused; a program that still prints does not wait.
QUIET_S = 0.1
# In poll or select the terminal is perhaps not what a program waits for, so a longer pause is asked for.
_QUIET_POLLING_S = 1.0
_QUIET_FULL_SCREEN_S = 0.3
_QUIET_PATTERN_S = 0.5

_PROMPT = re.compile(
    r"(\[y(es)?/no?\]|\(y(es)?/no?(/\[?\w+\]?)?\)|\[y/n/\S*\]|[?:>\]#$%]"
    r"|press (any key|enter|return).*|continue\?.*)\s*\Z",
    re.IGNORECASE,
)
_SECRET = re.compile(r"pass(word|phrase|code)|\bpin\b|secret|token|密码", re.IGNORECASE)


def looks_like_prompt(line: str) -> bool:
    """Tell whether a last, unfinished line reads like a question."""
    return bool(line.strip()) and _PROMPT.search(line) is not None


def judge(state: TtyState, *, quiet_s: float, last_line: str, full_screen: bool) -> NeedsInput | None:
    """Decide whether the program in front needs input. `last_line` is its last, unfinished line of output."""
    if quiet_s < QUIET_S:
        return None
    secret = not state.echo and (state.canonical or _SECRET.search(last_line) is not None)
    asks = looks_like_prompt(last_line) and quiet_s >= _QUIET_PATTERN_S
    match state.waiting:
        case Waiting.READING:
            return NeedsInput(last_line, secret, "kernel")
        case Waiting.POLLING if not state.canonical:
            enough = _QUIET_FULL_SCREEN_S if full_screen else _QUIET_POLLING_S
            return NeedsInput(last_line, secret, "kernel") if quiet_s >= enough else None
        case Waiting.POLLING:
            return NeedsInput(last_line, secret, "pattern") if asks else None
        case Waiting.UNKNOWN:
            if secret and state.canonical and not state.shell_in_front:
                # Somebody switched the echo off and kept line mode: that is how passwords are asked for.
                return NeedsInput(last_line, True, "kernel")
            return NeedsInput(last_line, secret, "pattern") if asks else None
        case Waiting.NO:
            return None
