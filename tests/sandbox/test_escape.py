"""Tries to get out. Each attempt is also made without a sandbox where that does no harm, to see that it can succeed."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermitty.engine.terminal import Terminal
from hermitty.pty.spawn import FileAction, handed_down, spawn_wrapper
from hermitty.runtime.api import Runtime
from hermitty.sandbox.plan import prepare
from hermitty.sandbox.probe import Abilities
from hermitty.sandbox.spec import EACH_PROCESS, Confinement, Mode
from tests.sandbox.conftest import PYTHON, OpenConfined
from tests.support.kernel import gone, is_alive, so
from tests.support.shells import PATIENCE_S

# Tries one thing after the other, and prints what became of each: "done", or the name of the error.
ATTEMPTS = """
import ctypes, errno, fcntl, json, os, socket, sys, termios
libc = ctypes.CDLL(None, use_errno=True)

def write(path):
    with open(path, "w") as file:
        file.write("escaped")

def append(path):
    with open(path, "a") as file:
        file.write("escaped")

def read(path):
    with open(path) as file:
        return file.read()

def link(source, target):
    os.link(source, target)

def rename(source, target):
    os.rename(source, target)

def tcp(port):
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(b"escaped")

def udp(port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"escaped", ("127.0.0.1", port))

def opens(path):
    os.close(os.open(path, os.O_WRONLY))

def kill(pid):
    os.kill(pid, 9)

def see(pid):
    os.stat(f"/proc/{pid}")

def unshare(flags):
    if libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), "unshare")

def abstract(name):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect("\\0" + name)

