"""The way of last resort for POSIX shells whose integration did not come up: a script with the markers in it.

The text of the command goes into one file, the markers around it into another, and one short line is typed. The shell
has read that line whole before the command starts, so that no program can swallow the end marker. When the shell gives
up on the script (Ctrl-C, a syntax error in some shells) the end marker is not printed: the end is then seen from
outside, and the exit code stays unknown.
"""

from hermitty.shell.dialect import LINE_FILE, Submission
from hermitty.shell.quoting import quote_posix

_SCRIPT_FILE = "run"
# Ctrl-U: whatever was typed before goes away, in line editors and in the kernel's own line mode.
_KILL_LINE = b"\x15"


def submit_with_sentinel(line: str, directory: str, nonce: str) -> Submission:
    """Plan a run with markers around it."""
    text = quote_posix(f"{directory}/{LINE_FILE}")
    script = f"printf '\\033]633;C;{nonce}\\007'\n. {text}\nprintf '\\033]633;D;%s;{nonce}\\007' \"$?\"\n"
    return Submission(
        keys=_KILL_LINE + f" . {quote_posix(f'{directory}/{_SCRIPT_FILE}')}\r".encode(),
        files={
            LINE_FILE: line.encode("utf-8", "surrogateescape") + b"\n",
            _SCRIPT_FILE: script.encode(),
        },
    )
