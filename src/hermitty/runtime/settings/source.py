"""The settings as they are now: read again when a file has changed, without a restart.

A file that breaks meanwhile changes nothing: the last good settings stay, and the problem is told once.
"""

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hermitty.config import Settings
from hermitty.errors import InvalidSettings
from hermitty.runtime.places import CONFIG_VARIABLE, WORKSPACE_FILE, find_places
from hermitty.runtime.settings.file import FileText, read_file
from hermitty.runtime.settings.layers import LoadedSettings, merge

# Two writes within one tick of the file system's clock leave the same time. A file this young is read again.
_YOUNG_NS = 2_000_000_000

_Stamp = tuple[int, int, int, int] | None


class SettingsSource:
    """Settings from every layer. Making one raises InvalidSettings; later problems are told and outlived."""

    def __init__(
        self,
        *,
        config_file: Path | None = None,
        workspace: Path | None = None,
        environ: Mapping[str, str] | None = None,
        arguments: Mapping[str, object] | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._environ = dict(os.environ if environ is None else environ)
        self._arguments = dict(arguments or {})
        self._tell = tell or logging.getLogger("hermitty.settings").warning
        self._user = _Watched(config_file or find_places(self._environ).config_file, follow_links=True)
        self._workspace = _Watched(workspace / WORKSPACE_FILE, follow_links=False) if workspace else None
        self._told: set[str] = set()
        self._loaded = self._load()

    @property
    def config_file(self) -> Path:
        """Return the user's file, there or not."""
        return self._user.path

    def current(self) -> Settings:
        """Return the settings as they are now."""
        return self.loaded().settings

    def loaded(self) -> LoadedSettings:
        """Return the settings as they are now, with their origins."""
        if self._user.has_changed() or (self._workspace is not None and self._workspace.has_changed()):
            try:
                self._loaded = self._load()
            except InvalidSettings as error:
                self._tell_new([f"{error}; the settings from before stay in use"])
        return self._loaded

    def _load(self) -> LoadedSettings:
        warnings: list[str] = []
        workspace = None
        try:
            workspace = self._workspace.read() if self._workspace else None
        except InvalidSettings as error:
            warnings.append(str(error))
        user = self._user.read()
        if user is None and self._environ.get(CONFIG_VARIABLE):
            warnings.append(f"{self._user.path}: named by {CONFIG_VARIABLE}, but not there")
        loaded = merge(user=user, workspace=workspace, environ=self._environ, arguments=self._arguments)
        loaded = replace(loaded, warnings=(*warnings, *loaded.warnings))
        self._tell_new(loaded.warnings)
        return loaded

    def _tell_new(self, texts: Sequence[str]) -> None:
        told, self._told = self._told, set(texts)
        for text in texts:
            if text not in told:
                self._tell(text)


@dataclass(slots=True)
class _Watched:
    """A file, and what it was when it was last read."""

    path: Path
    follow_links: bool
    _stamp: _Stamp = None
    _text: FileText | None = None

    def read(self) -> FileText | None:
        # The stamp is taken first: a change during the reading is seen the next time.
        self._stamp = self._look()
        self._text = None
        self._text = read_file(self.path, follow_links=self.follow_links)
        return self._text

    def has_changed(self) -> bool:
        stamp = self._look()
        if stamp != self._stamp:
            return True
        if stamp is None or time.time_ns() - max(stamp[0], stamp[1]) > _YOUNG_NS:
            return False
        try:
            return read_file(self.path, follow_links=self.follow_links) != self._text
        except InvalidSettings:
            return self._text is not None

    def _look(self) -> _Stamp:
        try:
            found = os.stat(str(self.path), follow_symlinks=self.follow_links)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
