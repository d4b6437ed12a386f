"""find and fd: expressions that print, delete, write and run commands."""

import re
from collections.abc import Sequence

from hermitty.policy import places, sensitive
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level, Verdict
from hermitty.policy.findings import ask, unclear
from hermitty.policy.options import Grammar
from hermitty.policy.programs.tables import Program, named

_ALONE = frozenset(
    {
        *(
            "!",
            "(",
            ")",
            ",",
            "-a",
            "-and",
            "-o",
            "-or",
            "-not",
            "-true",
            "-false",
            "-print",
            "-print0",
            "-ls",
            "-prune",
        ),
        *("-quit", "-daystart", "-depth", "-d", "-follow", "-mount", "-xdev", "-x", "-noleaf", "-ignore_readdir_race"),
        *("-noignore_readdir_race", "-warn", "-nowarn", "-help", "--help", "-version", "--version", "-E", "-X", "-s"),
        *("-H", "-L", "-P"),
    }
)
_SELECTING_ALONE = frozenset({"-empty", "-nouser", "-nogroup", "-executable", "-readable", "-writable"})
_WITH_VALUE = frozenset(
    {"-type", "-xtype", "-maxdepth", "-mindepth", "-printf", "-regextype", "-fstype", "-D", "-flags", "-context"}
)
_SELECTING = frozenset(
    {
        *("-amin", "-anewer", "-atime", "-cmin", "-cnewer", "-ctime", "-gid", "-group", "-ilname", "-iname", "-inum"),
        *(
            "-ipath",
            "-iregex",
            "-iwholename",
            "-links",
            "-lname",
            "-mmin",
            "-mtime",
            "-name",
            "-newer",
            "-path",
            "-perm",
        ),
        *("-regex", "-samefile", "-size", "-uid", "-used", "-user", "-wholename", "-Bmin", "-Bnewer", "-Btime"),
    }
)
_NAMING = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"})
_NEWER = re.compile(r"-newer[aBcm][aBcmt]")
_LEVEL = re.compile(r"-O\d?")
_WRITING = {"-fprint": 1, "-fprint0": 1, "-fls": 1, "-fprintf": 2}
_RUNNING = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_ENDING = re.compile(r"""[^$`'"\\()]*\.\w+""")  # a glob all of whose words end like a file


class _Expression:
    """Reads the words of one find."""

    def __init__(self, args: Sequence[Arg], judge: Judge) -> None:
        self.args = args
        self.judge = judge
        self.pos = 0
        self.starts: list[Arg] = []
        self.patterns: list[str] = []  # of -name and -path
        self.is_selective = False
        self.found: list[Finding] = []
        self.commands: list[list[Arg]] = []
        self.deletes: Arg | None = None

    def read(self) -> list[Finding]:
        self._starts()
        while self.pos < len(self.args):
            self._primary(self.args[self.pos])
        if self.deletes:
            self._deletion()
        for command in self.commands:
            self.found += self._run(command)
        return self.found

    def _starts(self) -> None:
        while self.pos < len(self.args):
            arg = self.args[self.pos]
            if arg.text in ("-H", "-L", "-P") or (arg.text and _LEVEL.fullmatch(arg.text)):
                self.pos += 1
            elif arg.text == "-D":
                self.pos += 2
            elif arg.text == "-f" and self.pos + 1 < len(self.args):
                self.starts.append(self.args[self.pos + 1])
                self.pos += 2
            elif arg.text == "--":
                self.pos += 1
            elif arg.text is not None and arg.text[:1] in ("-", "(", ")", "!", ","):
                return
            else:
                if arg.may_be_option:
                    self.found.append(unclear(f"{arg.shown} may be an action of find", at=arg))
                self.starts.append(arg)
                self.pos += 1

    def _primary(self, arg: Arg) -> None:
        self.pos += 1
        text = arg.text
        if text is None:
            self.found.append(unclear(f"{arg.shown} may be an action of find", at=arg))
        elif text in _ALONE:
            pass
        elif text in _SELECTING_ALONE:
            self.is_selective = True
        elif text in _WITH_VALUE:
            self._value()
        elif text in _SELECTING or _NEWER.fullmatch(text):
            value = self._value()
            if value and text in _NAMING:
                self.patterns.append(value.text or value.shown)
            self.is_selective = self.is_selective or bool(value and value.text not in ("*", ".*", "?*", "./*", "-0"))
        elif text == "-files0-from":
            value = self._value()
            if value and value.text != "-":
                self.found += places.read(value, self.judge.here)
        elif text == "-delete":
            self.deletes = arg
        elif text in _WRITING:
            file = self._value()
            if _WRITING[text] == 2:
                self._value()
            self.found += places.write(file, self.judge.here) if file else [unclear(f"{text} without a file", at=arg)]
        elif text in _RUNNING:
            self._command(arg)
        else:
            self.found.append(unclear(f"{arg.shown} is not a known test or action of find", at=arg))

    def _value(self) -> Arg | None:
        if self.pos >= len(self.args):
            return None
        arg = self.args[self.pos]
        self.pos += 1
        if arg.is_many and not (arg.is_glob and _ENDING.fullmatch(arg.shown)):
            self.found.append(unclear(f"{arg.shown} may become several words", at=arg))
        return arg

    def _command(self, action: Arg) -> None:
        words: list[Arg] = []
        while self.pos < len(self.args):
            arg = self.args[self.pos]
            self.pos += 1
            if arg.text == ";" or (arg.text == "+" and words and words[-1].text == "{}"):
                break
            words.append(arg)
        else:
            self.found.append(unclear(f"the command of {action.shown} has no end", at=action))
        if any(word.text is None for word in words) and any(
            word.text in _RUNNING or word.text in _WRITING or word.text == "-delete" for word in words
        ):
            self.found.append(unclear(f"the command of {action.shown} may end early", at=action))
        self.commands.append(words)

    def _deletion(self) -> None:
        for start in self.starts or [Arg.literal(".")]:
            found = places.delete(start, self.judge.here, recursive=True, verb="deletes what it finds in")
            if self.is_selective:
                found = [
                    ask(one.reason, Level.CRITICAL, Effect.DELETE, at=self.deletes)
                    if one.verdict is Verdict.BLOCK
                    else one
                    for one in found
                ]
            self.found += found

    def _run(self, words: list[Arg]) -> list[Finding]:
        """Judge a command for what find hands it: what it finds, and without a test also where it starts."""
        found: list[Finding] = []
        for start in self.starts or [Arg.literal(".")]:
            item = Arg(None, "{}", start.prefix if start.text is None else start.text or ".")
            found += self.judge.command([_filled(word, item) for word in words])
            if not self.is_selective:
                found += self.judge.command([_filled(word, start) for word in words])
                if (words[0].text or "").rpartition("/")[2] in ("rm", "unlink", "shred"):
                    found += places.delete(start, self.judge.here, recursive=True, verb="deletes what it finds in")
        if any(one.effect is Effect.READ for one in found) and any(_names_secrets(one) for one in self.patterns):
            found.append(ask("reads files that may hold secrets", Level.HIGH, Effect.CREDENTIALS))
        return list(dict.fromkeys(found))


