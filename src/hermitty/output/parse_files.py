"""Listings of files: `ls` in its long and plain forms, and PowerShell's `Get-ChildItem`.

jc has a parser for `ls`, but it reads `4.0K` as 4 bytes and knows neither columns nor the quotes that GNU ls puts
around names on a terminal. A line that is not understood makes the whole listing None: a part of it would be wrong.
"""

import re
from collections.abc import Sequence

from hermitty.output.words import operands, options

Entry = dict[str, object]

_TYPES = {"d": "directory", "l": "link", "-": "file", "b": "block", "c": "character", "p": "fifo", "s": "socket"}
_INDICATORS = {"/": "directory", "@": "link", "*": "file", "|": "fifo", "=": "socket", ">": "door"}
_DATE = (
    r"(?P<date>[A-Za-z]{3} +\d{1,2} +(?:\d{1,2}:\d\d|\d{4})|\d{1,2} +[A-Za-z]{3} +(?:\d{1,2}:\d\d|\d{4})"
    r"|\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d\.\d{1,9} [+-]\d{4})?|\d\d-\d\d \d\d:\d\d)"
)
_TOTAL = re.compile(r"total \d[\d.,]*[A-Za-z]*\Z")
_QUOTED = r"""(?:'[^']*'|"(?:[^"\\]|\\.)*"|\$'(?:[^'\\]|\\.)*'|\\')"""
_NAME = re.compile(rf"(?P<quoted>{_QUOTED}{{1,64}}+[*/=>@|]?)(?=[ \t]|\Z)|\S+(?: \S+)*")
_PART = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\$'((?:[^'\\]|\\.)*)'|\\(.)|([^'"\\$]+|\$)""")
_ANSI_C = re.compile(r"\\(?:([0-7]{1,3})|(.))")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}

# They change the columns or the way names are written.
_UNREADABLE = {
    "m",
    "Q",
    "b",
    "N",
    "q",
    "G",
    "Z",
    "D",
    "--author",
    "--quoting-style",
    "--zero",
    "--hyperlink",
    "--dired",
}
_LONG = {"l", "g", "o", "n", "--full-time"}
_CLASSIFIED = {"F", "p", "--classify", "--file-type", "--indicator-style"}


def parse_ls(words: Sequence[str], lines: Sequence[str], *, on_terminal: bool) -> list[Entry] | None:
    """Read what `ls` printed. On a terminal, names that need it are quoted and several stand on a line."""
    chosen = options(words)
    if chosen & _UNREADABLE or any(line.startswith("ls: ") for line in lines):
        return None
    is_classified = bool(chosen & _CLASSIFIED)
    if chosen & _LONG:
        entries = _long(lines, _long_row(chosen), is_quoted=on_terminal, is_classified=is_classified)
    elif chosen & {"i", "s", "--inode", "--size"}:
        return None
    else:
        in_columns = bool(on_terminal and "1" not in chosen) or bool(chosen & {"C", "x"})
        has_sections = bool(chosen & {"R", "--recursive"}) or len(operands(words)) > 1 or _has_pattern(words)
        entries = _plain(
            lines, in_columns=in_columns, is_quoted=on_terminal, is_classified=is_classified, has_sections=has_sections
        )
    return entries


def _has_pattern(words: Sequence[str]) -> bool:
    return any(char in word for word in operands(words) for char in "*?[{$`")


def _long_row(chosen: set[str]) -> re.Pattern[str]:
    columns = [
        r" *(?P<inode>\d+)" if chosen & {"i", "--inode"} else "",
        r" *(?P<blocks>\d[\d.]*[A-Za-z]*)" if chosen & {"s", "--size"} else "",
        r"(?P<flags>[-a-zDCMP?][-rwxsStTlL?]{9}[.+@]?) +(?P<links>\d+|\?)",
        "" if "g" in chosen else r"(?P<owner>\S+)",
        "" if chosen & {"o", "--no-group"} else r"(?P<group>\S+)",
        r"(?:(?P<device>\d+, *\d+)|(?P<size>\d[\d.,]*[A-Za-z]*|\?))",
        _DATE,
    ]
    return re.compile(" +".join(column for column in columns if column) + r" (?P<name>.+)")


