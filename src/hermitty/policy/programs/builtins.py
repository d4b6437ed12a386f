"""Commands that are part of bash and its kin, and what they do to the session."""

import re
from collections.abc import Sequence

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.options import Grammar
from hermitty.policy.programs import formats, names
from hermitty.policy.programs.tables import Handler, Program, named
from hermitty.policy.programs.variables import dangerous_variable

_PLAIN = Grammar("", "plain*", any_options=True)
# Variables that may be exported without a question: they change how output looks.
_EXPORTABLE = re.compile(
    r"LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|CLICOLOR(?:_FORCE)?|COLUMNS|LINES|CI|GREP_COLORS?|LS_COLORS"
    r"|PYTHON(?:UNBUFFERED|DONTWRITEBYTECODE|IOENCODING|UTF8)|RUST_BACKTRACE|MANWIDTH|LESSCHARSET"
)
_NUMBER = re.compile(r"[-+]?\d*\.?\d+")


def _session(reason: str, level: Level = Level.MEDIUM, at: Arg | None = None) -> Finding:
    return ask(reason, level, Effect.SESSION, at=at)


def _unless(reason: str, level: Level, *harmless: str) -> Handler:
    """Make the judge of a command that is asked about, unless all its words are among the harmless, or it has none."""

    def judge_call(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        if all(arg.text in harmless for arg in args):
            return []
        return [_session(reason, level)]

    return judge_call


def _alias(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    if all(arg.text is not None and "=" not in arg.text and not arg.text.startswith(("-", "+")) for arg in args):
        return []
    if [arg.text for arg in args] in (["-p"], ["-L"]):
        return []
    return [_session("changes what later commands mean", Level.HIGH)]


_DECLARE = Grammar("-aAgIilrtuxpfFn -pfF", "ask*", plus=True)


def _export(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    return _declared(name, args, judge, exports=True)


def _declare(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    return _declared(name, args, judge, exports=False)


def _declared(name: str, args: Sequence[Arg], judge: Judge, *, exports: bool) -> list[Finding]:
    parsed = _DECLARE.parse(args, name)
    found = list(parsed.findings)
    shell = judge.here.shell
    exports = exports or parsed.has("-x")
    prints = parsed.has("-p", "-F") or (parsed.has("-f") and not exports)
    if parsed.has("-n") and parsed.operands:
        found.append(_session("makes a name stand for another, or hides it"))
    if parsed.has("-i", "-l", "-u") and parsed.operands and not prints:
        # The next value that one of these gets is calculated, or is not the text that was given.
        found.append(_session("changes what it means to give a variable a value"))
    if shell == "zsh" and parsed.has("-f") and parsed.has("-u"):
        found.append(_session("marks functions that are loaded when they are called", Level.HIGH))
    is_array = parsed.has("-a", "-A") and not prints
    for arg in parsed.operands:
        if is_array and names.may_be_list(arg):
            found.append(names.read_again(arg))
        if (arg.text is not None and "=" not in arg.text) or prints:
            found += names.looked_up(arg)
            if exports and not prints:
                found.append(_session(f"exports {arg.shown} to later programs", Level.LOW, arg))
            elif name == "readonly" and not prints:
                found.append(_session(f"fixes the value of {arg.shown}", Level.LOW, arg))
            continue
        found += _assignment(arg, shell, exports=exports, is_number=parsed.has("-i"), is_final=name == "readonly")
    return found


def _assignment(arg: Arg, shell: str, *, exports: bool, is_number: bool, is_final: bool) -> list[Finding]:
    result = names.assigned(arg, shell)
    if isinstance(result, Finding):
        return [result]
    name, value = result
    reason = dangerous_variable(name, value, shell)
    if reason:
        return [_session(reason, Level.HIGH, arg)]
    if is_number and not (value is not None and _NUMBER.fullmatch(value)):
        return [unclear(f"{arg.shown} is calculated, which may run what is in it", at=arg)]
    if exports and not _EXPORTABLE.fullmatch(name):
        return [_session(f"sets {name} for later programs", Level.LOW, arg)]
    if is_final:
        return [_session(f"fixes the value of {name}", Level.LOW, arg)]
    return []


def _unset(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    found: list[Finding] = []
    for arg in args:
        if arg.text in ("-v", "--"):
            continue
        if arg.may_be_option:
            found.append(_session(f"{arg.shown} may remove functions", at=arg))
            continue
        found += names.looked_up(arg)
        reason = dangerous_variable(arg.text or "", None, judge.here.shell)
        if reason:
            found.append(_session(f"removes {arg.shown}, which changes what later commands do", at=arg))
    return found


def _set(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    words = [arg.text for arg in args]
    if not words or words in (["-o"], ["+o"]) or words[0] == "--":
        return []
    return [_session("changes how the shell works", Level.LOW)]


def _shopt(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    if all(arg.text is not None and (arg.text in ("-p", "-q", "-o") or not arg.text.startswith("-")) for arg in args):
        return []
    return [_session("changes how the shell works")]


def _trap(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    words = [arg.text for arg in args]
    if not words or words[0] in ("-l", "-p"):
        return []
    found = [_session("sets what the shell runs on a signal or at its end", Level.HIGH)]
    if words[0] not in ("-", "", "--") and len(words) > 1:
        found += judge.script(args[0], judge.here.shell)
    return found


def _hash(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    for arg in args:
        if (
            arg.text is None
            or "=" in arg.text
            or (arg.text.startswith("-") and arg.text not in ("-r", "-l", "-t", "-lr"))
        ):
            return [_session(f"{arg.shown} may change which program a name stands for", Level.HIGH, arg)]
    return []


def _enable(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    if any("f" in (arg.text or "f") and (arg.text or "-").startswith("-") for arg in args):
        return [ask("loads code into the shell", Level.HIGH, Effect.EXEC)]
    return _unless("changes which commands the shell has", Level.HIGH, "-p", "-a", "-ap", "-s", "-ps")(
        name, args, judge
    )


def _source(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    shown = args[0].shown if args else "a file"
    is_made = bool(args) and args[0].is_stream
    return [
        ask(f"runs {shown} in this shell", Level.HIGH if is_made else Level.MEDIUM, Effect.EXEC),
        _session("may change what later commands mean"),
    ]


def _exec(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _EXEC.parse(args, name)
    found = [*parsed.findings, _session("replaces the shell, or what it reads and writes")]
    return found + (judge.command(parsed.operands) if parsed.operands else [])


_EXEC = Grammar("-cl -a:", "ask*", permutes=False)
_COMMAND = Grammar("-pvV", "ask*", permutes=False)


def _command(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _COMMAND.parse(args, name)
    if parsed.has("-v", "-V") and not parsed.findings:
        return []
    return parsed.findings + (judge.command(parsed.operands) if parsed.operands else [])


def _builtin(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    words = args[1:] if args and args[0].text == "--" else args
    return judge.command(words) if words else []


_READ = Grammar("-ers -a: -d: -i: -n: -N: -p: -t: -u:", "ask*")
# In zsh, `-t` calculates and `-p` has another meaning.
_READ_ZSH = Grammar("-ersqEA -d: -u: -t?ask", "ask*")
_MAPFILE = Grammar("-t -d: -n: -O: -s: -u: -C:exec -c:", "ask*")


def _read(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    grammar = _MAPFILE if name != "read" else _READ_ZSH if judge.here.shell == "zsh" else _READ
    parsed = grammar.parse(args, name)
    found = grammar.option_findings(parsed, name, judge.here)
    for arg in [*parsed.operands, *parsed.values("-a")]:
        found += names.set_by(arg, judge.here.shell)
    return found


def _printf(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    words = list(args)
    found: list[Finding] = []
    while words:
        if words[0].text == "-v" and len(words) > 1:
            found += names.set_by(words[1], judge.here.shell)
            words = words[2:]
        elif words[0].text is not None and words[0].text.startswith("-v"):
            found += names.set_by(Arg.literal(words[0].text[2:]), judge.here.shell)
            words = words[1:]
        else:
            break
    if words and words[0].text == "--":
        words = words[1:]
    elif words and words[0].may_be_option and words[0].text is None:
        return [unclear(f"{words[0].shown} may be an option of printf", at=words[0])]
    return found + (formats.judged(words[0].text, words[1:], judge.here.shell) if words else [])


_SAFE_EXPANSIONS = re.compile(r"\$[?#$]|\$\{#\w+\}")
_COMPARISONS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})


def _test(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge `[`: `-v NAME` evaluates subscripts, and so do comparisons of numbers in zsh."""
    found: list[Finding] = []
    for index, arg in enumerate(args):
        if arg.text in ("-v", "-R") and index + 1 < len(args):
            following = args[index + 1]
            is_operand = following.text in ("=", "==", "!=", "]", "-a", "-o") and index + 2 < len(args)
            found += [] if is_operand else names.looked_up(following)
        elif arg.may_split and not _SAFE_EXPANSIONS.fullmatch(arg.shown):
            found.append(unclear(f"{arg.shown} may become several words, one of them a test that runs code", at=arg))
        elif arg.text is None and not arg.prefix and index + 1 < len(args) and index < 2 and len(args) - index <= 3:
            found += _unknown_operator(args, index, name)
        elif arg.text in ("-t", *_COMPARISONS) and judge.here.shell == "zsh":
            near = [*args[max(index - 1, 0) : index], *args[index + 1 : index + 2]]
            found += [
                unclear(f"{one.shown} is calculated", at=one)
                for one in near
                if one.text is not None and not _NUMBER.fullmatch(one.text.strip() or "0")
            ]
    return found


def _unknown_operator(args: Sequence[Arg], index: int, name: str) -> list[Finding]:
    """Judge `[ "$x" WORD ]`: two words, of which the first may be `-v`."""
    words = [arg for arg in args[index:] if arg.text != "]"]
    if len(words) == 2 and (words[1].text is None or "[" in words[1].text):
        return [unclear(f"{words[0].shown} may be a test that runs code", at=words[0])]
    return []


def _let(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    if all(
        arg.text is not None and re.fullmatch(r"(?:[A-Za-z_]\w*\s*=)?[\d\s+\-*/%()<>&|^~]*", arg.text) for arg in args
    ):
        return [one for arg in args for one in _named_by_let(arg, judge)]
    return [unclear("an expression may run what is in its variables")]


def _named_by_let(arg: Arg, judge: Judge) -> list[Finding]:
    name, equals, _ = (arg.text or "").partition("=")
    reason = dangerous_variable(name.strip(), None, judge.here.shell) if equals else None
    return [_session(reason, Level.HIGH, arg)] if reason else []


def _query(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge umask and ulimit: without a value they only tell."""
    if all(arg.text is not None and re.fullmatch(r"-[A-Za-z]+", arg.text) for arg in args):
        return []
    return [_session("changes a limit of later programs", Level.LOW)]


def _history(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    if all(arg.text is not None and arg.text.isdecimal() for arg in args):
        return []
    return [_session("changes the history of the shell", Level.MEDIUM)]


_LISTS = re.compile(r"-[lnr]+")


def _fc(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    texts = [arg.text for arg in args]
    known = [text for text in texts if text is not None]
    options = [text for text in known if text.startswith("-") and not _NUMBER.fullmatch(text)]
    if len(known) == len(texts) and all(map(_LISTS.fullmatch, options)) and any("l" in one for one in options):
        return []
    return [ask("runs earlier commands again", Level.HIGH, Effect.EXEC)]


_JOBS = Grammar("-lpnrsx", "ask*", permutes=False)
_JOBS_ZSH = Grammar("-dlprs", "ask*", permutes=False)


def _jobs(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = (_JOBS_ZSH if judge.here.shell == "zsh" else _JOBS).parse(args, name)
    runs = parsed.operands if parsed.has("-x") else []
    return parsed.findings + (judge.command(runs) if runs else [])


def _jobs_change(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    return [ask("changes jobs of the shell", Level.LOW, Effect.PROCESS)]


def _wait(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    found: list[Finding] = []
    for index, arg in enumerate(args):
        if arg.text is not None and arg.text.startswith("-") and "p" in arg.text:
            found += names.set_by(args[index + 1], judge.here.shell) if index + 1 < len(args) else []
            found += [] if arg.text == "-p" else [unclear(f"{arg.shown} is not analysed", at=arg)]
        elif arg.may_be_option and arg.text is None and arg.shown != "$!":
            found.append(unclear(f"{arg.shown} may be an option of wait", at=arg))
    return found


def _counted(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge `exit N` and its like: bash wants a number, zsh calculates."""
    if judge.here.shell != "zsh":
        return []
    return [
        unclear(f"{arg.shown} is calculated, which may run what is in it", at=arg)
        for arg in args
        if arg.shown != "$?" and not (arg.text is not None and _NUMBER.fullmatch(arg.text))
    ]


def _getopts(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    return names.set_by(args[1], judge.here.shell) if len(args) > 1 else []


def _compgen(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    simple = Grammar("-abcdefgjksuv -A:", "plain*").parse(args, name)
    return simple.findings + [unclear("may run code") for arg in args if arg.text is None]


PROGRAMS: dict[str, Program] = {
    **named(": true false echo pwd times caller type help dirs", _PLAIN),
    **named("shift return break continue exit logout", _counted),
    **named("cd pushd popd chdir", Grammar("-LPe@nqs", "name*", numbers=True, plus=True)),
    "alias": _alias,
    "unalias": _unless("changes what later commands mean", Level.MEDIUM),
    "export": _export,
    **named("declare typeset local readonly", _declare),
    "unset": _unset,
    "set": _set,
    "shopt": _shopt,
    "trap": _trap,
    "hash": _hash,
    "rehash": _PLAIN,
    "enable": _enable,
    **named("source .", _source),
    "exec": _exec,
    "command": _command,
    "builtin": _builtin,
    **named("read mapfile readarray", _read),
    "printf": _printf,
    **named("test [", _test),
    "let": _let,
    **named("umask ulimit", _query),
    "history": _history,
    "fc": _fc,
    "jobs": _jobs,
    "wait": _wait,
    "getopts": _getopts,
    "compgen": _compgen,
    "complete": _unless("changes how the shell completes words", Level.MEDIUM, "-p"),
    "compopt": _unless("changes how the shell completes words", Level.MEDIUM),
    "bind": _unless("changes what keys do", Level.MEDIUM, "-l", "-p", "-P", "-v", "-V", "-s", "-S", "-X"),
    **named("fg bg disown suspend", _jobs_change),
}