def _filled(word: Arg, item: Arg) -> Arg:
    """Put what was found in the place of `{}`."""
    if word.text == "{}":
        return item
    if word.text is not None and "{}" in word.text:
        before = word.text.partition("{}")[0]
        return Arg(
            None, word.shown, before + item.prefix if item.text is None else before, start=word.start, end=word.end
        )
    return word


def _names_secrets(pattern: str) -> bool:
    plain = re.sub(r"[*?]|\[[^]]*\]", "x", pattern)
    return sensitive.is_secret(plain, None) or any(
        re.fullmatch(re.sub(r"\\\*", ".*", re.sub(r"\\\?", ".", re.escape(pattern))), example)
        for example in sensitive.EXAMPLES
        if not pattern.startswith("*") and sensitive.is_secret(example, None)
    )


def _find(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    return _Expression(args, judge).read()


_FD = Grammar(
    "--help --version -HIusigFaLlp01qhV -d,--max-depth,--maxdepth: --min-depth: --exact-depth: -E,--exclude: "
    "-t,--type: -e,--extension: -S,--size: --changed-within,--newer,--change-newer-than: --changed-before,--older: "
    "-o,--owner: -c,--color: -j,--threads: --max-results: -C,--base-directory: --path-separator: --search-path: "
    "--ignore-file:read --format: --and: --hidden --no-hidden --no-ignore --no-ignore-vcs --no-ignore-parent "
    "--no-global-ignore-file --unrestricted --case-sensitive --ignore-case --glob --regex --fixed-strings --literal "
    "--absolute-path --relative-path --list-details --follow --full-path --print0 --prune --strip-cwd-prefix? "
    "--one-file-system --show-errors --quiet --hyperlink? --batch-size: -x,--exec:exec -X,--exec-batch:exec",
    "plain name*",
)
_FD_RUNS = re.compile(r"-[A-Za-z0-9]*[xX]|--exec|--exec-batch")
_FD_PLACES = re.compile(r"\{(?:/|//|\.|/\.|)\}")


def _fd(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge fd: behind `-x` and `-X` is a command, up to `;`."""
    at = next((index for index, arg in enumerate(args) if arg.text and _FD_RUNS.fullmatch(arg.text)), None)
    if at is None:
        return _FD.judge(name, args, judge.here)
    found: list[Finding] = []
    switch = args[at].text or ""
    before = list(args[:at])
    if not switch.startswith("--") and len(switch) > 2:
        before.append(Arg.literal(switch[:-1]))
    words = list(args[at + 1 :])
    ends = [index for index, arg in enumerate(words) if arg.text == ";"]
    if ends:
        before += words[ends[0] + 1 :]
        words = words[: ends[0]]
    item = Arg(None, "{}", "./")
    if not any(word.text and _FD_PLACES.search(word.text) for word in words):
        words.append(item)
    found += judge.command(
        [
            item
            if word.text and _FD_PLACES.fullmatch(word.text)
            else Arg(None, word.shown, word.text[: match.start()])
            if word.text and (match := _FD_PLACES.search(word.text))
            else word
            for word in words
        ]
    )
    return found + _FD.judge(name, before, judge.here)


PROGRAMS: dict[str, Program] = {**named("find gfind", _find), **named("fd fdfind", _fd)}
