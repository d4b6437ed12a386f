"""Programs that signal other programs, start services and stop the machine."""

import re
from collections.abc import Sequence

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.options import Grammar
from hermitty.policy.programs.tables import Handler, Program, named

_EVERYTHING = frozenset({"-1", "1", "0"})


def _kill(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge kill: `-l` lists, `-0` only asks whether a process is there."""
    words = [arg.text for arg in args]
    if not words or words[0] in ("-l", "-L", "--list", "--table", "--help", "--version") or _is_question(args):
        return []
    # The first word with a dash is the signal; a later one is a group of processes.
    targets = (
        words[2:] if words[0] in ("-s", "-n", "--signal") else words[1:] if (words[0] or "").startswith("-") else words
    )
    if any(word in _EVERYTHING for word in targets):
        return [ask("stops every process that it may", Level.CRITICAL, Effect.PROCESS)]
    forced = any(word in ("-9", "-KILL", "-SIGKILL", "KILL", "SIGKILL", "9") for word in words[:2])
    return [ask("stops a process at once" if forced else "signals a process", Level.MEDIUM, Effect.PROCESS)]


def _is_question(args: Sequence[Arg]) -> bool:
    """Tell whether it is `-0` and processes, none of which can be another signal."""
    return (
        len(args) > 1
        and args[0].text == "-0"
        and all(arg.shown in ("$!", "$$") or not (arg.may_split or arg.prefix.startswith("-")) for arg in args[1:])
    )


def _asking(reason: str, level: Level, *harmless: str) -> Handler:
    """Make the judge of a program that is asked about, unless all its words are among the harmless."""

    def judge_call(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        if args and all(arg.text in harmless for arg in args):
            return []
        return [ask(reason, level, Effect.PROCESS)]

    return judge_call


_SYSTEMCTL = Grammar(
    "--help --version -alqhT -t,--type: --state: -p,--property: -P: --value -n,--lines: -o,--output: --all --full "
    "--no-pager --plain --no-legend --legend: --failed --user --system --global --quiet --recursive --reverse --after "
    "--before --show-types --wait --no-block --now --no-reload --no-ask-password --runtime -f,--force --dry-run "
    "--what: -s,--signal: --kill-whom,--kill-who: --job-mode: -H,--host:network -M,--machine:ask --root:ask "
    "--image:ask --timestamp: -i,--ignore-inhibitors --firmware-setup",
    "ask*",
)
_SHOWS = re.compile(
    r"status|show|cat|help|is-(?:active|enabled|failed|system-running)|list-[a-z-]+|get-default|show-environment"
)
_STOPS = re.compile(
    r"poweroff|reboot|halt|kexec|soft-reboot|suspend|hibernate|hybrid-sleep|rescue|emergency|exit|isolate"
)


def _systemctl(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _SYSTEMCTL.parse(args, name)
    found = _SYSTEMCTL.option_findings(parsed, name, judge.here)
    if not parsed.operands:
        return found
    verb = parsed.operands[0]
    if verb.text and _SHOWS.fullmatch(verb.text):
        return found
    if verb.text and _STOPS.fullmatch(verb.text):
        return [*found, ask("stops or suspends the machine", Level.CRITICAL, Effect.PROCESS, at=verb)]
    return [*found, ask(f"{verb.shown} changes services", Level.HIGH, Effect.PROCESS, at=verb)]


def _service(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    words = [arg.text for arg in args]
    if words in ([], ["--status-all"], ["--version"]) or (len(words) == 2 and words[0] and words[1] == "status"):
        # A path as the name would be a script of anybody.
        return [] if not words or "/" not in (words[0] or "") else [unclear("the service may be any script")]
    return [ask("changes a service", Level.HIGH, Effect.PROCESS)]


def _crontab(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    words = [arg.text for arg in args]
    if words == ["-l"]:
        return []
    if "-r" in words:
        return [ask("deletes all timed commands", Level.HIGH, Effect.DELETE)]
    return [ask("changes commands that run at set times", Level.HIGH, Effect.EXEC)]


def _at(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    words = [arg.text for arg in args]
    if name == "atq" or words == ["-l"]:
        return []
    return [ask("runs commands later, or stops them", Level.HIGH, Effect.EXEC)]


_FUSER = Grammar(
    "-acfilmMnsuvVw46 -n: -k^ask --kill^ask --all --list-signals --mount --verbose --silent", "name*", numbers=True
)


def _fuser(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _FUSER.parse(args, name)
    if parsed.has("-k", "--kill"):
        return [*parsed.findings, ask("stops processes", Level.MEDIUM, Effect.PROCESS)]
    return parsed.findings


_CHANGES_LATER = re.compile(r"list|print|blame|dumpstate|help|version|managername")


def _launchctl(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    if args and args[0].text and _CHANGES_LATER.fullmatch(args[0].text):
        return []
    return [ask("changes services", Level.HIGH, Effect.PROCESS)]


_TMUX_SHOWS = frozenset(
    {"ls", "list-sessions", "list-windows", "lsw", "list-panes", "lsp", "list-clients", "-V", "info"}
)


def _tmux(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    words = [arg.text for arg in args]
    # A lone `;` begins another command; `#(...)` in a format runs one.
    if (
        words
        and words[0] in _TMUX_SHOWS
        and not any(word is None or word.endswith(";") or "#(" in word for word in words)
    ):
        return []
    return [ask("controls other terminals", Level.MEDIUM, Effect.EXEC)]


def _pidfile(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    found = [ask("stops processes by name", Level.MEDIUM, Effect.PROCESS)]
    for arg in args:
        if arg.text in ("-l", "--list", "--help", "--version", "-V") and len(args) == 1:
            return []
        if arg.prefix.startswith(("/", "~")):
            found += places.read(arg, judge.here)
    return found


_STOP = _asking("stops or restarts the machine", Level.CRITICAL, "--help", "--version")

PROGRAMS: dict[str, Program] = {
    "kill": _kill,
    **named("pkill killall killall5 skill xkill", _pidfile),
    **named("renice", _asking("changes the priority of processes", Level.LOW, "--help", "--version", "-V")),
    **named("shutdown reboot halt poweroff init telinit", _STOP),
    "systemctl": _systemctl,
    **named("service rc-service", _service),
    "crontab": _crontab,
    **named("at batch atrm atq", _at),
    "fuser": _fuser,
    "launchctl": _launchctl,
    "tmux": _tmux,
    "screen": _asking("controls other terminals", Level.MEDIUM, "-ls", "-list", "-v", "--version"),
}
