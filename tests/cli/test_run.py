"""`hermitty run`: the command's output and exit code as ours, and nothing left behind."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermitty.version import __version__
from tests.cli.conftest import COMMAND, Run, SitDown
from tests.support.kernel import gone_now, is_alive
from tests.support.notes import Note
from tests.support.shells import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
needs_setsid = pytest.mark.skipif(shutil.which("setsid") is None, reason="setsid is not installed")

Started = Callable[..., "contextlib.AbstractContextManager[subprocess.Popen[bytes]]"]
PROVIDERS = ["pty", "pipe"]

RESULT_KEYS = {
    *("id", "command", "session", "terminal", "provider", "shell", "state", "exit_code", "signal", "quality", "text"),
    *("truncated", "omitted_bytes", "total_bytes", "artifact", "stdout", "stderr", "cwd", "duration_s"),
    *("needs_input", "warnings"),
}


@pytest.fixture
def environment(environment: dict[str, str]) -> dict[str, str]:
    """Without a policy: what may run is another question."""
    return {**environment, "HERMITTY_POLICY__MODE": "off"}


@pytest.fixture
def started(environment: dict[str, str], tmp_path: Path) -> Started:
    """Starts `hermitty ARGS...` and ends it with the block."""

    @contextlib.contextmanager
    def start(*args: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen([*COMMAND, *args], cwd=tmp_path, env=environment, **{**streams, **options}) as process:
            try:
                yield process
            finally:
                process.kill()

    return start


def line_of(process: subprocess.Popen[bytes]) -> bytes:
    """Read one line of its output while it runs."""
    assert process.stdout is not None
    return bytes(process.stdout.readline())


def pid_in(line: bytes) -> int:
    found = re.search(rb"pid=(\d+)", line)
    assert found is not None, line
    return int(found[1])


# The end.


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("true", 0),
        ("false", 1),
        ("(exit 255)", 255),
        ("no-such-command-at-all", 127),
        ("sh -c 'kill -TERM $$'", 143),
        ("sh -c 'kill -KILL $$'", 137),
        ("exit 3", 3),
    ],
)
def test_the_exit_code_is_the_commands_own(hermitty: Run, provider: str, line: str, code: int) -> None:
    assert hermitty("run", "--provider", provider, "--", line).returncode == code


def test_a_process_that_a_signal_ended_is_told_as_a_shell_does(hermitty: Run) -> None:
    done = hermitty("run", "--provider", "pipe", "--json", "--", "kill -SEGV $$")

    assert done.returncode == 139
    assert {**json.loads(done.stdout), "text": ""}["signal"] == "SIGSEGV"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_still_running_after_the_wait_is_124_and_leaves_nothing(hermitty: Run, tmp_path: Path, provider: str) -> None:
    line = "sh -c 'echo $$ >pid; echo begun; exec sleep 1000'"

    done = hermitty("run", "--provider", provider, "--wait", "1.5", "--", line)

    assert (done.returncode, done.stdout) == (124, b"begun\n")
    assert b"still running" in done.stderr
    assert not is_alive(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_kill_limit_kills_and_says_so(hermitty: Run, tmp_path: Path, provider: str) -> None:
    line = "sh -c 'trap \"\" INT TERM; echo $$ >pid; echo begun; while :; do sleep 1; done'"

    done = hermitty("run", "--provider", provider, "--kill-after", "1", "--json", "--", line)

    result = json.loads(done.stdout)
    assert result["state"] == "killed"
    assert result["text"].startswith("begun\n")  # the shell may add what became of it
    assert done.returncode in (137, 130)
    assert result["warnings"][0] == "killed: it ran longer than 1 s"
    assert not is_alive(int((tmp_path / "pid").read_text()))


# The output.


def test_output_is_exactly_the_commands(hermitty: Run) -> None:
    done = hermitty("run", "--", r"printf 'a\nb\r\nlone\rreturn\377\000\033[1mend'")

    assert (done.returncode, done.stdout, done.stderr) == (0, b"a\nb\r\nlone\rreturn\xff\x00\x1b[1mend", b"")


def test_a_flood_is_complete(hermitty: Run) -> None:
    done = hermitty("run", "--", "seq 1 300000")

    assert done.stdout == b"".join(b"%d\n" % number for number in range(1, 300_001))


def test_a_flood_through_pipes_is_complete_and_as_it_is(hermitty: Run) -> None:
    done = hermitty("run", "--provider", "pipe", "--", "seq 1 30000; printf '\\377\\033[1m' >&2")

    assert done.stdout == b"".join(b"%d\n" % number for number in range(1, 30_001))
    assert done.stderr == b"\xff\033[1m"


def test_the_shells_farewell_is_not_output(hermitty: Run) -> None:
    assert hermitty("run", "--", "echo bye; exit 3").stdout == b"bye\n"
    assert hermitty("run", "--", "echo exit").stdout == b"exit\n"


def test_output_is_shown_while_the_command_runs(started: Started, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with started("run", "--", "echo first; cat fifo; echo last") as process:
        assert line_of(process) == b"first\n"
        (tmp_path / "fifo").write_text("middle\n")

        assert process.communicate(timeout=PATIENCE_S) == (b"middle\nlast\n", b"")
        assert process.returncode == 0


def test_pipes_keep_the_streams_apart(hermitty: Run) -> None:
    done = hermitty("run", "--provider", "pipe", "--", "echo out; echo err >&2; test -t 1; exit $(($? + 4))")

    assert (done.returncode, done.stdout, done.stderr) == (5, b"out\n", b"err\n")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_several_words_are_exactly_these(hermitty: Run, provider: str) -> None:
    words = ["a b", "$HOME", "", "it's", "*", "é", "-n"]

    done = hermitty("run", "--provider", provider, "--", "printf", "[%s]\n", *words)

    assert done.stdout.decode() == "".join(f"[{word}]\n" for word in words)


# JSON.


def test_json_is_one_result_with_every_promised_key(hermitty: Run, tmp_path: Path) -> None:
    done = hermitty("run", "--json", "--session", "fix-42", "--", "printf 'é\\n'; cd /; exit 0 | false")

    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.endswith(b"}\n")
    assert done.stdout.count(b"\n") == 1
    result = json.loads(done.stdout)
    assert set(result) == RESULT_KEYS
    assert result["id"].startswith("c_")
    assert result["terminal"].startswith("t_")
    assert result["duration_s"] > 0
    assert {name: result[name] for name in RESULT_KEYS - {"id", "terminal", "duration_s"}} == {
        "command": "printf 'é\\n'; cd /; exit 0 | false",
        "session": "fix-42",
        "provider": "pty",
        "shell": "bash",
        "state": "done",
        "exit_code": 1,
        "signal": None,
        "quality": "rich",
        "text": "é\n",
        "truncated": False,
        "omitted_bytes": 0,
        "total_bytes": 4,
        "artifact": None,
        "stdout": None,
        "stderr": None,
        "cwd": "/",
        "needs_input": None,
        "warnings": [],
    }


def test_json_of_pipes_has_the_streams(hermitty: Run, tmp_path: Path) -> None:
    done = hermitty("run", "--json", "--provider", "pipe", "--", "echo out; echo err >&2; kill -TERM $$")

    result = json.loads(done.stdout)
    assert set(result) == RESULT_KEYS
    assert (result["stdout"], result["stderr"], result["terminal"]) == ("out\n", "err\n", None)
    assert (result["exit_code"], result["signal"], done.returncode) == (143, "SIGTERM", 143)
    assert result["cwd"] == str(tmp_path)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_json_is_utf_8_in_any_locale(hermitty: Run, provider: str) -> None:
    done = hermitty("run", "--json", "--provider", provider, "--", "printf '\\303\\251\\377'", PYTHONIOENCODING="ascii")

    assert json.loads(done.stdout.decode())["text"] == "é\ufffd"


def test_json_of_a_question_names_it(hermitty: Run) -> None:
    done = hermitty("run", "--json", "--", "stty -echo; printf 'Password: '; read x")

    result = json.loads(done.stdout)
    assert done.returncode == 124
    assert (result["state"], result["exit_code"]) == ("needs_input", None)
    assert result["needs_input"] == {"prompt": "Password: ", "secret": True, "how": "kernel"}


# Input.


def test_a_question_that_nobody_can_answer_ends_with_124(hermitty: Run) -> None:
    done = hermitty("run", "--", "printf 'Name? '; read x; echo never")

    assert (done.returncode, done.stdout) == (124, b"Name? ")
    assert b"waits for input ('Name?'), and nobody is here to type" in done.stderr


@pytest.mark.parametrize("provider", PROVIDERS)
def test_input_meant_for_somebody_else_is_not_taken(environment: dict[str, str], tmp_path: Path, provider: str) -> None:
    script = f"{' '.join(COMMAND)} run --provider {provider} -- true; cat"

    done = subprocess.run(
        ["sh", "-c", script], input=b"left\n", cwd=tmp_path, env=environment, capture_output=True, check=False
    )

    assert (done.stdout, done.stderr) == (b"left\n", b"")


def test_at_a_desk_keys_and_size_reach_the_command(desk: SitDown) -> None:
    person = desk("run", "--", "stty size; printf 'Name? '; read x; echo \"<$x>\"; exit 6")
    person.see(b"20 50")
    person.see(b"Name? ")

    person.type(b"Ann\r")

    person.see(b"<Ann>")
    assert person.leave() == 6


def test_at_a_desk_ctrl_c_is_a_key(desk: SitDown) -> None:
    person = desk("run", "--", "sh -c 'trap \"echo caught; exit 9\" INT; echo ready; while :; do sleep 0.01; done'")
    person.see(b"ready")

    person.type(b"\x03")

    person.see(b"caught")
    assert person.leave() == 9


def test_at_a_desk_the_terminal_is_restored_even_when_told_to_end(desk: SitDown) -> None:
    person = desk("run", "--", "echo ready; exec sleep 1000")
    person.see(b"ready")

    person.process.terminate()

    assert person.leave() == 143


# Signals to hermitty itself.


@needs_setsid
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_whole_tree(started: Started, provider: str, number: signal.Signals, tmp_path: Path) -> None:
    line = "sh -c 'setsid sleep 1000 & echo $! >pid; echo pid=$!; exec sleep 1001'"
    with Note(tmp_path / "pid") as note, started("run", "--provider", provider, "--", line) as process:
        pid = note.number_now()
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 128 + number
    assert b"Traceback" not in errors
    gone_now(pid)


def test_the_second_ctrl_c_kills_what_ignores_the_first(started: Started) -> None:
    line = 'sh -c \'trap "echo no" INT; trap "" TERM; echo pid=$$; while :; do sleep 0.01; done\''
    with started("run", "--", line) as process:
        pid = pid_in(line_of(process))
        process.send_signal(signal.SIGINT)
        assert line_of(process) == b"no\n"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)

    assert process.returncode in (130, 137)
    gone_now(pid)


def test_under_nohup_a_hangup_is_ignored(started: Started, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with started("run", "--", "echo begun; cat fifo") as process:
            assert line_of(process) == b"begun\n"
            process.send_signal(signal.SIGHUP)
            (tmp_path / "fifo").write_text("went on\n")
            output, _ = process.communicate(timeout=PATIENCE_S)
    finally:
        signal.signal(signal.SIGHUP, before)

    assert (output, process.returncode) == (b"went on\n", 0)


# Streams that are closed.


def test_a_reader_that_left_ends_it_quietly(started: Started) -> None:
    with started("run", "--", "echo pid=$$; exec yes") as process:
        pid = pid_in(line_of(process))
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        errors = process.stderr.read()
        process.wait(PATIENCE_S)

    assert (process.returncode, errors) == (141, b"")
    gone_now(pid)


@pytest.mark.parametrize("args", [("run", "--json", "--", "true"), ("run", "--provider", "pipe", "--", "echo a")])
def test_a_reader_that_never_was_ends_it_quietly(started: Started, args: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        with started(*args, stdout=writer) as process:
            _, errors = process.communicate(timeout=PATIENCE_S)
    finally:
        os.close(writer)

    assert (process.returncode, errors) == (141, b"")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_closed_streams_do_not_matter(environment: dict[str, str], tmp_path: Path, closed: str, provider: str) -> None:
    line = "echo out >file; exit 4"
    script = f"{' '.join(COMMAND)} run --provider {provider} -- '{line}' {closed}"

    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=environment, capture_output=True, check=False)

    assert done.returncode == 4, done.stderr
    assert (tmp_path / "file").read_text() == "out\n"


# Requests that cannot be carried out.


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cwd", "missing"), "missing' does not exist"),
        (("--cwd", "file"), "file' is not a directory"),
        (("--shell", "tcsh"), "shell 'tcsh' was not found or is not known; found here: bash"),
        (("--shell", "/no/where/bash"), "shell '/no/where/bash' was not found"),
        (("--wait", "-1"), "--wait must be a number of seconds, zero or more, not -1.0"),
        (("--wait", "nan"), "--wait must be a number of seconds, zero or more, not nan"),
        (("--kill-after", "inf"), "--kill-after must be a number of seconds, zero or more, not inf"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_runs(
    hermitty: Run, tmp_path: Path, provider: str, options: tuple[str, ...], message: str
) -> None:
    (tmp_path / "file").write_text("")

    done = hermitty("run", "--provider", provider, *options, "--", "touch ran")

    assert (done.returncode, done.stdout) == (125, b"")
    assert done.stderr.startswith(b"hermitty: ")
    assert message in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("line", ["", "  \n "])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_empty_command_is_refused(hermitty: Run, provider: str, line: str) -> None:
    done = hermitty("run", "--provider", provider, "--", line)

    assert (done.returncode, done.stderr) == (125, b"hermitty: the command is empty\n")


@pytest.mark.parametrize(
    "args", [(), ("run",), ("run", "--"), ("fly",), ("run", "--wait", "soon", "--", "true"), ("run", "--no", "true")]
)
def test_a_wrong_command_line_shows_how_it_goes(hermitty: Run, args: tuple[str, ...]) -> None:
    done = hermitty(*args)

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"usage: hermitty")


# Learning it.


def test_help_teaches(hermitty: Run) -> None:
    top = hermitty("--help").stdout.decode()
    run = hermitty("run", "--help").stdout.decode()

    assert re.search(r"^ +run +\w+.*^ +doctor +\w+", top, re.MULTILINE | re.DOTALL)
    options = {"--cwd", "--session", "--shell", "--provider", "--wait", "--kill-after", "--json", "--yes"}
    assert options <= set(re.findall(r"--[a-z-]+", run))
    for fact in ("128+N", "124", "125", "126", "hermitty run -- 'cd src && make'"):
        assert fact in run
    assert hermitty("--version").stdout.decode() == f"hermitty {__version__}\n"
