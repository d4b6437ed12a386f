"""What a shell must be able to tell us, whatever its language.

A dialect is pure: it says how to start the shell with our integration, how to hand it a line, how to quote, and how to
read what its hooks left behind. Who writes the files and the bytes is not its concern.
"""

import re
from dataclasses import dataclass, field
from typing import Protocol

from hermitty.model import Quality

# Key sequences that nobody types (Ctrl-^ and a letter); the integration scripts bind them in the shell's line editor.
# They are short because line editors read byte by byte.
KEY_KILL_LINE = b"\x1ek"
KEY_PASTE = b"\x1ep"
KEY_SUBMIT = b"\x1es"
KEY_ENVIRONMENT = b"\x1ee"
KEY_TELL_LINE = b"\x1el"

# File names inside a terminal's private directory.
LINE_FILE = "line"
ENV_FILE = "env"


@dataclass(frozen=True, slots=True)
class Submission:
    """How one command line reaches the shell: files to write first, then keys to type."""

    keys: bytes
    # Typed first when something may stand on the line already.
    clear: bytes = b""
    files: dict[str, bytes] = field(default_factory=dict)
    # The shell reports Line=taken when it takes this line: what ends before that is something else.
    is_confirmed: bool = False
    accept: bytes = b""  # typed last, where the keys only put the line in place
    # Typed before that, makes the shell tell the line as it stands there; and what it tells then.
    tell: bytes = b""
    told: str | None = None


@dataclass(frozen=True, slots=True)
class Startup:
    """How to start the shell: its arguments after the program, extra environment, files for its private directory."""

    args: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    # Holds the nonce: to be deleted once the shell has read it.
    secret_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShellOptions:
    """The settings that change how a shell is started or spoken to."""

    login: bool = False
    keep_history_clean: bool = True
    command_delay_s: float = 0.0
    zsh_clear_eol_mark: bool = True
    zsh_oh_my: bool = False
    zsh_p10k: bool = False
    zdotdir: bool = True
    powershell_counter: bool = False


class Dialect(Protocol):
    """One shell language."""

    @property
    def name(self) -> str:
        """Return the name users know: bash, zsh, fish, sh, pwsh."""

    @property
    def quality(self) -> Quality:
        """Return what the integration reaches when it works."""

    @property
    def is_posix(self) -> bool:
        """Tell whether the sentinel for POSIX shells works here."""

    @property
    def prelude(self) -> re.Pattern[bytes] | None:
        """Return what the shell itself prints between the start marker and the command's output, if anything."""

    @property
    def farewell(self) -> str | None:
        """Return what the shell itself prints when a command tells it to exit, if anything."""

    def startup(self, nonce: str, directory: str, env: dict[str, str], options: ShellOptions) -> Startup:
        """Plan a start with our integration. `env` is the environment the shell will get."""

    def submit(self, line: str, directory: str, options: ShellOptions) -> Submission:
        """Plan how to run a line at the shell's prompt."""

    def recover(self, directory: str, options: ShellOptions) -> Submission | None:
        """Plan how to install lost hooks again at the prompt, or None where that cannot be done."""

    def quote(self, word: str) -> str:
        """Quote one word."""

    def change_directory(self, path: str) -> str:
        """Write the line that changes to a directory, whatever its name."""

    def one_shot(self, line: str) -> tuple[str, ...]:
        """Return the arguments that run a line without a terminal: ("-c", line)."""

    def parse_environment(self, dump: bytes) -> dict[str, str]:
        """Read the dump of exported variables that the hooks (or `dump_environment`) wrote."""

    def dump_environment(self, directory: str) -> str | bytes | None:
        """Return what makes the shell dump its environment: a line to run, or a key to press at the prompt.

        A key is answered by the property Env=ready. None: the hooks dump it after every command.
        """


def script(name: str, values: dict[str, str]) -> bytes:
    """Load an integration script and fill in its @NAME@ places."""
    from importlib.resources import files

    text = files("hermitty.shell").joinpath("scripts", name).read_text("utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text.encode("utf-8", "surrogateescape")
