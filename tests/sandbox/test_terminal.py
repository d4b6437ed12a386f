"""Confined terminals are terminals: keys, jobs, sizes, exits, reuse, adoption; and they say what confines them."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import hermitty
from hermitty.errors import InvalidRequest, SandboxRefused, SandboxUnavailable
from hermitty.host.base import Waiting
from hermitty.model import ExitStatus, State
from hermitty.pty.foreground import command_line
from hermitty.runtime.api import Runtime, Sandbox, Terminal
from hermitty.sandbox import probe
from hermitty.sandbox.probe import Abilities, Landlock, try_bubblewrap
from tests.sandbox.conftest import OpenConfined, without_bubblewrap
from tests.support.durable import Place
from tests.support.kernel import gone
from tests.support.runtimes import settings_in
from tests.support.shells import PATIENCE_S, SHELLS


async def said(terminal: Terminal, line: str) -> str:
    result = await terminal.run(line, wait_s=PATIENCE_S)
    assert result.state is State.DONE
    return result.text.strip()


@pytest.mark.parametrize("shell", SHELLS)
async def test_every_shell_works_inside(needs_bubblewrap: None, runtime: Runtime, work: Path, shell: str) -> None:
    terminal = await runtime.open_terminal(cwd=work, shell=shell, sandbox="workspace")
    plain = await runtime.open_terminal(cwd=work, shell=shell)

    assert terminal.quality == plain.quality
    assert (await terminal.run("false", wait_s=PATIENCE_S)).exit_code == 1
    assert await said(terminal, "echo done > made; cat made") == "done"
    assert (work / "made").read_text() == "done\n"


async def sleeps(terminal: Terminal) -> None:
    """Wait until `sleep` is in front, and is itself: before that, its process is the shell's, which ignores Ctrl-Z."""
    async with asyncio.timeout(PATIENCE_S):
        while (command_line(await terminal.pty.signal_foreground(0) or 0) or b"").partition(b"\0")[0] != b"sleep":
            await asyncio.sleep(0.002)


async def test_interrupts_stops_and_sizes(confined: OpenConfined) -> None:
    terminal = await confined()
    command = await terminal.start("sleep 1000")
    await sleeps(terminal)
    command.interrupt()
    result = await command.wait(PATIENCE_S)
    assert (result.state, result.exit_code) == (State.INTERRUPTED, 130)

    command = await terminal.start("sleep 1000")
    await sleeps(terminal)
    command.write(b"\x1a")
    assert await command.ended(PATIENCE_S)
    assert command.exit_code == 148
    assert "Stopped" in await said(terminal, "jobs")
    command = await terminal.start("fg")
    await sleeps(terminal)
    command.interrupt()
    assert await command.ended(PATIENCE_S)
    assert command.exit_code == 130

    terminal.resize(101, 33)
    assert await said(terminal, "stty size") == "33 101"
    assert (await said(terminal, "tty")).startswith("/dev/")


async def test_what_the_kernel_tells_of_it(confined: OpenConfined, work: Path) -> None:
    terminal = await confined()
    (work / "deep").mkdir()
    await said(terminal, "cd deep")
    state = await terminal.pty.inspect()
    assert (state.shell_in_front, state.shell_replaced, state.cwd) == (True, False, str(work / "deep"))

    command = await terminal.start("cat")
    result = await command.wait(PATIENCE_S)
    assert result.state is State.NEEDS_INPUT
    state = await terminal.pty.inspect()
    assert (state.waiting, state.shell_in_front) == (Waiting.READING, False)
    command.write(b"\x04")
    await command.wait(PATIENCE_S)

    command = await terminal.start("exec sleep 1000")
    async with asyncio.timeout(PATIENCE_S):
        while not (await terminal.pty.inspect()).shell_replaced:
            await asyncio.sleep(0.002)


@pytest.mark.parametrize(("line", "status"), [("exit 3", ExitStatus(code=3)), ("exit 130", ExitStatus(code=130))])
async def test_how_its_shell_ended(confined: OpenConfined, line: str, status: ExitStatus) -> None:
    terminal = await confined()
    await (await terminal.start(line)).wait(PATIENCE_S)
    await terminal.finished()
    assert terminal.exit_status == status


async def test_a_shell_that_is_killed_is_told_from_one_that_exits(confined: OpenConfined) -> None:
    terminal = await confined()
    await (await terminal.start("sh -c 'kill -9 $PPID'")).wait(PATIENCE_S)
    await terminal.finished()
    # A kernel that does not tell leaves it at what bubblewrap says.
    assert terminal.exit_status in (ExitStatus(signal=signal.SIGKILL), ExitStatus(code=137))


