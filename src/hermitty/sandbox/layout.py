"""Which files a sandbox shows, hides and lets be written: decided from an order and a few facts about the disk.

The mounts are in the order in which they are made, later ones over earlier ones. Paths are real ones: a symbolic link
inside leads to where it leads outside, so what is hidden or writable is where it really is.
"""

import posixpath
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from hermitty.errors import SandboxRefused
from hermitty.sandbox import hidden
from hermitty.sandbox.spec import Confinement, Mode

# ro, rw: the path as it is outside. tmpfs: an empty directory to write to. empty: one that cannot be written to.
# null: a file that cannot be read. made: an empty file, made outside if need be. seal: no more writing. link: the
# symbolic link that it is outside. dev, proc: what their names say.
How = Literal["ro", "rw", "tmpfs", "empty", "null", "made", "seal", "link", "dev", "proc"]


class Mount(NamedTuple):
    """One step. `target` is where a link leads."""

    how: How
    path: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What must be known of the machine. `real` gives the real path of what exists, `names` what is in a directory.

    `names` is None where that cannot be told. `entries` are those that are no links, each with whether it is a
    directory. `has_to_read` tells whether there is something that this user can read: nothing else needs hiding.
    """

    home: str
    real: Callable[[str], str | None]
    is_directory: Callable[[str], bool]
    names: Callable[[str], list[str] | None]
    entries: Callable[[str], list[tuple[str, bool]]]
    has_to_read: Callable[[str], bool] = lambda path: True
    is_root: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """The file system of one sandbox. `hidden`, `writable` and `sealed` repeat what the mounts say, without order."""

    mounts: tuple[Mount, ...]
    hidden: tuple[str, ...]
    writable: tuple[str, ...]
    sealed: tuple[str, ...]  # inside of what is writable, and read-only all the same
    readable: tuple[str, ...] | None  # of a strict sandbox; otherwise all that is not hidden
    listed: tuple[str, ...]  # can be read although it lies in something hidden
    directory: str
    cwd: str  # where to start: as it was named, if that name leads there inside


def layout(order: Confinement, facts: Facts, *, cwd: str, directory: str) -> Layout:
    """Decide. `directory` is what terminal and shell exchange files through. Raises SandboxRefused, and says why."""
    home = facts.real(facts.home) or facts.home
    workspace = _writable_root(order.workspace, "the workspace", facts, home)
    others = [_writable_root(path, "write", facts, home) for path in _expanded(order.write, facts)]
    writable = _outermost([workspace, *others])
    listed = _existing(_expanded(order.read, facts), facts)
    secrets = _secrets(order, facts, home)
    for root in writable:
        if holder := next((secret for secret in secrets if within(root, secret) and secret != root), None):
            raise SandboxRefused(f"{root!r} lies in {holder!r}, which a sandbox hides; use a workspace elsewhere")
        if root in secrets:
            raise SandboxRefused(f"{root!r} is hidden by the sandbox, and cannot be written; take it off one list")
    if workspace.startswith(f"{home}/.") or workspace in (f"{home}/bin", f"{home}/snap"):
        raise SandboxRefused(
            f"the workspace {workspace!r} holds settings or programs of the user, which others run; choose another one"
        )
    sealed = [path for root in writable for path in _sealed(root, facts, whole_git=order.mode is Mode.STRICT)]
    outside = [path for path in secrets if not any(within(path, root) for root in writable)]
    inside = [path for path in secrets if path not in outside]

    mounts: list[Mount] = []
    readable: tuple[str, ...] | None = None
    if order.mode is Mode.STRICT:
        of_network = hidden.STRICT_NETWORK if order.network == "host" else ()
        wanted = (*hidden.STRICT_SYSTEM, *hidden.STRICT_ETC, *of_network)
        system = [path for path in wanted if facts.real(path) is not None]
        readable = tuple(dict.fromkeys((*system, *listed)))
        mounts += [Mount("tmpfs", "/"), *(_shown(path, system, facts) for path in system)]
    else:
        mounts.append(Mount("ro", "/"))
    mounts += [Mount("dev", "/dev"), Mount("proc", "/proc"), *(Mount("tmpfs", path) for path in hidden.PRIVATE_PLACES)]
    if facts.is_root:
        # The kernel lets root write its settings by his number alone, without any capability.
        mounts += [Mount("ro", path) for path in hidden.KERNEL_SETTINGS if facts.names(path)]
    needed = (*hidden.NEEDED_OF_RUN, *(hidden.NAME_SERVICE if order.network == "host" else ()))
    mounts += [Mount("ro", path) for path in needed if facts.real(path) is not None]
    if order.mode is Mode.STRICT:
        if home not in ("/", ""):
            mounts.append(Mount("tmpfs", home))
    elif _is_private(home):
        mounts.append(Mount("ro", home))
    # What is listed opens a part of what is hidden, if it lies in it, and never what is hidden in it.
    # In what can be written, it is there anyway.
    apart = [path for path in listed if not any(within(path, root) for root in writable)]
    openings = [path for path in apart if any(within(path, secret) for secret in secrets)]
    mounts += [Mount("ro", path) for path in apart if path not in openings]
    opened = [secret for secret in outside if any(within(path, secret) for path in openings)]
    seen = [path for path in outside if path not in opened and _is_there(path, mounts, order.mode)]
    mounts += dict.fromkeys(_hide(path, facts, home) for path in seen)
    mounts += [Mount("tmpfs", path) for path in opened if path not in openings]
    mounts += [Mount("ro", path) for path in openings]
    mounts += [Mount("seal", path) for path in opened if path not in openings]
    mounts += [Mount("rw", path) for path in writable]
    mounts += _git_mounts(writable, sealed, facts)
    mounts += [_hide(path, facts) for path in inside]
    mounts.append(Mount("rw", directory))
    if order.mode is Mode.STRICT:
        mounts.append(Mount("seal", "/"))
    real = facts.real(cwd) or cwd
    named = any(within(cwd, root) for root in (*writable, *listed)) or (readable is None and not _is_private(cwd))
    found = Layout(
        mounts=tuple(mounts),
        hidden=tuple(secrets),
        writable=tuple(writable),
        sealed=tuple(sealed),
        readable=readable,
        listed=tuple(listed),
        directory=directory,
        cwd=cwd if named else real,
    )
    _check_cwd(real, found, order.mode, home)
    return found


def within(path: str, root: str) -> bool:
    """Tell whether a path is a directory or lies below it."""
    return root == "/" or path == root or path.startswith(root + "/")


def _writable_root(path: str, what: str, facts: Facts, home: str) -> str:
    real = facts.real(path)
    if real is None or not facts.is_directory(real):
        raise SandboxRefused(f"{what} {path!r} of the sandbox is no directory; make it, or choose another one")
    if real in hidden.NO_WORKSPACE or any(within(real, never) for never in hidden.NEVER_WRITABLE):
        raise SandboxRefused(f"{what} {real!r} belongs to the system; choose a directory of your own")
    if within(home, real):
        raise SandboxRefused(
            f"{what} {real!r} holds the home directory; what is written there is run by every later login: "
            "choose a directory below it"
        )
    return real


def _expanded(paths: Iterable[str], facts: Facts) -> list[str]:
    return [posixpath.join(facts.home, path[2:]) if path.startswith("~/") else path for path in paths]


def _existing(paths: Iterable[str], facts: Facts) -> list[str]:
    return list(dict.fromkeys(real for path in paths if (real := facts.real(path)) is not None))


def _parts(path: str) -> list[str]:
    return path.rstrip("/").split("/")


def _outermost(paths: Iterable[str]) -> list[str]:
    unique = list(dict.fromkeys(paths))
    found: list[str] = []
    last = None
    for path in sorted(unique, key=_parts):  # what lies in a directory comes right after it
        if last is None or not within(path, last):
            found.append(path)
            last = path
    kept = set(found)
    return [path for path in unique if path in kept]


@cache
def _secrets_of(home: str) -> tuple[tuple[str, str], ...]:
    """Return the secrets of a home, each with the name in it that leads there."""
    names = hidden.SECRETS_OF_HOME
    return tuple((name.partition("/")[0].casefold(), posixpath.join(home, name)) for name in names)


def _secrets(order: Confinement, facts: Facts, home: str) -> list[str]:
    # One look at what is there spares most of a hundred. Some file systems take names in any case; a home that cannot
    # be listed tells nothing.
    names = facts.names(facts.home)
    there = None if names is None else {name.casefold() for name in names}
    of_home = (path for first, path in _secrets_of(facts.home) if there is None or first in there)
    # The home directory of root is hidden from others; from root himself, its secrets are.
    of_system = (path for path in hidden.SECRETS_OF_SYSTEM if not within(home, path) and facts.has_to_read(path))
    asked = _existing(_expanded((*order.read_deny, *order.hide), facts), facts)
    if wide := next((path for path in asked if within(home, path)), None):
        raise SandboxRefused(f"{wide!r} holds the home directory, and cannot be hidden; name what is in it")
    # A link such as ~/.docker -> ~ would hide the shell's own files, and is nobody's secret store.
    usual = [path for path in _existing((*of_home, *of_system), facts) if not within(home, path)]
    return _outermost((*usual, *asked))


def _sealed(root: str, facts: Facts, *, whole_git: bool) -> list[str]:
    found = [path for name in hidden.WORKSPACE_PROTECTED if facts.real(path := posixpath.join(root, name)) == path]
    git = posixpath.join(root, ".git")
    real = facts.real(git)
    if real is None:
        return found
    if real != git:
        # A link could be pointed elsewhere from inside; what it leads to is sealed if it could be written.
        raise SandboxRefused(f"{git!r} is a symbolic link; a sandbox cannot keep it from being changed")
    if whole_git or not facts.is_directory(git):
        return [*found, git]
    for name in hidden.GIT_PROTECTED:
        path = posixpath.join(git, name)
        real = facts.real(path)
        if real is not None and real != path:
            raise SandboxRefused(f"{path!r} is a symbolic link; a sandbox cannot keep it from being changed")
        if real is not None or name in hidden.GIT_ALWAYS:
            found.append(path)  # a repository without it gets an empty one: otherwise one could be made
    return found


def _git_mounts(writable: Iterable[str], sealed: Iterable[str], facts: Facts) -> list[Mount]:
    mounts = []
    for root in writable:
        git = posixpath.join(root, ".git")
        if git not in sealed and any(within(path, git) for path in sealed):
            # A mount of its own cannot be renamed, and so no other directory can take its place.
            mounts.append(Mount("rw", git))
    return mounts + [_seal(path, facts) for path in sealed]


def _seal(path: str, facts: Facts) -> Mount:
    if facts.real(path) is not None:
        return Mount("ro", path)
    return Mount("made" if posixpath.basename(path) == "config" else "empty", path)


def _hide(path: str, facts: Facts, home: str | None = None) -> Mount:
    if facts.is_directory(path):
        return Mount("empty", path)
    around, _, name = path.rpartition("/")
    if home is not None and within(around, home) and around != home and facts.names(around) == [name]:
        # The only file of a directory such as ~/.config/pip. To mount an empty directory takes a quarter of the time.
        return Mount("empty", around)
    return Mount("null", path)


def _shown(path: str, system: list[str], facts: Facts) -> Mount:
    """Show a part of the system. A link such as /lib to a part that is shown stays a link: that is no mount."""
    real = facts.real(path) or path
    if real != path and path.count("/") == 1 and any(within(real, root) for root in system if root != path):
        return Mount("link", path, real)
    return Mount("ro", path)


def _is_private(path: str) -> bool:
    return any(within(path, place) for place in hidden.PRIVATE_PLACES)


def _is_there(path: str, mounts: list[Mount], mode: Mode) -> bool:
    """Tell whether a path shows at all: what lies in an empty directory needs no hiding."""
    around = [mount for mount in mounts if within(path, mount.path)]
    if not around:
        return mode is not Mode.STRICT
    # The innermost counts, and of those the one that was made last.
    return max(reversed(around), key=lambda mount: len(mount.path)).how in ("ro", "rw")


def _check_cwd(cwd: str, made: Layout, mode: Mode, home: str) -> None:
    if any(within(cwd, root) for root in made.writable):
        return
    if any(within(cwd, secret) for secret in made.hidden):
        raise SandboxRefused(f"{cwd!r} is hidden in the sandbox; start in the workspace")
    readable = made.readable
    if readable is not None:
        if cwd != home and not any(within(cwd, root) for root in readable):
            raise SandboxRefused(f"{cwd!r} cannot be seen in a strict sandbox; start in the workspace, or list it")
    elif not _is_there(cwd, list(made.mounts), mode) and cwd not in hidden.PRIVATE_PLACES:
        raise SandboxRefused(f"{cwd!r} cannot be seen in the sandbox, whose /tmp and /run are its own")
