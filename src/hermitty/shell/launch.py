"""Which shells there are, and the environment their terminals start with."""

from collections.abc import Callable, Mapping

from hermitty.errors import UnknownShell
from hermitty.shell.bash import Bash
from hermitty.shell.dialect import Dialect
from hermitty.shell.fish import Fish
from hermitty.shell.posix import Posix
from hermitty.shell.pwsh import Pwsh
from hermitty.shell.zsh import Zsh

# Programs by name. Several names may speak one dialect.
DIALECTS: dict[str, Callable[[], Dialect]] = {
    "bash": Bash,
    "zsh": Zsh,
    "fish": Fish,
    "sh": Posix,
    "dash": Posix,
    "ash": Posix,
    "pwsh": Pwsh,
}

# What describes the terminal around us, and not the new one.
_OF_THE_OUTER_TERMINAL = (
    "COLUMNS", "LINES", "TERMCAP", "TMUX", "TMUX_PANE", "STY", "WINDOWID", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID",
    "VSCODE_INJECTION", "VSCODE_NONCE", "VSCODE_SHELL_INTEGRATION", "KITTY_WINDOW_ID", "ITERM_SESSION_ID",
)  # fmt: skip


def shell_name(program: str) -> str:
    """Return the name of a shell from its path (/usr/bin/bash -> bash)."""
    return program.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")


def choose_shell(wanted: str | None, preferred: str | None, find: Callable[[str], str | None]) -> tuple[str, Dialect]:
    """Return the path and dialect of the wanted shell, or of the best one there is."""
    if wanted is not None:
        name = shell_name(wanted)
        path = find(wanted)
        if path is None or name not in DIALECTS:
            raise UnknownShell(wanted, installed_shells(find))
        return path, DIALECTS[name]()
    for candidate in (preferred, "bash", "sh"):
        if candidate and shell_name(candidate) in DIALECTS and (path := find(candidate)):
            return path, DIALECTS[shell_name(candidate)]()
    raise UnknownShell("any", installed_shells(find))


def installed_shells(find: Callable[[str], str | None]) -> list[str]:
    """Return the names of the shells that are there and that hermitty speaks."""
    return [name for name in DIALECTS if find(name)]


def terminal_environment(base: Mapping[str, str], extra: Mapping[str, str], *, windows: bool = False) -> dict[str, str]:
    """Return the environment of a new terminal: the host's, ours, then what the caller asked for."""
    env = {name: value for name, value in base.items() if name not in _OF_THE_OUTER_TERMINAL}
    env |= {
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "TERM_PROGRAM": "hermitty",
        # Pagers would wait for keys that nobody presses.
        "PAGER": "" if windows else "cat",
        "GIT_PAGER": "cat",
        # VTE's own profile script would print markers of its own.
        "VTE_VERSION": "0",
    }
    if not windows and not _is_utf8(env):
        env.pop("LC_ALL", None)
        env["LANG"] = env["LC_CTYPE"] = "C.UTF-8"
    return env | dict(extra)


def _is_utf8(env: Mapping[str, str]) -> bool:
    # The first one set decides, as in setlocale(3).
    locale = next((env[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if env.get(name)), "")
    return locale.lower().replace("-", "").endswith(("utf8", "utf8@euro"))
