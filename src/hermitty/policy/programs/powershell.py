"""PowerShell: its cmdlets with their parameters, and the shell itself as a program.

A value never becomes a parameter, unlike the words of other shells: unknown values matter only where a path or a
command is expected. Blocks (`{ ... }`) are judged by whoever walks the line.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level, Verdict
from hermitty.policy.findings import RUNS_INPUT, ask, block, unclear
from hermitty.policy.options import Given, Grammar, Option, Parsed, Role, rest
from hermitty.policy.programs import cmdlets, disks, files, network, processes, readers, system, viewers
from hermitty.policy.programs.subcommands import asked, run
from hermitty.policy.programs.tables import Handler, Program, named

_PARAMETER = re.compile(r"-[A-Za-z_?]")
_DRIVE = re.compile(r"[A-Za-z]:|\\\\")
_PATHS = frozenset({Role.READ, Role.NAME, Role.WRITE, Role.DELETE})


def parse(grammar: Grammar, args: Sequence[Arg], name: str) -> Parsed:
    """Sort arguments into parameters with their values, and positional values."""
    parsed = Parsed()
    table = {spelling.casefold(): option for spelling, option in grammar.table.items()}
    groups = [list(group) for _, group in groupby(enumerate(args), key=_same_word)]
    words = [[_slashed(arg) for _, arg in group] for group in groups]
    while words:
        word = words.pop(0)
        first = word[0]
        if not (first.shown.startswith("-") and _PARAMETER.match(_known(first))):
            parsed.operands += word
            continue
        given, colon, _ = _known(first).partition(":")
        option = _parameter(table, given.casefold()) if first.text is not None or colon else None
        if option is None:
            if not (grammar.any_options and first.text is not None):
                parsed.findings.append(unclear(f"{first.shown} is not a known parameter of {name}", at=first))
            continue
        values: Sequence[Arg | None] = [None]
        if colon:
            values = [rest(first, len(given) + 1)]
        elif option.arity and words and not _is_parameter(words[0][0]):
            values = words.pop(0)
        parsed.options += [Given(option, value, first) for value in values]
    return parsed


def _same_word(numbered: tuple[int, Arg]) -> tuple[int, int]:
    """Tell words apart; those without a position are all different."""
    index, arg = numbered
    return (arg.start, arg.end) if arg.end else (-1 - index, 0)


def _known(arg: Arg) -> str:
    return arg.prefix if arg.text is None else arg.text


def _is_parameter(arg: Arg) -> bool:
    return arg.shown.startswith("-") and _PARAMETER.match(_known(arg)) is not None


def _parameter(table: dict[str, Option], name: str) -> Option | None:
    if name in table:
        return table[name]
    possible = {option.name: option for spelling, option in table.items() if spelling.startswith(name)}
    return possible.popitem()[1] if len(possible) == 1 else None


def _slashed(arg: Arg) -> Arg:
    """Write a path with slashes, which PowerShell takes for backslashes on every system."""
    if "\\" not in arg.shown or _DRIVE.match(_known(arg)):
        return arg
    text = None if arg.text is None else arg.text.replace("\\", "/")
    return replace(arg, text=text, prefix=arg.prefix.replace("\\", "/"), shown=arg.shown.replace("\\", "/"))


def _cmdlet(grammar: Grammar) -> Handler:
    """Make the judge of a cmdlet whose parameters say all there is to say."""
    has_paths = bool(_PATHS & ({option.role for option in grammar.table.values()} | set(grammar.roles[0])))

    def judge_cmdlet(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        parsed = parse(grammar, args, name)
        if _only_tells(parsed):
            return []
        found = grammar.findings(parsed, name, judge.here)
        return found + _strange_paths(parsed) if has_paths else found

    return judge_cmdlet


def _only_tells(parsed: Parsed) -> bool:
    """Tell whether `-WhatIf` was given, and everything else was understood."""
    is_given = any(given.option.name == "-WhatIf" and given.value is None for given in parsed.options)
    return is_given and not parsed.findings and not any(given.option.role is Role.ASK for given in parsed.options)


def _strange_paths(parsed: Parsed) -> list[Finding]:
    found: list[Finding] = []
    for arg in [*parsed.operands, *(given.value for given in parsed.options if given.value)]:
        known = _known(arg)
        if known.startswith(("\\\\", "//")) and not known.startswith(("\\\\.\\", "\\\\?\\")):
            found.append(ask(f"{arg.shown} is on another machine", Level.MEDIUM, Effect.NETWORK, at=arg))
        elif "::" in known:
            found.append(unclear(f"{arg.shown} may be any path", at=arg))
    return found


def _is_block(arg: Arg) -> bool:
    return arg.text is None and arg.shown.startswith("{") and arg.shown.endswith("}")


_EACH = Grammar(
    cmdlets.COMMON + cmdlets.CHANGING + "-InputObject: -Begin: -Process: -End: -RemainingScripts: -MemberName: "
    "-ArgumentList,-Args:ask -Parallel: -ThrottleLimit: -TimeoutSeconds: -AsJob -UseNewRunspace",
    "plain*",
    single_dash=True,
)
# A name is a property or a method, and methods can do anything.
_PROPERTIES = re.compile(
    r"(?:base|full|process|display|module|user|file|service)?name|length|count|id|path|line(?:number)?|value|key|definition|version"
    r"|extension|(?:last\w+|creation)time|size|status|handles|cpu|ws|tostring|toupper|tolower|trim|gettype",
    re.IGNORECASE,
)


def _foreach(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = parse(_EACH, args, name)
    found = _EACH.option_findings(parsed, name, judge.here)
    blocks = parsed.values("-Begin", "-Process", "-End", "-RemainingScripts", "-Parallel")
    for arg in [*parsed.operands, *blocks, *parsed.values("-MemberName")]:
        if not (_is_block(arg) or (arg.text is not None and _PROPERTIES.fullmatch(arg.text))):
            found.append(ask(f"{name} {arg.shown} may run anything", Level.HIGH, Effect.EXEC, at=arg))
    return found


_COMPARISONS = " ".join(
    f"-{case}{operator}"
    for case in ("", "C", "I")
    for operator in (
        *("EQ", "NE", "GT", "GE", "LT", "LE", "Like", "NotLike", "Match", "NotMatch", "Contains", "NotContains"),
        *("In", "NotIn"),
    )
)
_WHERE = Grammar(
    cmdlets.COMMON + "-InputObject: -FilterScript: -Property: -Value: -Is -IsNot -Not " + _COMPARISONS,
    "plain*",
    single_dash=True,
)


def _where(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = parse(_WHERE, args, name)
    found = _WHERE.option_findings(parsed, name, judge.here)
    for arg in [*parsed.operands[:1], *parsed.values("-FilterScript")]:
        if arg.text is None and not _is_block(arg):
            found.append(ask(f"{name} {arg.shown} may run anything", Level.HIGH, Effect.EXEC, at=arg))
    return found


_MEASURE = Grammar(cmdlets.COMMON + "-Expression: -InputObject:", "plain*", single_dash=True)


def _measure_command(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = parse(_MEASURE, args, name)
    found = _MEASURE.option_findings(parsed, name, judge.here)
    for arg in [*parsed.operands, *parsed.values("-Expression")]:
        if not _is_block(arg):
            found.append(ask(f"{name} {arg.shown} may run anything", Level.HIGH, Effect.EXEC, at=arg))
    return found


_REMOVE = Grammar(
    cmdlets.COMMON + cmdlets.CHANGING + "-Path: -LiteralPath,-PSPath,-LP: -Filter: -Include: -Exclude: -Recurse -Force "
    "-Credential:ask -Stream:",
    "ask*",
    single_dash=True,
)
_ALL_IN = re.compile(r"(.*[\\/])\*(?:\.\*)?", re.DOTALL)
_VITAL_VARIABLES = re.compile(
    r"\"?\$(?:env:|\{env:)?(?:home|systemroot|windir|systemdrive|userprofile|homepath|homedrive|programfiles|programdata|public"
    r"|allusersprofile|appdata|localappdata|pshome)\}?[\\/]?(?:\*(?:\.\*)?)?\"?",
    re.IGNORECASE,
)


def _remove_item(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = parse(_REMOVE, args, name)
    if _only_tells(parsed):
        return []
    found = _REMOVE.option_findings(parsed, name, judge.here)
    recursive, forced = parsed.has("-Recurse"), parsed.has("-Force")
    for arg in [*parsed.operands, *parsed.values("-Path", "-LiteralPath")]:
        found += places.delete(arg, judge.here, recursive=recursive)
        found += _deletes_all_in(arg, judge, recursive=recursive)
    if recursive and forced:
        found.append(ask("deletes files recursively without asking", Level.CRITICAL, Effect.DELETE))
    elif recursive:
        found.append(ask("deletes files recursively", Level.HIGH, Effect.DELETE))
    return found + _strange_paths(parsed) or [ask("deletes files", Level.MEDIUM, Effect.DELETE)]


def _deletes_all_in(arg: Arg, judge: Judge, *, recursive: bool) -> list[Finding]:
    """Judge `C:\\*` as its directory, and variables that stand for a vital one."""
    if recursive and _VITAL_VARIABLES.fullmatch(arg.shown):
        return [block(f"deletes {arg.shown}: a system or home directory", Effect.DELETE, at=arg)]
    match = _ALL_IN.fullmatch(arg.shown)
    if match and arg.text is None and arg.prefix == match[1]:
        return places.delete(replace(arg, text=match[1], is_glob=False, is_many=False), judge.here, recursive=recursive)
    return []


_EXPRESSION = Grammar(cmdlets.COMMON + "-Command:", "plain*", single_dash=True)


def _invoke_expression(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = parse(_EXPRESSION, args, name)
    scripts = [*parsed.operands, *parsed.values("-Command")]
    if not scripts:
        return [*parsed.findings, ask(f"{name} {RUNS_INPUT}", Level.HIGH, Effect.EXEC)]
    found = [*parsed.findings, ask(f"{name} runs a text as a command", Level.HIGH, Effect.EXEC)]
    return found + [one for arg in scripts for one in judge.script(arg, "pwsh")]


_START = Grammar(
    cmdlets.COMMON + cmdlets.CHANGING + "-FilePath,-PSPath,-Path: -ArgumentList,-Args: -Verb: -WorkingDirectory: -Wait "
    "-NoNewWindow,-nnw -PassThru -WindowStyle: -Credential,-RunAs:ask -LoadUserProfile,-lup -UseNewEnvironment "
    "-Environment:ask -RedirectStandardInput,-RSI:read -RedirectStandardOutput,-RSO:write "
    "-RedirectStandardError,-RSE:write",
    "ask*",
    single_dash=True,
)


def _start_process(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = parse(_START, args, name)
    found = _START.option_findings(parsed, name, judge.here)
    found.append(ask(f"{name} starts a program", Level.MEDIUM, Effect.EXEC))
    if any((value.text or "runas").casefold() == "runas" for value in parsed.values("-Verb")):
        found.append(ask("runs a program with the rights of another user", Level.HIGH, Effect.PRIVILEGE))
    command = [*parsed.values("-FilePath"), *parsed.operands, *parsed.values("-ArgumentList")]
    return found + (judge.command(command) if command else [])


def _wipes(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    return [block(f"{name} destroys what is on a disk", Effect.DEVICE)]


def _either(cmdlet: Program, program: Program) -> Handler:
    """Judge a name that is a cmdlet on Windows and a program elsewhere.

    What one of them does not understand, it refuses: then the other one counts.
    """

    def judge_either(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        both = [run(cmdlet, name, args, judge), run(program, name, args, judge)]
        understood = [found for found in both if not _is_refused(found)]
        return [one for found in understood or both for one in found]

    return judge_either


def _is_refused(found: Sequence[Finding]) -> bool:
    effects = {one.effect for one in found if one.verdict is not Verdict.ALLOW}
    return effects == {Effect.UNKNOWN}


_SHELL = Grammar(
    "-NoProfile,-nop -NoLogo,-nol -NonInteractive,-noni -ExecutionPolicy,-ex,-ep: -InputFormat,-inp,-if: "
    "-OutputFormat,-of,-o: -WindowStyle,-w: -WorkingDirectory,-wd:ask -Login,-l -Interactive,-i -MTA -STA -NoExit,-noe "
    "-Command,-c: -File,-f:exec -EncodedCommand,-e,-ec:exec -ConfigurationFile:exec -ConfigurationName,-config:ask "
    "-CustomPipeName:ask -SettingsFile,-settings:exec -PSConsoleFile:exec -Version,-v -Help,-h",
    "ask*",
    single_dash=True,
)
_COMMAND = re.compile(r"-c(?:o(?:m(?:m(?:a(?:n(?:d)?)?)?)?)?)?", re.IGNORECASE)


def _pwsh(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge the shell: all behind `-Command` is the script."""
    words = [(arg.text or "").casefold() for arg in args]
    if len(words) == 1 and words[0] in ("-version", "--version", "-v", "-help", "--help", "-h"):
        return []
    at = next((index for index, word in enumerate(words) if _COMMAND.fullmatch(word)), len(args))
    parsed = parse(_SHELL, args[:at], name)
    found = _SHELL.option_findings(parsed, name, judge.here)
    found += [ask(f"runs the script {arg.shown}", Level.MEDIUM, Effect.EXEC, at=arg) for arg in parsed.operands[:1]]
    script = args[at + 1 :]
    if script and words[at + 1] != "-":
        shown = " ".join(arg.shown for arg in script)
        is_known = all(arg.text is not None for arg in script)
        text = " ".join(arg.text or "" for arg in script)
        return found + judge.script(Arg.literal(text, shown) if is_known else Arg(None, shown), "pwsh")
    if not parsed.operands and not parsed.has("-File", "-EncodedCommand"):
        found.append(ask(f"{name} {RUNS_INPUT}", Level.HIGH, Effect.EXEC))
    return found


