"""The words of a command line: enough to tell which program made an output, and to write a word back safely.

It follows the quoting of POSIX shells, lists, pipes, redirections and here-documents. It expands nothing, looks into no
substitution, and is no judge of what may run: that takes a real parser, which the policy has. Where it is not clear
which command an output came from, it says so with None.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_LINE_CHARS = 32_768
MAX_WORD_CHARS = 400

_BLANK = re.compile(r"(?:[ \t\r]|\\\r?\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_OPERATOR = re.compile(r"&&|\|\||\|&|;;&?|;&|&(?!>)|[;|()\n]")
_REDIRECTION = re.compile(r"(\d*)(&>>|&>|<<<|<<-?|<>|>>|>\||[<>]&|[<>])(?!\()")
_SINGLE = re.compile(r"\$?'([^']*)(?:'|\Z)")
_DOUBLE = re.compile(r'\$?"((?:[^"\\]|\\.)*+)(?:"|\\?\Z)', re.DOTALL)
_DOUBLE_ESCAPE = re.compile(r'\\(?:([\\"$`])|\n)')
_BACKTICKS = re.compile(r"`(?:[^`\\]|\\.)*+(?:`|\\?\Z)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.?)", re.DOTALL)
_BARE = re.compile(r"""[^\s'"\\`$&|;()<>]+|\$|\s""")
_NESTED = re.compile(r"""[^'"\\`()]+|'[^']*(?:'|\Z)|"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|\\.?|`""", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=")

_OPENERS = frozenset({"{", "}", "!", "then", "else", "do", "fi", "done"})
_COMPOUND = frozenset({"if", "elif", "for", "while", "until", "case", "select", "function", "coproc"})
# Commands that say nothing when all goes well: what a line prints comes from the others.
SILENT = frozenset(
    {"cd", "export", "unset", "set", "mkdir", "touch", "true", ":", "umask", "alias", "shopt", "setopt", "test", "["}
)
# At the end of a pipeline these pass on what they read.
_TRANSPARENT = frozenset({"cat", "tee", "less", "more"})

# Commands that run another: their options that take a value, and how many words of their own come before it.
_WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    "sudo": (frozenset({"-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U"}), 0),
    "doas": (frozenset({"-u", "-C"}), 0),
    "env": (frozenset({"-u", "-C", "-S", "--unset", "--chdir"}), 0),
    "time": (frozenset({"-f", "-o", "--format", "--output"}), 0),  # it also prints, at the end
    "timeout": (frozenset({"-s", "-k", "--signal", "--kill-after"}), 1),
    "gtimeout": (frozenset({"-s", "-k", "--signal", "--kill-after"}), 1),
    "nice": (frozenset({"-n", "--adjustment"}), 0),
    "ionice": (frozenset({"-c", "-n", "--class", "--classdata"}), 0),
    "stdbuf": (frozenset({"-i", "-o", "-e", "--input", "--output", "--error"}), 0),
    "nohup": (frozenset(), 0),
    "setsid": (frozenset(), 0),
    "command": (frozenset(), 0),
    "builtin": (frozenset(), 0),
    "exec": (frozenset({"-a"}), 0),
    "noglob": (frozenset(), 0),
}
# Tools that run a program of a project: `uv run pytest`.
_RUNNERS = frozenset(
    {("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("hatch", "run"), ("rye", "run")}
)
_MAX_WRAPPERS = 16
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*\Z|py\Z")


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One command of a line: its words with quotes removed, and where each stands in the line."""

    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    follows: str  # the operator before it: "", "|", "&&", ";", ...
    to_file: bool = False  # its standard output goes elsewhere

    @property
    def is_piped(self) -> bool:
        """Tell whether it reads what the command before it writes."""
        return self.follows in ("|", "|&")


def simple_commands(line: str) -> list[SimpleCommand] | None:
    """Split a line into its commands; None when it is a compound command, a function or too long."""
    if len(line) > MAX_LINE_CHARS:
        return None
    found: list[SimpleCommand] = []
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    here_documents: list[str] = []
    follows, to_file, at = "", False, 0
    while at < len(line):
        if blank := _BLANK.match(line, at):
            at = blank.end()
        elif comment := _COMMENT.match(line, at):
            at = comment.end()
        elif operator := _OPERATOR.match(line, at):
            if operator[0] == "(" and words:
                return None  # a function, or a pattern of the shell's own
            if words:
                found.append(SimpleCommand(tuple(words), tuple(spans), follows, to_file))
                words, spans, to_file = [], [], False
                follows = operator[0]
            elif operator[0] not in ("(", "\n"):
                follows = operator[0]
            at = operator.end()
            if operator[0] == "\n":
                for delimiter in here_documents:
                    at = _after_here_document(line, at, delimiter)
                here_documents.clear()
        elif redirection := _REDIRECTION.match(line, at):
            at = redirection.end()
            if blank := _BLANK.match(line, at):
                at = blank.end()
            target, at = _word(line, at)
            kind = redirection[2]
            if kind in ("<<", "<<-"):
                here_documents.append(target)
            elif kind in (">", ">>", ">|", "&>", "&>>") and redirection[1] in ("", "1"):
                to_file = True
        else:
            start = at
            word, at = _word(line, at)
            is_quoted = line[start:at] != word
            if not words and not is_quoted:
                if word in _COMPOUND:
                    return None
                if word in _OPENERS or _ASSIGNMENT.match(word):
                    continue
            elif not words and _ASSIGNMENT.match(line, start):
                continue
            words.append(word)
            spans.append((start, at))
    if words:
        found.append(SimpleCommand(tuple(words), tuple(spans), follows, to_file))
    return found


def speaking_words(line: str) -> tuple[str, ...] | None:
    """Return the words of the one command that made the output of a line, without wrappers such as sudo.

    The last command of a pipeline decides what its output looks like. None when several commands may have written,
    when none did, or when the program is not known before the line runs.
    """
    speaking: list[SimpleCommand] = []
    for command in simple_commands(line) or ():
        if command.is_piped and speaking:
            if name_of(command.words[0]) in _TRANSPARENT and not _reads_a_file(command.words):
                continue
            speaking.pop()
        speaking.append(command)
    audible = [
        command for command in speaking if not command.to_file and name_of(unwrapped(command.words)[0]) not in SILENT
    ]
    if len(audible) != 1:
        return None
    words = unwrapped(audible[0].words)
    return None if "$" in words[0] or "`" in words[0] else words


def unwrapped(words: Sequence[str]) -> tuple[str, ...]:
    """Drop what runs another command: `sudo -u me`, `env A=1`, `time`, `timeout 5`."""
    rest = tuple(words)
    for _ in range(_MAX_WRAPPERS):
        wrapper = _WRAPPERS.get(name_of(rest[0])) if rest else None
        if wrapper is None:
            break
        with_value, own_words = wrapper
        at = 1
        while at < len(rest) and (rest[at].startswith("-") or _ASSIGNMENT.match(rest[at])):
            option = rest[at]
            if option in ("-v", "-V") and name_of(rest[0]) == "command":
                return rest  # it only asks where a command is
            at += 2 if option in with_value else 1
            if option == "--":
                break
        at += own_words
        if at >= len(rest):
            break
        rest = rest[at:]
    return rest


def program(words: Sequence[str]) -> tuple[str, ...]:
    """Return words that start with the plain name of the program that really works.

    `uv run pytest -q`, `.venv/bin/python -m pytest -q` and `/usr/bin/pytest -q` are all `pytest -q`.
    """
    rest = own_words(words)
    return (name_of(rest[0]), *rest[1:]) if rest else ()


def own_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words from the program on, without wrappers, runners and `python -m` before it."""
    rest = unwrapped(words)
    for _ in range(_MAX_WRAPPERS):
        if len(rest) > 2 and (name_of(rest[0]), rest[1]) in _RUNNERS:
            at = 2
            while at < len(rest) - 1 and rest[at].startswith("-"):
                at += 1
            rest = unwrapped(rest[at:])
        elif len(rest) > 2 and _PYTHON.match(name_of(rest[0])) and rest[1] == "-m":
            return rest[2:]
        else:
            break
    return rest


def name_of(word: str) -> str:
    """Return the name of a program without its directory and without `.exe`."""
    name = re.split(r"[/\\]", word)[-1]
    return name[:-4].lower() if name[-4:].lower() in (".exe", ".cmd", ".bat") else name


def options(words: Sequence[str]) -> set[str]:
    """Return the options among words: `-la --color=auto` gives `l`, `a` and `--color`."""
    found: set[str] = set()
    for word in words[1:]:
        if word == "--":
            break
        if word.startswith("--"):
            found.add(word.partition("=")[0])
        elif word.startswith("-"):
            found.update(word[1:])
    return found


def operands(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words after the first that are no options."""
    rest = list(words[1:])
    if "--" in rest:
        at = rest.index("--")
        return (*(word for word in rest[:at] if not word.startswith("-")), *rest[at + 1 :])
    return tuple(word for word in rest if word == "-" or not word.startswith("-"))


_SAFE = re.compile(r"[A-Za-z0-9_./:+-][A-Za-z0-9_@%+=:,./-]*\Z")
_SAFE_PWSH = re.compile(r"[A-Za-z0-9_./:+-][A-Za-z0-9_+=:./-]*\Z")
# PowerShell reads the typographic single quotes like the plain one.
_PWSH_QUOTES = re.compile("(['\u2018\u2019\u201a\u201b])")


def quoted(word: str, shell: str) -> str | None:
    """Write one word for a shell, so that it stays that word. None when that cannot be promised.

    A word with characters that do not print (controls, escapes, direction marks) is never written.
    """
    if not word or len(word) > MAX_WORD_CHARS or not word.isprintable():
        return None
    match shell:
        case "pwsh" | "powershell":
            if _SAFE_PWSH.match(word):
                return word
            # Older versions pass a double quote on to programs without escaping it.
            return None if '"' in word else "'" + _PWSH_QUOTES.sub(r"\1\1", word) + "'"
        case "cmd":
            if _SAFE_PWSH.match(word):
                return word
            return None if re.search(r'["%!^]|\\\Z', word) else f'"{word}"'
        case "fish":
            if _SAFE.match(word):
                return word
            return "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case _:
            # Not safe at the start: `=ls`, which zsh reads as the path of ls.
            return word if _SAFE.match(word) else "'" + word.replace("'", "'\\''") + "'"


def _word(line: str, at: int) -> tuple[str, int]:
    """Read one word and return it without its quotes, and where it ends. Expansions stay as they are written."""
    start, parts = at, []
    while at < len(line):
        if single := _SINGLE.match(line, at):
            parts.append(single[1])
            at = single.end()
        elif double := _DOUBLE.match(line, at):
            parts.append(_DOUBLE_ESCAPE.sub(lambda found: found[1] or "", double[1]))
            at = double.end()
        elif line.startswith(("$(", "<(", ">("), at):
            end = _closing(line, at + 1)
            parts.append(line[at:end])
            at = end
        elif backticks := _BACKTICKS.match(line, at):
            parts.append(backticks[0])
            at = backticks.end()
        elif escaped := _ESCAPED.match(line, at):
            parts.append(escaped[1] if escaped[1] != "\n" else "")
            at = escaped.end()
        elif (bare := _BARE.match(line, at)) and (at == start or not bare[0].isspace()):
            parts.append(bare[0])
            at = bare.end()
        else:
            break
    return "".join(parts), max(at, start + 1)


def _closing(line: str, at: int) -> int:
    """Return the position after the bracket that closes the one at `at`, or the end of the line."""
    depth = 0
    while at < len(line):
        if line[at] in "()":
            depth += 1 if line[at] == "(" else -1
            at += 1
            if not depth:
                return at
        elif part := _NESTED.match(line, at):
            at = part.end()
        else:
            break
    return len(line)


def _after_here_document(line: str, at: int, delimiter: str) -> int:
    while at < len(line):
        end = line.find("\n", at)
        end = len(line) if end < 0 else end
        is_over = line[at:end].strip("\t\r") == delimiter
        at = end + 1
        if is_over:
            break
    return min(at, len(line))


def _reads_a_file(words: Sequence[str]) -> bool:
    return name_of(words[0]) != "tee" and bool(operands(words))