@pytest.mark.parametrize("provider", ["pty", "pipe"])
async def test_results_say_what_confined_them(mechanism: str, runtime: Runtime, work: Path, provider: str) -> None:
    place = Path("/etc/hermitty-was-here")
    result = await runtime.run(f"echo x > {place}", cwd=work, provider=provider, sandbox="workspace")  # type: ignore[arg-type]
    assert result.exit_code == 1
    assert result.sandbox is not None
    assert mechanism in result.sandbox
    assert place.name not in os.listdir("/etc")
    if mechanism == "bubblewrap":
        assert any(f"'{place}' is read-only here" in warning for warning in result.warnings)
    plain = await runtime.run("echo x", cwd=work, provider=provider)  # type: ignore[arg-type]
    assert (plain.sandbox, plain.warnings) == (None, [])


async def test_reuse_needs_an_equal_sandbox(needs_bubblewrap: None, runtime: Runtime, work: Path) -> None:
    async def used(sandbox: object) -> str | None:
        return (await runtime.run("true", cwd=work, sandbox=sandbox)).terminal  # type: ignore[arg-type]

    plain = await used(None)
    confined = await used("workspace")
    assert plain != confined
    assert await used("workspace") == confined
    assert await used({"mode": "workspace"}) == confined
    assert await used(None) == plain
    assert await used("strict") not in (plain, confined)
    assert await used({"mode": "workspace", "pids": 7}) not in (plain, confined)


async def test_the_settings_confine_and_nobody_asks_for_less(needs_bubblewrap: None, home: Path, work: Path) -> None:
    async with hermitty.open(settings_in(home, sandbox__mode="workspace", policy__mode="off")) as runtime:
        terminal = await runtime.open_terminal(cwd=work)
        assert terminal.sandbox_effective is not None
        assert (await runtime.run("true", cwd=work)).sandbox == terminal.sandbox_effective.summary
        for less in ("off", {"network": "host"}, {"write": [str(home)]}):
            with pytest.raises(InvalidRequest, match="the settings"):
                await runtime.run("true", cwd=work, sandbox=less)
        assert (await runtime.run("true", cwd=work, sandbox="strict")).sandbox is not None


async def test_the_settings_of_a_workspace(needs_bubblewrap: None, home: Path, work: Path, tmp_path: Path) -> None:
    workspaces = {str(tmp_path): "off", str(work): "strict"}
    settings = settings_in(home, sandbox__mode="workspace", sandbox__workspaces=workspaces, policy__mode="off")
    (work / "deep").mkdir()
    (tmp_path / "other").mkdir()
    async with hermitty.open(settings) as runtime:
        assert str((await runtime.run("true", cwd=work / "deep")).sandbox).startswith("strict")
        assert (await runtime.run("true", cwd=tmp_path / "other")).sandbox is None


