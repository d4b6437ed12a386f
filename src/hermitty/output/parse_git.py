"""What git prints for people and for scripts, as data: status, branch, log in one line, and the kinds of diff.

Both forms of `git status`, and its second version for scripts, give the same shape. Output that is not understood, in
another language for example, is None.
"""

import re
from collections.abc import Sequence

from hermitty.output.words import options

_VALUE_OPTIONS = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"})
_OCTAL_OR_ESCAPE = re.compile(rb"\\(?:([0-7]{3})|(.))")
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def git_subcommand(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words from git's own command on: `git -C dir --no-pager log -3` is `log -3`."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _VALUE_OPTIONS else 1
    return tuple(words[at:])


def unquoted_path(path: str) -> str:
    """Read a path as git writes it: in double quotes with escaped bytes when it holds anything unusual."""
    if len(path) < 2 or not (path.startswith('"') and path.endswith('"')):
        return path
    data = _OCTAL_OR_ESCAPE.sub(
        lambda found: bytes([int(found[1], 8) & 0xFF]) if found[1] else _ESCAPES.get(found[2], found[2]),
        path[1:-1].encode("utf-8", "surrogatepass"),
    )
    return data.decode("utf-8", "replace")


_AHEAD_BEHIND = re.compile(r"(ahead|behind) (\d+)")
_SHORT_BRANCH = re.compile(
    r"## (?:No commits yet on |Initial commit on )?(?P<branch>.+?)(?:\.\.\.(?P<upstream>\S+))?"
    r"(?: \[(?P<track>[^\]]*)\])?"
)
_SHORT_ENTRY = re.compile(r"([ MTADRCU?!])([ MTADRCU?!]) (.+)")
_RENAME = re.compile(r'("(?:[^"\\]|\\.)*"|.+?) -> (.+)')


class _Status:
    """Collects the parts of a status, whichever way they are told."""

    def __init__(self) -> None:
        self.head: dict[str, object] = {"branch": None, "upstream": None, "ahead": 0, "behind": 0}
        self.entries: dict[str, dict[str, object]] = {}

    def add(self, path: str, *, index: str = " ", worktree: str = " ", original: str | None = None) -> None:
        entry = self.entries.setdefault(unquoted_path(path), {"index": " ", "worktree": " "})
        if index != " ":
            entry["index"] = index
        if worktree != " ":
            entry["worktree"] = worktree
        if original is not None:
            entry["original_path"] = unquoted_path(original)

    def data(self) -> dict[str, object]:
        entries = [{"path": path} | entry for path, entry in self.entries.items()]
        return self.head | {"clean": not entries, "entries": entries}


def parse_status(arguments: Sequence[str], lines: Sequence[str]) -> dict[str, object] | None:
    """Read `git status`, `git status --short`, `--porcelain` and `--porcelain=v2`."""
    chosen = options(arguments)
    if chosen & {"z", "v", "--verbose", "--null"}:
        return None
    if "--porcelain=v2" in arguments:
        return _porcelain_v2(lines)
    if chosen & {"s", "--short", "--porcelain"}:
        return _short(lines)
    return _long(lines)


def _short(lines: Sequence[str]) -> dict[str, object] | None:
    status = _Status()
    for line in lines:
        if line.startswith("## "):
            found = _SHORT_BRANCH.fullmatch(line)
            if found:
                is_detached = found["branch"].startswith("HEAD (")
                status.head |= {"branch": None if is_detached else found["branch"], "upstream": found["upstream"]}
                status.head |= {word: int(count) for word, count in _AHEAD_BEHIND.findall(found["track"] or "")}
        elif found := _SHORT_ENTRY.fullmatch(line):
            path, original = found[3], None
            if {"R", "C"} & {found[1], found[2]} and (renamed := _RENAME.fullmatch(path)):
                original, path = renamed[1], renamed[2]
            status.add(path, index=found[1], worktree=found[2], original=original)
        elif line:
            return None
    return status.data()


def _porcelain_v2(lines: Sequence[str]) -> dict[str, object] | None:
    status = _Status()
    for line in lines:
        kind, _, rest = line.partition(" ")
        fields = rest.split(" ")
        match kind:
            case "#":
                match fields:
                    case ["branch.head", name]:
                        status.head["branch"] = None if name == "(detached)" else name
                    case ["branch.upstream", name]:
                        status.head["upstream"] = name
                    case ["branch.ab", ahead, behind] if ahead[1:].isdecimal() and behind[1:].isdecimal():
                        status.head |= {"ahead": int(ahead[1:]), "behind": int(behind[1:])}
            case "1" | "u" | "2" if (
                len(fields) >= (before := {"1": 7, "2": 8, "u": 9}[kind]) + 1 and len(fields[0]) == 2
            ):
                path, _, original = rest.split(" ", before)[before].partition("\t")
                code = fields[0].replace(".", " ")
                status.add(path, index=code[0], worktree=code[1], original=original or None)
            case "?" | "!":
                status.add(rest, index=kind, worktree=kind)
            case "":
                pass
            case _:
                return None
    return status.data()


_SECTIONS = {
    "Changes to be committed:": "index",
    "Changes not staged for commit:": "worktree",
    "Unmerged paths:": "unmerged",
    "Untracked files:": "?",
    "Ignored files:": "!",
}
_CHANGES = {"new file": "A", "modified": "M", "deleted": "D", "renamed": "R", "copied": "C", "typechange": "T"}
_CONFLICTS = {
    "both deleted": "DD", "added by us": "AU", "deleted by them": "UD", "added by them": "UA",
    "deleted by us": "DU", "both added": "AA", "both modified": "UU",
}  # fmt: skip
_BRANCH = re.compile(r"On branch (\S+)")
_DETACHED = re.compile(r"(?:HEAD detached (?:at|from) |Not currently on any branch|\w[\w -]* in progress)")
_TRACKS = re.compile(r"Your branch is (ahead of|behind|up to date with) '([^']+)'(?: by (\d+))?")
_DIVERGED = re.compile(r"and have (\d+) and (\d+) different commits")
_UPSTREAM = re.compile(r"Your branch and '([^']+)' have diverged")
_LONG_CHANGE = re.compile(r"([a-z][a-z ]*): +(.+)")


def _long(lines: Sequence[str]) -> dict[str, object] | None:
    if not any(_BRANCH.match(line) or _DETACHED.match(line) for line in lines[:3]):
        return None
    status = _Status()
    section: str | None = None
    for line in lines:
        if found := _BRANCH.fullmatch(line):
            status.head["branch"] = found[1]
        elif found := _TRACKS.match(line):
            status.head["upstream"] = found[2]
            if found[3]:
                status.head["ahead" if found[1] == "ahead of" else "behind"] = int(found[3])
        elif found := _UPSTREAM.match(line):
            status.head["upstream"] = found[1]
        elif found := _DIVERGED.match(line):
            status.head |= {"ahead": int(found[1]), "behind": int(found[2])}
        elif line in _SECTIONS:
            section = _SECTIONS[line]
        elif section and line.startswith(("\t", "        ")):
            _add_long(status, section, line.strip())
        elif not line:
            section = None
    return status.data()


def _add_long(status: _Status, section: str, line: str) -> None:
    if section in ("?", "!"):
        status.add(line, index=section, worktree=section)
        return
    found = _LONG_CHANGE.fullmatch(line)
    if found is None:
        return
    if section == "unmerged":
        conflict = _CONFLICTS.get(found[1], "UU")
        status.add(found[2], index=conflict[0], worktree=conflict[1])
        return
    code, path, original = _CHANGES.get(found[1]), found[2], None
    if code is None:
        return
    if code in "RC" and (renamed := _RENAME.fullmatch(path)):
        original, path = renamed[1], renamed[2]
    # A submodule says more in brackets: `modified:   sub (new commits)`.
    path = re.sub(r" \((?:new commits|modified content|untracked content)(?:, [a-z ]+)*\)\Z", "", path)
    if section == "index":
        status.add(path, index=code, original=original)
    else:
        status.add(path, worktree=code, original=original)


_BRANCH_ROW = re.compile(r"([*+ ]) (\([^)]*\)|\S+)(?: +(?:-> (\S+)|([0-9a-f]{7,64})(?: (?:\[([^\]]*)\] ?)?(.*))?))?")


def parse_branch(arguments: Sequence[str], lines: Sequence[str]) -> list[dict[str, object]] | None:
    """Read the list that `git branch` prints, with -a, -r, -v or -vv."""
    if options(arguments) & {"--format", "--column", "--show-current"}:
        return None
    shows_upstream = "-vv" in arguments
    branches: list[dict[str, object]] = []
    for line in lines:
        found = _BRANCH_ROW.fullmatch(line)
        if found is None:
            return None
        entry: dict[str, object] = {"name": found[2], "current": found[1] == "*"}
        if found[2].startswith("("):
            entry |= {"name": None, "detached": found[2][1:-1]}
        if found[3]:
            entry["points_to"] = found[3]
        if found[4]:
            entry |= {"commit": found[4], "subject": found[6] or ""}
            tracking = found[5] or ""
            if shows_upstream and tracking:
                entry["upstream"] = tracking.partition(":")[0]
            entry |= {word: int(count) for word, count in _AHEAD_BEHIND.findall(tracking)}
        branches.append(entry)
    return branches


_ONELINE = re.compile(r"([0-9a-f]{7,64})(?: \(([^()]*)\))? (.*)")


def parse_oneline(lines: Sequence[str]) -> list[dict[str, object]] | None:
    """Read `git log --oneline`."""
    commits: list[dict[str, object]] = []
    for line in lines:
        found = _ONELINE.fullmatch(line)
        if found is None:
            return None
        commits.append({"commit": found[1], "refs": found[2].split(", ") if found[2] else [], "message": found[3]})
    return commits


_STAT_ROW = re.compile(r" (.+?) +\| +(?:(\d+)(?: ([+-]*))?|Bin(?: (\d+) -> (\d+) bytes)?|Unmerged)")
_STAT_TOTAL = re.compile(r" (\d+) files? changed(?:, (\d+) insertions?\(\+\))?(?:, (\d+) deletions?\(-\))?")


def parse_diff_stat(lines: Sequence[str]) -> dict[str, object] | None:
    """Read `git diff --stat`. The plus and minus signs are scaled to the width; only their sum is exact."""
    files: list[dict[str, object]] = []
    total: re.Match[str] | None = None
    for line in lines:
        if found := _STAT_TOTAL.fullmatch(line):
            total = found
        elif found := _STAT_ROW.fullmatch(line):
            entry: dict[str, object] = {"path": unquoted_path(found[1]), "changes": int(found[2]) if found[2] else None}
            if found[1].startswith("..."):
                entry["abbreviated"] = True
            files.append(entry)
        elif line:
            return None
    if total is None:
        return None if files else {"files": [], "files_changed": 0, "insertions": 0, "deletions": 0}
    changed, insertions, deletions = (int(number or 0) for number in total.groups())
    return {"files": files, "files_changed": changed, "insertions": insertions, "deletions": deletions}


_NUMSTAT = re.compile(r"(\d+|-)\t(\d+|-)\t(.+)")
_NAME_STATUS = re.compile(r"([ACDMRTUXB])(\d{0,3})\t([^\t]+)(?:\t([^\t]+))?")


def parse_numstat(lines: Sequence[str]) -> list[dict[str, object]] | None:
    """Read `git diff --numstat`; binary files have no numbers."""
    rows = [_NUMSTAT.fullmatch(line) for line in lines]
    return (
        [
            {
                "path": unquoted_path(row[3]),
                "insertions": int(row[1]) if row[1] != "-" else None,
                "deletions": int(row[2]) if row[2] != "-" else None,
            }
            for row in rows
            if row
        ]
        if all(rows)
        else None
    )


def parse_name_status(lines: Sequence[str]) -> list[dict[str, object]] | None:
    """Read `git diff --name-status`."""
    files: list[dict[str, object]] = []
    for line in lines:
        found = _NAME_STATUS.fullmatch(line)
        if found is None:
            return None
        entry: dict[str, object] = {"path": unquoted_path(found[4] or found[3]), "status": found[1]}
        if found[4]:
            entry["original_path"] = unquoted_path(found[3])
        files.append(entry)
    return files
