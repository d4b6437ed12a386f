"""Programs that tell about the machine, its users and its processes."""

import re
from collections.abc import Sequence

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.options import Grammar
from hermitty.policy.programs.tables import Program, named, with_numbers

_PLAIN = Grammar("", "plain*", any_options=True)

_SS = (
    "--help --version -hVnraloempisETZNb46t0uwdSxOHBMQ --numeric --resolve --all --listening --options --extended "
    "--memory --processes --threads --info --summary --events --context --contexts -N,--net: --bpf --bpf-maps --ipv4 "
    "--ipv6 --packet --tcp --mptcp --sctp --udp --dccp --raw --unix --tipc --vsock --xdp --inet-sockopt --no-header "
    "--oneline --no-queues --cgroup --tos --bound-inactive -f,--family: -A,--query,--socket: -K,--kill^change "
    "-D,--diag:write -F,--filter:read"
)
_JOURNAL = (
    "--help --version -aefhkmqrx -n,--lines? -u,--unit: --user-unit: -p,--priority: -S,--since: -U,--until: "
    "-t,--identifier: -T,--exclude-identifier: -g,--grep: --case-sensitive? -b,--boot? -o,--output: --output-fields: "
    "-F,--field: -N,--fields -c,--cursor: --after-cursor: --show-cursor --all --follow --full --no-full --no-tail "
    "--quiet --utc --catalog --no-hostname --no-pager --pager-end --reverse --merge --dmesg --system --user "
    "--list-boots --disk-usage --header --list-catalog --dump-catalog --verify --facility: --namespace: "
    "--list-namespaces -D,--directory:read -i,--file:read --root:read -M,--machine:ask --image:ask --cursor-file:write "
    "--vacuum-size:change --vacuum-files:change --vacuum-time:change --rotate^change --flush^change --sync^change "
    "--relinquish-var^change --smart-relinquish-var^change --setup-keys^change --update-catalog^change"
)
_DMESG = (
    "--help --version -HJLPSTVWdehkprtuwx -L,--color? --ctime --decode --facility: -f: --follow --follow-new "
    "--force-prefix --human --json --kernel -l,--level: --noescape --nopager --notime --raw --reltime --show-delta "
    "--since: --until: --syslog --time-format: --userspace -s,--buffer-size: -F,--file:read -K,--kmsg-file:read "
    "-c,--read-clear^change -C,--clear^change -D,--console-off^change -E,--console-on^change -n,--console-level:change"
)
_TOP = Grammar(
    "--help --version -bcHiSsAehV1OB -d,--delay: -E: -e: -F: -f: -l: -n,--iterations: -o,--sort-override: -p,--pid: "
    "-u: -U: -w,--width? --batch-mode --cmdline-toggle --threads-show --idle-toggle --secure-mode",
    "ask*",
)
_STATUS_WORDS = {
    "timedatectl": ("status", "show", "list-timezones", "timesync-status", "show-timesync"),
    "hostnamectl": ("status", "hostname"),
    "localectl": ("status", "list-locales", "list-keymaps"),
    "loginctl": ("list-sessions", "list-users", "list-seats", "session-status", "user-status", "show-session"),
    "resolvectl": ("status", "statistics", "dns", "domain"),
}
_STATUS = Grammar("-ahl --all --no-pager --help --version --json: --value --no-legend --full -p,--property:", "ask*")
_SYSCTL = Grammar(
    "--help --version -aAbeNnqrVhdx --all --binary --ignore --names --values --quiet -r,--pattern: -w,--write^change "
    "-p,--load?change --system^change -f:change",
    "ask*",
)


