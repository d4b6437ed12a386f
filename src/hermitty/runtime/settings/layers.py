"""Layers of settings, and who decided each value: a later layer wins.

defaults < the user's file < the workspace's file < environment < arguments

The file of a workspace comes with the repository, so it is not trusted: it sets what `Doc.workspace` allows. Everything
else in it is left out with a warning, and a broken one is left out as a whole: it cannot stop anybody from working.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from hermitty.config import Settings, all_settings, find_setting, nearest_name
from hermitty.errors import InvalidSettings
from hermitty.runtime.settings.file import FileText, FileValue, values_of
from hermitty.runtime.settings.text import parse_text, setting_of


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from."""

    kind: Literal["default", "file", "workspace", "environment", "argument"]
    place: str = ""  # the file's path, or the variable's name
    line: int | None = None

    def __str__(self) -> str:
        match self.kind:
            case "file" | "workspace":
                return f"file {self.where}"
            case "environment":
                return f"environment {self.place}"
        return self.kind

    @property
    def where(self) -> str:
        """Return the place as error messages begin: PATH:LINE, or the variable."""
        return self.place if self.line is None else f"{self.place}:{self.line}"


DEFAULT = Origin("default")


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Settings with the origin of each value by dotted name, and what was wrong but did no harm."""

    settings: Settings
    origins: dict[str, Origin]
    warnings: tuple[str, ...]

    def changed(self) -> dict[str, Origin]:
        """Return the origins of what somebody decided."""
        return {name: origin for name, origin in self.origins.items() if origin != DEFAULT}


def merge(
    *,
    user: FileText | None = None,
    workspace: FileText | None = None,
    environ: Mapping[str, str] | None = None,
    arguments: Mapping[str, object] | None = None,
) -> LoadedSettings:
    """Put the layers together, or raise InvalidSettings that names the place, the setting and what is allowed."""
    values: dict[str, object] = {}
    origins = dict.fromkeys(all_settings(), DEFAULT)
    warnings: list[str] = []

    def take(layer: Iterator[tuple[str, object, Origin]]) -> None:
        for name, value, origin in layer:
            values[name] = value
            origins[name] = origin

    take(_from_user(user, warnings))
    take(_from_workspace(workspace, warnings))
    take(_from_environment(environ or {}, warnings))
    take(_from_arguments(arguments or {}))
    return LoadedSettings(Settings().with_values(values), origins, tuple(warnings))


def _from_user(file: FileText | None, warnings: list[str]) -> Iterator[tuple[str, object, Origin]]:
    if file is None:
        return
    for item in values_of(file):
        origin = Origin("file", str(file.path), item.line)
        if item.setting is None:
            warnings.append(f"{origin.where}: {_unknown(item.name)}")
            continue
        _check(item.setting.problem_with(item.value), origin)
        yield item.name, item.value, origin


# What a workspace's file may also hold; `hermitty.runtime.rules` reads it.
_RULES = frozenset({"rule", "allow", "ask", "deny"})


def _from_workspace(file: FileText | None, warnings: list[str]) -> Iterator[tuple[str, object, Origin]]:
    if file is None:
        return
    try:
        items = values_of(file)
    except InvalidSettings as error:
        warnings.append(str(error))
        return
    for item in items:
        if item.name.partition(".")[0] in _RULES:
            continue
        origin = Origin("workspace", str(file.path), item.line)
        if problem := _workspace_problem(item):
            warnings.append(f"{origin.where}: {problem}")
            continue
        yield item.name, item.value, origin


def _workspace_problem(item: FileValue) -> str | None:
    if item.setting is None:
        return _unknown(item.name)
    return item.setting.problem_in_workspace(item.value)


def _from_environment(environ: Mapping[str, str], warnings: list[str]) -> Iterator[tuple[str, object, Origin]]:
    # Short names first: the full name of the same setting wins.
    for variable in sorted(environ, key=lambda name: ("__" in name, name)):
        name = setting_of(variable)
        if name is None:
            continue
        origin = Origin("environment", variable)
        setting = all_settings().get(name)
        if setting is None:
            warnings.append(f"{variable}: {_unknown(name)}")
            continue
        value = parse_text(setting, environ[variable])
        _check(setting.problem_with(value), origin)
        yield name, value, origin


def _from_arguments(arguments: Mapping[str, object]) -> Iterator[tuple[str, object, Origin]]:
    for name, value in arguments.items():
        _check(find_setting(name).problem_with(value))
        yield name, value, Origin("argument")


def _check(problem: str | None, origin: Origin | None = None) -> None:
    if problem:
        raise InvalidSettings(f"{origin.where}: {problem}" if origin else problem)


def _unknown(name: str) -> str:
    near = nearest_name(name)
    return f"there is no setting {name!r}" + (f"; did you mean {near}?" if near else "")