def _long(lines: Sequence[str], row: re.Pattern[str], *, is_quoted: bool, is_classified: bool) -> list[Entry] | None:
    entries: list[Entry] = []
    parent: str | None = None
    is_new_section = True
    rows: list[tuple[re.Match[str], str | None]] = []
    for line in lines:
        if not line.strip():
            is_new_section = True
        elif found := row.fullmatch(line):
            rows.append((found, parent))
            is_new_section = False
        elif _TOTAL.match(line):
            is_new_section = False
        elif is_new_section and line.endswith(":"):
            parent = _unquoted(line[:-1]) if is_quoted else line[:-1]
        else:
            return None
    # When one name of a listing is quoted, the others are moved by a space, so that they stand below each other.
    is_shifted = is_quoted and any(found["name"].startswith(("'", '"')) for found, _ in rows)
    for found, directory in rows:
        values = found.groupdict()
        name = values["name"].removeprefix(" ") if is_shifted else values["name"]
        kind = _TYPES.get(values["flags"][0], "other")
        target: str | None = None
        if kind == "link" and " -> " in name:
            name, _, target = name.partition(" -> ")
        if is_classified:
            if target is None:
                name, _ = _without_indicator(name)
            else:
                target, _ = _without_indicator(target)
        entry: Entry = {"filename": _unquoted(name) if is_quoted else name, "type": kind}
        if target is not None:
            entry["link_to"] = _unquoted(target) if is_quoted else target
        if directory is not None:
            entry["parent"] = directory
        for column in ("flags", "inode", "blocks", "links", "owner", "group", "device", "size", "date"):
            value = values.get(column)
            if value is not None:
                entry[column] = int(value) if column not in ("owner", "group") and value.isdecimal() else value
        entries.append(entry)
    return entries


def _plain(
    lines: Sequence[str], *, in_columns: bool, is_quoted: bool, is_classified: bool, has_sections: bool
) -> list[Entry] | None:
    entries: list[Entry] = []
    parent: str | None = None
    is_new_section = True
    for line in lines:
        if not line.strip():
            is_new_section = True
            continue
        if has_sections and is_new_section and line.endswith(":"):
            parent = _unquoted(line[:-1]) if is_quoted else line[:-1]
            is_new_section = False
            continue
        is_new_section = False
        names = [found[0] for found in _NAME.finditer(line)] if in_columns else [line]
        for written in names:
            name, kind = _without_indicator(written) if is_classified else (written, None)
            entry: Entry = {"filename": _unquoted(name.removeprefix(" ")) if is_quoted else name}
            if kind:
                entry["type"] = kind
            if parent is not None:
                entry["parent"] = parent
            entries.append(entry)
    return entries


def _without_indicator(name: str) -> tuple[str, str | None]:
    kind = _INDICATORS.get(name[-1:])
    return (name[:-1], kind) if kind else (name, None)


def _unquoted(name: str) -> str:
    """Read a name as GNU ls quotes it on a terminal; other names stay as they are."""
    if not name.startswith(("'", '"', "$'")) or not re.fullmatch(_QUOTED + "{1,64}+", name):
        return name
    return "".join(
        _ANSI_C.sub(_ansi_c, part[3])
        if part[3] is not None
        else next(group for group in part.groups() if group is not None)
        for part in _PART.finditer(name)
    )


def _ansi_c(found: re.Match[str]) -> str:
    return chr(int(found[1], 8)) if found[1] else _ESCAPES.get(found[2], found[2])


_PWSH_HEADER = re.compile(r"Mode +LastWriteTime +Length +Name *\Z")
_PWSH_ROW = re.compile(
    r"(?P<flags>[a-z-]{5,7}) +(?P<date>\d\S* +\d\d?[:.]\d\d(?: ?[AP]M)?) +(?:(?P<size>\d+) +)?(?P<name>\S.*)"
)


def parse_get_child_item(lines: Sequence[str]) -> list[Entry] | None:
    """Read the table that PowerShell prints for `Get-ChildItem`, also known there as `dir` and `ls`."""
    entries: list[Entry] = []
    parent: str | None = None
    has_header = False
    for line in (line.strip() for line in lines):
        if line.startswith("Directory: "):
            parent = line.removeprefix("Directory: ")
        elif _PWSH_HEADER.match(line):
            has_header = True
        elif (found := _PWSH_ROW.fullmatch(line)) and has_header:
            is_directory = found["flags"].startswith("d")
            entry: Entry = {"filename": found["name"], "type": "directory" if is_directory else "file"}
            if parent is not None:
                entry["parent"] = parent
            entry |= {"flags": found["flags"], "date": found["date"]}
            if found["size"]:
                entry["size"] = int(found["size"])
            entries.append(entry)
        elif line and set(line) - {"-", " "}:
            return None
    return entries if has_header else None
