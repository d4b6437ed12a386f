"""Interpreters: what they run is not analysed, but for a few modules of Python that only read."""

import re
from collections.abc import Sequence

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import RUNS_INPUT, ask, unclear
from hermitty.policy.options import Grammar
from hermitty.policy.programs import packages
from hermitty.policy.programs.subcommands import asked, run
from hermitty.policy.programs.tables import Handler, Program, named

_MODULES: dict[str, Program] = {
    "json.tool": Grammar(
        "-h,--help --sort-keys --no-ensure-ascii --json-lines --indent: --tab --no-indent --compact", "read output"
    ),
    "pip": packages.PROGRAMS["pip"],
    "ast": Grammar("-h,--help -m,--mode: --no-type-comments -a,--include-attributes -i,--indent:", "read*"),
    "tokenize": Grammar("-h,--help -e,--exact", "read*"),
    "dis": Grammar("-h,--help -C,--show-caches -O,--show-offsets", "read*"),
    "calendar": Grammar("", "plain*", any_options=True),
    **named("platform this sysconfig site", Grammar("--help --user-base --user-site", "ask*")),
    "zipfile": Grammar("-h,--help -l,--list:read -t,--test:read -e,--extract^change -c,--create^change", "change*"),
    "tarfile": Grammar("-h,--help -v -l,--list:read -t,--test:read -e,--extract^change -c,--create^change", "change*"),
    "base64": Grammar("-deuht", "read*"),
}


def _python(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge up to `-c` or `-m`: what follows belongs to the code."""
    words = [arg.text for arg in args]
    if words in (["-V"], ["-VV"], ["--version"], ["--help"], ["-h"], ["-?"]):
        return []
    remaining = list(args)
    while remaining:
        arg = remaining.pop(0)
        if arg.text is None:
            return [unclear(f"what {name} runs is only known when it runs", at=arg)]
        if arg.text in _WITH_VALUE:
            value = remaining.pop(0) if remaining else arg
            if value.is_many:
                return [unclear(f"{value.shown} may become several words", at=value)]
        elif _CODE.fullmatch(arg.text):
            return [ask(f"{name} runs code that the line has", Level.MEDIUM, Effect.EXEC, at=arg)]
        elif match := _MODULE.fullmatch(arg.text):
            module = [Arg.literal(match[1])] if match[1] else []
            return _module(name, [*module, *remaining], judge)
        elif arg.text == "-" or not arg.text.startswith("-"):
            return _file_or_input(name, arg)
        elif not _FLAGS.fullmatch(arg.text):
            return [unclear(f"{arg.shown} is not a known option of {name}", at=arg)]
    return _file_or_input(name, None)


_CODE = re.compile(r"-[bBdEiIOPqsSuvx]*c.*", re.DOTALL)
_MODULE = re.compile(r"-[bBdEIOPqsSuvx]*m(.*)", re.DOTALL)
_FLAGS = re.compile(r"-[bBdEiIOPqsSuvx]+|-[WX].+", re.DOTALL)
_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


def _module(name: str, words: Sequence[Arg], judge: Judge) -> list[Finding]:
    if not words or words[0].text is None:
        return [unclear(f"which module {name} runs is not known")]
    module = words[0].text
    if module in _MODULES:
        return run(_MODULES[module], module, words[1:], judge)
    if module in ("http.server", "smtpd"):
        return [ask(f"{module} lets other machines in", Level.MEDIUM, Effect.NETWORK)]
    return [ask(f"{name} runs the module {module}", Level.MEDIUM, Effect.EXEC, at=words[0])]


def _file_or_input(name: str, file: Arg | None) -> list[Finding]:
    if file is None or file.text in ("-", "/dev/stdin"):
        return [ask(f"{name} {RUNS_INPUT}", Level.HIGH, Effect.EXEC)]
    return [ask(f"{name} runs the program {file.shown}", Level.MEDIUM, Effect.EXEC, at=file)]


def _interpreter(informs: str, code: str, checks: str = "") -> Handler:
    """Make the judge of an interpreter.

    `informs` are words that only print if they are alone, `code` is a pattern of options with code behind them,
    `checks` are options that only check the syntax of the files behind them.
    """
    printing, checking, has_code = frozenset(informs.split()), frozenset(checks.split()), re.compile(code, re.DOTALL)

    def judge_interpreter(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        words = [arg.text for arg in args]
        if len(words) == 1 and words[0] in printing:
            return []
        if words and words[0] in checking and all(word and word[0] != "-" for word in words[1:]) and len(words) > 1:
            return []
        if any(word is None for word in words):
            return [unclear(f"what {name} runs is only known when it runs")]
        if any(word is not None and has_code.fullmatch(word) for word in words):
            return [ask(f"{name} runs code that the line has", Level.MEDIUM, Effect.EXEC)]
        files = [arg for arg in args if arg.text == "-" or not (arg.text or "-").startswith("-")]
        return _file_or_input(name, files[0] if files else None)

    return judge_interpreter


_NEVER = r"(?!)"
_VERSION = "--version -v -V --help -h"

PROGRAMS: dict[str, Program] = {
    **named("python python2 python3", _python),
    **{f"python3.{minor}": _python for minor in range(6, 16)},
    **named("pypy pypy3", _python),
    **named(
        "node nodejs",
        _interpreter(_VERSION + " --v8-options", r"-[a-z]*[ep][a-z]*|--eval(?:=.*)?|--print(?:=.*)?", "--check -c"),
    ),
    "ruby": _interpreter("--version -v --help -h --copyright", r"-[a-zA-Z]*e.*"),
    # With `-c`, perl still runs BEGIN blocks.
    "perl": _interpreter("-v -V --version --help -h", r"-[a-zA-Z0-9]*[eE].*"),
    "php": _interpreter("-v --version -m -i --ini -h --help", r"-[rBRE].*|--run.*", "-l --syntax-check"),
    **named("lua lua5.1 lua5.3 lua5.4 luajit", _interpreter("-v", r"-[a-z]*e.*")),
    "luac": _interpreter("-v", _NEVER, "-p"),
    **named("Rscript R julia groovy elixir runghc racket guile sbcl", _interpreter("--version", r"-[a-z]*e.*")),
    **named("ts-node tsx swift dart nim crystal", _interpreter("--version --help", r"-[a-z]*[ep].*|--eval.*")),
    "java": _interpreter("-version --version -showversion -help --help -h --help-extra -X", _NEVER),
    **named("tclsh expect osascript wish erl scala clojure", _interpreter("", r"-[a-z]*[ce].*")),
    **asked(
        """
    deno: medium exec,network runs a program
    jshell irb pry ipython bpython ghci iex jupyter: high exec runs code that it reads from its input
    gdb lldb pdb: high exec,process runs and changes other programs
    vim vi nvim nano emacs ed ex code subl: medium write,exec opens an editor
    """,
        "--version --help",
    ),
}
