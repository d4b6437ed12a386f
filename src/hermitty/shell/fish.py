"""fish: the line goes in through a file, and one key tells the line editor to take it from there."""

import re

from hermitty.model import Quality
from hermitty.shell.dialect import KEY_SUBMIT, LINE_FILE, ShellOptions, Startup, Submission, script
from hermitty.shell.zsh import parse_entries

_SAFE = re.compile(r"[A-Za-z0-9_@+=:,./-]+\Z")


# What fish prints between the start marker and the command's output: it switches its line editor off, sets the title
# and resets the colours, with the sequences of xterm and its kin or of screen, tmux and vt100. Where there is no
# title, the carriage return is missing too; where titles are unknown, so is the reset.
_EDITOR_OFF = b"\x1b[?2004l"
_TITLE = b"\x1b]0;"
_RESETS = (b"\x1b[30m\x1b(B\x1b[m", b"\x1b[30m\x1b[m\x0f", b"\x1b[30m\x1b[m")


def _beginning(literal: bytes, then: bytes = b"") -> bytes:
    """Write a regex for as much of `literal` (and of what follows it) as there is at the end of the data."""
    pattern = then or b"\\Z"
    for byte in reversed(literal):
        pattern = b"(?:\\Z|" + re.escape(bytes([byte])) + pattern + b")"
    return pattern


def _prelude() -> re.Pattern[bytes]:
    # The last reset is the beginning of the one before it.
    reset = b"(?:" + b"|".join(map(re.escape, _RESETS)) + b"(?!\\Z))"
    body = b"[^\\x07]{0,4096}"
    title = re.escape(_TITLE) + body + b"\\x07" + reset + b"\\r"
    beginnings = [
        _beginning(_EDITOR_OFF),
        *(_beginning(each) for each in _RESETS),
        *(_beginning(_TITLE, body + _beginning(b"\x07" + each + b"\r")) for each in _RESETS),
    ]
    undecided = b"(?!" + b"|".join(beginnings) + b")"
    return re.compile(b"(?:" + re.escape(_EDITOR_OFF) + b")?+(?:" + title + b"|" + reset + b"|" + undecided + b")")


class Fish:
    """fish 3.4 and later."""

    name = "fish"
    quality = Quality.RICH
    is_posix = False
    # Matches as soon as it is certain where the prelude ends, which may be at once; not before.
    prelude = _prelude()
    farewell = None

    def startup(self, nonce: str, directory: str, env: dict[str, str], options: ShellOptions) -> Startup:
        values = {
            "NONCE": nonce,
            "DIR": quote_fish(directory),
            # A leading space keeps the line out of the history.
            "SPACE": " " if options.keep_history_clean else "",
        }
        login = ("-l",) if options.login else ()
        return Startup(
            args=(*login, "-i", "-C", f"source {quote_fish(f'{directory}/init.fish')}"),
            files={"init.fish": script("integration.fish", values)},
            secret_files=("init.fish",),
        )

    def submit(self, line: str, directory: str, options: ShellOptions) -> Submission:
        text = line.encode("utf-8", "surrogateescape")
        return Submission(keys=KEY_SUBMIT, files={LINE_FILE: text}, is_confirmed=True, told=line)

    def recover(self, directory: str, options: ShellOptions) -> Submission | None:
        # Hooks are events here: no assignment removes them, and the prompt is wrapped again before it is drawn.
        return None

    def quote(self, word: str) -> str:
        return quote_fish(word)

    def change_directory(self, path: str) -> str:
        # A relative name without a dot may be found in CDPATH.
        plain = path if path.startswith("/") else f"./{path}"
        return f"builtin cd {quote_fish(plain)}"

    def one_shot(self, line: str) -> tuple[str, ...]:
        return ("-c", line)

    def parse_environment(self, dump: bytes) -> dict[str, str]:
        return parse_entries(dump)

    def dump_environment(self, directory: str) -> str | bytes | None:
        return None


def quote_fish(word: str) -> str:
    r"""Quote one word: inside single quotes, fish reads ``\\`` and ``\'`` as escapes and nothing else."""
    if _SAFE.match(word):
        return word
    return "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"
