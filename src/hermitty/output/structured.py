"""The output of a command as data, beside its text: by a parser chosen from the words of the command.

Listings, git and pytest are read by parsers of our own; many other programs by jc, when it is installed
(`pip install 'hermitty[parse]'`). Exact or nothing: None when no parser knows the command with its options, when the
output is not what the parser expects, when a part of it is missing, or when it is too large. Nothing raises.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TypeAlias

from hermitty.output.parse_files import parse_get_child_item, parse_ls
from hermitty.output.parse_git import (
    git_subcommand,
    parse_branch,
    parse_diff_stat,
    parse_name_status,
    parse_numstat,
    parse_oneline,
    parse_status,
)
from hermitty.output.parse_tests import parse_pytest
from hermitty.output.truncate import utf8_length
from hermitty.output.words import options, program, simple_commands, speaking_words

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

MAX_BYTES = 256 * 1024
# Patterns look at one line at a time; a line without an end would make them slow.
MAX_LINE_CHARS = 4096
# Some of jc's parsers take seconds for long texts, long lines or many columns; real output has less of each.
_JC_CHARS = 64 * 1024
_JC_LINE_CHARS = 1000
_JC_COLUMNS = 32
MAX_ENTRIES = 1000
_MAX_STRING_CHARS = 4096
_MAX_DEPTH = 8

_OMISSION = re.compile(r"^\[\.\.\. \d+ (?:line|character|byte)s? omitted \.\.\.\]$", re.MULTILINE)
# What bash and POSIX shells print for `time`.
_TIMES = re.compile(r"\n?real[\t ][\d.,ms]+\nuser[\t ][\d.,ms]+\nsys[\t ][\d.,ms]+\n?\Z")


@dataclass(frozen=True, slots=True)
class Structured:
    """Output as data. `omitted` counts the entries that were left out of long lists."""

    kind: str
    parser: str  # "hermitty" or "jc:NAME"
    data: Json
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class JcParser:
    """Which parser of jc reads the output of a command: one whose words start with `words`."""

    words: tuple[str, ...]
    name: str
    refused: frozenset[str] = frozenset()  # options that change the output into something the parser misreads
    any_option: bool = True  # without: no option at all


def _jc(words: str, name: str | None = None, *, refused: str = "", any_option: bool = True) -> JcParser:
    parts = tuple(words.split())
    return JcParser(parts, name or parts[0], frozenset(refused.split()), any_option)


JC_PARSERS: tuple[JcParser, ...] = (
    *(
        _jc(f"{name}sum", "hashsum", any_option=False)
        for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
    ),
    *(_jc(f"{pip} list", "pip_list", refused="--format --outdated o") for pip in ("pip", "pip3")),
    *(_jc(f"{pip} show", "pip_show", refused="f v --files --verbose") for pip in ("pip", "pip3")),
    *(_jc(name) for name in ("arp", "findmnt", "free", "getfacl", "iostat", "last", "lsattr", "lsmod")),
    *(_jc(name) for name in ("lsusb", "mpstat", "netstat", "pidstat", "ping", "route", "ss", "swapon", "sysctl")),
    *(_jc(name) for name in ("tracepath", "traceroute", "vmstat", "w", "zipinfo", "ipconfig", "systeminfo")),
    *(_jc(name, any_option=False) for name in ("cksum", "env", "id", "jobs", "ldd", "mount", "uptime", "who")),
    _jc("blkid", refused="o"),
    _jc("crontab -l", "crontab"),
    _jc("date", any_option=False),
    _jc("df", refused="--output"),
    _jc("dig", refused="--yaml"),
    _jc("dpkg -l", "dpkg_l"),
    _jc("du", refused="0 --null --time"),
    _jc("git ls-remote", "git_ls_remote", refused="--symref"),
    _jc("host", any_option=False),
    _jc("ip route", "ip_route"),
    _jc("iptables -L", "iptables"),
    _jc("lsb_release", refused="s --short"),
    _jc("lsblk", refused="J P r n --json --pairs --raw --noheadings"),
    _jc("lsof", refused="F t"),
    _jc("lspci", refused="n t x"),
    _jc("printenv", "env", any_option=False),
    _jc("ps", refused="--no-headers --no-heading"),
    _jc("rpm -qi", "rpm_qi"),
    _jc("stat", refused="c t f --format --printf --terse --file-system"),
    _jc("systemctl list-unit-files", "systemctl_luf"),
    _jc("systemctl list-jobs", "systemctl_lj"),
    _jc("systemctl list-sockets", "systemctl_ls"),
    _jc("systemctl list-units", "systemctl"),
    _jc("timedatectl"),
    _jc("top -b", "top"),
    _jc("uname -a", "uname"),
    _jc("wc", any_option=False),
)
# Sizes that were rounded for people stay text: "4.0K" is not a number of bytes.
_HUMAN_SIZES = frozenset(
    {"h", "H", "k", "m", "g", "B", "--human-readable", "--human", "--si", "--block-size", "--giga"}
)
_SIZED = frozenset({"df", "du", "free", "lsblk"})


def structured(
    command: str, text: str, *, exit_code: int | None = None, truncated: bool = False, on_terminal: bool = True
) -> Structured | None:
    """Read the plain text that a command printed.

    `exit_code` is the real one, or None; what a failed command printed is an error, save for tests. `on_terminal` says
    whether the program wrote to a terminal, where ls makes columns and quotes names.
    """
    if truncated or utf8_length(text) > MAX_BYTES or "\x1b" in text or _OMISSION.search(text):
        return None
    words = program(speaking_words(command) or ())
    text = text.replace("\r\n", "\n")
    if any("time" in each.words for each in simple_commands(command) or ()):
        text, timed = _TIMES.subn("", text)
        if not timed:
            return None
    lines = text.removesuffix("\n").split("\n") if text else []
    if not words or any(len(line) > MAX_LINE_CHARS for line in lines):
        return None
    found = _own(words, lines, has_failed=bool(exit_code), on_terminal=on_terminal)
    if found is None and not exit_code:
        found = _by_jc(words, "\n".join(lines))
    if found is None:
        return None
    kind, parser, data = found
    bounded = _Bounded()
    return Structured(kind, parser, bounded.of(data), bounded.omitted)


def jc_is_installed() -> bool:
    """Tell whether the extra `hermitty[parse]` is there."""
    return find_spec("jc") is not None


def missing_parser(command: str) -> str | None:
    """Say what to install to get the output of a command as data; None when nothing is missing."""
    words = program(speaking_words(command) or ())
    if not words or jc_is_installed() or not (_jc_parser(words) or _needs_jc_for_git(words)):
        return None
    return f"the output of {words[0]} is read by jc, which is not installed: pip install 'hermitty[parse]'"


def _own(
    words: Sequence[str], lines: Sequence[str], *, has_failed: bool, on_terminal: bool
) -> tuple[str, str, object] | None:
    kind: str
    data: object
    if words[0] in ("pytest", "py.test"):
        kind, data = "tests", parse_pytest(lines)
    elif has_failed:
        return None
    elif words[0] in ("ls", "dir", "gci", "get-childitem", "Get-ChildItem"):
        is_table = any(line.split() == ["Mode", "LastWriteTime", "Length", "Name"] for line in lines)
        kind, data = "files", None
        if is_table:
            data = parse_get_child_item(lines)
        elif words[0] == "ls":
            data = parse_ls(words, lines, on_terminal=on_terminal)
    elif words[0] == "git":
        kind, data = _git(git_subcommand(words), lines)
    else:
        return None
    return None if data is None else (kind, "hermitty", data)


_DIFF_FORMS: dict[str, Callable[[Sequence[str]], object]] = {
    "--stat": parse_diff_stat,
    "--numstat": parse_numstat,
    "--name-status": parse_name_status,
}


def _git(words: Sequence[str], lines: Sequence[str]) -> tuple[str, object]:
    chosen = options(words)
    match words[:1]:
        case ["status"]:
            return "git_status", parse_status(words, lines)
        case ["branch"] if len(words) == len([word for word in words if word.startswith("-")]) + 1:
            return "git_branches", parse_branch(words, lines)
        case ["log"] if "--oneline" in chosen and not chosen & {"--graph", "--stat", "p", "--name-only"}:
            return "git_log", parse_oneline(lines)
        case ["diff"] if len(forms := chosen & (_DIFF_FORMS.keys() | {"p", "--summary", "--shortstat", "z"})) == 1:
            form = forms.pop()
            if form in _DIFF_FORMS:
                return f"git_diff_{form[2:].replace('-', '_')}", _DIFF_FORMS[form](lines)
    return "", None


def _jc_parser(words: Sequence[str]) -> JcParser | None:
    chosen = options(words)
    for parser in JC_PARSERS:
        if tuple(words[: len(parser.words)]) == parser.words:
            is_allowed = parser.any_option or (not chosen and not any(word.startswith("+") for word in words[1:]))
            return parser if is_allowed and not chosen & parser.refused else None
    return None


def _needs_jc_for_git(words: Sequence[str]) -> bool:
    """Tell whether it is a `git log` in one of the forms that jc reads."""
    log = git_subcommand(words) if words[0] == "git" else ()
    refused = {
        "--oneline",
        "--graph",
        "--format",
        "--pretty",
        "--name-only",
        "--name-status",
        "p",
        "z",
        "--numstat",
        "L",
    }
    return log[:1] == ("log",) and not options(log) & refused


def _by_jc(words: Sequence[str], text: str) -> tuple[str, str, object] | None:
    if not text.strip():
        return None
    if words[0] == "dir" and ("Directory of " in text or "Volume in drive " in text):
        data = _jc_parse("dir", text)
        if not isinstance(data, list) or not data:
            return None
        typed = [{"filename": row["filename"], "type": "directory" if row.pop("dir") else "file"} | row for row in data]
        return ("files", "jc:dir", typed)
    if _needs_jc_for_git(words):
        data = _split_refs(_jc_parse("git_log", text))
        is_whole = isinstance(data, list) and len(data) == len(
            re.findall(r"^commit [0-9a-f]{7,64}\b", text, re.MULTILINE)
        )
        return ("git_log", "jc:git_log", data) if data and is_whole else None
    parser = _jc_parser(words)
    if parser is None:
        return None
    data = _jc_parse(parser.name, text, raw=words[0] in _SIZED and bool(options(words) & _HUMAN_SIZES))
    return (parser.name, f"jc:{parser.name}", data) if data else None


def _jc_parse(name: str, text: str, *, raw: bool = False) -> object:
    first = text.lstrip().partition("\n")[0]
    longest = max(map(len, text.split("\n")))
    if len(text) > _JC_CHARS or longest > _JC_LINE_CHARS or len(first.split()) > _JC_COLUMNS:
        return None
    try:
        import jc  # slow to load, and optional
    except ImportError:
        return None
    try:
        return jc.parse(name, text, raw=raw, quiet=True)
    except Exception:  # its parsers raise whatever strange input makes them: IndexError, AttributeError, ...
        return None


def _split_refs(commits: object) -> object:
    """Move the branches and tags that git log shows beside a commit to a field of their own."""
    if not isinstance(commits, list):
        return None
    for commit in commits:
        name, _, refs = str(commit.get("commit")).partition(" ")
        commit["commit"] = name
        commit["refs"] = refs.strip("()").split(", ") if refs else []
    return commits


class _Bounded:
    """Copies data as JSON values: long lists and texts are cut, and what is no JSON is left out."""

    def __init__(self) -> None:
        self.omitted = 0

    def of(self, value: object, depth: int = 0) -> Json:
        match value:
            case bool() | int() | None:
                return value
            case float():
                return value if math.isfinite(value) else None
            case str():
                return value[:_MAX_STRING_CHARS]
            case list() if depth < _MAX_DEPTH:
                self.omitted += max(0, len(value) - MAX_ENTRIES)
                return [self.of(item, depth + 1) for item in value[:MAX_ENTRIES]]
            case dict() if depth < _MAX_DEPTH:
                return {str(key): self.of(item, depth + 1) for key, item in value.items()}
        return None
