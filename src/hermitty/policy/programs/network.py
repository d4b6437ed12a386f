"""Programs that talk to other machines: always asked about, and graver if they send files or run what is named."""

import re
from collections.abc import Sequence

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge, Surroundings
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.options import Grammar, Parsed, rest
from hermitty.policy.programs.subcommands import asked, mentions
from hermitty.policy.programs.tables import Program, named

_LOCAL = re.compile(r"(?:https?://)?(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)(?::\d+)?(?:[/?].*)?", re.DOTALL)

_CURL = Grammar(
    "-#0123aBfgGiIjJkLlMNOpqRsSvVZ46 --help --version --remote-name --remote-name-all --remote-header-name "
    "-o,--output:output --output-dir:write -D,--dump-header:output -c,--cookie-jar:output --trace:output "
    "--trace-ascii:output --stderr:output --libcurl:output --hsts:write --alt-svc:write --etag-save:write "
    "-K,--config:exec --engine:exec -T,--upload-file: -d,--data: --data-ascii: --data-binary: --data-urlencode: "
    "--data-raw: --json: -F,--form: --form-string: --url-query: -H,--header: --proxy-header: -b,--cookie: "
    "-n,--netrc^ask --netrc-optional^ask --netrc-file:read -E,--cert:read --key:read --cacert:read --capath:read "
    "--proxy-cert:read --proxy-key:read --pubkey:read --crlfile:read --etag-compare:read -u,--user: -U,--proxy-user: "
    "--oauth2-bearer: -X,--request: -x,--proxy: --preproxy: --socks5: --socks5-hostname: --socks4: --socks4a: "
    "--unix-socket:ask --abstract-unix-socket:ask --url: -A,--user-agent: -C,--continue-at: -e,--referer: "
    "-m,--max-time: -P,--ftp-port: -Q,--quote:ask -r,--range: -t,--telnet-option: -w,--write-out: -Y,--speed-limit: "
    "-y,--speed-time: -z,--time-cond: --connect-timeout: --connect-to: --resolve: --retry: --retry-delay: "
    "--retry-max-time: --max-redirs: --max-filesize: --limit-rate: --interface: --proto: --proto-default: "
    "--proto-redir: --tls-max: --ciphers: --tls13-ciphers: --noproxy: --doh-url: --dns-servers: --pass: --cert-type: "
    "--key-type: --local-port: --rate: --create-file-mode: --aws-sigv4: --pinnedpubkey: --request-target: "
    "--expect100-timeout: --keepalive-time: --mail-from: --mail-rcpt: --mail-auth: --variable:ask",
    "plain*",
    any_options=True,
)
_CURL_DATA = ("-d", "--data-ascii", "--data-binary", "--json")