def _top(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _TOP.parse(args, name)
    found = _TOP.findings(parsed, name, judge.here)
    if not parsed.has("-b", "--batch-mode", "--help", "--version", "-h", "-l"):
        found.append(ask("runs until it is stopped, and takes keys that end other programs", Level.LOW, Effect.PROCESS))
    return found


def _status(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Allow what only shows; any other word changes a setting."""
    parsed = _STATUS.parse(args, name)
    found = _STATUS.option_findings(parsed, name, judge.here)
    if parsed.operands and parsed.operands[0].text not in _STATUS_WORDS[name]:
        found.append(ask(f"{name} {parsed.operands[0].shown} may change a setting", Level.HIGH, Effect.PRIVILEGE))
    if name == "hostnamectl" and len(parsed.operands) > 1:
        found.append(ask("changes the name of the machine", Level.HIGH, Effect.PRIVILEGE))
    if name == "resolvectl" and len(parsed.operands) > 2:
        found.append(ask("changes how names are looked up", Level.HIGH, Effect.PRIVILEGE))
    return found


def _sysctl(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _SYSCTL.parse(args, name)
    found = _SYSCTL.option_findings(parsed, name, judge.here)
    for arg in parsed.operands:
        if arg.text is None or "=" in arg.text:
            found.append(ask(f"{arg.shown} may change a setting of the kernel", Level.HIGH, Effect.PRIVILEGE, at=arg))
    return found


def _hostname(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _HOSTNAME.parse(args, name)
    found = _HOSTNAME.option_findings(parsed, name, judge.here)
    found += [ask("changes the name of the machine", Level.HIGH, Effect.PRIVILEGE, at=arg) for arg in parsed.operands]
    return found


_HOSTNAME = Grammar(
    "--help --version -AIVadfhisy --alias --all-fqdns --all-ip-addresses --domain --fqdn --ip-address --long --nis "
    "--short --yp -F,--file:change -b,--boot^change",
    "ask*",
)


_LOCAL_DATABASES = frozenset({"passwd", "group", "services", "protocols", "networks", "ethers", "rpc", "initgroups"})


def _getent(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _GETENT.parse(args, name)
    found = _GETENT.option_findings(parsed, name, judge.here)
    found += [unclear(f"{arg.shown} may be an option", at=arg) for arg in parsed.operands if arg.prefix.startswith("-")]
    database = parsed.operands[0].text if parsed.operands else None
    if database in ("shadow", "gshadow", None):
        found.append(ask("may show password hashes", Level.HIGH, Effect.CREDENTIALS))
    elif database not in _LOCAL_DATABASES:
        found.append(ask(f"{database} may be asked from other machines", Level.LOW, Effect.NETWORK))
    return found


_GETENT = Grammar("--help --version -AiV --no-addrconfig --no-idn --usage -s,--service:ask", "ask*", permutes=False)


_LASTLOG = Grammar(
    "--help --version -aFRdhiwxV -n,--limit: -f,--file:read -s,--since: -t: --until: --time-format: -u,--user: "
    "-b,--before: --time: --dns --fullnames --fulltimes --hostlast --ip --nohostname -p,--present: --system "
    "-C,--clear^change -S,--set^change",
    "plain*",
    numbers=True,
)


def _ldd(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    found = [ask(f"{arg.shown} may be run by ldd", Level.MEDIUM, Effect.EXEC, at=arg) for arg in args]
    return [] if [arg.text for arg in args] == ["--version"] else found


_NVIDIA = Grammar(
    "--help --version -LqhB -i,--id: -l,--loop: -d,--display: -x -u --query-gpu: --query-compute-apps: --format: "
    "--query --list-gpus -f,--filename:write",
    "",
)


def _ps(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge ps: `e` without a dash, and `-E` on macOS, show the environments of programs, and so their secrets.

    Words with a dash that are no options (`-aux`) are read as if they had none.
    """
    is_value = False
    for arg in args:
        word = arg.text or arg.prefix
        if is_value or word.startswith("--"):
            is_value = not is_value and word in _PS_LONG
            continue
        has_dash = word.startswith("-")
        [(flags, with_value, attached)] = (_PS_DASH if has_dash else _PS_BARE).findall(word.removeprefix("-"))
        is_value = bool(with_value) and not attached
        if has_dash and with_value == "u" and attached.startswith("x"):
            flags += attached
        if "E" in flags or ("e" in flags and (not has_dash or "x" in flags)):
            return [ask(f"{arg.shown} shows the environment of programs", Level.HIGH, Effect.CREDENTIALS, at=arg)]
    return []


_PS_BARE = re.compile(r"\A([^OUkopqt]*)([OUkopqt]?)(.*)", re.DOTALL)
_PS_DASH = re.compile(r"\A([^CGOUgopqstu]*)([CGOUgopqstu]?)(.*)", re.DOTALL)
_PS_LONG = (
    *("--cols", "--columns", "--format", "--group", "--Group", "--lines", "--pid", "--ppid", "--quick-pid", "--rows"),
    *("--sid", "--sort", "--tty", "--user", "--User", "--width"),
)


def _dc(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    return [unclear("a program of dc can run other programs")]


PROGRAMS: dict[str, Program] = {
    **named("whoami id groups users who w logname tty hostid uname nproc uptime free vmstat iostat mpstat", _PLAIN),
    "ps": _ps,
    **named("pgrep pidof pstree pwdx lscpu lsmem lsmod lsns lsipc lsusb lslocks lslogins lsblk findmnt", _PLAIN),
    **named("netstat getconf locale tput printenv which whereis sw_vers vm_stat mdls mdfind cpuid lsb_release", _PLAIN),
    # With operands, the one of macOS runs a program.
    "arch": Grammar("--help --version", ""),
    "pmap": Grammar(
        "--help --version -XVdhpqx --extended --device --quiet --show-path -A,--range: -c^ask -C:ask -n^change "
        "-N:change",
        "plain*",
    ),
    "lspci": Grammar(
        "--help --version -bDknPmtvVxXG -F:read -s: -d: -i:read -p:read -M -q^network -Q^network -O:ask -A:ask -H:ask",
        "",
    ),
    "lsof": Grammar(
        "-abChKlnNoOPQRtUvVwXEHMx -c: -d: -F? -g? -i? -p: -r? -s? -S? -T? -u: -L? -e: -A: -D:write -m: -k:read -f?",
        "name*",
        plus=True,
        numbers=True,
    ),
    "ss": Grammar(_SS, "plain*"),
    "journalctl": Grammar(_JOURNAL, "plain*"),
    "dmesg": Grammar(_DMESG, ""),
    "top": _top,
    **dict.fromkeys(_STATUS_WORDS, _status),
    "sysctl": _sysctl,
    "hostname": _hostname,
    "getent": _getent,
    **named("last lastb lastlog", _LASTLOG),
    "ldd": _ldd,
    "nvidia-smi": with_numbers(_NVIDIA, "-l"),
    "dc": _dc,
}
