"""Programs that tell about the machine, its users and its processes."""

from collections.abc import Sequence

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.options import Grammar
from hermitty.policy.programs.tables import Program, named

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
    "--list-namespaces -D,--directory:read --file:read --root:read -i -M,--machine:ask --image:ask --cursor-file:write "
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
_STATUS = Grammar("-ahp: --all --no-pager --help --version --json: --value --no-legend --full -l --property: ", "ask*")
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
    words = [arg.text for arg in args if not (arg.text or "").startswith("-")]
    if not words or words[0] in ("shadow", "gshadow", None):
        return [ask("may show password hashes", Level.HIGH, Effect.CREDENTIALS)]
    if words[0] not in _LOCAL_DATABASES:
        return [ask(f"{words[0]} may be asked from other machines", Level.LOW, Effect.NETWORK)]
    return []


_LASTLOG = Grammar(
    "--help --version -aFRdhiwxVp -n,--limit: -f,--file:read -s,--since: -t: --until: --time-format: -u,--user: "
    "-b,--before: --time: --dns --fullnames --fulltimes --hostlast --ip --nohostname --present: --system "
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


def _dc(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    return [unclear("a program of dc can run other programs")]


PROGRAMS: dict[str, Program] = {
    **named("whoami id groups users who w logname tty hostid uname nproc uptime free vmstat iostat mpstat", _PLAIN),
    **named("ps pgrep pidof pstree pwdx lscpu lsmem lsmod lsns lsipc lsusb lslocks lslogins lsblk findmnt", _PLAIN),
    **named("netstat getconf locale tput printenv which whereis sw_vers vm_stat mdls mdfind cpuid lsb_release", _PLAIN),
    # With operands, the one of macOS runs a program.
    "arch": Grammar("--help --version", ""),
    "pmap": Grammar(
        "--help --version -AXVdhpqx --extended --device --quiet --show-path --range: -c^ask -C:ask -n^change -N:change",
        "plain*",
    ),
    "lspci": Grammar(
        "--help --version -bDFknPmtvVxXG -s: -d: -i:read -p:read -M -q^network -Q^network -O:ask -A:ask -H:ask", ""
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
    "nvidia-smi": _NVIDIA,
    "dc": _dc,
}
