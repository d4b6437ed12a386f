"""docker, podman and compose: looking is free; running, removing and reaching other machines is asked about."""

import re
from collections.abc import Sequence

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask
from hermitty.policy.options import Grammar
from hermitty.policy.programs.subcommands import Asked, Tool, asked, worse
from hermitty.policy.programs.tables import Handler, Program, named

# These stand in front of the sub-command. The configuration names plug-ins and helpers, which are programs.
_GLOBAL = (
    "--help -v,--version -D,--debug -l,--log-level: --tls --tlsverify -H,--host:network -c,--context:network "
    "--config:exec --tlscacert:read --tlscert:read --tlskey:read "
)
# What is never an option behind a sub-command that reads, but makes unknown words count.
_NEVER = "--help --host:network --config:exec "


def _reads(options: str, operands: str = "plain*") -> Grammar:
    return Grammar(_NEVER + options, operands)


_PS = _reads(
    "-a,--all -f,--filter: --format: -n,--last: -l,--latest --no-trunc -q,--quiet -s,--size --sort: -p,--pod --ns"
)
_IMAGES = _reads("-a,--all --digests -f,--filter: --format: --no-trunc -q,--quiet --tree --sort: -n,--noheading")
_LIST = _reads("-a,--all -f,--filter: --format: --no-trunc -q,--quiet -v,--verbose --cluster -n,--noheading")
_INSPECT = _reads("-f,--format: -s,--size --type: -v,--verbose --pretty -l,--latest --scope:")
_LOGS = _reads(
    "--details -f,--follow --since: -n,--tail: -t,--timestamps --until: --no-color --no-log-prefix --index: "
    "--no-resolve --no-task-ids --no-trunc --raw"
)
_FORMAT = _reads("-f,--format: --short")
_EVENTS = _reads("-f,--filter: --format: --since: --until: --json")
_PLAIN = _reads("")
_TOP = Grammar("", "plain*", any_options=True)  # the options of ps
_HISTORY = _reads("--format: -H --human? --no-trunc -q,--quiet --platform:")

_STATS = Grammar(_NEVER + "-a,--all --format: --no-stream --no-trunc -i,--interval: --no-reset", "plain*")


