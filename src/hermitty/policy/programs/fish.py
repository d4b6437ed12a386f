"""Commands that are part of fish, and what they do to the session."""

import re
from collections.abc import Sequence

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.options import Grammar
from hermitty.policy.programs.subcommands import asked
from hermitty.policy.programs.tables import Handler, Program, named
from hermitty.policy.programs.variables import dangerous_variable

_PLAIN = Grammar("", "plain*", any_options=True)
_NAME = re.compile(r"([A-Za-z_]\w*)(?:\[[-\d. ]+\])?", re.ASCII)
_EXPORTABLE = re.compile(r"LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|CLICOLOR(?:_FORCE)?|CI")
# Lists of fish that decide where commands and functions come from.
_LISTS = re.compile(r"fish_\w+|PATH|CDPATH|MANPATH|umask|history")


def _session(reason: str, level: Level = Level.MEDIUM, at: Arg | None = None) -> Finding:
    return ask(reason, level, Effect.SESSION, at=at)


def _changed(arg: Arg, verb: str = "sets") -> list[Finding]:
    """Judge a variable that gets another value."""
    match = _NAME.fullmatch(arg.text) if arg.text is not None else None
    if match is None:
        return [unclear(f"{verb} {arg.shown}, whose name is not plain", at=arg)]
    reason = dangerous_variable(match[1], None, "fish")
    if reason or _LISTS.fullmatch(match[1]):
        return [_session(f"{verb} {match[1]}, which changes what later commands do", Level.HIGH, arg)]
    return []


_SET = Grammar(
    "-h,--help -l,--local -f,--function -g,--global -U,--universal -x,--export -u,--unexport -a,--append -p,--prepend "
    "-e,--erase -q,--query -n,--names -S,--show -L,--long --path --unpath --no-event",
    "ask*",
    permutes=False,
)


