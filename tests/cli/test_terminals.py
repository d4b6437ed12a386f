"""`hermitty ls`, `open`, `send`, `screen`, `log`, `kill`: the terminals of a running server."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermitty.cli.finding import choose
from hermitty.client.values import TerminalView
from hermitty.errors import InvalidRequest, TerminalNotFound
from tests.cli.conftest import Run
from tests.client.conftest import TOKEN
from tests.client.threaded import Threaded, threaded_server

Asked = Callable[..., str]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Threaded]:
    with threaded_server(tmp_path, monkeypatch) as server:
        yield server


@pytest.fixture
def environment(environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    return {**environment, "HERMITTY_STATE_DIR": str(tmp_path / "state"), "HERMITTY_TOKEN": TOKEN}


@pytest.fixture
def ask(hermitty: Run, server: Threaded) -> Asked:
    """Runs `hermitty ARGS...`, which has to work, and returns what it prints."""

    def run(*args: str, **changes: str) -> str:
        done = hermitty(*args, **changes)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()

    return run


def until_shown(server: Threaded, terminal_id: str, text: str) -> None:
    """Wait until a terminal has printed something."""

    async def wait() -> None:
        import asyncio

        terminal = server.server.runtime.terminal(terminal_id)
        there = asyncio.Event()
        stop = terminal.watch(there.set)
        try:
            while text not in terminal.log.read(terminal.log.start).data.decode(errors="replace"):
                there.clear()
                await there.wait()
        finally:
            stop()

    server.call(wait)


def test_a_terminal_from_its_opening_to_its_end(ask: Asked, hermitty: Run, server: Threaded, tmp_path: Path) -> None:
    terminal_id = ask("open", "--name", "build", "--session", "fix", "--workspace", "shop").strip()
    assert re.fullmatch(r"t_[0-9a-f]+", terminal_id)
    heading, row = ask("ls").splitlines()
    assert heading.split() == ["id", "#", "name", "state", "command", "cwd", "session", "viewers"]
    assert row.split() == [terminal_id, "1", "build", "idle", "-", str(tmp_path), "fix", "0"]
    [told] = [json.loads(line) for line in ask("ls", "--json", "--workspace", "shop").splitlines()]
    assert (told["id"], told["shell"], told["workspace"]) == (terminal_id, "bash", "shop")

    ask("send", "build", "echo $((40+2)); sh -c 'exit 3'", "--enter")
    until_shown(server, terminal_id, "42\r\n")
    ask("send", "1", "--key", "ctrl-l")
    assert "ready>" in ask("screen", terminal_id[:6])
    assert "[3] echo $((40+2)); sh -c 'exit 3'" in ask("ls")
    assert "\x0742\r\n" in ask("log", terminal_id)
    offset = server.call(lambda: server.server.runtime.terminal(terminal_id).log.end)
    assert ask("log", terminal_id, "--since", str(offset)) == ""
    assert ask("screen", "build", "--format", "svg").startswith("<svg")
    ask("screen", "build", "--format", "ansi", "-o", "picture.ansi")
    assert b"\x1b[" in (tmp_path / "picture.ansi").read_bytes()
    assert "ready>" in ask("screen", "build", "--history")

    ask("kill", "build")
    done = hermitty("ls")
    assert (done.stdout, done.stderr) == (b"", b"hermitty: no terminals; open one with `hermitty open`\n")


def test_what_is_typed_arrives_as_it_is(
    environment: dict[str, str], ask: Asked, server: Threaded, tmp_path: Path
) -> None:
    from tests.cli.conftest import COMMAND

    terminal_id = ask("open").strip()
    ask("send", terminal_id, "cat > typed", "--enter")
    until_shown(server, terminal_id, "cat > typed")
    data = "grün\n".encode() + b"\xe9\n"
    done = subprocess.run(
        [*COMMAND, "send", terminal_id, "-"],
        input=data,
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    ask("send", terminal_id, "--key", "ctrl-d")
    ask("send", terminal_id, "echo o''ver", "--enter")
    until_shown(server, terminal_id, "over\r\n")
    assert (tmp_path / "typed").read_bytes() == data


def test_names_and_commands_of_others_are_harmless(ask: Asked, server: Threaded, tmp_path: Path) -> None:
    async def prepare() -> None:
        terminal = await server.server.runtime.open_terminal(cwd=tmp_path, name="\x1b[2Jevil\u202e")
        await terminal.run("echo \x1b]0;x\x07")

    server.call(prepare)
    shown = ask("ls")
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\\x1b[2Jevil\\u202e" in shown


def test_output_is_followed_to_the_end(
    environment: dict[str, str], ask: Asked, server: Threaded, tmp_path: Path
) -> None:
    from tests.cli.conftest import COMMAND

    terminal_id = ask("open").strip()
    with subprocess.Popen(
        [*COMMAND, "log", "-f", terminal_id],
        env=environment,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as following:
        assert following.stdout is not None
        seen = b""
        while b"ready> " not in seen:
            seen += os.read(following.stdout.fileno(), 65536)
        ask("send", terminal_id, "echo fol''lowed; exit 3", "--enter")
        out, err = following.communicate()
    assert b"followed" in seen + out
    assert b"the terminal has ended: its shell exited with code 3" in err
    assert following.returncode == 0


def test_all_are_killed_when_that_is_meant(hermitty: Run, ask: Asked, server: Threaded) -> None:
    ask("open")
    ask("open")
    refused = hermitty("kill", "--all")
    assert (refused.returncode, refused.stdout) == (125, b"")
    assert b"would end 2 terminals, and there is no terminal to ask on; add --yes" in refused.stderr
    assert hermitty("kill").returncode == 125
    ask("kill", "--all", "--yes")
    assert server.call(lambda: server.server.runtime.terminals()) == []


def test_a_server_is_found_by_address_or_not_at_all(
    hermitty: Run, ask: Asked, server: Threaded, tmp_path: Path
) -> None:
    nowhere = {"HERMITTY_STATE_DIR": str(tmp_path / "other")}
    none = hermitty("ls", **nowhere)
    assert none.returncode == 125
    assert b"no server runs here" in none.stderr
    assert b"`hermitty serve`" in none.stderr
    wrong = hermitty("ls", "--url", "http://127.0.0.1:1", **nowhere)
    assert b"no server answers at http://127.0.0.1:1" in wrong.stderr
    refused = hermitty("ls", "--url", server.url, "--token", "x" * 40, **nowhere)
    assert b"this token is not known" in refused.stderr
    assert b"Traceback" not in none.stderr + wrong.stderr + refused.stderr
    for changes in (
        {"HERMITTY_URL": server.url},
        {"HERMITTY_URL": f"{server.url}/?token={TOKEN}", "HERMITTY_TOKEN": ""},
    ):
        done = hermitty("ls", **nowhere, **changes)
        assert done.returncode == 0
    missing = hermitty("screen", "nothing")
    assert b"no terminal 'nothing'; there are: none" in missing.stderr


def test_history_and_questions_of_a_server(hermitty: Run, ask: Asked, server: Threaded, tmp_path: Path) -> None:
    async def work() -> None:
        await server.server.runtime.run("echo remembered", cwd=tmp_path, session="s")

    server.call(work)
    assert "echo remembered" in ask("history", "--server")
    [entry] = [json.loads(line) for line in ask("history", "--json", "--url", server.url).splitlines()]
    assert (entry["command"], entry["session"], entry["exit_code"]) == ("echo remembered", "s", 0)
    done = hermitty("approvals", "--pending")
    assert (done.returncode, done.stderr) == (0, b"hermitty: no question waits for an answer\n")
    unknown = hermitty("approvals", "--allow", "q_nothing")
    assert (unknown.returncode, b"q_nothing" in unknown.stderr) == (125, True)


def test_a_question_is_listed_and_answered(
    hermitty: Run, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with threaded_server(tmp_path, monkeypatch, {"policy.mode": "ask_always"}) as server:
        import asyncio

        runtime = server.server.runtime
        work = asyncio.run_coroutine_threadsafe(runtime.run("echo asked", cwd=tmp_path), server.loop)

        async def until_asked() -> None:
            asked = asyncio.Event()
            stop = runtime.subscribe(lambda event: asked.set())
            while not runtime.gate.approvals.pending():
                await asked.wait()
                asked.clear()
            stop()

        server.call(until_asked)
        shown = hermitty("approvals", "--pending").stdout.decode()
        assert "echo asked" in shown
        [question] = [json.loads(line) for line in hermitty("approvals", "--pending", "--json").stdout.splitlines()]
        assert shown.startswith(question["id"])
        answered = hermitty("approvals", "--allow", question["id"])
        assert (answered.returncode, answered.stdout) == (0, b"allow: echo asked\n")
        assert work.result().text == "asked\n"
        assert b"echo asked" in hermitty("approvals", "--server", "--answers").stdout


def view(terminal_id: str, number: int, name: str | None = None) -> TerminalView:
    return TerminalView(terminal_id, number, name, None, None, "bash", "/", 80, 24, "rich", "idle")


TERMINALS = [view("t_abc1", 1), view("t_abc2", 2, "web"), view("t_def3", 3, "1"), view("t_2222", 4)]


@pytest.mark.parametrize(
    ("meant", "found"),
    [
        ("t_abc1", "t_abc1"),
        ("web", "t_abc2"),
        ("1", "t_def3"),  # a name counts before a number
        ("#1", "t_abc1"),
        ("2", "t_abc2"),  # a number before the beginning of an id
        ("t_d", "t_def3"),
        ("def", "t_def3"),
        ("22", "t_2222"),
    ],
)
def test_a_terminal_is_meant_by_id_name_number_or_beginning(meant: str, found: str) -> None:
    assert choose(meant, TERMINALS).id == found


def test_what_may_be_several_is_refused_and_names_them() -> None:
    with pytest.raises(InvalidRequest, match="may be t_abc1, t_abc2; write more of the id"):
        choose("t_abc", TERMINALS)
    for nothing in ("", "x", "99", "t_abc12"):
        with pytest.raises(TerminalNotFound):
            choose(nothing, TERMINALS)
