"""What differs between platforms: shells, the commands for everyday things, and how paths are written.

Pure: the platform and the shell are arguments. Only path arguments of a line are rewritten for Windows, never options,
addresses or what merely has a slash in it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath, PureWindowsPath
from typing import Literal, assert_never

from hermitty.output.words import name_of


class Platform(StrEnum):
    """The kinds of systems that hermitty tells apart."""

    LINUX = "linux"
    MACOS = "macos"
    WINDOWS = "windows"


ShellFamily = Literal["posix", "fish", "pwsh", "cmd"]


def platform_of(name: str) -> Platform:
    """Name the platform behind `sys.platform`; what is not known is taken for Unix."""
    if name.startswith(("win", "cygwin", "msys")):
        return Platform.WINDOWS
    return Platform.MACOS if name == "darwin" else Platform.LINUX


_FAMILIES: dict[str, ShellFamily] = {
    "bash": "posix", "zsh": "posix", "sh": "posix", "dash": "posix", "ksh": "posix", "ash": "posix", "mksh": "posix",
    "fish": "fish", "pwsh": "pwsh", "powershell": "pwsh", "cmd": "cmd",
}  # fmt: skip


def shell_family(shell: str) -> ShellFamily | None:
    """Tell how a shell is spoken to, by its name or path: `/bin/zsh`, `-bash`, `C:\\Windows\\System32\\cmd.exe`."""
    name = name_of(shell.strip().strip('"')).removeprefix("-").lower()
    return _FAMILIES.get(name) or _FAMILIES.get(re.sub(r"[-0-9.]+\Z", "", name))


@dataclass(frozen=True, slots=True)
class ShellCommands:
    """How everyday things are said in one family of shells. `{name}` and `{value}` are for the caller to fill."""

    list_files: str
    clear: str
    current_directory: str
    null_device: str
    read_variable: str
    set_variable: str
    and_then: str | None  # None: there is no such operator in every version
    or_else: str | None
    after_each_other: str


_COMMANDS: dict[ShellFamily, ShellCommands] = {
    "posix": ShellCommands("ls -la", "clear", "pwd", "/dev/null", "${name}", "export {name}={value}", "&&", "||", ";"),
    "fish": ShellCommands("ls -la", "clear", "pwd", "/dev/null", "${name}", "set -gx {name} {value}", "&&", "||", ";"),
    # Windows PowerShell 5.1 has neither && nor ||.
    "pwsh": ShellCommands(
        "Get-ChildItem -Force",
        "Clear-Host",
        "Get-Location",
        "$null",
        "$env:{name}",
        "$env:{name} = {value}",
        None,
        None,
        ";",
    ),
    "cmd": ShellCommands("dir", "cls", "cd", "NUL", "%{name}%", "set {name}={value}", "&&", "||", "&"),
}


@dataclass(frozen=True, slots=True)
class PlatformFacts:
    """What holds on a platform, whichever shell runs."""

    shells: tuple[str, ...]  # the one to use first
    path_separator: str
    list_separator: str  # between the directories of PATH
    line_end: str
    executable_ending: str


_FACTS: dict[Platform, PlatformFacts] = {
    Platform.LINUX: PlatformFacts(("bash", "zsh", "fish", "sh"), "/", ":", "\n", ""),
    Platform.MACOS: PlatformFacts(("zsh", "bash", "fish", "sh"), "/", ":", "\n", ""),
    Platform.WINDOWS: PlatformFacts(("pwsh", "powershell", "cmd"), "\\", ";", "\r\n", ".exe"),
}


def facts_of(platform: Platform) -> PlatformFacts:
    """Return what holds on a platform."""
    return _FACTS[platform]


def commands_of(family: ShellFamily) -> ShellCommands:
    """Return how everyday things are said in a family of shells."""
    return _COMMANDS[family]


def list_files_command(platform: Platform) -> str:
    """Return the command that lists files on a platform: `dir` on Windows, `ls -la` elsewhere."""
    return "dir" if platform is Platform.WINDOWS else "ls -la"


def join_path(platform: Platform, *parts: str) -> str:
    """Join the parts of a path as the platform writes it; an absolute part starts anew."""
    match platform:
        case Platform.WINDOWS:
            return str(PureWindowsPath(*parts))
        case Platform.LINUX | Platform.MACOS:
            return str(PurePosixPath(*parts))
        case _:
            assert_never(platform)


@dataclass(frozen=True, slots=True)
class Equivalent:
    """The same thing in three worlds. Options do not carry over; `is_close` says that the plain use does the same."""

    posix: str
    cmd: str
    pwsh: str
    is_close: bool = True


EQUIVALENTS: tuple[Equivalent, ...] = (
    Equivalent("ls", "dir", "Get-ChildItem"),
    Equivalent("cat", "type", "Get-Content"),
    Equivalent("rm", "del", "Remove-Item"),
    Equivalent("rm -r", "rmdir /s", "Remove-Item -Recurse"),
    Equivalent("rmdir", "rmdir", "Remove-Item"),
    Equivalent("cp", "copy", "Copy-Item"),
    Equivalent("cp -r", "xcopy /e /i", "Copy-Item -Recurse"),
    Equivalent("mv", "move", "Move-Item"),
    Equivalent("mkdir", "mkdir", "New-Item -ItemType Directory"),
    Equivalent("pwd", "cd", "Get-Location"),
    Equivalent("clear", "cls", "Clear-Host"),
    Equivalent("which", "where", "Get-Command"),
    Equivalent("grep", "findstr", "Select-String", is_close=False),
    Equivalent("diff", "fc", "Compare-Object", is_close=False),
    Equivalent("less", "more", "more"),
    Equivalent("env", "set", "Get-ChildItem Env:"),
    Equivalent("export", "set", "$env:", is_close=False),
    Equivalent("ps", "tasklist", "Get-Process"),
    Equivalent("kill", "taskkill /pid", "Stop-Process -Id"),
    Equivalent("sleep", "timeout /t", "Start-Sleep"),
    Equivalent("ln -s", "mklink", "New-Item -ItemType SymbolicLink", is_close=False),
    Equivalent("chmod", "icacls", "icacls", is_close=False),
    Equivalent("ifconfig", "ipconfig", "Get-NetIPConfiguration"),
    Equivalent("traceroute", "tracert", "tracert"),
    Equivalent("touch", "type nul >>", "New-Item", is_close=False),
    Equivalent("xdg-open", "start", "Start-Process"),
    Equivalent("man", "help", "Get-Help"),
)


def equivalent(command: str, family: ShellFamily) -> Equivalent | None:
    """Find what a command of another world is called here: `ls` for cmd, `dir` or `Get-Content` for posix.

    None when the family knows the command by that very name, or when there is nothing like it.
    """
    wanted = " ".join(command.split()).lower()
    matches = [each for each in EQUIVALENTS if wanted in (each.posix.lower(), each.cmd.lower(), each.pwsh.lower())]
    if any(spelling(each, family).lower() == wanted for each in matches):
        return None
    return matches[0] if matches else None


def spelling(each: Equivalent, family: ShellFamily) -> str:
    """Return how a family of shells spells it."""
    match family:
        case "posix" | "fish":
            return each.posix
        case "cmd":
            return each.cmd
        case "pwsh":
            return each.pwsh
        case _:
            assert_never(family)


_PIECE = re.compile(r"""[ \t\r\n]+|&&|\|\||[&|;<>()]|(?:"[^"]*(?:"|\Z)|'[^']*(?:'|\Z)|[^\s"'&|;<>()])+""")
_IS_PATH = re.compile(r"(?:[A-Za-z]:|~|%\w+%)?[\w .@+,~%*?{}\[\]=/\\-]*\Z")
_STARTS_LIKE_A_PATH = re.compile(r"\.{1,2}[/\\]|~[/\\]|[A-Za-z]:[/\\]|%\w+%[/\\]")
# Their words have slashes that are no paths: names of branches, images and packages, patterns, types. They read
# paths with forward slashes as well.
_OWN_SLASHES = frozenset(
    {"git", "gh", "hub", "docker", "podman", "kubectl", "helm", "npm", "npx", "yarn", "pnpm", "bun", "go", "cargo"}
    | {"curl", "wget", "http", "ssh", "scp", "rsync", "sed", "awk", "grep", "rg", "findstr", "echo", "set", "export"}
    | {"printf", "date", "aws", "gcloud", "az", "terraform", "bash", "sh", "wsl", "write-output", "write-host", "title"}
)
# What follows them is code.
_CODE_OPTIONS = frozenset({"-c", "-e", "-m", "--eval", "-command", "/c", "/k", "--exec"})
_SEPARATORS = frozenset({"&&", "||", "&", "|", ";", "(", ")"})


def normalise_paths(line: str, platform: Platform) -> str:
    """Write the path arguments of a line with backslashes on Windows; elsewhere the line stays as it is.

    Options (`/s`, `-o`, `--out=a/b`) and addresses stay, and so does anything that may be no path.
    """
    if platform is not Platform.WINDOWS:
        return line
    return "".join(_normalised(line))


def _normalised(line: str) -> Iterator[str]:
    program: str | None = None
    before = ""
    at = 0
    while at < len(line):
        found = _PIECE.match(line, at)
        piece = found[0] if found else line[at]
        at += len(piece)
        if piece.isspace():
            yield piece
            continue
        if piece in _SEPARATORS:
            program = None
        elif piece not in ("<", ">"):
            if program is None:
                program = name_of(piece.strip("\"'")).lower()
                piece = piece.replace("/", "\\") if _is_program_path(piece) else piece
            elif before not in _CODE_OPTIONS and _is_path(piece, program, is_target=before in ("<", ">")):
                piece = piece.replace("/", "\\")
        before = piece.lower()
        yield piece


def _is_program_path(piece: str) -> bool:
    bare = piece.strip("\"'")
    return not bare.startswith("/") and "://" not in bare and bool(_IS_PATH.match(bare))


def _is_path(piece: str, program: str, *, is_target: bool) -> bool:
    """Tell whether a word is certainly a path: the operand of a program that takes paths, and written like one."""
    bare = piece[1:-1] if len(piece) > 1 and piece[0] == piece[-1] and piece[0] in "\"'" else piece
    if bare.startswith(("/", "-")) or "://" in bare or not _IS_PATH.match(bare) or "//" in bare:
        return False
    if re.fullmatch(r"[\d/. ]*\d/[\d/. ]*", bare):
        return False  # a date or a fraction
    if is_target or _STARTS_LIKE_A_PATH.match(bare):
        return True
    return program not in _OWN_SLASHES and not bare.startswith("@")