def _curl(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    if [arg.text for arg in args] in (["--version"], ["-V"], ["--help"], ["-h"], ["--help", "all"]):
        return []
    parsed = _CURL.parse(args, name)
    found = _CURL.option_findings(parsed, name, judge.here)
    addresses = [*parsed.operands, *parsed.values("--url")]
    found.append(_connects(name, addresses))
    for address in addresses:
        found += _local_file(address, judge.here)
    for file in _sent_by_curl(parsed):
        found += _sent(file, judge.here)
    if parsed.has("-O", "--remote-name", "--remote-name-all", "-J", "--remote-header-name"):
        found.append(ask("writes a file that the other machine names", Level.MEDIUM, Effect.WRITE))
    return found


def _connects(name: str, addresses: Sequence[Arg]) -> Finding:
    is_local = bool(addresses) and all(arg.text and _LOCAL.fullmatch(arg.text) for arg in addresses)
    if is_local:
        return ask(f"{name} talks to a program on this machine", Level.LOW, Effect.NETWORK)
    return ask(f"{name} talks to another machine", Level.MEDIUM, Effect.NETWORK)


def _local_file(address: Arg, here: Surroundings) -> list[Finding]:
    known = address.prefix if address.text is None else address.text
    match = re.match(r"file:(?://(?:localhost)?)?(?=/)", known, re.IGNORECASE)
    return places.read(rest(address, match.end()), here) if match else []


def _sent_by_curl(parsed: Parsed) -> list[Arg]:
    """Return the files that are sent: `-T FILE`, `-d @FILE`, `-F name=@FILE`."""
    files = [value for value in parsed.values("-T") if value.text not in ("-", ".")]
    for value in parsed.values(*_CURL_DATA, "-H", "--proxy-header"):
        known = value.prefix if value.text is None else value.text
        files += [rest(value, 1)] if known.startswith("@") and value.text != "@-" else []
    for value in parsed.values("--data-urlencode", "-F", "--url-query"):
        known = value.prefix if value.text is None else value.text
        match = re.match(r"[^=@<]*=?[@<]", known)
        files += [rest(value, match.end())] if match else []
    for value in parsed.values("-b"):
        files += [value] if value.text is not None and "=" not in value.text else []
    return files


def _sent(file: Arg, here: Surroundings) -> list[Finding]:
    return [
        ask(f"sends {file.shown} to another machine", Level.HIGH, Effect.NETWORK, at=file),
        *places.read(file, here),
    ]


_WGET = Grammar(
    "-bcdEFHhKkLlmNnpqrSVvx46 --help --version -O,--output-document:output -o,--output-file:write "
    "-a,--append-output:write -P,--directory-prefix:write -i,--input-file:read -e,--execute:exec --config:exec "
    "--use-askpass:exec --post-file:read --body-file:read --post-data: --body-data: --method: --header: "
    "-U,--user-agent: --user: --password: -t,--tries: -T,--timeout: -w,--wait: -Q,--quota: -l,--level: -A,--accept: "
    "-R,--reject: -D,--domains: -I,--include-directories: -X,--exclude-directories: -B,--base: --save-cookies:write "
    "--load-cookies:read --certificate:read --private-key:read --ca-certificate:read --rejected-log:write "
    "--warc-file:write --hsts-file:write --spider --limit-rate: --cut-dirs: --referer: -Y:",
    "plain*",
    any_options=True,
)


def _wget(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    if [arg.text for arg in args] in (["--version"], ["-V"], ["--help"], ["-h"]):
        return []
    parsed = _WGET.parse(args, name)
    found = [_connects(name, parsed.operands), *_WGET.option_findings(parsed, name, judge.here)]
    for file in parsed.values("--post-file", "--body-file"):
        found += _sent(file, judge.here)
    if not parsed.has("-O", "--spider"):
        found.append(ask("writes a file that the other machine names", Level.MEDIUM, Effect.WRITE))
    return found


_SSH = Grammar(
    "-46AaCfGgKkMNnqsTtVvXxYy -B: -b: -c: -D: -E:write -e: -F:exec -I:exec -i: -J: -L: -l: -m: -O: -o: -P: -p: -Q: -R: "
    "-S: -W: -w:",
    "ask*",
    permutes=False,
)
# Options of ssh that run something on this machine.
_SSH_RUNS = re.compile(
    r"(?:proxycommand|localcommand|permitlocalcommand|knownhostscommand|match|include|pkcs11provider|securitykeyprovider"
    r"|xauthlocation|canonical\w*|controlpath|identityagent|sendenv|setenv)\b.*",
    re.IGNORECASE | re.DOTALL,
)


def _ssh(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    words = [arg.text for arg in args]
    if words == ["-V"] or (len(words) == 2 and words[0] == "-Q" and words[1]):
        return []
    parsed = _SSH.parse(args, name)
    found = _SSH.option_findings(parsed, name, judge.here)
    found.append(ask(f"{name} talks to another machine", Level.MEDIUM, Effect.NETWORK))
    for value in parsed.values("-o"):
        if value.text is None or _SSH_RUNS.fullmatch(value.text):
            found.append(ask(f"{name} -o {value.shown} may run a program", Level.HIGH, Effect.EXEC, at=value))
    if parsed.has("-R", "-D", "-L", "-w", "-A"):
        found.append(ask("opens a way between machines", Level.HIGH, Effect.NETWORK))
    command = parsed.operands[1:]
    if command:
        found.append(ask("runs a command on another machine", Level.MEDIUM, Effect.EXEC))
        shown = " ".join(arg.shown for arg in command)
        known = all(arg.text is not None for arg in command)
        text = " ".join(arg.text or "" for arg in command)
        found += judge.script(Arg.literal(text, shown) if known else Arg(None, shown), "sh")
    return found


_SCP = Grammar("-346ABCOpqRrTv -c: -D:exec -F:exec -i: -J: -l: -o: -P: -S:exec -X: -b:exec -B: -s:", "ask*")


def _scp(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _SCP.parse(args, name)
    found = _SCP.option_findings(parsed, name, judge.here)
    found.append(ask(f"{name} copies files between machines", Level.MEDIUM, Effect.NETWORK))
    for value in parsed.values("-o"):
        if value.text is None or _SSH_RUNS.fullmatch(value.text):
            found.append(ask(f"{name} -o {value.shown} may run a program", Level.HIGH, Effect.EXEC, at=value))
    for index, arg in enumerate(parsed.operands):
        if ":" in (arg.text or arg.prefix):
            continue
        if index < len(parsed.operands) - 1:
            found += _sent(arg, judge.here)
        elif name == "scp":
            found += places.write(arg, judge.here)
    return found


def _nc(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    if [arg.text for arg in args] in (["-h"], ["--help"], ["--version"]):
        return []
    found = [ask(f"{name} exchanges data with another machine", Level.HIGH, Effect.NETWORK)]
    if mentions(args, "-e", "-c", "--exec", "--sh-exec", "--lua-exec"):
        found.append(ask("gives another machine a program to use", Level.CRITICAL, Effect.EXEC))
    return found


_SOCAT_RUNS = re.compile(r"(?:exec|system|shell|pty)\b.*", re.IGNORECASE | re.DOTALL)


def _socat(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    found = [ask("exchanges data with other programs or machines", Level.HIGH, Effect.NETWORK)]
    if any(arg.text is None or _SOCAT_RUNS.fullmatch(arg.text) for arg in args):
        found.append(ask("gives others a program to use", Level.CRITICAL, Effect.EXEC))
    return found


_IP_OPTIONS = re.compile(r"-(?:4|6|s|d|o|j|p|br|brief|c|color|stats|statistics|details|json|pretty|oneline|h|V)")
_IP_OBJECTS = re.compile(
    r"a|ad|addr|address|l|link|r|ro|route|ru|rule|n|ne|neigh|neighbor|neighbour|m|maddr|ntable|netns|tunnel|help"
)
# A lone `s` is `set` of a link.
_IP_SHOWS = re.compile(r"sh|sho|show|ls|lis|list|get|help")


def _ip(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge by the first two words: an object, and what to do with it."""
    words = [arg.text for arg in args]
    while words and words[0] is not None and _IP_OPTIONS.fullmatch(words[0]):
        words = words[1:]
    if not words:
        return []
    verb = words[1] if len(words) > 1 else "show"
    if words[0] and _IP_OBJECTS.fullmatch(words[0]) and verb and _IP_SHOWS.fullmatch(verb):
        return []
    return [ask("changes the network of this machine", Level.HIGH, Effect.PRIVILEGE)]


def _ifconfig(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    words = [arg.text for arg in args if arg.text not in ("-a", "-s", "-v", "-n", "-e", "-l")]
    if not words or (name in ("ifconfig", "iwconfig") and len(words) == 1 and words[0] and words[0][0] != "-"):
        return []
    return [ask("changes the network of this machine", Level.HIGH, Effect.PRIVILEGE)]


_FIREWALL_LISTS = frozenset(
    {"-L", "-S", "-n", "-v", "-nL", "-nvL", "-vnL", "-Ln", "-Lnv", "-Lvn", "--list", "--list-rules"}
)


def _firewall(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    words = [arg.text for arg in args]
    if words and all(word in _FIREWALL_LISTS or word == "--line-numbers" for word in words):
        return []
    if name == "ufw" and words in (["status"], ["status", "verbose"], ["status", "numbered"], ["version"]):
        return []
    return [ask("changes the firewall", Level.HIGH, Effect.PRIVILEGE)]


def _dig(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    if [arg.text for arg in args] in (["-v"], ["-V"], ["-h"], ["--version"]):
        return []
    found = [ask(f"{name} asks other machines for a name", Level.LOW, Effect.NETWORK)]
    for index, arg in enumerate(args):
        if arg.text in ("-f", "-k") and index + 1 < len(args):
            found += places.read(args[index + 1], judge.here)
        elif arg.text is None:
            found.append(unclear(f"{arg.shown} becomes known to other machines", at=arg))
    return found


PROGRAMS: dict[str, Program] = {
    "curl": _curl,
    **named("wget wget2", _wget),
    **named("ssh autossh slogin", _ssh),
    **named("scp sftp", _scp),
    **named("nc ncat netcat nc.openbsd nc.traditional", _nc),
    "socat": _socat,
    "ip": _ip,
    **named("ifconfig iwconfig arp route", _ifconfig),
    **named("iptables ip6tables ufw", _firewall),
    **named("dig host nslookup delv kdig drill resolveip", _dig),
    **asked(
        """
    ping ping6 traceroute traceroute6 tracepath mtr whois fping arping: low network talks to other machines
    telnet ftp lftp tftp rlogin rsh mosh: high network exchanges data with another machine
    nmap masscan zmap nikto: medium network looks for open doors of other machines
    aria2c axel httpie http https xh lynx w3m links elinks youtube-dl yt-dlp hey ab wrk siege: \
        medium network,write talks to another machine
    ssh-copy-id sshfs rclone restic borg croc magic-wormhole ngrok cloudflared tailscale: \
        high network exchanges files or opens a way between machines
    tcpdump tshark wireshark dumpcap ngrep: high network,privilege records what others send
    nft firewall-cmd nmcli tc ethtool brctl bridge wg wg-quick openvpn: \
        high privilege changes the network of this machine
    mail mailx sendmail mutt msmtp swaks: high network sends mail
    rsh-client nfsstat showmount smbclient rpcclient ldapsearch snmpwalk: medium network asks another machine
    """,
        "--version --help",
    ),
}
