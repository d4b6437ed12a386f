"""Nodes that are reached through a process: any program whose input and output lead to an agent, and a real ssh."""

import asyncio
import contextlib
import getpass
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from hermitty.cluster import control
from hermitty.cluster.endpoint import Endpoint
from hermitty.cluster.listed import ListedPlacement, parse_nodes, ssh_command
from hermitty.cluster.presence import NodeState
from hermitty.cluster.remote import RemoteHost
from hermitty.cluster.tunnel import Tunnel
from hermitty.errors import InvalidRequest
from hermitty.model import ExitStatus
from hermitty.runtime.clustered import open_clustered
from tests.cluster.conftest import PATIENT, EndLater
from tests.cluster.test_breaks import COUNT, NUMBERS, PRINT_NUMBERS, opened
from tests.support.kernel import gone, gone_now, is_alive, so
from tests.support.runtimes import settings_in
from tests.support.shells import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

SECRET = b"s" * 32


def agent_words(state: Path) -> tuple[str, ...]:
    return (sys.executable, "-P", "-m", "hermitty.cluster", str(state), "--stdio", "--name", "one")


@asynccontextmanager
async def gateway(*command: str, secret: bytes = SECRET) -> AsyncIterator[RemoteHost]:
    """A gateway whose connections are processes."""

    async def find() -> Endpoint:
        return Endpoint(command=command, secret=secret)

    remote = RemoteHost("one", find, gateway="g1", times=PATIENT)
    remote.look()
    try:
        yield remote
    finally:
        await remote.leave()


def tunnel_pid(remote: RemoteHost) -> int:
    assert remote.link is not None
    assert remote.link._tunnel is not None
    assert remote.link._tunnel._transport is not None
    return remote.link._tunnel._transport.get_pid()


@pytest.fixture
def state(tmp_path: Path, hosts_end: EndLater) -> Path:
    return hosts_end(tmp_path / "node")


@pytest.mark.parametrize("kind", ["socket", "pipes"])
async def test_an_agent_serves_its_standard_input_and_output(state: Path, kind: str) -> None:
    words = agent_words(state)
    if kind == "pipes":
        words = ("/bin/sh", "-c", 'cat | "$@" | cat', "sh", *words)
    async with gateway(*words) as remote:
        await remote.ready()
        pty, sink = await opened(remote, PRINT_NUMBERS)

        assert await sink.ended() == ExitStatus(code=3)
        assert sink.data == NUMBERS
        await pty.close()
        pid = tunnel_pid(remote)
    await gone(pid)


async def test_a_connection_whose_process_is_killed_in_mid_stream_loses_and_doubles_nothing(state: Path) -> None:
    async with gateway(*agent_words(state)) as remote:
        await remote.ready()
        incarnation = remote.incarnation
        pty, sink = await opened(remote, f"stty -echo -opost; seq 1 {COUNT}; read x; exit $x")
        killed = set()
        for part in (1, 2, 3):
            await sink.took(part * len(NUMBERS) // 4)
            await so(lambda: remote.state is NodeState.LIVE and tunnel_pid(remote) not in killed)
            killed.add(tunnel_pid(remote))
            os.kill(tunnel_pid(remote), signal.SIGKILL)
            await so(lambda: remote.state is NodeState.UNREACHABLE or tunnel_pid(remote) not in killed)
        pty.write(b"7\n")

        assert await sink.ended() == ExitStatus(code=7)
        assert sink.data == NUMBERS
        assert remote.incarnation == incarnation


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("echo first >&2; echo 'ann@two: Permission denied (publickey).' >&2; exit 255", "Permission denied"),
        ("read x; exit 1", "ended the connection"),
        ("cat", "does not speak our language"),
    ],
)
async def test_what_the_process_complains_about_is_told(script: str, problem: str) -> None:
    async with gateway("/bin/sh", "-c", script) as remote:
        await so(lambda: problem in remote.problem)
        assert remote.state is NodeState.CONNECTING


