"""What it means to read, write or delete at a path, told from the path alone.

Reading is allowed unless the path may name a secret. Writing and deleting are asked about; destroying the root, a home
directory, a system directory or a disk is blocked. Links are not followed: nothing here looks at a disk.
"""

import ntpath
import posixpath
import re

from hermitty.policy import secret_patterns, sensitive
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Surroundings
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, block, note

_SINKS = re.compile(r"/dev/(?:null|zero|full|stdin|stdout|stderr|tty|fd/\d+)|/proc/self/fd/\d+")
_SOURCES = re.compile(r"/dev/(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty|fd/\d+)|/proc/self/fd/\d+")
_DISKS = re.compile(
    r"/dev/(?:r?disk|[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk|loop|dm-|md\d|md/|mapper/|sr\d|s?cd|ram|zram|nbd|mtd|pmem|block/"
    r"|mem$|kmem|port$|bus/)|\\\\[.?]\\(?:physicaldrive|[a-z]:$)"
)
_DISK_BEGINNINGS = ("/dev/sd", "/dev/hd", "/dev/vd", "/dev/nvme", "/dev/xvd", "/dev/mmc", "/dev/disk", "/dev/mapper/")
_TEMPORARY = re.compile(r"/(?:tmp|var/tmp|private/tmp|private/var/tmp|dev/shm|private/var/folders/[^/]+/[^/]+)/.+")
_TOP = (
    *("bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "opt", "proc", "root", "run", "sbin"),
    *("srv", "sys", "usr", "var", "mnt", "media", "snap", "nix"),
    *("System", "Library", "Applications", "Users", "Volumes", "private", "cores", "Network"),
)
# Recursive destruction of one of these, or of all that is in it, is the end of the system or of what people keep on it.
_VITAL = frozenset(
    {f"/{name}" for name in _TOP}
    | {f"/usr/{name}" for name in ("bin", "lib", "lib32", "lib64", "libexec", "local", "sbin", "share", "include")}
    | {f"/usr/local/{name}" for name in ("bin", "lib", "sbin", "etc", "share")}
    | {
        f"/var/{name}"
        for name in ("lib", "log", "spool", "db", "cache", "www", "mail", "run", "lib/dpkg", "lib/docker")
    }
    | {f"/etc/{name}" for name in ("ssh", "ssl", "pam.d", "systemd", "init.d", "apt", "default", "network", "security")}
    | {"/lib/modules", "/lib/systemd", "/usr/lib/systemd", "/usr/lib/modules", "/var/lib/mysql", "/var/lib/postgresql"}
    | {"/private/etc", "/private/var", "/System/Library", "/Library/LaunchDaemons", "/opt/homebrew"}
)
_BELOW_VITAL = re.compile(r"/(?:boot|proc|sys|efi|System)/.+|/dev/(?!shm/).+")
_HOMES = re.compile(r"/root|/var/root|/home/[^/]+|/users/[^/]+|~[^/]*", re.IGNORECASE)
_SYSTEM = re.compile(
    r"/|/(?:bin|boot|dev|etc|lib\w*|opt|proc|run|sbin|sys|usr|var|snap|nix|System|Library|Applications|private)(?:/.*)?",
    re.DOTALL,
)
_GRAVE_FILES = frozenset({"/", "/etc/passwd", "/etc/shadow", "/etc/sudoers", "/etc/fstab"})
_WINDOWS = re.compile(r"[A-Za-z]:(?:[\\/].*)?|\\\\.*", re.DOTALL)
_WINDOWS_VITAL = re.compile(
    r"[a-z]:\\?|[a-z]:\\(?:windows|program files(?: \(x86\))?|programdata|users|boot|recovery)"
    r"|[a-z]:\\windows\\system32(?:\\config|\\drivers)?|[a-z]:\\users\\[^\\]+|\\\\[.?]\\(?:physicaldrive\d+|[a-z]:)"
)
_WINDOWS_SYSTEM = re.compile(
    r"[a-z]:\\(?:windows|program files(?: \(x86\))?|programdata|boot)(?:\\.*)?|\\\\[.?]\\.*", re.DOTALL
)
_HOME_WORD = re.compile(r"""(?:~|"?\$(?:HOME|\{HOME\})"?)(?P<rest>(?:/[^$`'"\\]*)?)"?""")
_HIDDEN = re.compile(r"""[$`'"\\]""")
_QUOTES = re.compile(r"""['"\\]""")
_EXPANSION = re.compile(r"\$\w+|\$\{\w+\}")
_TAIL = re.compile(r"""[\w.~-]*/?[\w.~-]+["']?$""")


def resolve(path: str, here: Surroundings) -> str:
    """Return a normalised path: absolute when that can be known, "~/..." for an unknown home, else relative.

    A tilde at the front is a home directory here: see `known_path` for words.
    """
    if _WINDOWS.fullmatch(path):
        return ntpath.normpath(path).casefold()
    if not path.startswith(("/", "~")) and here.cwd is not None:
        if _WINDOWS.fullmatch(here.cwd):
            return ntpath.normpath(ntpath.join(here.cwd, path)).casefold()
        path = posixpath.join(here.cwd, path)
    path = posixpath.normpath(path) if path else "."
    return path[1:] if path.startswith("//") else path


def known_path(arg: Arg, here: Surroundings) -> str | None:
    """Return the path that a word names, if that can be known."""
    if arg.text is not None:
        return _resolved(arg.text, arg, here)
    return None if arg.is_glob else _home_word(arg, here)


def _resolved(text: str, arg: Arg, here: Surroundings) -> str:
    """Resolve the text of a word, or the part of it that is known."""
    if not text.startswith("~"):
        return resolve(text, here)
    if not arg.is_home:
        # A tilde that the shell left alone is a name like any other.
        return resolve("./" + text, here)
    own = text == "~" or text.startswith("~/")
    return resolve(here.home + text[1:] if own and here.home else text, here)


def is_secret(path: str, here: Surroundings) -> bool:
    """Tell whether a normalised path names a file, or a directory of files, with secrets."""
    return sensitive.is_secret(path, here.home) or any(is_within(path, place) for place in here.secrets)


def holds_secrets(path: str, here: Surroundings) -> bool:
    """Tell whether a directory is known to have secrets somewhere below it."""
    return sensitive.holds_secrets(path, here.home) or any(is_within(place, path) for place in here.secrets)


def read(arg: Arg, here: Surroundings) -> list[Finding]:
    """Judge reading a file, or a directory with all below it."""
    if arg.is_stream:
        return []
    path = known_path(arg, here)
    if path is None:
        if _may_be_secret(arg, here):
            return [ask(f"reads {arg.shown}, which may hold secrets", Level.HIGH, Effect.CREDENTIALS, at=arg)]
        return [note(f"reads {arg.shown}", Effect.READ, at=arg)]
    if path.startswith(("/dev/tcp/", "/dev/udp/")):
        return [ask(f"connects to {path[9:]}", Level.HIGH, Effect.NETWORK, at=arg)]
    if is_secret(path, here) or (here.cwd is None and _may_be_secret_somewhere(path)):
        return [ask(f"reads {arg.shown}, which holds secrets", Level.HIGH, Effect.CREDENTIALS, at=arg, path=path)]
    if holds_secrets(path, here):
        return [ask(f"reads everything in {arg.shown}", Level.MEDIUM, Effect.CREDENTIALS, at=arg, path=path)]
    if path.startswith("/dev/") and not _SOURCES.fullmatch(path) and not _TEMPORARY.fullmatch(path):
        return [ask(f"reads the device {arg.shown}", Level.HIGH, Effect.DEVICE, at=arg, path=path)]
    if path.startswith("\\\\"):
        return [ask(f"reads {arg.shown} from another machine", Level.MEDIUM, Effect.NETWORK, at=arg, path=path)]
    return [note(f"reads {arg.shown}", Effect.READ, at=arg, path=path)]


def _may_be_secret_somewhere(path: str) -> bool:
    """Tell whether a relative path, from a directory that is not known, may well be a secret: `shadow`."""
    if path.startswith(("/", "~", "\\")):
        return False
    return any(sensitive.is_secret(place + path.removeprefix("./"), None) for place in ("/", "/etc/", "~/"))


def write(arg: Arg, here: Surroundings, verb: str = "writes to") -> list[Finding]:
    """Judge writing to a file, or making something at a path."""
    if arg.is_stream:
        return []
    path = known_path(arg, here)
    if path is None:
        return _unknown_write(arg, here, verb)
    if _SINKS.fullmatch(path):
        return []
    if path.startswith(("/dev/tcp/", "/dev/udp/")):
        return [ask(f"sends data to {path[9:]}", Level.HIGH, Effect.NETWORK, at=arg)]
    if is_disk(path):
        return [block(f"{verb} {arg.shown}, a disk or the memory", Effect.DEVICE, at=arg, path=path)]
    if path == "/proc/sysrq-trigger":
        return [block(f"{verb} {arg.shown}, which stops the machine", Effect.DEVICE, at=arg, path=path)]
    level, where = _write_level(path, here)
    return [ask(f"{verb} {arg.shown}{where}", level, Effect.WRITE, at=arg, path=path)]


def delete(arg: Arg, here: Surroundings, *, recursive: bool = False, verb: str = "deletes") -> list[Finding]:
    """Judge deleting a file, or a directory with all below it."""
    return _destroy(arg, here, verb, recursive=recursive, effect=Effect.DELETE)


def change(arg: Arg, here: Surroundings, verb: str, *, recursive: bool = False) -> list[Finding]:
    """Judge changing mode, owner and the like of a file, or of all below a directory."""
    return _destroy(arg, here, verb, recursive=recursive, effect=Effect.WRITE)


def is_disk(path: str) -> bool:
    """Tell whether a normalised path names a block device, or the memory."""
    return _DISKS.match(path) is not None


def is_vital(path: str, here: Surroundings) -> bool:
    """Tell whether the system, or all that a person has, is at a normalised path."""
    if path == "/" or path in _VITAL or path == here.home or _HOMES.fullmatch(path) or _BELOW_VITAL.fullmatch(path):
        return True
    if here.home and here.home.startswith(path.rstrip("/") + "/"):
        return True
    return _WINDOWS_VITAL.fullmatch(path) is not None


def is_within(path: str, directory: str | None) -> bool:
    """Tell whether a normalised path is a directory, or in it."""
    if directory is None:
        return False
    separator = "\\" if _WINDOWS.fullmatch(directory) else "/"
    directory = directory.casefold() if separator == "\\" else directory
    return path == directory or path.startswith(directory.rstrip(separator) + separator)


def _destroy(arg: Arg, here: Surroundings, verb: str, *, recursive: bool, effect: Effect) -> list[Finding]:
    path = known_path(arg, here)
    level = Level.HIGH if recursive and effect is Effect.DELETE else Level.MEDIUM
    if path is None:
        if recursive and _may_be_vital(arg, here):
            return [block(f"{verb} {arg.shown}: a system or home directory", effect, at=arg)]
        if arg.prefix.startswith(_DISK_BEGINNINGS):
            return [block(f"{verb} {arg.shown}, a disk", Effect.DEVICE, at=arg)]
        return [ask(f"{verb} {arg.shown}, which is only known when it runs", level, effect, at=arg)]
    if recursive and is_vital(path, here):
        return [block(f"{verb} {arg.shown}: a system or home directory", effect, at=arg, path=path)]
    if is_disk(path):
        return [block(f"{verb} {arg.shown}, a disk", Effect.DEVICE, at=arg, path=path)]
    if path in _GRAVE_FILES or (recursive and _is_system(path, here)):
        return [ask(f"{verb} {arg.shown}, part of the system", Level.CRITICAL, effect, at=arg, path=path)]
    if effect is Effect.DELETE and _is_system(path, here):
        return [ask(f"{verb} {arg.shown}, part of the system", Level.HIGH, effect, at=arg, path=path)]
    return [ask(f"{verb} {arg.shown}", level, effect, at=arg, path=path)]


def _is_system(path: str, here: Surroundings) -> bool:
    if is_within(path, here.workspace) or _TEMPORARY.fullmatch(path):
        return False
    return bool(_WINDOWS_SYSTEM.fullmatch(path) or _SYSTEM.fullmatch(path))


def _write_level(path: str, here: Surroundings) -> tuple[Level, str]:
    """Return how grave it is to write at a path, and what to say about the place."""
    if sensitive.makes_code_run(path):
        return Level.HIGH, ", which makes programs run what is in it"
    if is_secret(path, here):
        return Level.HIGH, ", which holds secrets"
    if path.startswith(("/dev/", "/proc/", "/sys/")) and not _TEMPORARY.fullmatch(path):
        return Level.HIGH, ", a device or a setting of the kernel"
    if _is_system(path, here):
        return Level.HIGH, ", part of the system"
    if is_within(path, here.workspace) or _TEMPORARY.fullmatch(path):
        return Level.LOW, ""
    if here.workspace is None or not path.startswith(("/", "~", "..")):
        return Level.LOW, ""
    return Level.MEDIUM, ", outside of the workspace"


def _unknown_write(arg: Arg, here: Surroundings, verb: str) -> list[Finding]:
    if arg.prefix.startswith(_DISK_BEGINNINGS):
        return [block(f"{verb} {arg.shown}, a disk", Effect.DEVICE, at=arg)]
    level = (
        Level.HIGH
        if arg.prefix.startswith("/") and _is_system(_resolved(arg.prefix, arg, here), here)
        else Level.MEDIUM
    )
    return [ask(f"{verb} {arg.shown}, which is only known when it runs", level, Effect.WRITE, at=arg)]


def _home_word(arg: Arg, here: Surroundings) -> str | None:
    """Return the path of `~/x` or `"$HOME"/x` where the home directory itself is not known."""
    match = _HOME_WORD.fullmatch(arg.shown)
    if match is None or any(char in match.group("rest") for char in "*?[{"):
        return None
    return resolve((here.home or "~") + match.group("rest"), here)


def _pattern(arg: Arg, here: Surroundings) -> str | None:
    """Return the normalised pattern of a glob, or None if quotes or expansions hide it."""
    if not arg.is_glob:
        return None
    match = _HOME_WORD.fullmatch(arg.shown)
    if "{" in (match.group("rest") if match else arg.shown):
        return None
    if match is not None:
        return resolve((here.home or "~") + match.group("rest"), here)
    return None if _HIDDEN.search(arg.shown) else resolve(arg.shown, here)


def _loose_pattern(arg: Arg, here: Surroundings) -> str | None:
    """Return a pattern that stands for at least what a glob with quotes or expansions in it stands for."""
    if not arg.is_glob:
        return None
    text = _QUOTES.sub("", arg.shown)
    match = _HOME_WORD.fullmatch(text)
    if match is not None:
        return resolve((here.home or "~") + match.group("rest"), here)
    return resolve(_EXPANSION.sub("*", text), here)


def _may_be_vital(arg: Arg, here: Surroundings) -> bool:
    """Tell whether an unknown word, taken with all below it, is likely to be vital: `/*`, `~/*`, `/$x`."""
    pattern = _pattern(arg, here)
    if pattern is None:
        if not arg.prefix:
            return False
        start = _resolved(arg.prefix, arg, here)
        return start == "/" or (arg.is_glob and arg.prefix.endswith("/") and is_vital(start, here))
    while pattern:
        parent, _, name = pattern.rpartition("/")
        if parent == "" and pattern.startswith("/"):
            return secret_patterns.stands_for_all(name) or any(secret_patterns.matches(name, top) for top in _TOP)
        if not secret_patterns.has_wildcard(parent):
            return secret_patterns.stands_for_all(name) and bool(parent) and is_vital(parent, here)
        pattern = parent
    return False


def _may_be_secret(arg: Arg, here: Surroundings) -> bool:
    """Tell whether a word that is only partly known may well name a secret. Nothing known: no."""
    pattern = _pattern(arg, here)
    if pattern is not None:
        return _pattern_may_be_secret(pattern, here)
    loose = _loose_pattern(arg, here)
    if loose is not None and secret_patterns.may_reach_secrets(loose, here.home, here.secrets):
        return True
    if not arg.prefix:
        tail = _TAIL.search(arg.shown)
        known = tail.group().strip("\"'") if tail else ""
        return is_secret(known, here) or is_secret("/" + known, here)
    start = _resolved(arg.prefix, arg, here)
    if arg.prefix.endswith("/"):
        return is_secret(start + "/x", here)
    parent, _, name = start.rpartition("/")
    return any(
        example.startswith(name) and is_secret(posixpath.join(parent, example), here) for example in sensitive.EXAMPLES
    ) or is_secret(start + "x", here)


def _pattern_may_be_secret(pattern: str, here: Surroundings) -> bool:
    parent, _, name = pattern.rpartition("/")
    if is_secret(parent, here) or secret_patterns.may_reach_secrets(pattern, here.home, here.secrets):
        return True
    if secret_patterns.may_hold_secrets(pattern, here.home, here.secrets):
        return True
    if not secret_patterns.has_wildcard(name):
        return is_secret(pattern, here) or (
            secret_patterns.has_wildcard(parent)
            and any(is_secret(f"{top}/{name}", here) for top in ("/etc", "/proc/1"))
        )
    if is_secret(posixpath.join(parent, name.replace("*", "x").replace("?", "x")), here):
        return True
    if name.startswith("*") and not holds_secrets(parent, here) and not secret_patterns.shows_hidden(name):
        # `*` does not stand for hidden files, and what else it stands for is most often harmless.
        return False
    return any(
        secret_patterns.matches(name, example) and is_secret(posixpath.join(parent, example), here)
        for example in sensitive.EXAMPLES
    )