def _stats(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _STATS.parse(args, name)
    found = _STATS.findings(parsed, name, judge.here)
    if not parsed.has("--no-stream", "--help"):
        found.append(ask(f"{name} runs until it is stopped", Level.LOW, Effect.PROCESS))
    return found


_ROOT_MOUNT = re.compile(
    r"(?:type=bind,)?(?:source=|src=)?(/|/etc|/root|/var|/usr|/boot|/home|/dev|/proc|/sys|[A-Za-z]:[\\/]?)(?:[:,].*)?"
)
_SOCKET = re.compile(r".*(?:docker|podman|containerd|crio)\.sock.*")
_POWERS = (
    *("--privileged", "--cap-add", "--device", "--security-opt", "--pid=host", "--userns=host", "--ipc=host"),
    *("--network=host", "--net=host", "--uts=host", "--cgroupns=host"),
)


def _powers(args: Sequence[Arg]) -> list[Finding]:
    """Find what lets a container out: the host's files, its devices, its processes."""
    found: list[Finding] = []
    for index, arg in enumerate(args):
        text = arg.prefix if arg.text is None else arg.text
        following = args[index + 1].text or "" if index + 1 < len(args) else ""
        value = text.partition("=")[2] if text.startswith("--") else text[2:] if text.startswith("-v") else ""
        mount = (value or following) if text.startswith(("-v", "--volume", "--mount")) else ""
        if mount and (_ROOT_MOUNT.fullmatch(mount) or _SOCKET.fullmatch(mount)):
            found.append(
                ask(
                    f"gives the container {mount.partition(':')[0]} of this machine",
                    Level.CRITICAL,
                    Effect.PRIVILEGE,
                    at=arg,
                )
            )
        elif text.startswith(_POWERS) or f"{text}={following}" in _POWERS:
            found.append(
                ask(f"{text} gives the container rights on this machine", Level.HIGH, Effect.PRIVILEGE, at=arg)
            )
    return found


def _running(reason: str) -> Handler:
    """Make the judge of what runs programs in a container."""
    base = Asked(Level.MEDIUM, (Effect.EXEC,), reason)

    def judge_run(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        found = base(name, args, judge)
        return found + _powers(args) if found else []

    return judge_run


def _cp(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    found = [ask(f"{name} copies files from or to a container", Level.MEDIUM, Effect.WRITE)]
    words = [arg for arg in args if not arg.prefix.startswith("-")]
    for arg in words[:-1]:
        found += [] if ":" in arg.prefix else places.read(arg, judge.here)
    for arg in words[-1:]:
        found += [] if ":" in arg.prefix else places.write(arg, judge.here)
    return found


_REMOVES = Asked(Level.HIGH, (Effect.DELETE,), "removes containers, images or data")
_PRUNES = Asked(Level.MEDIUM, (Effect.DELETE,), "removes what is not in use")
_PRUNES_MORE = worse(
    _PRUNES, "-a --all --volumes", Level.HIGH, Effect.DELETE, "removes everything that is not in use, or data"
)
_PRUNES_DATA = Asked(Level.HIGH, (Effect.DELETE,), "removes data")
_STOPS = Asked(Level.MEDIUM, (Effect.PROCESS,), "stops or starts containers")
_CHANGES = Asked(Level.MEDIUM, (Effect.WRITE,), "changes settings of containers, images or networks")
_NETWORK = Asked(Level.MEDIUM, (Effect.NETWORK,), "exchanges images with another machine")
_RUN = _running("runs a program in a container")
_BUILD = _running("builds an image, which runs programs of the project")

_CONTAINER: dict[str, Program] = {
    **named("ls list ps", _PS),
    "inspect": _INSPECT,
    "logs": _LOGS,
    "stats": _stats,
    "top": _TOP,
    **named("diff port", _PLAIN),
    "cp": _cp,
    **named("rm remove", _REMOVES),
    "prune": _PRUNES,
    **named("run exec create attach start", _RUN),
    **named("stop restart kill pause unpause wait rename update checkpoint restore", _STOPS),
    **named("commit export mount umount", _CHANGES),
}
_IMAGE: dict[str, Program] = {
    **named("ls list", _IMAGES),
    "inspect": _INSPECT,
    "history": _HISTORY,
    **named("rm remove rmi", _REMOVES),
    "prune": _PRUNES_MORE,
    "build": _BUILD,
    **named("pull push search", _NETWORK),
    **named("tag save load import", _CHANGES),
}
_LISTED: dict[str, Program] = {
    **named("ls list", _LIST),
    "inspect": _INSPECT,
    "ps": _PS,
    "logs": _LOGS,
    **named("rm remove leave", _REMOVES),
    "prune": _PRUNES,
}
_VOLUME: dict[str, Program] = {**_LISTED, "prune": _PRUNES_DATA}
_SYSTEM: dict[str, Program] = {
    "df": _reads("--format: -v,--verbose"),
    "info": _FORMAT,
    "events": _EVENTS,
    "prune": _PRUNES_MORE,
    "reset": _REMOVES,
}
_CONTEXT: dict[str, Program] = {
    **named("ls list", _LIST),
    "show": _PLAIN,
    "inspect": _INSPECT,
    **named("rm remove", _REMOVES),
}
_BUILDX: dict[str, Program] = {
    "ls": _LIST,
    "version": _PLAIN,
    "du": _reads("--filter: --format: --verbose --builder:"),
    **named("build b bake", _BUILD),
    "prune": _PRUNES_MORE,
    "rm": _REMOVES,
}

# A file of compose can be elsewhere: an address is one, too.
_COMPOSE_GLOBAL = (
    "--help -v,--version --ansi: --compatibility --dry-run --parallel: --profile: --progress: -p,--project-name: "
    "-f,--file:read --project-directory:read --env-file:read --all-resources -H,--host:network -c,--context:network "
)
_COMPOSE: dict[str, Program] = {
    "ps": _reads("-a,--all --filter: --format: --no-trunc --orphans -q,--quiet --services --status:"),
    "logs": _LOGS,
    "ls": _LIST,
    "images": _IMAGES,
    "top": _PLAIN,
    "port": _reads("--index: --protocol:"),
    "events": _EVENTS,
    "version": _FORMAT,
    "volumes": _LIST,
    "stats": _stats,
    "config": Grammar(
        "--help --services --images --volumes --profiles --networks -q,--quiet --format: --hash: --no-interpolate "
        "--no-normalize --no-path-resolution --no-consistency --resolve-image-digests^network -o,--output:write",
        "plain*",
    ),
    **named("up create start run exec watch attach", _RUN),
    "build": _BUILD,
    "down": worse(
        Asked(Level.MEDIUM, (Effect.DELETE,), "stops and removes containers"),
        "-v --volumes --rmi",
        Level.HIGH,
        Effect.DELETE,
        "removes data or images, too",
    ),
    "rm": _REMOVES,
    **named("stop restart kill pause unpause wait scale", _STOPS),
    **named("pull push publish", _NETWORK),
    "cp": _cp,
}
_CONFIG_LISTS = ("--services", "--images", "--volumes", "--profiles", "--networks", "-q", "--help")


def _compose_config(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    grammar = _COMPOSE["config"]
    assert isinstance(grammar, Grammar)
    parsed = grammar.parse(args, name)
    found = grammar.findings(parsed, name, judge.here)
    if not parsed.has(*_CONFIG_LISTS):
        found.append(ask(f"{name} shows variables, which may be passwords", Level.LOW, Effect.CREDENTIALS))
    return found


_COMPOSE_TOOL = Tool(
    {**_COMPOSE, "config": _compose_config, "convert": _compose_config}, _COMPOSE_GLOBAL, other=_CHANGES
)


def _compose(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    found = _COMPOSE_TOOL(name, args, judge)
    for arg in args:
        if "://" in arg.prefix or arg.prefix.startswith("git@"):
            found.append(ask(f"{arg.shown} may be got from another machine", Level.MEDIUM, Effect.NETWORK, at=arg))
    return found


_DOCKER: dict[str, Program] = {
    **_CONTAINER,
    "images": _IMAGES,
    "history": _HISTORY,
    "version": _FORMAT,
    "info": _FORMAT,
    "events": _EVENTS,
    "rmi": _REMOVES,
    "build": _BUILD,
    "container": Tool(_CONTAINER, "--help"),
    "image": Tool(_IMAGE, "--help"),
    "volume": Tool(_VOLUME, "--help", other=_CHANGES),
    "network": Tool(_LISTED, "--help", other=_CHANGES),
    "system": Tool(_SYSTEM, "--help", other=_CHANGES),
    "context": Tool(_CONTEXT, "--help", other=_CHANGES),
    "buildx": Tool(_BUILDX, "--help --builder:", other=_BUILD),
    "builder": Tool({"prune": _PRUNES_MORE, "build": _BUILD}, "--help", other=_BUILD),
    "compose": _compose,
    **named("node service stack config plugin pod machine", Tool(_LISTED, "--help", other=_CHANGES)),
    **named("pull push login logout search manifest trust", _NETWORK),
    **named("tag save load import", _CHANGES),
    **asked("""
    secret: high credentials changes or shows passwords
    swarm: high network,privilege joins machines
    """),
}
_DOCKER_TOOL = Tool(_DOCKER, _GLOBAL, other=Asked(Level.MEDIUM, (Effect.EXEC,), "may be another program", frozenset()))
_PODMAN = Tool(
    _DOCKER,
    "--help -v,--version --log-level: --connection,-c:network --url:network -r,--remote^network --root:exec "
    "--conmon:exec --runtime:exec --config:exec --hooks-dir:exec --module:exec",
    other=_CHANGES,
)


PROGRAMS: dict[str, Program] = {
    **named("docker nerdctl", _DOCKER_TOOL),
    "podman": _PODMAN,
    **named("docker-compose podman-compose", _compose),
    **asked(
        """
    ctr crictl lxc lxd incus runc crun buildah skopeo systemd-nspawn machinectl virsh vagrant multipass: \
        medium exec controls containers or machines
    """,
        "--version --help",
    ),
}