@contextmanager
def helper(tmp_path: Path, *, leads: bool) -> Iterator[tuple[str, Path]]:
    """What a process like ssh starts, which holds its standard error: how, and where its number is written.

    It is started once, and ends with the test.
    """
    number = tmp_path / "helper"
    words = "setsid sh" if leads else "sh"
    start = f"{words} -c 'echo $$ >{number}; exec sleep 1000' </dev/null >/dev/null &"
    try:
        yield f"[ -e {number} ] || {{ {start} while ! [ -s {number} ]; do sleep 0.01; done; }}", number
    finally:
        pid = int(number.read_text())
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            if Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\x001000\0":
                os.kill(pid, signal.SIGKILL)
                gone_now(pid)


async def test_a_connection_is_over_with_its_process_whoever_holds_its_standard_error(
    state: Path, tmp_path: Path
) -> None:
    with helper(tmp_path, leads=True) as (start, number):
        async with gateway("/bin/sh", "-c", f'{start}; exec "$@"', "sh", *agent_words(state)) as remote:
            link = await remote.ready()
            pid = tunnel_pid(remote)

            link.abort("no answer")

            async with asyncio.timeout(PATIENCE_S):
                await link.gone.wait()
            await so(lambda: remote.state is NodeState.LIVE and tunnel_pid(remote) != pid)
            assert is_alive(int(number.read_text()))


async def test_what_a_process_started_in_its_group_ends_with_the_connection(state: Path, tmp_path: Path) -> None:
    with helper(tmp_path, leads=False) as (start, number):
        async with gateway("/bin/sh", "-c", f'{start}; exec "$@"', "sh", *agent_words(state)) as remote:
            await remote.ready()
            pid = int(number.read_text())
            assert is_alive(pid)
            async with asyncio.timeout(PATIENCE_S):
                await remote.leave()
        await gone(pid)


async def test_the_last_words_of_a_process_are_told_whoever_holds_its_standard_error(tmp_path: Path) -> None:
    with helper(tmp_path, leads=True) as (start, number):
        script = f"read secret; {start}; echo first >&2; echo 'ann@two: Permission denied (publickey).' >&2; exit 255"
        async with gateway("/bin/sh", "-c", script) as remote:
            await so(lambda: "Permission denied" in remote.problem)
            assert remote.state is NodeState.CONNECTING
            assert is_alive(int(number.read_text()))


class Undead(asyncio.SubprocessTransport):
    """A process that does not end when it is killed, as the kernel has them while a disk does not answer."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        self.told: list[str] = []
        self._pid = pid

    def get_pid(self) -> int:
        return self._pid

    def kill(self) -> None:
        self.told.append("kill")

    def close(self) -> None:
        self.told.append("close")


async def test_a_process_that_does_not_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermitty.cluster.tunnel._END_S", 0.01)
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    child = await asyncio.create_subprocess_exec("/bin/sleep", "1000")
    try:
        tunnel, process, told = Tunnel(reading), Undead(child.pid), asyncio.Event()
        tunnel.connection_made(process)
        tunnel.on_over = told.set
        os.write(writing, b"its last words\n")

        async with asyncio.timeout(PATIENCE_S):
            await tunnel.end()

        assert process.told == ["kill", "close"]
        assert tunnel.said == "its last words"
        assert told.is_set()
    finally:
        os.close(writing)
        child.kill()
        await child.wait()


async def test_a_program_that_is_not_there_is_told() -> None:
    async with gateway("/no/such/ssh") as remote:
        await so(lambda: "No such file" in remote.problem)


async def test_an_agent_that_is_not_told_a_secret_does_not_serve(state: Path) -> None:
    for said in (b"", b"\n", b"no digits\n", b"0" * 5000):
        process = await asyncio.create_subprocess_exec(
            *agent_words(state),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, complaint = await process.communicate(said)
        assert (process.returncode, out) == (1, b"")
        assert complaint


# Lists.


def test_a_node_by_ssh_is_a_command_that_asks_nobody(tmp_path: Path) -> None:
    listed = parse_nodes('[[nodes]]\nname = "a b"\nssh = "ann@two"\nssh_config = "c"\npython = "/o/python"')["a b"]

    words = ssh_command(listed, tmp_path)

    assert words[:3] == ("ssh", "-F", str(tmp_path / "c"))
    assert "BatchMode=yes" in words
    assert words[-3:-1] == ("--", "ann@two")
    state = "'~/.local/state/hermitty/nodes/a b'"
    assert words[-1] == f"exec /o/python -P -m hermitty.cluster {state} --stdio --name 'a b'"


async def test_every_connection_by_ssh_has_a_secret_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "list").write_text('[[nodes]]\nname = "two"\nssh = "two"')
    placement = ListedPlacement(tmp_path / "list")
    await placement.nodes()

    first, second = await placement.endpoint("two"), await placement.endpoint("two")

    assert first.command == second.command
    assert first.secret != second.secret
    assert len(first.secret) == 32
    assert first.secret.hex() not in first.address


@pytest.mark.parametrize(
    "text",
    [
        'name = "a"\nssh = ""',
        'name = "a"\nssh = "-oProxyCommand=x"',
        'ssh = "two"',
        'name = "a"\nssh = "x"\nunix = "/y"',
        'name = "a"\nunix = "/y"\nsecret_file = "s"\npython = "p"',
    ],
)
def test_a_node_by_ssh_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_nodes(f"[[nodes]]\n{text}")


# The real one.


# The server of root wants a directory that only an init system makes. It gets one that nobody else sees.
SERVE = """
if [ "$(id -u)" = 0 ] && [ ! -d /run/sshd ]; then
  exec unshare --mount /bin/sh -c 'mount -t tmpfs none /run && mkdir -m 755 /run/sshd && exec "$@"' sh "$@"
