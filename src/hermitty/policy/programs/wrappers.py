"""Programs that run the program behind their own options: what is inside is judged as if it stood alone."""

import re
import shlex
from collections.abc import Sequence

from hermitty.policy import places
from hermitty.policy.arguments import Arg, joined
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level, Verdict
from hermitty.policy.findings import ask, unclear
from hermitty.policy.options import Grammar, Parsed
from hermitty.policy.programs.tables import Handler, Program, named
from hermitty.policy.programs.variables import dangerous_variable

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)
# With the rights of root, a change by one of these is a change of the system.
_GRAVE_AS_ROOT = re.compile(
    r"chmod|chown|chgrp|chattr|setfacl|setcap|mkfs(?:\..*)?|mke2fs|fdisk|sfdisk|cfdisk|parted|wipefs|dd|rm|mv|cp|tee|ln|install|shred"
    r"|truncate|visudo|user(?:add|mod|del)|group(?:add|mod|del)|passwd|chpasswd|sed|find|mount|umount|swapoff|iptables|nft"
    r"|ufw|insmod|rmmod|modprobe|sysctl|crontab|bash|sh|zsh|dash|ksh|fish|python\d?|perl|ruby|node|su"
)


def _wrapping(options: str, *, skip: int = 0, numbers: bool = False) -> Handler:
    """Make the judge of a program that takes options, `skip` operands and then a command."""
    grammar = Grammar("--help --version " + options, "ask*", permutes=False, numbers=numbers)

    def judge_wrapper(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        parsed = grammar.parse(args, name)
        found = grammar.option_findings(parsed, name, judge.here)
        found += [
            unclear(f"{arg.shown} may become several words", at=arg) for arg in parsed.operands[:skip] if arg.is_many
        ]
        return found + _command(parsed.operands[skip:], judge)

    return judge_wrapper


def _command(words: Sequence[Arg], judge: Judge) -> list[Finding]:
    return judge.command(words) if words else []


def _with_variables(words: Sequence[Arg], judge: Judge) -> tuple[list[Finding], Sequence[Arg]]:
    """Judge leading assignments; return what was found and the words behind them."""
    found: list[Finding] = []
    for index, arg in enumerate(words):
        match = _ASSIGNMENT.match(arg.text if arg.text is not None else arg.prefix)
        if match:
            value = match.group(2) if arg.text is not None else None
            reason = dangerous_variable(match.group(1), value)
            if reason:
                found.append(ask(reason, Level.HIGH, Effect.EXEC, at=arg))
            if arg.may_split:
                found.append(unclear(f"{arg.shown} may become several words", at=arg))
        elif arg.text is not None and "=" in arg.text and "/" not in arg.text.partition("=")[0]:
            found.append(unclear(f"{arg.shown} sets a variable with a strange name", at=arg))
        else:
            return found, words[index:]
    return found, ()


_ENV = Grammar(
    "--help --version -i0v -u,--unset: -C,--chdir:ask -S,--split-string:exec -P:exec --ignore-environment --null "
    "--debug --block-signal? --default-signal? --ignore-signal? --list-signal-handling",
    "ask*",
    permutes=False,
)


def _env(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    if args and args[0].text == "-":
        args = args[1:]
    parsed = _ENV.parse(args, name)
    found = _ENV.option_findings(parsed, name, judge.here)
    more, words = _with_variables([*_split(parsed.values("-S")), *parsed.operands], judge)
    return found + more + _command(words, judge)


def _split(texts: Sequence[Arg]) -> list[Arg]:
    """Return the words that `env -S` makes of texts. It is asked about in any case; they tell what it runs."""
    try:
        return [
            Arg.literal(word, word, text.start, text.end) for text in texts for word in shlex.split(text.text or "")
        ]
    except ValueError:
        return []


_SUDO = Grammar(
    "--help --version -AbBEHhiKklNnPSsVv -C,--close-from: -D,--chdir:ask -g,--group: --host: -p,--prompt: "
    "-R,--chroot:ask -r,--role: -t,--type: -T,--command-timeout: -U,--other-user: -u,--user: -e,--edit^change "
    "--askpass --background --bell --preserve-env? --set-home --login --remove-timestamp --reset-timestamp --list "
    "--non-interactive --preserve-groups --stdin --shell --validate -a: -c:",
    "ask*",
    permutes=False,
)


def _sudo(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _SUDO.parse(args, name)
    found = _SUDO.option_findings(parsed, name, judge.here)
    more, words = _with_variables(parsed.operands, judge)
    found += more
    if not words and parsed.has("-i", "-s", "--login", "--shell"):
        return [*found, ask("opens a shell of another user", Level.CRITICAL, Effect.PRIVILEGE)]
    return found + _privileged(words, judge)


def _privileged(words: Sequence[Arg], judge: Judge) -> list[Finding]:
    inner = _command(words, judge)
    program = (words[0].text or "").rpartition("/")[2] if words else ""
    changes = any(one.verdict is not Verdict.ALLOW for one in inner)
    is_grave = changes and (_GRAVE_AS_ROOT.fullmatch(program) is not None or not program)
    level = Level.CRITICAL if is_grave else Level.HIGH
    what = f"runs {program or 'a command'} with the rights of another user"
    return [ask(what, level, Effect.PRIVILEGE), *inner]


_SU = Grammar(
    "--help --version -lmpfPhV - -c,--command: -s,--shell: -g,--group: -G,--supp-group: -w,--whitelist-environment: "
    "--login",
    "plain*",
)


def _su(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _SU.parse(args, name)
    found = [*parsed.findings, ask("runs a shell of another user", Level.CRITICAL, Effect.PRIVILEGE)]
    for script in parsed.values("-c"):
        found += judge.script(script, "bash")
    return found


_XARGS = Grammar(
    "--help --version -0oprtx -a,--arg-file:read -d,--delimiter: -E: -e,--eof? -I: -i,--replace? -L: -l,--max-lines? "
    "-n,--max-args: -P,--max-procs: -s,--max-chars: --process-slot-var:ask --exit --interactive --no-run-if-empty "
    "--null --open-tty --show-limits --verbose -J:ask -R:ask -S:",
    "ask*",
    permutes=False,
)
_READ_WORDS = Arg(None, "what xargs reads", is_many=True)


def _xargs(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _XARGS.parse(args, name)
    found = _XARGS.option_findings(parsed, name, judge.here)
    words = parsed.operands or [Arg.literal("echo")]
    place = _place_of(parsed)
    if place is None:
        return found + judge.command([*words, _READ_WORDS])
    if place.text is None or not place.text:
        return [*found, unclear("xargs puts words in a place that is only known when it runs")]
    return found + judge.command([_replaced(word, place.text) for word in words])


def _place_of(parsed: Parsed) -> Arg | None:
    """Return what xargs replaces; None if it appends."""
    place = None
    for given in parsed.options:
        if given.option.name in ("-I", "-i"):
            place = given.value or Arg.literal("{}")
    return place


def _replaced(word: Arg, place: str) -> Arg:
    if word.text is None or place not in word.text:
        return word
    return Arg(None, word.shown, word.text.partition(place)[0], start=word.start, end=word.end)


def _joined(words: Sequence[Arg]) -> Arg:
    """Make one text of words, as programs do that hand them to a shell."""
    shown = joined([word.shown for word in words], " ") or words[0].shown
    text = joined([word.text or "" for word in words], " ")
    if text is None or any(word.text is None for word in words):
        return Arg(None, shown)
    return Arg.literal(text, shown, words[0].start, words[-1].end)


_WATCH = Grammar(
    "--help --version -bcCdefghprtvwx -n,--interval: -q,--equexit: -d,--differences? -s,--shotsdir:write --beep "
    "--chgexit --color --no-color --errexit --exec --precise --no-title --no-wrap --no-rerun",
    "ask*",
    permutes=False,
)


def _watch(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _WATCH.parse(args, name)
    found = _WATCH.option_findings(parsed, name, judge.here)
    if parsed.has("-x", "--exec"):
        return found + _command(parsed.operands, judge)
    return found + (judge.script(_joined(parsed.operands), "sh") if parsed.operands else [])


_MAX_EVALS = 8


def _eval(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    words = args[1:] if args and args[0].text == "--" else args
    if len(words) > _MAX_EVALS and all(word.text == "eval" for word in words[:_MAX_EVALS]):
        return [unclear("scripts are nested too deeply", at=words[0])]
    return judge.script(_joined(words), judge.here.shell) if words else []


_NOHUP_RESULT = ask("nohup writes the output to nohup.out", Level.LOW, Effect.WRITE)


def _also(finding: Finding, handler: Handler) -> Handler:
    """Add something that a wrapper does in any case."""

    def judge_both(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        return [finding, *handler(name, args, judge)] if args else []

    return judge_both


_FLOCK = Grammar(
    "--help --version -FVehnosuxv -E,--conflict-exit-code: -w,--timeout,--wait: -c,--command:ask --close --exclusive "
    "--no-fork --nonblock --nb --shared --unlock --verbose",
    "ask*",
    permutes=False,
)


def _flock(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _FLOCK.parse(args, name)
    found = _FLOCK.option_findings(parsed, name, judge.here)
    if not parsed.operands or (len(parsed.operands) == 1 and (parsed.operands[0].text or "").isdecimal()):
        return found
    found += places.write(parsed.operands[0], judge.here, "locks")
    words = parsed.operands[1:]
    if words and words[0].text in ("-c", "--command"):
        return found + (judge.script(words[1], "sh") if len(words) > 1 else [])
    return found + _command(words, judge)


_SCRIPT = Grammar(
    "--help --version -aefhqVkpdr -B,--log-io:write -c,--command: -E,--echo: -I,--log-in:write -m,--logging-format: "
    "-o,--output-limit: -O,--log-out:write -t,--timing?write -T,--log-timing:write --append --return --flush --force "
    "--quiet -F:",
    "ask*",
    permutes=False,
)


def _script(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _SCRIPT.parse(args, name)
    found = _SCRIPT.option_findings(parsed, name, judge.here)
    target = parsed.operands[0] if parsed.operands else Arg.literal("typescript")
    found += places.write(target, judge.here)
    for text in parsed.values("-c"):
        found += judge.script(text, "sh")
    if not parsed.has("-c") and len(parsed.operands) < 2:
        found.append(ask("opens a shell", Level.MEDIUM, Effect.EXEC))
    return found + _command(parsed.operands[1:], judge)


def _asking(reason: str, level: Level, effect: Effect) -> Handler:
    """Make the judge of a program that is always asked about."""

    def judge_always(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        return [ask(reason, level, effect)]

    return judge_always


_STRACE = (
    "-ACDFVZcdfhiknqrtTvwxXyYz -a,--columns: -b: -e,--trace: -I: -O: -P,--trace-path: -s,--string-limit: -S: -U: "
    "-u,--user:ask -o,--output:exec -p,--attach:exec -E,--env:exec --follow-forks --summary --summary-only "
    "--stack-traces --decode-fds? --no-abbrev --quiet? --inject:exec --fault:exec --kill-on-exit^exec"
)

PROGRAMS: dict[str, Program] = {
    "env": _env,
    "genv": _env,
    **named("sudo doas", _sudo),
    **named("su runuser", _su),
    "xargs": _xargs,
    "gxargs": _xargs,
    "watch": _watch,
    **named(
        "timeout gtimeout",
        _wrapping("-k,--kill-after: -s,--signal: -v --foreground --preserve-status --verbose", skip=1),
    ),
    "nice": _wrapping("-n,--adjustment:", numbers=True),
    "ionice": _wrapping("-c,--class: -n,--classdata: -t,--ignore -p,--pid:ask -P,--pgid:ask -u,--uid:ask -hV"),
    "chrt": _wrapping("-abdfiomrRvVh -T: -P: -D: -p,--pid:ask --batch --idle --other --fifo --rr", skip=1),
    "taskset": _wrapping("-achV -p,--pid^ask --all-tasks --cpu-list", skip=1),
    "nohup": _also(_NOHUP_RESULT, _wrapping("")),
    "setsid": _wrapping("-cfwhV --ctty --fork --wait"),
    "stdbuf": _wrapping("-i,--input: -o,--output: -e,--error:"),
    "time": _wrapping("-apvqlhV -f,--format: -o,--output:write --append --portability --quiet --verbose"),
    "unbuffer": _wrapping("-p"),
    "caffeinate": _wrapping("-dimsu -t: -w:"),
    **named("strace", _wrapping(_STRACE)),
    "flock": _flock,
    "script": _script,
    **named("busybox toybox", _wrapping("--list --list-full")),
    **named("parallel sem", _asking("parallel runs commands made from its input", Level.HIGH, Effect.EXEC)),
    "chroot": _asking("runs a command in another root directory", Level.HIGH, Effect.PRIVILEGE),
    **named("unshare nsenter setpriv", _asking("runs a command with other rights", Level.HIGH, Effect.PRIVILEGE)),
}

# What shells have of their own.
BUILTINS: dict[str, Program] = {"eval": _eval}