async def test_no_name_that_a_caller_chooses_evades_the_settings_of_a_workspace(
    needs_bubblewrap: None, home: Path, work: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    # What lies in /tmp can be seen from another workspace only if it is listed.
    listed = {"sandbox__workspaces": {str(work): "workspace"}, "sandbox__read": (str(work),)}
    async with hermitty.open(settings_in(home, **listed, policy__mode="off")) as runtime:
        await runtime.run("true", cwd=work, session="one")
        # Nor a new session, nor a workspace elsewhere, nor both, nor the old session in another workspace.
        for asked in (
            {"cwd": work, "session": "two"},
            {"cwd": work, "workspace": str(other)},
            {"cwd": work, "workspace": str(other), "session": "three"},
            {"cwd": other, "workspace": str(other), "session": "one"},
            {"cwd": other, "session": "one"},
        ):
            assert (await runtime.run("true", **asked)).sandbox is not None, asked  # type: ignore[arg-type]
        assert (await runtime.run("true", cwd=other, session="four")).sandbox is None


async def test_our_own_state_is_hidden(
    needs_bubblewrap: None, home: Path, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "token").write_text("TOKEN")
    monkeypatch.setenv("HERMITTY_STATE_DIR", str(state))
    monkeypatch.setenv("HERMITTY_TOKEN", "TOKEN")
    settings = settings_in(home, policy__mode="off", history__enabled=False)
    async with hermitty.open(settings) as runtime:
        # Also when it lies in the workspace.
        result = await runtime.run(
            "cat state/token; env", cwd=tmp_path / "work", workspace=str(work), sandbox="workspace"
        )
        assert "TOKEN=" not in result.text
        terminal = await runtime.open_terminal(cwd=work, workspace=str(work), sandbox="workspace")
        assert "TOKEN" not in await said(terminal, f"cat {state}/token; ls -a {terminal.directory}/.. ; echo ended")


async def test_files_that_programs_put_in_our_way_are_not_followed(
    needs_bubblewrap: None, runtime: Runtime, work: Path, home: Path
) -> None:
    terminal = await runtime.open_terminal(cwd=work, sandbox="workspace")
    directory = Path(terminal.directory)
    (home / "precious").write_text("precious")
    await said(
        terminal,
        f"ln -s {home}/precious {directory}/probe; mkfifo {directory}/pipe; ln -s {home}/.netrc {directory}/out",
    )

    terminal.pty.put_file("probe", b"overwritten")
    terminal.pty.put_file("pipe", b"not waited for")

    assert (home / "precious").read_text() == "precious"
    assert await terminal.pty.get_file("probe") == b"overwritten"
    assert await terminal.pty.get_file("pipe") == b"not waited for"
    assert await terminal.pty.get_file("out") is None


async def test_it_fails_where_it_cannot_be_had(
    home: Path, work: Path, abilities: Abilities, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "_known", without_bubblewrap(abilities))
    async with hermitty.open(settings_in(home, policy__mode="off")) as runtime:
        for ask in (
            runtime.open_terminal(cwd=work, sandbox="workspace"),
            runtime.run("true", cwd=work, sandbox="strict"),
        ):
            with pytest.raises(SandboxUnavailable, match=r"bwrap.*install bubblewrap.*sandbox\.allow_weaker"):
                await ask
        assert runtime.terminals() == []


async def test_with_nothing_at_all_it_says_so(
    runtime: Runtime, work: Path, abilities: Abilities, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = Abilities(without_bubblewrap(abilities).bubblewrap, Landlock(0, "this kernel has no Landlock"))
    monkeypatch.setattr(probe, "_known", nothing)
    terminal = await runtime.open_terminal(cwd=work, sandbox="workspace")
    effective = terminal.sandbox_effective
    assert effective is not None
    assert (effective.mechanism, effective.network, effective.is_weaker) == ("none", "host", True)
    assert {"write", "read", "network", "processes"} <= set(dict(effective.not_enforced))


async def test_a_directory_that_cannot_be_protected_is_refused(
    needs_bubblewrap: None, runtime: Runtime, home: Path
) -> None:
    with pytest.raises(SandboxRefused, match="home directory"):
        await runtime.open_terminal(cwd=home, sandbox="workspace")
    with pytest.raises(SandboxRefused, match="belongs to the system"):
        await runtime.run("true", cwd="/usr", sandbox=Sandbox())
    assert runtime.terminals() == []


def test_a_program_that_is_not_bubblewrap_is_noticed(tmp_path: Path) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    found = try_bubblewrap(str(fake))
    assert (found.works, found.problem) == (False, "bwrap: No permissions to create new namespace")
    assert try_bubblewrap("no-such-program").problem == "bubblewrap (bwrap) is not installed"


async def test_the_report_tells_of_it(needs_bubblewrap: None, runtime: Runtime, work: Path) -> None:
    await runtime.run("true", cwd=work, session="s", sandbox="workspace")
    assert "Sandbox: workspace (bubblewrap), network off" in await runtime.report("s")


@pytest.fixture
async def place(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    """A durable host of its own."""
    monkeypatch.setenv("HERMITTY_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("HERMITTY_CONFIG", os.devnull)
    place = Place(home)
    yield place
    await place.stop()


async def test_another_process_goes_on_with_it(needs_bubblewrap: None, place: Place, work: Path) -> None:
    body = f"""
    terminal = await rt.open_terminal(cwd={str(work)!r}, shell="bash", sandbox={{"mode": "workspace", "pids": 99}})
    await terminal.run("x=kept", wait_s=60)
    say(id=terminal.id, effective=terminal.sandbox_effective.to_json())
    """
    async with place.used(body, policy__mode="off") as other:
        told = await other.says()
        await other.kill()
    runtime = await place.open(policy__mode="off")
    try:
        await runtime.adopt()
        terminal = runtime.terminal(told["id"])
        assert terminal.sandbox is not None
        assert (terminal.sandbox.mode, terminal.sandbox.pids) == ("workspace", 99)
        assert terminal.sandbox_effective is not None
        assert terminal.sandbox_effective.to_json() == told["effective"]
        assert await said(terminal, "echo $x; touch /etc/x 2>&1 | grep -c Read-only") == "kept\n1"
        assert (await terminal.environment())["HOME"] == str(place.home)
        # What it keeps for whoever comes next is not to be seen inside.
        assert "kept" not in await said(terminal, f"ls -a {terminal.directory} {terminal.directory}/..")
    finally:
        await runtime.close()


async def test_a_durable_host_that_cannot_confine_says_why(place: Place, work: Path, home: Path) -> None:
    runtime = await place.open(policy__mode="off")
    try:
        with pytest.raises(SandboxRefused, match="home directory"):
            await runtime.open_terminal(cwd=home, sandbox="workspace")
        assert runtime.terminals() == []
    finally:
        await runtime.close()


async def test_it_ends_with_its_host(needs_bubblewrap: None, place: Place, work: Path) -> None:
    runtime = await place.open(policy__mode="off")
    terminal = await runtime.open_terminal(cwd=work, sandbox="workspace")
    await terminal.start("sleep 1000")
    outer = terminal.pty.pid
    os.kill(runtime._host.pid, signal.SIGKILL)  # type: ignore[attr-defined]
    await gone(outer)
    await runtime.close()


async def test_the_order_of_a_question_that_waits_is_kept(work: Path) -> None:
    from hermitty.runtime.requests import RunRequest
    from hermitty.runtime.state.questions import _request, _request_table

    request = RunRequest("make", str(work), sandbox=Sandbox(network="host", write=("/data",)))
    assert _request(json.loads(json.dumps(_request_table(request)))) == request