fi
exec "$@"
"""


@pytest.fixture
def ssh_config(tmp_path: Path) -> Path:
    """Settings of ssh for a server that runs for each connection, without a port."""
    server = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if server is None or shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        pytest.skip("sshd or ssh is not installed (on Debian: apt-get install openssh-server openssh-client)")
    base = tmp_path / "ssh"
    base.mkdir(mode=0o700)
    for name in ("host", "user"):
        words = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(base / name))
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    (base / "authorized").write_bytes((base / "user.pub").read_bytes())
    (base / "sshd_config").write_text(
        f"HostKey {base}/host\nAuthorizedKeysFile {base}/authorized\nStrictModes no\nUsePAM no\n"
        "PermitRootLogin yes\nPidFile none\nPrintMotd no\nPrintLastLog no\n"
    )
    (base / "serve").write_text(SERVE)
    config = base / "config"
    config.write_text(
        f"Host there\n  ProxyCommand /bin/sh {base}/serve {server} -i -f {base}/sshd_config\n"
        f"  User {getpass.getuser()}\n"
        f"  IdentityFile {base}/user\n  IdentitiesOnly yes\n  StrictHostKeyChecking no\n"
        f"  UserKnownHostsFile {base}/known\n  LogLevel ERROR\n"
    )
    tried = subprocess.run(["ssh", "-F", str(config), "there", "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"sshd does not serve this user here: {tried.stderr.strip()[-300:]}")
    return config


async def test_a_machine_is_reached_by_ssh(
    ssh_config: Path, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMITTY_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "nodes.toml").write_text(
        f'[[nodes]]\nname = "there"\nssh = "there"\nssh_config = "{ssh_config}"\n'
        f'python = "{sys.executable}"\nstate = "{state}"\n'
    )
    cluster = str(tmp_path / "nodes.toml")
    runtime = await open_clustered(cluster, settings_in(tmp_path, policy__mode="off"), times=PATIENT)
    try:
        result = await runtime.run("stty -opost; seq 1 50000; (exit 4)", cwd=tmp_path)
        assert (result.exit_code, result.total_bytes) == (4, len("".join(f"{n}\n" for n in range(1, 50_001))))
        (seen,) = await control.observe(cluster, tmp_path / "state")
        assert seen.report is not None, seen.problem
        assert (seen.report.name, seen.report.terminals) == ("there", 1)
    finally:
        await runtime.close()
