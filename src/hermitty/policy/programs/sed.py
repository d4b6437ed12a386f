"""sed: its options, and its scripts, which can write files and run commands.

A script is read as GNU sed reads it. Where sed versions differ in where a part ends, the script counts as unclear.
"""

import re
from collections.abc import Sequence

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge, Surroundings
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.options import Grammar
from hermitty.policy.programs.tables import Program, named

_SED = Grammar(
    "--help --version -nErsuzb -e,--expression: -f,--file:exec -l,--line-length: -i,--in-place?ask --quiet --silent "
    "--regexp-extended --separate --unbuffered --null-data --zero-terminated --posix --debug --sandbox "
    "--follow-symlinks --binary",
    "ask read*",
)

_BLANK = re.compile(r"[ \t]*")
_BETWEEN = re.compile(r"[ \t\n;]*")
_NUMBER = re.compile(r"\d*")
_LABEL = re.compile(r"[^\s;}]*")
_TO_END = re.compile(r"[^\n]*")
_PLAIN = "=dDgGhHnNpPxzF"


class _Unclear(Exception):
    """The script is not understood."""


def _sed(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    here = judge.here
    parsed = _SED.parse(args, name)
    found = list(parsed.findings)
    found += [ask(f"runs the script {arg.shown}", Level.HIGH, Effect.EXEC, at=arg) for arg in parsed.values("-f")]
    files = parsed.operands
    scripts = parsed.values("-e")
    if not parsed.has("-e", "-f"):
        scripts, files = files[:1], files[1:]
    is_in_place = parsed.has("-i")
    for arg in files:
        found += places.write(arg, here, "edits") if is_in_place else places.read(arg, here) if arg.text != "-" else []
    if is_in_place and not files:
        found.append(ask("edits files in place", Level.MEDIUM, Effect.WRITE))
    return found + _script_findings(scripts, here)


def _script_findings(scripts: Sequence[Arg], here: Surroundings) -> list[Finding]:
    for arg in scripts:
        if arg.text is None:
            return [unclear(f"the script {arg.shown} is only known when it runs", at=arg)]
    reader = _Script("\n".join(arg.text or "" for arg in scripts), here)
    try:
        reader.read()
    except _Unclear as error:
        reader.found.append(unclear(f"the sed script is not understood: {error}", at=scripts[0]))
    return reader.found


class _Script:
    """Reads a script once, from left to right."""

    def __init__(self, text: str, here: Surroundings) -> None:
        self.text = text
        self.here = here
        self.pos = 0
        self.found: list[Finding] = []

    def read(self) -> None:
        while True:
            self._skip(_BETWEEN)
            if self.pos >= len(self.text):
                return
            self._addresses()
            self._command()

    @property
    def _char(self) -> str:
        return self.text[self.pos : self.pos + 1]

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.pos)
        assert match
        self.pos = match.end()
        return match.group()

    def _addresses(self) -> None:
        if not self._address():
            return
        self._skip(_BLANK)
        while self._char == ",":
            self.pos += 1
            self._skip(_BLANK)
            if self._char and self._char in "+~":
                self.pos += 1
            if not self._address():
                raise _Unclear("an address is missing")
            self._skip(_BLANK)
        while self._char == "!":
            self.pos += 1
            self._skip(_BLANK)

    def _address(self) -> bool:
        char = self._char
        if char.isdecimal() and char.isascii():
            self._skip(_NUMBER)
            if self._char == "~":
                self.pos += 1
                self._skip(_NUMBER)
        elif char == "$":
            self.pos += 1
        elif char in ("/", "\\"):
            if char == "\\":
                self.pos += 1
            self._delimited(is_regex=True)
            while self._char and self._char in "IM":
                self.pos += 1
        else:
            return False
        return True

    def _delimited(self, *, is_regex: bool, delimiter: str = "") -> str:
        """Step over one part up to its delimiter, which is the character here unless given. Return the delimiter."""
        if not delimiter:
            delimiter = self._char
            self.pos += 1
        if not delimiter or delimiter in "\\\n":
            raise _Unclear("a delimiter is missing")
        in_brackets = False
        at = self.pos
        while at < len(self.text):
            char = self.text[at]
            if char == "\\":
                at += 1
                if self.text[at : at + 1] == "\n" and is_regex:
                    raise _Unclear("a pattern with several lines")
            elif char == "\n":
                raise _Unclear("a part with several lines")
            elif char == delimiter:
                if in_brackets:
                    # GNU sed ends the pattern here, others only behind the brackets.
                    raise _Unclear("a delimiter in brackets")
                self.pos = at + 1
                return delimiter
            elif is_regex and char == "[" and not in_brackets:
                in_brackets = True
                at += self.text.startswith("^", at + 1)
                at += self.text.startswith("]", at + 1)
            elif in_brackets and char == "[" and self.text[at + 1 : at + 2] in (":", ".", "="):
                at = self.text.find(self.text[at + 1] + "]", at + 2) + 1
                if at <= 0:
                    raise _Unclear("brackets are not closed")
            elif in_brackets and char == "]":
                in_brackets = False
            at += 1
        raise _Unclear("a part is not closed")

    def _command(self) -> None:
        char = self._char
        self.pos += 1
        if char and char in _PLAIN:
            self._end()
        elif char == "{":
            pass
        elif char == "}":
            self._end()
        elif char and char in "lLqQ":
            self._skip(_BLANK)
            self._skip(_NUMBER)
            self._end()
        elif char and char in "aic":
            self._added_text()
        elif char and char in ":btTv":
            self._skip(_BLANK)
            self._skip(_LABEL)
            self._end()
        elif char == "#":
            self._skip(_TO_END)
        elif char and char in "rR":
            self._read_file()
        elif char and char in "wW":
            self._written_file()
        elif char == "e":
            command = self._skip(_TO_END).strip()
            self.found.append(ask(f"sed runs {command or 'what it reads'}", Level.HIGH, Effect.EXEC))
        elif char == "s":
            self._substitution()
        elif char == "y":
            delimiter = self._delimited(is_regex=False)
            self._delimited(is_regex=False, delimiter=delimiter)
            self._end()
        else:
            raise _Unclear(f"{char!r} is not a command")

    def _end(self) -> None:
        self._skip(_BLANK)
        if self._char == "#":
            self._skip(_TO_END)
        elif self._char and self._char not in ";\n}":
            raise _Unclear(f"{self._char!r} after a command")

    def _added_text(self) -> None:
        """Step over the text of a, i or c: to the end of the line. A backslash there would make it ambiguous."""
        self._skip(_BLANK)
        if self.text.startswith("\\\n", self.pos):
            self.pos += 2
        text = self._skip(_TO_END)
        if not text or text.endswith("\\"):
            raise _Unclear("a text with several lines")

    def _read_file(self) -> None:
        self._skip(_BLANK)
        self.found += places.read(Arg.literal(self._skip(_TO_END)), self.here)

    def _written_file(self) -> None:
        self._skip(_BLANK)
        path = self._skip(_TO_END)
        self.found += places.write(Arg.literal(path), self.here)

    def _substitution(self) -> None:
        delimiter = self._delimited(is_regex=True)
        self._delimited(is_regex=False, delimiter=delimiter)
        while self._char and self._char not in "; \t\n}#":
            flag = self._char
            self.pos += 1
            if flag == "w":
                return self._written_file()
            if flag == "e":
                self.found.append(ask("sed runs the result of a substitution", Level.HIGH, Effect.EXEC))
            elif flag not in "gpiImM0123456789":
                raise _Unclear(f"{flag!r} is not a flag of s")
        return self._end()


PROGRAMS: dict[str, Program] = named("sed gsed", _sed)
