"""What happened, in one or two sentences made of exact facts; and what an unknown exit code may have been.

`inferred_exit_code` is a guess from the words of the output. It is labelled as one, and never takes the place of an
exit code: where the shell tells it, nobody needs to guess.
"""

import re
from dataclasses import dataclass
from typing import Literal, assert_never

from hermitty.model import CommandResult, State, signal_of_exit_code
from hermitty.output.words import name_of, program, simple_commands

_MAX_COMMAND_CHARS = 80
_MAX_LINE_CHARS = 200
_LAST_LINES = 60

EXIT_MEANINGS: dict[int, str] = {
    126: "found, but it could not be executed",
    127: "command not found",
    # Windows: what the command interpreter and the system report.
    9009: "command not found",
    0xC000013A: "ended by Ctrl+C",
    0xC0000005: "access violation",
    0xC0000135: "a library is missing",
}
SIGNAL_MEANINGS: dict[str, str] = {
    "SIGHUP": "its terminal went away",
    "SIGINT": "interrupted",
    "SIGQUIT": "told to quit",
    "SIGILL": "it ran an illegal instruction",
    "SIGABRT": "it aborted itself",
    "SIGBUS": "bad memory access",
    "SIGFPE": "arithmetic error",
    "SIGKILL": "killed, perhaps for lack of memory",
    "SIGSEGV": "bad memory access",
    "SIGPIPE": "nobody read its output any more",
    "SIGALRM": "its timer ran out",
    "SIGTERM": "asked to end",
    "SIGXCPU": "it used up its processor time",
}
# Whoever dies of these may leave an image of its memory, where the system is set up so.
DUMPS_CORE = frozenset(
    f"SIG{name}" for name in ("QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "SEGV", "SYS", "XCPU", "XFSZ")
)
# Exit codes that a program documents, and that do not say the usual thing.
PROGRAM_MEANINGS: dict[str, dict[int, str]] = {
    "grep": {1: "no line matched"},
    "rg": {1: "no line matched"},
    "diff": {1: "there are differences"},
    "cmp": {1: "there are differences"},
    "test": {1: "the condition is false"},
    "[": {1: "the condition is false"},
    "pytest": {
        1: "tests failed",
        2: "the run was interrupted, or tests could not be collected",
        3: "internal error",
        4: "wrong use of pytest",
        5: "no tests were collected",
    },
    "timeout": {124: "the time was up"},
    "curl": {
        6: "the host name was not found",
        7: "no connection",
        22: "the server answered with an error",
        28: "the time was up",
        35: "the TLS handshake failed",
        60: "the certificate is not trusted",
    },
    "ssh": {255: "the connection failed"},
    "git": {128: "git gave up with a fatal error"},
    "make": {2: "a rule failed"},
    "systemctl": {3: "the unit is not active", 4: "there is no such unit"},
}

_ERROR = re.compile(
    r"(?:^|[\s:\[(])(?:error|fatal|panic|exception|traceback|failed|failure|fail|abort(?:ed)?|denied|cannot|refused)\b"
    r"|^\w{0,60}(?:Error|Exception)\b|: No such file|not found\b|ERR!",
    re.IGNORECASE,
)


def summary(result: CommandResult) -> str:
    """Say in one or two sentences what became of a command."""
    what = f"`{_shown(result.command, _MAX_COMMAND_CHARS)}`"
    after = f"after {_duration(result.duration_s)}"
    size = _output(result)
    first: str
    match result.state:
        case State.DONE if result.exit_code == 0:
            first = f"{what} succeeded {after} {size}"
        case State.DONE if result.exit_code is None:
            first = f"{what} ended {after} {size}; its exit code is not known"
        case State.DONE:
            first = f"{what} ended with {_exit(result)} {after} {size}"
        case State.RUNNING:
            first = f"{what} is still running {after} {size}"
        case State.NEEDS_INPUT:
            first = f"{what} waits for input {after} {size}{_prompt(result)}"
        case State.INTERRUPTED:
            first = f"{what} was interrupted {after} {size}{_ended_with(result)}"
        case State.KILLED:
            first = f"{what} was killed {after} {size}{_ended_with(result)}"
        case State.LOST:
            first = f"{what} was lost {after} {size}: its terminal died, and its exit code is not known"
        case _:
            assert_never(result.state)
    line = last_error_line(result.text) if result.state.is_final and result.exit_code != 0 else None
    return f"{first}. Last error line: {line}" if line else f"{first}."


def exit_meaning(exit_code: int, command: str = "") -> str | None:
    """Say what an exit code means, for a program that documents it or by the rules of shells; None for a plain one."""
    commands = simple_commands(command) or []
    # After `a && b` nobody knows whose exit code it is; that of a pipeline is its last command's.
    if commands and all(each.is_piped for each in commands[1:]):
        words = commands[-1].words
        for name in (name_of(words[0]), program(words)[0]):
            if meaning := PROGRAM_MEANINGS.get(name, {}).get(exit_code):
                return meaning
    if meaning := EXIT_MEANINGS.get(exit_code):
        return meaning
    signal = signal_of_exit_code(exit_code) if exit_code < 256 else None
    if signal is None:
        return None
    core = "a core dump is possible" if signal in DUMPS_CORE else None
    meaning = "; ".join(filter(None, (SIGNAL_MEANINGS.get(signal), core)))
    return f"{signal}: {meaning}" if meaning else signal


def last_error_line(text: str) -> str | None:
    """Return the last line that reads like an error, or else the last line; None when there is none."""
    lines = [line for line in text[-64 * 1024 :].split("\n")[-_LAST_LINES:] if line.strip()]
    if not lines:
        return None
    chosen = next((line for line in reversed(lines) if _ERROR.search(line[:1000])), lines[-1])
    return _shown(chosen, _MAX_LINE_CHARS) or None


@dataclass(frozen=True, slots=True)
class InferredExitCode:
    """A guess at an exit code that nobody could know, and what it rests on."""

    value: int
    reason: str
    inferred: Literal[True] = True


# From the end of the output upwards, the first line that matches decides. A group holds the code itself.
_INFERENCES: tuple[tuple[re.Pattern[str], int, str], ...] = tuple(
    (re.compile(pattern), code, reason)
    for pattern, code, reason in (
        (r"(?:.{0,200}\b)?(?:exited with|exit) (?:code|status):? (\d{1,3})\b", 1, "the output names an exit code"),
        (r"exit status (\d{1,3})$", 1, "the output names an exit code"),
        (r"make(?:\[\d{1,3}\])?: \*\*\* .{1,300}", 2, "make reports a failed rule"),
        (r".{1,200}: (?:command )?not found$", 127, "a command was not found"),
        (r".{1,200}: command not found: .{1,100}$", 127, "a command was not found"),
        (r"fish: Unknown command: ", 127, "a command was not found"),
        (r"(?:ba|z|da|k)?sh: .{1,200}: Permission denied$", 126, "a command could not be executed"),
        (r"zsh(?::\d{1,6})?: permission denied: ", 126, "a command could not be executed"),
        (r"(?:.{0,200} )?Segmentation fault(?: \(core dumped\))?", 139, "a program died of a bad memory access"),
        (r"(?:.{0,200} )?Killed$", 137, "a program was killed"),
        (r"(?:.{0,200} )?Terminated$", 143, "a program was asked to end"),
        (r"\^C$", 130, "the command was interrupted"),
        (r"KeyboardInterrupt$", 130, "the command was interrupted"),
        (r"fatal: ", 128, "git reports a fatal error"),
        (r"Traceback \(most recent call last\):", 1, "a Python program died of an exception"),
        (r"[A-Za-z_.]{0,100}(?:Error|Exception)(?:: |$)", 1, "a program died of an exception"),
        (r"=* ?.{0,100}\b[1-9]\d* (?:failed|errors?)\b.{0,100} in \d+\.\d+s", 1, "tests failed"),
        (r"=* ?.{0,100}\b\d+ passed\b.{0,100} in \d+\.\d+s", 0, "all tests passed"),
        (r"(?:npm|yarn|pnpm) (?:ERR!|error)\b", 1, "the package manager reports an error"),
        (r"BUILD (?:FAILED|FAILURE)", 1, "the build failed"),
        (r"\[INFO\] BUILD SUCCESS|BUILD SUCCESSFUL", 0, "the build succeeded"),
        (r"(?:error|Error|ERROR)(?:\[\w{1,20}\])?: ", 1, "an error is reported"),
    )
)


def inferred_exit_code(text: str) -> InferredExitCode | None:
    """Guess an exit code from output, for a command whose own cannot be known; None when nothing speaks for one."""
    lines = [line.rstrip()[:1000] for line in text[-64 * 1024 :].split("\n")[-_LAST_LINES:] if line.strip()]
    for line in reversed(lines):
        for pattern, code, reason in _INFERENCES:
            if found := pattern.match(line):
                value = int(found[1]) if found.re.groups else code
                return InferredExitCode(value, f"{reason}: {_shown(line, _MAX_LINE_CHARS)}") if value < 256 else None
    return None


def _exit(result: CommandResult) -> str:
    code = result.exit_code
    assert code is not None
    meaning = exit_meaning(code, result.command)
    return f"exit code {code} ({meaning})" if meaning else f"exit code {code}"


def _ended_with(result: CommandResult) -> str:
    if result.exit_code is not None:
        return f", with {_exit(result)}"
    return f", by {result.signal}" if result.signal else ""


def _prompt(result: CommandResult) -> str:
    if result.needs_input is None:
        return ""
    prompt = _shown(result.needs_input.prompt, _MAX_LINE_CHARS)
    secret = " for a secret" if result.needs_input.secret else ""
    return f"; it asks{secret}: {prompt}" if prompt else ""


def _output(result: CommandResult) -> str:
    if not result.total_bytes:
        return "without output"
    shown = f", of which {_size(result.omitted_bytes)} are not shown" if result.omitted_bytes else ""
    return f"with {_size(result.total_bytes)} of output{shown}"


def _size(count: int) -> str:
    if count < 1000:
        return "1 byte" if count == 1 else f"{count} bytes"
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 1000:.1f} kB"


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{round(seconds * 1000)} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _shown(text: str, limit: int) -> str:
    """Return text on one line, without characters that do not print, within a limit."""
    line = "".join(char if char.isprintable() else " " for char in text[: 4 * limit])
    line = " ".join(line.split())
    return line if len(line) <= limit and len(text) <= 4 * limit else f"{line[: limit - 1]}…"