def local(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(path)

def descriptors():
    return [number for number in map(int, os.listdir("/proc/self/fd")) if os.path.exists(f"/proc/self/fd/{number}")]

def linux(code):
    fcntl.ioctl(0, 0x541C, bytes([code]))

def mount(source, target):
    if libc.mount(source.encode(), target.encode(), None, 4096, None) != 0:
        raise OSError(ctypes.get_errno(), "mount")

def remount():
    if libc.mount(None, b"/", None, 32 | 4096, None) != 0:
        raise OSError(ctypes.get_errno(), "mount")

def sti():
    fcntl.ioctl(0, termios.TIOCSTI, b"x")

def keyring():
    if libc.syscall(250 if os.uname().machine == "x86_64" else 219, 0, -3, 0) < 0:
        raise OSError(ctypes.get_errno(), "keyctl")

found = []
for name, *arguments in json.loads(sys.argv[1]):
    try:
        value = globals()[name](*arguments)
        found.append(["done", value])
    except OSError as problem:
        found.append([errno.errorcode.get(problem.errno, "timeout"), None])
print("FOUND" + json.dumps(found))
"""


@pytest.fixture
def kit(work: Path) -> Path:
    """The program that tries, in the workspace."""
    path = work / "attempts.py"
    path.write_text(ATTEMPTS)
    return path


async def attempts(terminal: Terminal, kit: Path, *tries: list[Any]) -> list[str]:
    """What became of each attempt."""
    quoted = json.dumps(tries).replace("'", "'\\''")
    result = await terminal.run(f"{sys.executable} -I -S {kit} '{quoted}'", wait_s=PATIENCE_S)
    assert result.exit_code == 0, result.text
    told = json.loads("".join(result.text.partition("FOUND")[2].splitlines()))
    return [outcome if value is None else f"{outcome} {value}" for outcome, value in told]


@contextlib.contextmanager
def listening(kind: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, kind) as listener:
        listener.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            listener.listen()
        listener.setblocking(False)
        yield listener


@pytest.fixture
async def sleeper() -> AsyncIterator[int]:
    """A process of this user that has nothing to do with the sandbox."""
    process = await asyncio.create_subprocess_exec("sleep", "1000", stdin=subprocess.DEVNULL)
    yield process.pid
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()


@pytest.mark.parametrize("mode", ["workspace", "strict"])
async def test_nothing_outside_of_the_workspace_can_be_written(
    confined: OpenConfined, kit: Path, work: Path, home: Path, tmp_path: Path, mode: str
) -> None:
    terminal = await confined(mode)
    (tmp_path / "beside").mkdir()
    (work / "way_out").symlink_to(tmp_path / "beside")
    places = [tmp_path / "beside" / "new", home / ".bashrc", home / "notes", Path("/etc/hermitty-was-here")]
    places += [Path("/usr/hermitty-was-here"), Path("/var/tmp/hermitty-was-here"), work / "way_out" / "new"]
    found = await attempts(terminal, kit, *(["write", str(place)] for place in places))

    # In a strict sandbox the home directory is an empty one of its own.
    assert [place for place in places if place.exists()] == [home / "notes"]
    assert (home / "notes").read_text() == "harmless"
    if mode == "workspace":
        assert not [outcome for outcome in found if outcome == "done"]
    assert await attempts(terminal, kit, ["write", str(work / "inside")]) == ["done"]
    assert (work / "inside").read_text() == "escaped"


async def test_what_git_runs_by_itself_cannot_be_changed(
    confined: OpenConfined, kit: Path, work: Path, mechanism: str
) -> None:
    terminal = await confined()
    if mechanism == "landlock":
        assert "write" in dict(terminal.sandbox_effective.not_enforced)  # type: ignore[union-attr]
        return
    before = (work / ".git" / "config").read_text()
    found = await attempts(
        terminal,
        kit,
        ["write", str(work / ".git" / "hooks" / "pre-commit")],
        ["append", str(work / ".git" / "config")],
        ["rename", str(work / ".git"), str(work / "other")],
        ["rename", str(work / ".git" / "hooks"), str(work / ".git" / "old")],
        ["rename", str(work / ".git" / "config"), str(work / ".git" / "old")],
        ["rename", str(work), str(work) + "2"],
        ["write", str(work / ".git" / "description")],
    )

    assert [outcome == "done" for outcome in found] == [False] * 6 + [True]
    assert not (work / ".git" / "hooks" / "pre-commit").exists()
    assert (work / ".git" / "config").read_text() == before


async def test_a_repository_without_hooks_gets_none(needs_bubblewrap: None, runtime: Runtime, work: Path) -> None:
    for hook in (work / ".git" / "hooks").iterdir():
        hook.unlink()
    (work / ".git" / "hooks").rmdir()
    terminal = await runtime.open_terminal(cwd=work, shell="bash", sandbox="workspace")
    result = await terminal.run("echo x > .git/hooks/post-checkout; git commit -q --allow-empty -m x 2>&1", wait_s=60)

    assert "Permission denied" in result.text
    assert list((work / ".git" / "hooks").iterdir()) == []


async def test_a_repository_without_settings_gets_none(needs_bubblewrap: None, runtime: Runtime, work: Path) -> None:
    (work / ".git" / "config").unlink()
    terminal = await runtime.open_terminal(cwd=work, shell="bash", sandbox="workspace")
    result = await terminal.run("git config core.hooksPath /x; echo x >> .git/config; git status -s", wait_s=PATIENCE_S)

    assert (work / ".git" / "config").read_text() == ""
    assert result.exit_code == 0


async def test_hooks_are_not_led_elsewhere(
    confined: OpenConfined, kit: Path, work: Path, home: Path, mechanism: str
) -> None:
    if mechanism == "landlock":
        pytest.skip("Landlock cannot seal a part of a workspace, and says so")
    terminal = await confined()
    result = await terminal.run("git config core.hooksPath evil; git config --global core.hooksPath evil", wait_s=60)
    assert result.exit_code != 0
    assert "hookspath" not in (work / ".git" / "config").read_text().lower()
    assert not (home / ".gitconfig").exists()


async def test_a_directory_that_is_exchanged_after_the_look_at_it_is_not_mounted(
    abilities: Abilities, work: Path, home: Path, tmp_path: Path
) -> None:
    if not abilities.bubblewrap.takes_descriptors:
        pytest.skip("this bubblewrap mounts by name only")
    order = Confinement(Mode.WORKSPACE, str(work))
    (tmp_path / "private").mkdir()
    (home / ".ssh" / "hooks").mkdir()  # so that what is mounted next is there, as it is when things go back and forth
    (home / ".ssh" / "config").write_text("")
    script = f"cat {home}/.ssh/id_ed25519; echo escaped > {home}/.ssh/new; echo began"

    async def said() -> str:
        prepared = prepare(
            order,
            ["/bin/sh", "-c", script],
            cwd=str(work),
            env={"HOME": str(home), "PATH": os.environ["PATH"]},
            directory=str(tmp_path / "private"),
        )
        if swapped:
            (work / ".git").rename(work / "real")
            (work / ".git").symlink_to("../home/.ssh")  # leads to the same place from every root
        with (tmp_path / "output").open("w+b") as output:
            actions: list[FileAction] = [(os.POSIX_SPAWN_DUP2, output.fileno(), number) for number in (1, 2)]
            actions += handed_down(prepared.descriptors)
            pid = spawn_wrapper(prepared.argv, env=prepared.env, actions=actions)
            prepared.abandon()
            await asyncio.to_thread(os.waitpid, pid, 0)
            output.seek(0)
            return output.read().decode()

    swapped = False
    assert "began" in await said()
    swapped = True
    assert "SECRET-KEY" not in await said()
    assert sorted(os.listdir(home / ".ssh")) == ["config", "hooks", "id_ed25519"]


@pytest.mark.parametrize("mode", ["workspace", "strict"])
async def test_nothing_is_inherited(
    confined: OpenConfined, kit: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "SECRET-TOKEN")
    monkeypatch.setenv("PGPASSWORD", "SECRET-TOKEN")
    read, write = os.pipe()
    os.set_inheritable(read, True)
    try:
        terminal = await confined(mode)
        assert await attempts(terminal, kit, ["descriptors"]) == ["done [0, 1, 2]"]
        assert "SECRET-TOKEN" not in (await terminal.run("env; cat /proc/*/environ", wait_s=PATIENCE_S)).text
    finally:
        os.close(read)
        os.close(write)


async def test_what_a_caller_sets_is_inherited(needs_bubblewrap: None, runtime: Runtime, work: Path) -> None:
    env = {"DEPLOY_TOKEN": "meant for it"}
    terminal = await runtime.open_terminal(cwd=work, shell="bash", sandbox="workspace", env=env)
    assert (await terminal.run("echo $DEPLOY_TOKEN", wait_s=PATIENCE_S)).text == "meant for it\n"


async def test_sockets_of_others_cannot_be_reached(
    confined: OpenConfined, runtime: Runtime, kit: Path, work: Path, home: Path, mechanism: str, abilities: Abilities
) -> None:
    name = f"hermitty-test-{os.getpid()}"
    (home / ".1password").mkdir()
    agent = str(home / ".1password" / "agent.sock")
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as hidden,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as abstract,
    ):
        hidden.bind(agent)
        abstract.bind("\0" + name)
        hidden.listen()
        abstract.listen()
        tries = (["abstract", name], ["local", agent])
        terminal = await confined()
        found = await attempts(terminal, kit, *tries)
        outside = await runtime.open_terminal(cwd=work, shell="bash")
        assert await attempts(outside, kit, *tries) == ["done", "done"]

    if mechanism == "landlock":
        # It knows files, not sockets that are files; abstract ones since its sixth version.
        assert "sockets" in dict(terminal.sandbox_effective.not_enforced)["read"]  # type: ignore[union-attr]
        assert found[0] != "done" or abilities.landlock.version < 6
        return
    assert "done" not in found


@pytest.mark.parametrize("mode", ["workspace", "strict"])
async def test_secrets_cannot_be_read(
    confined: OpenConfined, runtime: Runtime, kit: Path, work: Path, home: Path, mode: str
) -> None:
    alone, beside_others = home / ".config" / "pip" / "pip.conf", home / ".cargo" / "credentials.toml"
    for path in (alone, beside_others, beside_others.with_name("config.toml")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("SECRET")
    paths = [home / ".ssh" / "id_ed25519", home / ".netrc", Path("/etc/shadow"), alone, beside_others]
    open_terminal = await runtime.open_terminal(cwd=work, shell="bash")
    assert await attempts(open_terminal, kit, ["read", str(paths[0])]) == ["done SECRET-KEY"]

    terminal = await confined(mode)
    found = await attempts(terminal, kit, *(["read", str(path)] for path in paths))
    through = await attempts(terminal, kit, ["read", f"/proc/self/root{paths[0]}"], ["read", f"/proc/1/root{paths[0]}"])

    assert not [outcome for outcome in (*found, *through) if outcome.startswith("done")]


async def test_a_secret_behind_a_link_is_hidden_too(
    confined: OpenConfined, kit: Path, home: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    (home / ".ssh").rename(elsewhere)
    (home / ".ssh").symlink_to(elsewhere)
    terminal = await confined()
    found = await attempts(
        terminal, kit, ["read", str(elsewhere / "id_ed25519")], ["read", str(home / ".ssh" / "id_ed25519")]
    )

    assert not [outcome for outcome in found if outcome.startswith("done")]


async def test_what_is_denied_is_hidden_and_what_is_listed_is_not(
    needs_bubblewrap: None, runtime: Runtime, kit: Path, work: Path, home: Path
) -> None:
    (home / ".ssh" / "known_hosts").write_text("public")
    wish = {"read": [*PYTHON, str(home / ".ssh" / "known_hosts")], "read_deny": ["~/notes", str(work / "private")]}
    (work / "private").mkdir()
    (work / "private" / "key").write_text("k")
    terminal = await runtime.open_terminal(cwd=work, shell="bash", sandbox={"mode": "workspace", **wish})
    found = await attempts(
        terminal,
        kit,
        ["read", str(home / ".ssh" / "known_hosts")],
        ["read", str(home / ".ssh" / "id_ed25519")],
        ["read", str(home / "notes")],
        ["read", str(work / "private" / "key")],
        ["write", str(home / ".ssh" / "authorized_keys")],
    )

    assert found[0] == "done public"
    assert not [outcome for outcome in found[1:] if outcome.startswith("done")]
    assert sorted(os.listdir(home / ".ssh")) == ["id_ed25519", "known_hosts"]


async def test_the_network_cannot_be_reached(confined: OpenConfined, runtime: Runtime, kit: Path, work: Path) -> None:
    with listening(socket.SOCK_STREAM) as stream, listening(socket.SOCK_DGRAM) as datagrams:
        tries = (["tcp", stream.getsockname()[1]], ["udp", datagrams.getsockname()[1]])
        terminal = await confined()
        found = await attempts(terminal, kit, *tries)
        assert found[0] != "done"
        for listener in (stream, datagrams):
            with pytest.raises(BlockingIOError):
                listener.accept() if listener is stream else listener.recv(100)

        outside = await runtime.open_terminal(cwd=work, shell="bash")
        assert await attempts(outside, kit, *tries) == ["done", "done"]
        assert datagrams.recv(100) == b"escaped"
        stream.accept()[0].close()


async def test_the_network_is_there_when_it_is_asked_for(confined: OpenConfined, kit: Path) -> None:
    with listening(socket.SOCK_STREAM) as stream:
        terminal = await confined(network="host")
        assert await attempts(terminal, kit, ["tcp", stream.getsockname()[1]]) == ["done"]
        stream.accept()[0].close()


async def test_other_processes_cannot_be_killed_nor_seen(
    confined: OpenConfined, kit: Path, sleeper: int, mechanism: str, abilities: Abilities
) -> None:
    terminal = await confined()
    killed, seen = await attempts(terminal, kit, ["kill", sleeper], ["see", sleeper])

    if mechanism == "bubblewrap":
        assert (killed, seen) == ("ESRCH", "ENOENT")
    elif abilities.landlock.version < 6:
        assert "signalled" in dict(terminal.sandbox_effective.not_enforced)["processes"]  # type: ignore[union-attr]
        return
    else:
        assert killed == "EPERM"
    assert is_alive(sleeper)


async def test_no_namespaces_mounts_keys_or_typing_for_others(confined: OpenConfined, kit: Path, work: Path) -> None:
    terminal = await confined()
    new_user, new_mounts = 0x10000000, 0x00020000
    found = await attempts(
        terminal,
        kit,
        ["unshare", new_user],
        ["unshare", new_mounts],
        ["mount", "/", str(work)],
        ["remount"],
        ["sti"],
        ["linux", 2],
        ["keyring"],
    )

    assert "done" not in found


async def test_the_kernel_cannot_be_set(confined: OpenConfined, kit: Path) -> None:
    terminal = await confined()
    files = ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/drop_caches"]
    files += ["/proc/sysrq-trigger", "/sys/kernel/uevent_helper", "/sys/kernel/mm/ksm/run", "/sys/power/state"]
    files += ["/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/pids/cgroup.procs", "/dev/mem", "/dev/sda", "/dev/vda"]
    found = await attempts(terminal, kit, *(["opens", path] for path in files))
    assert "done" not in found
    said = await terminal.run("grep -h CapEff /proc/self/status", wait_s=PATIENCE_S)
    assert int(said.text.split()[1], 16) == 0


async def test_processes_are_limited(confined: OpenConfined, work: Path) -> None:
    (work / "bomb.py").write_text(
        "import os, signal\n"
        "made = []\n"
        "for _ in range(300):\n"
        "    try:\n"
        "        pid = os.fork()\n"
        "    except OSError:\n"
        "        break\n"
        "    if pid == 0:\n"
        "        signal.pause()\n"
        "    made.append(pid)\n"
        "for pid in made:\n"
        "    os.kill(pid, 9)\n"
        "    os.waitpid(pid, 0)\n"
        "print('made', len(made))\n"
    )
    terminal = await confined(pids=40)
    effective = terminal.sandbox_effective
    assert effective is not None
    if "pids" not in dict(effective.enforced):
        assert "pids" in dict(effective.not_enforced)
        return
    result = await terminal.run(f"{sys.executable} -I -S bomb.py", wait_s=PATIENCE_S)
    assert 10 < int(result.text.split()[-1]) < 40


async def test_memory_is_limited(confined: OpenConfined) -> None:
    terminal = await confined(memory_bytes=128 * 1024 * 1024)
    effective = terminal.sandbox_effective
    assert effective is not None
    by = dict(effective.enforced)["memory"]
    result = await terminal.run(f"{sys.executable} -I -S -c 'len(b\"x\" * 400_000_000)'", wait_s=PATIENCE_S)
    assert result.exit_code == {"control group": 137, EACH_PROCESS: 1}[by]


# A daemon: twice forked, in a session of its own, without environment, deaf to every signal that can be ignored.
DAEMON = """
import os, signal, sys
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
    signal.signal(number, signal.SIG_IGN)
os.closerange(0, 100)
open(sys.argv[1], "w").write("runs")
while True:
    signal.pause()
"""


def running(mark: str) -> list[int]:
    """The processes with a mark among their arguments."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
                if mark.encode() in words:
                    found.append(int(entry))
    return found


async def left_behind(terminal: Terminal, work: Path) -> list[int]:
    """Start a daemon from a terminal, and return its process."""
    (work / "daemon.py").write_text(DAEMON)
    mark = str(work / "it_runs")
    result = await terminal.run(f"env -i {sys.executable} -I -S daemon.py {mark}", wait_s=PATIENCE_S)
    assert result.exit_code == 0, result.text
    await so(lambda: Path(mark).exists() and len(running(mark)) == 1)
    return running(mark)


async def test_nothing_is_left_behind(confined: OpenConfined, work: Path) -> None:
    terminal = await confined()
    found = await left_behind(terminal, work)
    await terminal.close("the test is over")
    await terminal.finished()
    await gone(*found)


async def test_nothing_is_left_behind_without_a_sandbox_either(runtime: Runtime, work: Path, sleeper: int) -> None:
    terminal = await runtime.open_terminal(cwd=work, shell="bash")
    other = await runtime.open_terminal(cwd=work, shell="bash")
    (daemon,) = await left_behind(terminal, work)
    await runtime.close_terminal(other.id)
    assert is_alive(daemon)
    await runtime.close_terminal(terminal.id)
    assert not is_alive(daemon)
    assert is_alive(sleeper)


async def test_a_command_that_is_killed_leaves_no_daemon(runtime: Runtime, work: Path) -> None:
    terminal = await runtime.open_terminal(cwd=work, shell="bash")
    (work / "daemon.py").write_text(DAEMON)
    mark = str(work / "it_runs")
    command = await terminal.start(f"env -i {sys.executable} -I -S daemon.py {mark}; sleep 1000")
    await so(lambda: Path(mark).exists() and len(running(mark)) == 1)
    (daemon,) = running(mark)
    await command.kill()
    await gone(daemon)
    assert terminal.is_open


async def test_no_program_gets_rid_of_what_it_is_found_by(confined: OpenConfined, mechanism: str) -> None:
    if mechanism == "bubblewrap":
        pytest.skip("a process namespace ends all of it, whatever their limits")
    terminal = await confined()
    before = await terminal.run("ulimit -Hx", wait_s=PATIENCE_S)
    assert before.text.strip().isdigit()
    for line in ("ulimit -x 5", "prlimit --locks=5 --pid $$"):
        assert (await terminal.run(line, wait_s=PATIENCE_S)).exit_code != 0
    assert (await terminal.run("ulimit -Hx", wait_s=PATIENCE_S)).text == before.text