_BY_NAME: dict[str, Program] = {
    **{name.casefold(): _cmdlet(grammar) for name, grammar in (cmdlets.READERS | cmdlets.WRITERS).items()},
    **asked(cmdlets.ASKED, ""),
    **dict.fromkeys(cmdlets.WIPES, _wipes),
    "foreach-object": _foreach,
    "where-object": _where,
    "measure-command": _measure_command,
    "remove-item": _remove_item,
    "invoke-expression": _invoke_expression,
    "start-process": _start_process,
}
PROGRAMS: dict[str, Program] = {
    **named("pwsh powershell", _pwsh),
    **asked("cmd cmd.exe wscript cscript mshta rundll32 regsvr32: high exec runs commands", ""),
    **asked("reg sc schtasks netsh wmic diskpart bcdedit vssadmin: high write,privilege changes the system", ""),
}
_PROGRAMS: dict[str, Program] = (
    PROGRAMS
    | disks.PROGRAMS
    | readers.PROGRAMS
    | files.PROGRAMS
    | system.PROGRAMS
    | viewers.PROGRAMS
    | processes.PROGRAMS
    | network.PROGRAMS
)

# What the shell has of its own, in lower case.
CMDLETS: dict[str, Program] = {
    **_BY_NAME,
    **{alias: _BY_NAME[cmdlet.casefold()] for alias, cmdlet in cmdlets.ALIASES.items()},
}
CMDLETS |= {name: _either(CMDLETS[name], _PROGRAMS[name]) for name in cmdlets.NATIVE if name in _PROGRAMS}
