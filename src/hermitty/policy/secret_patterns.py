"""Patterns of file names that may stand for secrets, told from the pattern alone.

A pattern is compared with the known places of secrets component by component: `~/.ss?/*` may be `~/.ssh/id_rsa`.
"""

import re
from collections.abc import Sequence

from hermitty.policy import sensitive

_PART = re.compile(r"\[[^]]*\]|.", re.DOTALL)
_ANYTHING = "*{}()|+@!,"
_WILDCARDS = "*?[({"
_GROUP = re.compile(r"[?*+@!]?\(.*\)", re.DOTALL)
# A group that names a hidden file, or zsh's `(D)`.
_SHOWS_HIDDEN = re.compile(r"\([^()]*(?:\.\w|D)")
_ALL_NAMES = re.compile(r"[*?./\[\]!^{},]*")


def has_wildcard(text: str) -> bool:
    """Tell whether a word, or a component of a path, is a pattern."""
    return any(char in text for char in _WILDCARDS)


def stands_for_all(name: str) -> bool:
    """Tell whether a component names nothing in particular: `*`, `.*`, `??*`."""
    return _ALL_NAMES.fullmatch(name) is not None


def shows_hidden(name: str) -> bool:
    """Tell whether a component may stand for hidden files though it does not begin with a dot."""
    return _SHOWS_HIDDEN.search(name) is not None


def matches(pattern: str, name: str) -> bool:
    """Tell whether one component of a glob may stand for a name; what is not plain in it stands for anything.

    Only the last `*` is tried again: the time is bounded by the product of the lengths.
    """
    if name.startswith(".") and not pattern.startswith(".") and not shows_hidden(pattern):
        return False
    parts = _PART.findall(_GROUP.sub("*", pattern))
    at = tried = begin = 0
    star = -1
    while at < len(name):
        part = parts[begin] if begin < len(parts) else ""
        if part and part in _ANYTHING:
            star, tried, begin = begin, at, begin + 1
        elif part == "?" or len(part) > 1 or part == name[at]:
            at, begin = at + 1, begin + 1
        elif star >= 0:
            tried += 1
            at, begin = tried, star + 1
        else:
            return False
    return all(part in _ANYTHING for part in parts[begin:])


def may_reach_secrets(pattern: str, home: str | None, places: Sequence[str]) -> bool:
    """Tell whether a normalised pattern may name a directory of secrets, a file in one, or a known file.

    `places` are further directories of secrets.
    """
    if any(_reaches(pattern.split("/"), place.split("/")) for place in places):
        return True
    parts = sensitive.seen_from_home(pattern, home).split("/")
    if any(_reaches(parts, place) for place in _DIRECTORIES) or any(
        len(parts) == len(place) and _reaches(parts, place) for place in _FILES
    ):
        return True
    return any(_is_amid(parts, tail) for tail in _TAIL_DIRECTORIES) or any(
        _is_amid(parts[-len(tail) :], tail) for tail in _TAIL_FILES
    )


def may_hold_secrets(pattern: str, home: str | None, places: Sequence[str]) -> bool:
    """Tell whether a normalised pattern may name a directory with secrets somewhere below it."""
    seen, given = sensitive.seen_from_home(pattern, home).split("/"), pattern.split("/")
    if stands_for_all(given[-1]) and seen != ["~"]:
        return False
    return any(len(seen) == len(place) and all(map(_may_be, seen, place)) for place in _HOLDERS) or any(
        len(given) < len(place) and all(map(_may_be, given, place)) for place in (one.split("/") for one in places)
    )


def _reaches(parts: list[str], place: list[str]) -> bool:
    if len(parts) < len(place):
        return False
    if place[0] == "~" and not place[1].startswith(".") and stands_for_all(parts[1]):
        # `~/*/x` is most often about projects.
        return False
    if place in _SYSTEM and not stands_for_all(parts[-1]) and any(map(stands_for_all, parts[: len(place)][1:])):
        # `/etc/*/*.conf` is most often about other programs.
        return False
    return all(map(_may_be, parts, place))


def _is_amid(parts: list[str], tail: list[str]) -> bool:
    """Tell whether components that follow each other, none of them for all names, may be those of `tail`."""
    return any(
        all(map(_may_be, parts[at : at + len(tail)], tail)) and not any(map(stands_for_all, parts[at : at + len(tail)]))
        for at in range(len(parts) - len(tail) + 1)
    )


def _may_be(part: str, name: str) -> bool:
    if not has_wildcard(part):
        return part == name
    return (part[0] == name[:1] or part[0] in "*?[({@+!") and matches(part, name)


_HOLDERS = [place.split("/") for place in sorted(sensitive.HOLDERS)]
_TAIL_DIRECTORIES = [place.split("/") for place in sensitive.DIRECTORY_TAILS]
_TAIL_FILES = [place.split("/") for place in sensitive.FILE_TAILS]
_DIRECTORIES = [place.split("/") for place in sensitive.SECRET_DIRECTORIES]
_SYSTEM = [place for place in _DIRECTORIES if place[0] != "~"]
_FILES = [place.split("/") for place in sorted(sensitive.SECRET_FILES)] + [["~", *tail] for tail in _TAIL_FILES]
