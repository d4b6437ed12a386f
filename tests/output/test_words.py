"""words: which program a line runs, and words written so that every shell reads them back unchanged."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermitty.output.words import (
    MAX_LINE_CHARS,
    SimpleCommand,
    operands,
    options,
    own_words,
    program,
    quoted,
    simple_commands,
    speaking_words,
    unwrapped,
)

HOSTILE = [
    "plain",
    "$(touch pwned)",
    "`touch pwned`",
    "a; touch pwned",
    "a && touch pwned",
    "a|touch pwned",
    "it's",
    'say "hi"',
    "'; touch pwned; '",
    "back\\slash",
    "end\\",
    "-rf",
    "~",
    "=ls",
    "*",
    "{a,b}",
    "!!",
    "#no",
    "é ü",
    "<(touch pwned)",
    "%PATH%",
    "a\u2019b",
]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ls", ("ls",)),
        ("FOO=1 git status --porcelain", ("git", "status", "--porcelain")),
        ("A='x y' B=$(date) ls -l", ("ls", "-l")),
        ("cd x && ls -la", ("ls", "-la")),
        ("(cd 'a b' && ls)", ("ls",)),
        ("{ ls; }", ("ls",)),
        ("mkdir -p x; export A=1; git log", ("git", "log")),
        ("git log | cat", ("git", "log")),
        ("git log | tee log.txt", ("git", "log")),
        ("ls | grep x", ("grep", "x")),
        ("ls -la || true", ("ls", "-la")),
        ("sudo -u me env A=1 timeout -s INT 5 git -C x status", ("git", "-C", "x", "status")),
        ("time -p nice -n 5 ls", ("ls",)),
        ("! ls 2>&1 # comment", ("ls",)),
        ("ls \\\n -l", ("ls", "-l")),
        ('"ls" \'-l\' a\\ b"c d"', ("ls", "-l", "a bc d")),
        ("cat <<EOF | wc\nnot 'a | command\nEOF\n", ("wc",)),
        ('echo $(ls | wc) `x | y` "$(a; b)"', ("echo", "$(ls | wc)", "`x | y`", "$(a; b)")),
        ("command -v git", ("command", "-v", "git")),
        ("env", ("env",)),
        ("ls 2> errors", ("ls",)),
        ("ls -- 'unfinished", ("ls", "--", "unfinished")),
    ],
)
def test_the_command_that_made_the_output(line: str, words: tuple[str, ...]) -> None:
    assert speaking_words(line) == words


@pytest.mark.parametrize(
    "line",
    [
        "",
        "   # nothing",
        "ls; git status",
        "git pull && git log",
        "ls > files",
        "ls &> files",
        "cd x",
        "$CMD -l",
        "f() { ls; }",
        "for a in b; do ls; done",
        "if true; then ls; fi",
        "ls " * MAX_LINE_CHARS,
    ],
)
def test_when_it_is_not_clear_who_spoke_there_are_no_words(line: str) -> None:
    assert speaking_words(line) is None


def test_words_stand_where_their_spans_say() -> None:
    line = "cd 'a b' &&  gti  status"
    commands = simple_commands(line)
    assert commands == [
        SimpleCommand(("cd", "a b"), ((0, 2), (3, 8)), ""),
        SimpleCommand(("gti", "status"), ((13, 16), (18, 24)), "&&"),
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("uv run pytest -q", "pytest -q"),
        ("uv run --frozen python -m pytest", "pytest"),
        (".venv/bin/python3.12 -m pytest -x", "pytest -x"),
        ("/usr/bin/git status", "git status"),
        ("sudo poetry run pytest", "pytest"),
        ("GIT.EXE status", "git status"),
        ("python script.py", "python script.py"),
    ],
)
def test_the_program_behind_runners_and_paths(words: str, expected: str) -> None:
    assert program(words.split()) == tuple(expected.split())


def test_wrappers_without_a_command_are_the_command() -> None:
    for words in (("sudo",), ("timeout", "5"), ("env", "-i"), ("nice", "-n")):
        assert unwrapped(words) == words
    assert own_words(()) == ()


def test_options_and_operands() -> None:
    words = ("ls", "-la", "--color=auto", "x", "--", "-y")
    assert options(words) == {"l", "a", "--color"}
    assert operands(words) == ("x", "-y")


@given(st.text(st.sampled_from("ab '\"\\$(){}`|&;<>\n#=!-\t*"), max_size=80))
def test_any_line_is_read_without_complaint(line: str) -> None:
    for command in simple_commands(line) or ():
        assert command.words
        assert len(command.words) == len(command.spans)
        assert all(0 <= start < end <= len(line) for start, end in command.spans)
        assert len(program(command.words)) <= len(command.words)
    speaking_words(line)


@pytest.mark.parametrize(
    "piece", ["(", "$(", "'", '"', "`", "\\", "<<a\n", "sudo ", "uv run ", "{ ", ">", "a=", "&", "$'"]
)
def test_a_long_line_of_one_thing_is_read(piece: str) -> None:
    line = (piece * MAX_LINE_CHARS)[:MAX_LINE_CHARS]
    commands = simple_commands(line)
    assert commands is None or all(program(command.words) for command in commands)


def arguments_seen_by(shell: str, line: str, cwd: Path) -> list[str]:
    """The words that a real shell makes of a line, whose programs it cannot find."""
    found = shutil.which(shell)
    assert found
    printer = "/usr/bin/printf '%s\\0' "
    flags = {"fish": ["--no-config"], "zsh": ["-f"]}.get(shell, [])
    result = subprocess.run(
        [found, *flags, "-c", printer + line],
        capture_output=True,
        cwd=cwd,
        env={"PATH": "/bin:/usr/bin", "HOME": str(cwd), "LC_ALL": "C.UTF-8"},
        check=True,
    )
    return result.stdout.decode().split("\0")[:-1]


@pytest.mark.skipif(not Path("/usr/bin/printf").exists(), reason="no printf program")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "dash"])
def test_quoted_words_come_back_from_the_shell_unchanged(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    written = [quoted(word, shell) for word in HOSTILE]
    assert None not in written
    assert arguments_seen_by(shell, " ".join(word or "" for word in written), tmp_path) == HOSTILE
    assert list(tmp_path.iterdir()) == [] or shell == "fish"
    assert not (tmp_path / "pwned").exists()


@settings(max_examples=40)
@given(
    st.lists(
        st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), min_size=1, max_size=12), min_size=1, max_size=20
    )
)
def test_any_words_come_back_from_bash(words: list[str]) -> None:
    kept = [(word, line) for word in words if (line := quoted(word, "bash")) is not None]
    seen = arguments_seen_by("bash", " ".join(line for _, line in kept), Path("/tmp")) if kept else []
    assert seen == [word for word, _ in kept]
    assert all(word.isprintable() for word, _ in kept)


@pytest.mark.parametrize("word", ["", "a\nb", "a\x1b[31m", "a\x00", "\u202etxt", "a\u2028b", "\ud800", "x" * 401])
@pytest.mark.parametrize("shell", ["bash", "fish", "pwsh", "cmd"])
def test_what_does_not_print_is_never_written(word: str, shell: str) -> None:
    assert quoted(word, shell) is None


def test_windows_shells_get_their_own_quotes_or_nothing() -> None:
    assert quoted("it's $(x)", "pwsh") == "'it''s $(x)'"
    assert quoted("a\u2019b", "pwsh") == "'a\u2019\u2019b'"
    assert quoted('a"b', "pwsh") is None
    assert quoted("a & b", "cmd") == '"a & b"'
    assert quoted("%PATH%", "cmd") is None
    assert quoted('a"b', "cmd") is None
