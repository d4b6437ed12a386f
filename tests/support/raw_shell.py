"""A real shell on a real PTY, driven by a dialect, the marker scanner and the command tracker alone.

What the engine does with asyncio is done here with one blocking loop, so that a test of a dialect depends on nothing
else. Waiting means waiting for an event of the tracker, under a deadline.
"""

import contextlib
import fcntl
import os
import select
import shutil
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from hermitty.shell.dialect import ENV_FILE, Dialect, ShellOptions, Submission
from hermitty.shell.tracker import (
    CommandFinished,
    CommandTracker,
    Event,
    MoreInputWanted,
    Output,
    PromptReady,
    PropertyReported,
)
from hermitty.vt.markers import MarkerScanner

NONCE = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
# Generous: only a failing test waits this long, and the machine may be busy.
PATIENCE_S = 20.0


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of one submitted line."""

    output: bytes
    exit_code: int | None
    ran: bool = True
    hooks_lost: bool = False

    @property
    def lines(self) -> list[str]:
        """The output as lines of text; the terminal turned each newline into CR LF."""
        return self.output.decode("utf-8", "surrogateescape").replace("\r\n", "\n").splitlines()


class ShellGone(Exception):
    """The shell ended, with `status` as from waitpid."""

    def __init__(self, status: int, seen: bytes) -> None:
        super().__init__(f"shell ended with status {status}: {seen[-2000:]!r}")
        self.status = status


@dataclass
class RawShell:
    """One shell. Use it as a context manager: it starts with an empty home directory and is gone at the end."""

    dialect: Dialect
    program: str
    home: Path
    options: ShellOptions = field(default_factory=ShellOptions)
    env: Mapping[str, str] = field(default_factory=dict)
    wait: bool = True

    def __enter__(self) -> Self:
        self.directory = self.home / ".private"
        self.directory.mkdir(mode=0o700)
        env = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            **self.env,
        }
        startup = self.dialect.startup(NONCE, str(self.directory), env, self.options)
        self._write_files(startup.files)
        self.scanner = MarkerScanner(NONCE)
        self.tracker = CommandTracker(prelude=self.dialect.prelude)
        self.stream = bytearray()
        self.events: list[Event] = []
        self.properties: dict[str, bytes] = {}
        self.pid, self.fd = _spawn(self.program, startup.args, {**env, **startup.env}, self.home)
        if self.wait:
            try:
                self.until(PromptReady)
            except BaseException:
                self.close()
                raise
            for name in startup.secret_files:
                (self.directory / name).unlink()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the shell and whatever it left behind on its terminal."""
        if self.fd >= 0:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            os.close(self.fd)
            self.fd = -1
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)

    def run(self, line: str) -> Ran:
        """Submit a line, wait until the next prompt and return what the line did."""
        return self.carry_out(self.dialect.submit(line, str(self.directory), self.options))

    def carry_out(self, submission: Submission) -> Ran:
        """Do what a submission says and wait until the next prompt."""
        self.start(submission)
        return self.finish()

    def start(self, submission: Submission) -> None:
        """Do what a submission says without waiting."""
        self.events.clear()
        self._write_files(submission.files)
        self.tracker.submitted(is_confirmed=submission.is_confirmed)
        self.press(submission.clear + submission.keys + submission.accept)

    def finish(self) -> Ran:
        """Wait for the prompt after the line that was started, and return what the line did."""
        self.until(lambda: self._has(PromptReady) or self._has(MoreInputWanted))
        if not self._has(PromptReady):
            self.press_until_prompt(b"\x03")  # nobody has the rest of the line
        output = b"".join(event.data for event in self.events if isinstance(event, Output))
        [end] = [event for event in self.events if isinstance(event, CommandFinished)]
        return Ran(output, end.exit_code, end.ran, end.hooks_lost)

    def press(self, keys: bytes) -> None:
        """Send keys as a keyboard would."""
        deadline = time.monotonic() + PATIENCE_S
        while keys:
            # The kernel's buffer is small: what the shell echoes must be read, or both sides wait for each other.
            readable, writable, _ = select.select([self.fd], [self.fd], [], deadline - time.monotonic())
            if readable:
                self._read()
            if writable:
                keys = keys[os.write(self.fd, keys) :]

    def press_until_prompt(self, keys: bytes) -> None:
        """Send keys, and again when nothing comes of them: a shell that is drawing may miss a Ctrl-C."""
        deadline = time.monotonic() + PATIENCE_S
        while not self._has(PromptReady) and time.monotonic() < deadline:
            self.press(keys)
            while not self._has(PromptReady) and select.select([self.fd], [], [], 0.5)[0]:
                self._read()

    def until(self, wanted: type[Event] | Callable[[], bool]) -> None:
        """Read until an event of that type has come, or a condition holds."""
        deadline = time.monotonic() + PATIENCE_S
        while not self._has(wanted):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise TimeoutError(f"nothing like {wanted} in {bytes(self.stream[-2000:])!r}")
            self._read()

    def until_printed(self, text: bytes) -> None:
        """Read until the stream holds `text` after the last submission's start marker."""

        def printed() -> bool:
            return text in b"".join(event.data for event in self.events if isinstance(event, Output))

        self.until(printed)

    def wait_for_end(self) -> int:
        """Read until the shell is gone and return its exit code."""
        try:
            while True:
                self.until(lambda: False)
        except ShellGone as gone:
            return os.waitstatus_to_exitcode(gone.status)

    @property
    def cwd(self) -> bytes:
        """The directory that the shell reported last."""
        return self.properties["Cwd"]

    def environment(self) -> dict[str, str]:
        """The environment as the shell's hooks, or the dialect's dump line, tell it."""
        how = self.dialect.dump_environment(str(self.directory))
        if isinstance(how, bytes):
            self.properties.pop("Env", None)
            self.press(how)
            self.until(lambda: "Env" in self.properties)
        elif how is not None:
            self.run(how)
        return self.dialect.parse_environment((self.directory / ENV_FILE).read_bytes())

    def _has(self, wanted: type[Event] | Callable[[], bool]) -> bool:
        if isinstance(wanted, type):
            return any(isinstance(event, wanted) for event in self.events)
        return wanted()

    def _write_files(self, files: Mapping[str, bytes]) -> None:
        for name, content in files.items():
            (self.directory / name).write_bytes(content)

    def _read(self) -> None:
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # EIO: nobody has the other side open any more
            data = b""
        if not data:
            _, status = os.waitpid(self.pid, 0)
            os.close(self.fd)
            self.fd = -1
            raise ShellGone(status, bytes(self.stream))
        self.stream += data
        for piece in self.scanner.feed(data):
            for event in self.tracker.feed(piece):
                self.events.append(event)
                if isinstance(event, PropertyReported):
                    self.properties[event.name] = event.value


