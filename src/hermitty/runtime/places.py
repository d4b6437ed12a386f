"""Where hermitty keeps things: one file of settings, one directory of state.

`HERMITTY_CONFIG` and `HERMITTY_STATE_DIR` override the usual places of the platform. Finding a place creates nothing.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hermitty.errors import HostUnavailable, InvalidSettings

CONFIG_VARIABLE = "HERMITTY_CONFIG"
STATE_VARIABLE = "HERMITTY_STATE_DIR"
WORKSPACE_FILE = ".hermitty.toml"


@dataclass(frozen=True, slots=True)
class Places:
    """The paths; nothing says that they exist."""

    config_file: Path
    state: Path

    @property
    def history_file(self) -> Path:
        """Return where the history of commands is, and every other small thing: one SQLite file."""
        return self.state / "history.db"

    @property
    def audit_file(self) -> Path:
        """Return where decisions about commands are recorded."""
        return self.state / "audit.jsonl"

    @property
    def rules(self) -> Path:
        """Return the directory of the rules of workspaces."""
        return self.state / "rules"

    @property
    def artifacts(self) -> Path:
        """Return the directory of complete outputs."""
        return self.state / "artifacts"

    @property
    def recordings(self) -> Path:
        """Return the directory of recordings of terminals."""
        return self.state / "recordings"


def find_places(environ: Mapping[str, str] | None = None) -> Places:
    """Return the places of this user."""
    environ = os.environ if environ is None else environ
    config_file, state = _absolute(environ.get(CONFIG_VARIABLE)), _absolute(environ.get(STATE_VARIABLE))
    if config_file is None or state is None:
        import platformdirs

        config_file = config_file or Path(platformdirs.user_config_dir("hermitty", appauthor=False)) / "config.toml"
        state = state or Path(platformdirs.user_state_dir("hermitty", appauthor=False))
    return Places(config_file, state)


def make_private(directory: Path) -> Path:
    """Make sure that a directory is there and that nobody else can change what is in it.

    A new one has mode 0700. One that exists keeps its mode: it may be somebody's choice, or not ours alone.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.stat()
    except OSError as exc:
        raise HostUnavailable(f"directory {str(directory)!r} cannot be used: {exc.strerror}") from exc
    if hasattr(os, "geteuid"):
        if found.st_uid != os.geteuid():
            raise InvalidSettings(f"directory {str(directory)!r} belongs to another user; set {STATE_VARIABLE}")
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise InvalidSettings(
                f"directory {str(directory)!r} can be changed by other users; run chmod go-w on it, "
                f"or set {STATE_VARIABLE}"
            )
    return directory


def _absolute(text: str | None) -> Path | None:
    """Return the path in a variable; an empty one counts as not set."""
    return Path(os.path.abspath(os.path.expanduser(text))) if text else None