def _set(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _SET.parse(args, name)
    found = list(parsed.findings)
    if parsed.has("-q", "-n", "-S", "-h") or not parsed.operands:
        return found
    if parsed.has("-e"):
        return found + [one for arg in parsed.operands for one in _changed(arg, "removes")]
    variable = parsed.operands[0]
    found += _changed(variable)
    if parsed.has("-U"):
        found.append(_session(f"sets {variable.shown} for all later sessions", Level.HIGH, variable))
    elif parsed.has("-x") and not _EXPORTABLE.fullmatch(variable.text or ""):
        found.append(_session(f"sets {variable.shown} for later programs", Level.LOW, variable))
    return found


# Groups with names in a pattern set variables of these names.
_NAMED_GROUP = re.compile(r"\(\?P?<([A-Za-z_]\w*)>|\(\?'(\w+)'")


def _string(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    if not args or args[0].text != "match":
        return (
            [] if not args or args[0].text is not None else [unclear(f"what string {args[0].shown} does is not known")]
        )
    words = args[1:]
    is_pattern = any(
        (arg.text is None and arg.may_be_option)
        or (arg.text or "").startswith("--r")
        or re.fullmatch(r"-[a-z]*r[a-z]*", arg.text or "")
        for arg in words
    )
    if not is_pattern:
        return []
    found: list[Finding] = []
    pattern = next((arg for arg in words if not (arg.text or "x").startswith("-")), None)
    if pattern is not None and pattern.text is None:
        found.append(unclear(f"{pattern.shown} may set variables", at=pattern))
    for arg in words:
        for first, second in _NAMED_GROUP.findall(arg.text or ""):
            found += _changed(Arg.literal(first or second, arg.shown, arg.start, arg.end))
    return found


def _unless(reason: str, level: Level, harmless: str = "", *, operands: bool = False) -> Handler:
    """Make the judge of a command that is asked about, unless all its options are harmless; other words may be, too."""
    allowed = frozenset(harmless.split())

    def judge_call(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        for arg in args:
            is_word = operands and arg.text is not None and not arg.text.startswith("-")
            if arg.text not in allowed and not is_word:
                return [_session(f"{name} {reason}", level)]
        return []

    return judge_call


def _listing(reason: str, level: Level, queries: str) -> Handler:
    """Make the judge of a command that only lists without arguments, or when the first one is a query."""
    allowed = frozenset(queries.split())

    def judge_call(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        if not args or (args[0].text in allowed and all((arg.text or "-")[0:1] != "-" for arg in args[1:])):
            return []
        return [_session(f"{name} {reason}", level)]

    return judge_call


_READ = Grammar(
    "-h,--help -s,--silent -z,--null -l,--local -f,--function -g,--global -u,--unexport -x,--export -U,--universal "
    "-S,--shell -t,--tokenize -a,--list,--array -L,--line -i,--interactive -c,--command: -d,--delimiter: -n,--nchars: "
    "-P,--prompt-str: -m,--mode-name: -p,--prompt:exec -R,--right-prompt:exec",
    "ask*",
)


def _read(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _READ.parse(args, name)
    found = _READ.option_findings(parsed, name, judge.here)
    found += [one for arg in parsed.operands for one in _changed(arg)]
    if parsed.has("-U", "-x") and parsed.operands:
        found.append(_session("sets a variable for later programs", Level.LOW))
    return found


def _eval(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    if not args:
        return []
    shown = " ".join(arg.shown for arg in args)
    is_known = all(arg.text is not None for arg in args)
    text = " ".join(arg.text or "" for arg in args)
    return judge.script(Arg.literal(text, shown) if is_known else Arg(None, shown), "fish")


def _source(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    shown = args[0].shown if args else "its input"
    return [
        ask(f"runs {shown} in this shell", Level.MEDIUM, Effect.EXEC),
        _session("may change what later commands mean"),
    ]


def _exec(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    return [_session("replaces the shell"), *(judge.command(args) if args else [])]


_COMMAND = Grammar("-h,--help -a,--all -q,--query -v,-s,--search", "ask*", permutes=False)
_BUILTIN = Grammar("-h,--help -n,--names -q,--query", "ask*", permutes=False)


def _running(grammar: Grammar) -> Handler:
    """Make the judge of `command` and `builtin`: with an option they look a name up, without they run it."""

    def judge_run(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        parsed = grammar.parse(args, name)
        if parsed.options:
            return parsed.findings
        return parsed.findings + (judge.command(parsed.operands) if parsed.operands else [])

    return judge_run


def _argparse(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge argparse: `name=!code` runs code for a value."""
    words = []
    for arg in args:
        if arg.text == "--":
            break
        words.append(arg)
    if any(arg.text is None or "!" in arg.text for arg in words):
        return [ask("checks values with code that the line has", Level.MEDIUM, Effect.EXEC)]
    return []


def _numbers(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge umask and ulimit: without a value they only tell."""
    if all(arg.text is not None and re.fullmatch(r"-[A-Za-z]+|--[a-z-]+", arg.text) for arg in args):
        return []
    return [_session("changes a limit of later programs", Level.LOW)]


_STATUS_CHANGES = frozenset({"job-control", "-j", "--job-control"})


def _status(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    words = [arg.text for arg in args]
    if any(word is None or word in _STATUS_CHANGES or word.startswith("--job") for word in words):
        return [_session("changes how jobs are controlled", Level.LOW)]
    return []


def _history(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    words = [arg.text for arg in args]
    if not words or (words[0] == "search" and None not in words):
        return []
    return [_session("changes the history of the shell", Level.MEDIUM)]


_FUNCTIONS = Grammar(
    "-h,--help -a,--all -n,--names -q,--query -v,--verbose -D,--details -H,--handlers -t,--handlers-type: --no-details "
    "--color: -e,--erase^ask -c,--copy^ask -d,--description:ask",
    "plain*",
)
_JOBS = frozenset({"-l", "-p", "-g", "-c", "-q", "--last", "--pid", "--group", "--command", "--query"})

PROGRAMS: dict[str, Program] = {
    **named(": true false echo printf pwd count contains math random test [ type dirs path set_color isatty", _PLAIN),
    **named("exit return break continue prompt_pwd fish_is_root_user psub _ wait", _PLAIN),
    **named("cd pushd popd prevd nextd dirh cdh", Grammar("-h,--help -l,--list", "name*", numbers=True, plus=True)),
    "set": _set,
    "string": _string,
    "functions": _FUNCTIONS,
    "abbr": _listing("changes what words stand for", Level.HIGH, "-s --show -l --list -q --query"),
    "alias": _listing("changes what later commands mean", Level.HIGH, "-h --help"),
    "bind": _listing("changes what keys do", Level.MEDIUM, "-L --list-modes -K --key-names -f --function-names"),
    "complete": _listing("changes how words are completed, or runs code", Level.MEDIUM, "-h --help"),
    "trap": _listing("sets what the shell runs on a signal", Level.HIGH, "-l -p --list-signals --print"),
    "jobs": _unless("shows or changes jobs", Level.LOW, " ".join(_JOBS), operands=True),
    **named("source .", _source),
    "eval": _eval,
    "exec": _exec,
    "command": _running(_COMMAND),
    "builtin": _running(_BUILTIN),
    "read": _read,
    "argparse": _argparse,
    **named("umask ulimit", _numbers),
    "status": _status,
    "history": _history,
    **asked(
        """
    function: high session changes what later commands mean
    export setenv: medium session sets a variable for later programs
    fish_add_path: high session changes which programs are found
    funcsave funced vared fish_config fish_update_completions fish_vi_key_bindings fish_default_key_bindings: \
        medium session,write changes settings of the shell
    emit block breakpoint commandline: medium session changes what the shell does next
    fg bg disown suspend: low process changes jobs of the shell
    help open: medium exec opens another program
    fish_key_reader: low process waits for keys
    """,
        "-h --help",
    ),
    "fish_indent": Grammar(
        "-h,--help -v,--version -i,--no-indent -c,--check --ansi --html --pygments --only-indent --only-unindent "
        "-w,--write^change -d,--debug: -o,--debug-output:write --dump-parse-tree",
        "read*",
    ),
}
