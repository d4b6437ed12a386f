"""summary: sentences of exact facts; and guesses at exit codes that say that they are guesses."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.model import CommandId, CommandResult, NeedsInput, Quality, State
from hermitty.output.summary import InferredExitCode, exit_meaning, inferred_exit_code, last_error_line, summary

RESULT = CommandResult(
    id=CommandId("c_1"),
    command="make",
    terminal=None,
    provider="pty",
    shell="bash",
    state=State.DONE,
    exit_code=0,
    signal=None,
    quality=Quality.RICH,
    text="",
    total_bytes=0,
    cwd=None,
    duration_s=0.0042,
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "`make` succeeded after 4 ms without output."),
        (
            {"text": "error: not really\n", "total_bytes": 18, "duration_s": 61.2},
            "`make` succeeded after 1 min 1 s with 18 bytes of output.",
        ),
        (
            {"exit_code": 2, "text": "cc\nx.c:1: error: no\nmake: *** [x] Error 2\n\n", "total_bytes": 12_345},
            (
                "`make` ended with exit code 2 (a rule failed) after 4 ms with 12.3 kB of output. "
                "Last error line: make: *** [x] Error 2"
            ),
        ),
        (
            {"command": "tool", "exit_code": 3, "total_bytes": 2_000_000, "omitted_bytes": 1_500_000, "text": "a\n"},
            (
                "`tool` ended with exit code 3 after 4 ms with 2.0 MB of output, of which 1.5 MB are not shown. "
                "Last error line: a"
            ),
        ),
        (
            {"command": "gti", "exit_code": 127, "text": "bash: gti: command not found\n", "total_bytes": 1},
            (
                "`gti` ended with exit code 127 (command not found) after 4 ms with 1 byte of output. "
                "Last error line: bash: gti: command not found"
            ),
        ),
        (
            {"exit_code": 137, "signal": "SIGKILL", "duration_s": 7265.0},
            (
                "`make` ended with exit code 137 (SIGKILL: killed, perhaps for lack of memory) "
                "after 2 h 1 min without output."
            ),
        ),
        (
            {"exit_code": None, "quality": Quality.NONE},
            "`make` ended after 4 ms without output; its exit code is not known.",
        ),
        (
            {"state": State.RUNNING, "exit_code": None, "duration_s": 60.0, "text": "error\n", "total_bytes": 6},
            "`make` is still running after 1 min 0 s with 6 bytes of output.",
        ),
        (
            {
                "state": State.NEEDS_INPUT,
                "exit_code": None,
                "needs_input": NeedsInput("Password: ", secret=True, how="kernel"),
            },
            "`make` waits for input after 4 ms without output; it asks for a secret: Password:.",
        ),
        (
            {"state": State.INTERRUPTED, "exit_code": 130, "signal": "SIGINT"},
            "`make` was interrupted after 4 ms without output, with exit code 130 (SIGINT: interrupted).",
        ),
        (
            {"state": State.KILLED, "exit_code": None, "signal": "SIGTERM"},
            "`make` was killed after 4 ms without output, by SIGTERM.",
        ),
        (
            {"state": State.LOST, "exit_code": None},
            "`make` was lost after 4 ms without output: its terminal died, and its exit code is not known.",
        ),
    ],
)
def test_a_summary_tells_the_facts(changes: dict[str, object], expected: str) -> None:
    assert summary(replace(RESULT, **changes)) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "command", "meaning"),
    [
        (126, "", "found, but it could not be executed"),
        (127, "x", "command not found"),
        (128, "x", None),
        (130, "x", "SIGINT: interrupted"),
        (137, "x", "SIGKILL: killed, perhaps for lack of memory"),
        (139, "x", "SIGSEGV: bad memory access; a core dump is possible"),
        (133, "x", "SIGTRAP: a core dump is possible"),
        (143, "x", "SIGTERM: asked to end"),
        (227, "x", None),
        (1, "x", None),
        (1, "cat y | grep x", "no line matched"),
        (1, "grep x y && make", None),
        (1, "grep x y | sort", None),
        (1, "uv run pytest", "tests failed"),
        (5, "python -m pytest", "no tests were collected"),
        (124, "timeout 5 make", "the time was up"),
        (124, "make", None),
        (0xC000013A, "x", "ended by Ctrl+C"),
    ],
)
def test_what_exit_codes_mean(code: int, command: str, meaning: str | None) -> None:
    assert exit_meaning(code, command) == meaning


def test_the_last_error_line_is_short_and_prints() -> None:
    assert last_error_line("") is None
    assert last_error_line(" \n\n") is None
    assert last_error_line("a\nERROR: b\nc\n\n") == "ERROR: b"
    assert last_error_line("a\nb\n") == "b"
    assert last_error_line("error:\x1b[31m \x00red\u202e\n") == "error: [31m red"
    assert last_error_line("error: " + "x" * 1000) == "error: " + "x" * 192 + "…"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", None),
        ("all is well\n", None),
        ("bash: gti: command not found\n", 127),
        ("zsh: command not found: gti\n", 127),
        ("bash: ./x: Permission denied\n", 126),
        ("fatal: not a git repository\n", 128),
        ("Traceback (most recent call last):\n  File x\nValueError: no\n", 1),
        ("Segmentation fault (core dumped)\n", 139),
        ("Killed\n", 137),
        ("make: *** [Makefile:2: all] Error 1\n", 2),
        ("1 failed, 3 passed in 0.10s\n", 1),
        ("==== 3 passed in 0.10s ====\n", 0),
        ("server exited with code 7\n", 7),
        ("exited with code 999\n", None),
        ("error: something\nthen it went on\n", 1),
        ("working\n^C\n", 130),
    ],
)
def test_an_unknown_exit_code_is_guessed_from_the_end_of_the_output(text: str, code: int | None) -> None:
    found = inferred_exit_code(text)
    assert (found and found.value) == code
    assert found is None or found.inferred is True


def test_a_guess_says_what_it_rests_on() -> None:
    assert inferred_exit_code("x\nKilled\n") == InferredExitCode(137, "a program was killed: Killed")


@pytest.mark.parametrize("line", ["exit 3", "no-such-command", "kill -SEGV $$", "git -C / log"])
def test_a_guess_never_contradicts_the_real_exit_code(line: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    found = inferred_exit_code(done.stdout)
    assert found is None or found.value == done.returncode


def test_a_python_program_that_dies_is_recognised(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", "import nothing_there"], capture_output=True, text=True, check=False)
    found = inferred_exit_code(done.stderr)
    assert found is not None
    assert found.value == done.returncode == 1


@given(
    st.text(max_size=300),
    st.text(max_size=100),
    st.sampled_from(State),
    st.integers(-(2**33), 2**33) | st.none(),
    st.floats(0, 1e7),
    st.integers(0, 2**40),
)
def test_a_summary_is_short_prints_and_never_raises(
    text: str, command: str, state: State, exit_code: int | None, duration_s: float, total: int
) -> None:
    result = replace(
        RESULT, text=text, command=command, state=state, exit_code=exit_code, duration_s=duration_s, total_bytes=total
    )
    said = summary(result)
    assert said.isprintable()
    assert len(said) < 700
    inferred_exit_code(text)


@pytest.mark.parametrize("line", ["a" * 200_000, "a: " * 60_000, "=" * 200_000, "error " * 30_000])
def test_endless_lines_are_read_in_part(line: str) -> None:
    assert len(last_error_line(line) or "") <= 200
    assert inferred_exit_code(line) is None