def installed(program: str) -> str:
    """Return where a program is, or skip the test."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


def _spawn(program: str, args: tuple[str, ...], env: Mapping[str, str], cwd: Path) -> tuple[int, int]:
    ours, theirs = os.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 120, 0, 0))
        name = os.ttyname(theirs)
        # What this process has inherited itself must not look like something the shell has left open.
        inherited = [fd for fd in map(int, os.listdir("/proc/self/fd")) if fd > 2 and _is_inherited(fd)]
        actions = [
            *((os.POSIX_SPAWN_CLOSE, fd) for fd in inherited),
            (os.POSIX_SPAWN_OPEN, 0, name, os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, 0, 1),
            (os.POSIX_SPAWN_DUP2, 0, 2),
        ]
        with contextlib.chdir(cwd):
            pid = os.posix_spawn(
                program,
                [program, *args],
                env,
                file_actions=actions,
                setsid=True,
                setsigmask=[],
                setsigdef=[signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE],
            )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    os.set_blocking(ours, False)
    return pid, ours


def _is_inherited(fd: int) -> bool:
    try:
        return os.get_inheritable(fd)
    except OSError:  # the descriptor that listed the directory
        return False


class ShellContract:
    """What every shell keeps to, whatever its language. Subclasses provide the fixture `open_shell`."""

    # Lines that differ between the languages.
    syntax_error_code = 2
    export = "export {name}={value}"
    last_status = "echo $?"
    history: str | None = None

    @pytest.fixture
    def shell(self, open_shell: "OpenShell") -> RawShell:
        return open_shell()

    def test_the_output_is_exact(self, shell: RawShell) -> None:
        assert shell.run(r"printf 'a\nb\n'") == Ran(b"a\r\nb\r\n", 0)
        assert shell.run("printf x") == Ran(b"x", 0)
        assert shell.run("true") == Ran(b"", 0)
        assert shell.run("printf '\\033[31mred'") == Ran(b"\x1b[31mred", 0)
        assert shell.run("printf '\\r\\n\\r\\n'") == Ran(b"\r\r\n\r\r\n", 0)

    def test_exit_codes_are_those_of_the_command(self, shell: RawShell) -> None:
        lines = (
            "true",
            "false",
            "sh -c 'exit 2'",
            "sh -c 'exit 255'",
            "sh -c 'kill -TERM $$'",
            "sh -c 'kill -SEGV $$'",
        )
        assert [shell.run(line).exit_code for line in lines] == [0, 1, 2, 255, 143, 139]
        unknown = shell.run("no_such_command_here")
        assert unknown.exit_code == 127
        assert b"no_such_command_here" in unknown.output

    def test_the_next_line_sees_the_status_of_the_last(self, shell: RawShell) -> None:
        shell.run("sh -c 'exit 7'")
        assert shell.run(self.last_status).lines == ["7"]

    def test_several_lines_are_one_command(self, shell: RawShell) -> None:
        assert shell.run("echo a\necho b\nfalse") == Ran(b"a\r\nb\r\n", 1)
        assert shell.run("\n\necho a\n\n").lines == ["a"]

    @pytest.mark.parametrize(
        "text",
        [
            "a\tb",
            "!x !! ^a^b",
            "it # is",
            '$HOME `id` \\ "',
            "%d %s",
            "~ * ?",
            "é 𝒳 \u202e",
            "\x01\x03\x04\x1a\x1b[A\x7f",
            "a\nb",
        ],
    )
    def test_text_reaches_the_command_unchanged(self, shell: RawShell, text: str) -> None:
        target = shell.home / "written"
        line = f"printf %s {shell.dialect.quote(text)} > {shell.dialect.quote(str(target))}"
        assert shell.run(line) == Ran(b"", 0)
        assert target.read_text() == text

    def test_a_comment_is_a_comment(self, shell: RawShell) -> None:
        assert shell.run("echo a # it's").lines == ["a"]
        assert shell.run("# it's\necho b").lines == ["b"]

    @pytest.mark.parametrize("line", ["echo 'x", 'echo "x', "echo )", "echo a |", "echo a\necho 'b"])
    def test_a_broken_line_ends_with_an_error(self, shell: RawShell, line: str) -> None:
        broken = shell.run(line)
        assert broken.exit_code == self.syntax_error_code
        assert broken.output.strip()
        assert shell.run("echo on").lines == ["on"]

    def test_an_empty_line_ends_too(self, shell: RawShell) -> None:
        for line in ("", " ", "\n", "# nothing"):
            assert shell.run(line).output == b""
        assert shell.run("echo on").lines == ["on"]

    def test_a_line_of_100_kB_runs(self, shell: RawShell) -> None:
        assert shell.run(f"echo {'x' * 100_000} | wc -c").lines == ["100001"]

    def test_many_lines_in_a_row_lose_nothing(self, shell: RawShell) -> None:
        assert [shell.run(f"echo {n}").output for n in range(20)] == [b"%d\r\n" % n for n in range(20)]

    def test_a_program_reads_the_terminal(self, shell: RawShell) -> None:
        shell.start(
            shell.dialect.submit("sh -c 'printf name?; read x; echo hello $x'", str(shell.directory), shell.options)
        )
        shell.until_printed(b"name?")
        shell.press(b"you\r")
        assert shell.finish() == Ran(b"name?you\r\nhello you\r\n", 0)

    def test_ctrl_c_ends_the_command(self, shell: RawShell) -> None:
        shell.start(shell.dialect.submit("sh -c 'echo started; exec sleep 60'", str(shell.directory), shell.options))
        shell.until_printed(b"started")
        shell.press(b"\x03")
        assert shell.finish().exit_code == 130
        assert shell.run("echo on").lines == ["on"]

    def test_a_job_in_the_background_does_not_hold_the_prompt(self, shell: RawShell) -> None:
        assert shell.run("sleep 60 &").exit_code == 0
        assert shell.run("kill %1").exit_code == 0

    @pytest.mark.parametrize(
        "name",
        [
            b"a b",
            b"it's",
            b'"q"',
            b"s;s",
            b"back\\slash",
            b"n\nl\n",
            b"tab\t\x01\x1b\x7f",
            "é𝒳".encode(),
            b"\xff\xfe",
            b"$x`y`",
            b"-",
            b"-x",
            b"~x",
            b"+1",
        ],
    )
    def test_the_directory_is_exact(self, shell: RawShell, name: bytes) -> None:
        target = os.path.join(os.fsencode(shell.home), name)
        os.mkdir(target)
        (shell.home / "elsewhere").mkdir()
        shell.run(self.export.format(name="CDPATH", value=str(shell.home / "elsewhere")))
        assert shell.run(shell.dialect.change_directory(os.fsdecode(name))) == Ran(b"", 0)
        assert shell.cwd == target
        assert shell.run(shell.dialect.change_directory("..")) == Ran(b"", 0)
        assert shell.cwd == os.fsencode(shell.home)
        assert shell.run(shell.dialect.change_directory(os.fsdecode(target))) == Ran(b"", 0)
        assert shell.cwd == target

    def test_a_directory_that_is_not_there_is_an_error(self, shell: RawShell) -> None:
        assert shell.run(shell.dialect.change_directory("/nowhere/at all")).exit_code not in (0, None)
        assert shell.cwd == os.fsencode(shell.home)

    def test_the_environment_is_what_a_program_gets(self, shell: RawShell) -> None:
        for name, value in {
            "PLAIN": "x",
            "LINES_": "a\nb\n",
            "QUOTES": "'\"\\$`;",
            "TAB": "\t\x01\x1b",
            "EMPTY": "",
            "BYTES": "é\udcff",
        }.items():
            shell.run(self.export.format(name=name, value=shell.dialect.quote(value)))
        shell.run(self.export.format(name="PATH", value="/usr/bin:/bin:/no/such"))
        told = shell.environment()
        shell.run("env -0 > seen")
        entries = (shell.home / "seen").read_bytes().split(b"\0")[:-1]
        seen = dict(os.fsdecode(entry).split("=", 1) for entry in entries)
        assert _without_counters(told) == _without_counters(seen)
        assert seen["PATH"] == "/usr/bin:/bin:/no/such"

    def test_programs_get_nothing_of_ours(self, shell: RawShell) -> None:
        lines = shell.run("sh -c 'cat /proc/$PPID/environ /proc/$PPID/cmdline; env; ls -1 /proc/self/fd'").lines
        assert not [line for line in lines if NONCE in line or "hermitty" in line.lower()]
        assert lines[-4:] == ["0", "1", "2", "3"]
        assert not [path for path in shell.directory.iterdir() if NONCE.encode() in path.read_bytes()]

    def test_the_history_has_only_what_a_person_typed(self, shell: RawShell) -> None:
        if self.history is None:
            pytest.skip("this shell has no history")
        shell.run("echo ours")
        shell.run("echo 'ours")
        shell.run(f"echo {'ours' * 2000} >/dev/null")
        shell.events.clear()
        shell.press(b"echo typed\r")
        shell.until(PromptReady)
        remembered = shell.run(self.history).output
        assert b"echo typed" in remembered
        assert b"ours" not in remembered
        assert b"hermitty" not in remembered

    def test_a_line_that_a_person_types_is_a_command(self, shell: RawShell) -> None:
        shell.events.clear()
        shell.press(b"echo typed; false\r")
        shell.until(PromptReady)
        kinds = [type(event).__name__ for event in shell.events if not isinstance(event, PropertyReported | Output)]
        assert kinds == ["CommandBegan", "CommandFinished", "PromptReady"]

    def test_ctrl_c_at_the_prompt_changes_nothing(self, shell: RawShell) -> None:
        shell.events.clear()
        before = len(shell.stream)
        shell.press(b"x")
        shell.until(lambda: b"x" in shell.stream[before:])
        shell.press_until_prompt(b"\x03")
        assert shell.run("echo on").lines == ["on"]

    def test_forged_markers_are_output(self, shell: RawShell) -> None:
        forged = b"\x1b]633;D;0\x07\x1b]633;D;0;guess\x07"
        assert shell.run(r"printf '\033]633;D;0\007\033]633;D;0;guess\007'; false") == Ran(forged, 1)

    def test_exit_ends_the_shell(self, shell: RawShell) -> None:
        shell.start(shell.dialect.submit("exit 3", str(shell.directory), shell.options))
        assert shell.wait_for_end() == 3


class OpenShell:
    """Opens shells in homes with the startup files that a test wants; closes them when the test is over."""

    def __init__(self, stack: contextlib.ExitStack, dialect: Dialect, program: str, home: Path) -> None:
        self._stack = stack
        self._dialect = dialect
        self._program = program
        self.home = home

    def __call__(
        self, *, files: Mapping[str, str] | None = None, env: Mapping[str, str] | None = None, **options: bool
    ) -> RawShell:
        for name, text in (files or {}).items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        chosen = ShellOptions(**options)
        return self._stack.enter_context(RawShell(self._dialect, self._program, self.home, chosen, env or {}))


def _without_counters(env: Mapping[str, str]) -> dict[str, str]:
    # Shells set these anew for each program.
    return {name: value for name, value in env.items() if name not in ("_", "SHLVL", "OLDPWD")}
