"""structured: what real programs print, as data; and None for everything that is not certain."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.output.structured import (
    JC_PARSERS,
    MAX_BYTES,
    MAX_ENTRIES,
    Json,
    Structured,
    jc_is_installed,
    missing_parser,
    structured,
)
from hermitty.vt.plain import plain_text

needs_jc = pytest.mark.skipif(not jc_is_installed(), reason="jc is not installed")
needs_script = pytest.mark.skipif(shutil.which("script") is None, reason="script is not installed")
NAMES = {"a b", "it's", "plain", "sub", 'say "hi"', "-dash", "ünï"}
Rows = list[dict[str, Json]]


def output_of(command: str, cwd: Path, *, check: bool = True) -> str:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(cwd),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A B",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "A B",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    done = subprocess.run(["bash", "-c", command], cwd=cwd, env=env, capture_output=True, check=check)
    return done.stdout.decode()


def on_a_terminal(command: str, cwd: Path, cols: int = 40) -> str:
    return plain_text(output_of(f"script -qec 'stty cols {cols}; {command}' /dev/null", cwd).encode())


def rows(found: Structured | None) -> Rows:
    assert found is not None
    return cast("Rows", found.data)


def value(found: Structured | None) -> dict[str, Json]:
    assert found is not None
    return cast("dict[str, Json]", found.data)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    there = tmp_path / "there"
    there.mkdir()
    for name in NAMES - {"sub"}:
        (there / name).write_text("12345")
    (there / "sub").mkdir()
    (there / "link").symlink_to("plain")
    return there


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    there = tmp_path / "repository"
    there.mkdir()
    (there / "kept").write_text("1\n")
    (there / "old name").write_text("one\ntwo\nthree\n")
    output_of("git init -q -b main . && git add . && git commit -qm 'first: a (b)' && git branch dev", there)
    output_of("git commit -q --allow-empty -m second", there)
    output_of("git mv 'old name' new && echo 2 >> kept && git add kept && echo 3 >> kept && touch 'ü \"q\"'", there)
    return there


@pytest.mark.parametrize("flags", ["-la", "-l", "-lh", "-lai", "-ls", "-lF", "-g", "-o", "-n", "-l --full-time"])
def test_a_long_listing_is_what_the_directory_holds(flags: str, directory: Path) -> None:
    entries = rows(structured(f"ls {flags}", output_of(f"ls {flags}", directory), on_terminal=False))
    by_name = {entry["filename"]: entry for entry in entries}
    assert set(by_name) - {".", ".."} == {*NAMES, "link"}
    assert by_name["sub"]["type"] == "directory"
    assert (by_name["link"]["type"], by_name["link"]["link_to"]) == ("link", "plain")
    assert by_name["a b"]["type"] == "file"
    assert by_name["a b"]["size"] == 5
    if flags == "-lai":
        assert by_name["plain"]["inode"] == (directory / "plain").stat().st_ino


@needs_script
@pytest.mark.parametrize("flags", ["", "-la", "-F", "-x", "-1", "-lh"])
@pytest.mark.parametrize("cols", [20, 40, 200])
def test_a_listing_on_a_terminal_has_the_same_names(flags: str, cols: int, directory: Path) -> None:
    text = on_a_terminal(f"ls {flags}", directory, cols)
    entries = rows(structured(f"ls {flags}", text))
    assert {entry["filename"] for entry in entries} - {".", ".."} == {*NAMES, "link"}


def test_plain_names_through_a_pipe_are_lines(directory: Path) -> None:
    (directory / "two  spaces").touch()
    found = structured("ls | cat", output_of("ls", directory), on_terminal=False)
    assert {entry["filename"] for entry in rows(found)} == {*NAMES, "link", "two  spaces"}


def test_sizes_for_people_stay_as_they_were_printed(directory: Path) -> None:
    entries = rows(structured("ls -lh", output_of("ls -lh", directory), on_terminal=False))
    assert {entry["size"] for entry in entries if entry["filename"] == "sub"} <= {"4.0K", 4096, 40, 60, 0, 6}


def test_listings_of_several_directories_name_them(directory: Path) -> None:
    (directory / "sub" / "inner").touch()
    for command in ("ls -R", "ls -lR"):
        entries = rows(structured(command, output_of(command, directory), on_terminal=False))
        assert ("inner", "./sub") in {(entry["filename"], entry["parent"]) for entry in entries}


def test_the_time_that_was_taken_is_no_file(directory: Path) -> None:
    text = output_of("{ time ls; } 2>&1", directory)
    assert "real" in text
    entries = rows(structured("time ls", text, on_terminal=False))
    assert {entry["filename"] for entry in entries} == {*NAMES, "link"}
    assert structured("time ls", "a\nb\nls 0.00s user 0.00s system 90% cpu 0.001 total\n") is None


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("ls -la", "total 0\nsomething else\n"),
        ("ls", "ls: cannot access 'x': No such file or directory\n"),
        ("ls -m", "a, b\n"),
        ("ls -i", "1 a\n"),
        ("ls -la > x", ""),
        ("ls; git status", "a\n"),
        ("git status", "Auf Branch main\nnichts zu committen\n"),
        ("git log --graph", "* commit abc\n"),
        ("git log --format=%h", "abcdef1\n"),
        ("git branch -d x", "Deleted branch x (was abcdef1).\n"),
        ("unheard-of", "a b c\n"),
        ("wc -l x", "3 x\n"),
        ("date +%s", "1\n"),
        ("pytest", "no summary\n"),
        ("ls", "\x1b[31mred\x1b[m\n"),
    ],
)
def test_what_is_not_certain_is_none(command: str, text: str) -> None:
    assert structured(command, text) is None


def test_text_of_which_a_part_is_missing_is_not_read() -> None:
    text = "a\nb\n"
    assert structured("ls -1", text) is not None
    assert structured("ls -1", text, truncated=True) is None
    assert structured("ls -1", "a\n[... 15 lines omitted ...]\nb\n") is None
    assert structured("ls -1", "a\n" * (MAX_BYTES // 2) + "b") is None
    assert structured("ls -1", "x" * 5000) is None
    assert structured("ls -1", text, exit_code=2) is None


def test_long_results_are_cut_and_say_so() -> None:
    text = "".join(f"file{number}\n" for number in range(MAX_ENTRIES + 7))
    found = structured("ls -1", text, on_terminal=False)
    assert found is not None
    assert (len(rows(found)), found.omitted) == (MAX_ENTRIES, 7)


STATUS = [
    {"path": "kept", "index": "M", "worktree": "M"},
    {"path": "new", "index": "R", "worktree": " ", "original_path": "old name"},
    {"path": 'ü "q"', "index": "?", "worktree": "?"},
]


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git status -sb",
        "git status --short --branch",
        "git status --porcelain -b",
        "git status --porcelain=v2 --branch",
        "git -C . --no-pager status",
    ],
)
def test_every_form_of_git_status_is_the_same_data(command: str, repository: Path) -> None:
    found = structured(command, output_of(command, repository), on_terminal=False)
    assert found is not None
    assert (found.kind, found.parser) == ("git_status", "hermitty")
    data = value(found)
    entries = cast("Rows", data.pop("entries"))
    assert sorted(entries, key=lambda entry: str(entry["path"])) == STATUS
    assert data == {"branch": "main", "upstream": None, "ahead": 0, "behind": 0, "clean": False}


@pytest.mark.parametrize("command", ["git status", "git status -sb", "git status --porcelain=v2 -b"])
def test_git_status_tells_upstream_and_conflicts(command: str, repository: Path) -> None:
    output_of("git reset -q --hard && git clean -qfd && git clone -q --bare . ../origin.git", repository)
    output_of("git remote add origin ../origin.git && git fetch -q && git branch -q -u origin/main", repository)
    output_of("echo ours > kept && git commit -qam ours && git commit -q --allow-empty -m more", repository)
    data = value(structured(command, output_of(command, repository)))
    assert data == {
        "branch": "main", "upstream": "origin/main", "ahead": 2, "behind": 0, "clean": True, "entries": [],
    }  # fmt: skip
    output_of("git checkout -q dev && echo theirs > kept && git commit -qam theirs && git checkout -q main", repository)
    output_of("git merge dev", repository, check=False)
    data = value(structured(command, output_of(command, repository)))
    assert data["entries"] == [{"path": "kept", "index": "U", "worktree": "U"}]


def test_git_status_of_a_detached_head_has_no_branch(repository: Path) -> None:
    output_of("git reset -q --hard && git checkout -q --detach", repository)
    for command in ("git status", "git status -sb", "git status --porcelain=v2 -b"):
        assert value(structured(command, output_of(command, repository)))["branch"] is None


def test_git_branch(repository: Path) -> None:
    commits = output_of("git rev-parse --short dev && git rev-parse --short main", repository).split()
    found = structured("git branch", output_of("git branch", repository))
    assert rows(found) == [{"name": "dev", "current": False}, {"name": "main", "current": True}]
    found = structured("git branch -vv", output_of("git branch -vv", repository))
    assert rows(found) == [
        {"name": "dev", "current": False, "commit": commits[0], "subject": "first: a (b)"},
        {"name": "main", "current": True, "commit": commits[1], "subject": "second"},
    ]


def test_git_log_in_one_line(repository: Path) -> None:
    short = output_of("git log --format=%h", repository).split()
    found = structured("git log --oneline", output_of("git log --oneline --decorate", repository))
    assert rows(found) == [
        {"commit": short[0], "refs": ["HEAD -> main"], "message": "second"},
        {"commit": short[1], "refs": ["dev"], "message": "first: a (b)"},
    ]


@needs_jc
def test_git_log(repository: Path) -> None:
    commits = output_of("git log --format=%H", repository).split()
    found = structured("git log --stat", output_of("git log --stat --decorate", repository))
    assert found is not None
    assert (found.kind, found.parser) == ("git_log", "jc:git_log")
    assert [(row["commit"], row["refs"], row["message"], row["author"]) for row in rows(found)] == [
        (commits[0], ["HEAD -> main"], "second", "A B"),
        (commits[1], ["dev"], "first: a (b)", "A B"),
    ]


def test_git_diff_in_numbers(repository: Path) -> None:
    stat = value(structured("git diff --stat HEAD", output_of("git diff --stat HEAD", repository)))
    assert stat == {
        "files": [{"path": "kept", "changes": 2}, {"path": "old name => new", "changes": 0}],
        "files_changed": 2,
        "insertions": 2,
        "deletions": 0,
    }
    numbers = rows(structured("git diff --numstat", output_of("git diff --numstat", repository)))
    assert numbers == [{"path": "kept", "insertions": 1, "deletions": 0}]
    names = rows(structured("git diff --name-status HEAD", output_of("git diff --name-status HEAD", repository)))
    assert {"path": "new", "status": "R", "original_path": "old name"} in names


@pytest.mark.parametrize("flags", ["", "-q"])
def test_the_summary_of_pytest(flags: str, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "def test_good(): pass\n"
        "def test_bad(): assert 1 == 2\n"
        "@pytest.mark.skip\n"
        "def test_skipped(): pass\n"
        "@pytest.mark.parametrize('v', ['a b'])\n"
        "def test_with(v): raise ValueError('no - way')\n"
    )
    command = f"python -m pytest {flags}".strip()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *flags.split(), "-p", "no:cacheprovider", "-p", "no:hypothesispytest"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    found = structured(command, done.stdout, exit_code=1)
    assert found is not None
    data = value(found)
    assert isinstance(data.pop("duration_s"), float)
    assert data == {
        "counts": {"failed": 2, "passed": 1, "skipped": 1},
        "failed": [
            {"test": "test_it.py::test_bad", "reason": "assert 1 == 2"},
            {"test": "test_it.py::test_with[a b]", "reason": "ValueError: no - way"},
        ],
        "errors": [],
    }


DIR = """ Volume in drive C has no label.
 Volume Serial Number is 0000-0000

 Directory of C:\\Program Files

03/24/2021  03:15 PM    <DIR>          .
03/24/2021  03:15 PM    <DIR>          Common Files
03/24/2021  03:15 PM             1,024 a file.txt
               1 File(s)          1,024 bytes
               2 Dir(s)  10,000,000 bytes free
"""
GET_CHILD_ITEM = """
    Directory: C:\\src

Mode                 LastWriteTime         Length Name
----                 -------------         ------ ----
d----          11/15/2026 10:38 AM                a dir
-a---          11/15/2026 10:38 AM           1024 a file.txt

"""


@needs_jc
def test_dir_of_windows() -> None:
    found = structured("dir", DIR.replace("\n", "\r\n"))
    assert found is not None
    assert found.parser == "jc:dir"
    assert [(row["filename"], row["type"], row["size"]) for row in rows(found)] == [
        (".", "directory", None),
        ("Common Files", "directory", None),
        ("a file.txt", "file", 1024),
    ]


@pytest.mark.parametrize("command", ["ls", "dir", "Get-ChildItem"])
def test_the_table_of_powershell(command: str) -> None:
    parent = "C:\\src"
    date = "11/15/2026 10:38 AM"
    assert rows(structured(command, GET_CHILD_ITEM)) == [
        {"filename": "a dir", "type": "directory", "parent": parent, "flags": "d----", "date": date},
        {"filename": "a file.txt", "type": "file", "parent": parent, "flags": "-a---", "date": date, "size": 1024},
    ]


@needs_jc
def test_programs_that_jc_reads(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("one two\nthree\n")
    assert value(structured("id", output_of("id", tmp_path)))["uid"] == {
        "id": os.getuid(),
        "name": output_of("id -un", tmp_path).strip(),
    }
    assert rows(structured("wc file", output_of("wc file", tmp_path))) == [
        {"filename": "file", "lines": 2, "words": 3, "characters": 14}
    ]
    (digest,) = rows(structured("sha256sum file", output_of("sha256sum file", tmp_path)))
    assert digest["hash"] == hashlib.sha256((tmp_path / "file").read_bytes()).hexdigest()
    variables = {row["name"]: row["value"] for row in rows(structured("env", output_of("env", tmp_path)))}
    assert variables["HOME"] == str(tmp_path)
    (size,) = rows(structured("du -sh .", output_of("du -sh .", tmp_path)))
    assert size == {"size": output_of("du -sh .", tmp_path).split()[0], "name": "."}


@needs_jc
def test_every_parser_of_the_table_is_one_of_jc() -> None:
    import jc

    assert {parser.name for parser in JC_PARSERS} <= set(jc.parser_mod_list())


def test_without_jc_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jc", None)  # as if it were not installed: importing it fails
    assert not jc_is_installed()
    assert structured("id", "uid=0(root) gid=0(root) groups=0(root)\n") is None
    assert structured("ls -1", "a\n") is not None
    assert "hermitty[parse]" in (missing_parser("sudo id") or "")
    assert "hermitty[parse]" in (missing_parser("git log") or "")
    assert missing_parser("ls -la") is None
    assert missing_parser("git status") is None


@needs_jc
def test_with_jc_nothing_is_missing() -> None:
    assert missing_parser("id") is None


COMMANDS = [
    *(
        "ls",
        "ls -la",
        "ls -F",
        "ls -R",
        "dir",
        "git status",
        "git status -sb",
        "git status --porcelain=v2",
        "git branch",
    ),
    *("git log", "git log --oneline", "git diff --stat", "git diff --numstat", "git diff --name-status", "pytest"),
    *(" ".join(parser.words) for parser in JC_PARSERS),
]
PIECES = st.sampled_from(
    [
        *("total 4", "-rw-r--r-- 1 a b 5 Nov 15 10:38 x", "'a", "'a b'", "commit abcdef1", "Date: x", "Author: a <b>"),
        *("## main...o/m [ahead 1]", "R  a -> b", "2 R. N... 1 1 1 a b R100 x\ty", "On branch x", "\tmodified:   y"),
        *(" a | 3 ++-", " 1 file changed", "1 passed in 0.1s", "FAILED a - b", "\n", "\n", " ", "\t", '"\\303"'),
        *("1", "%", "|", ":", "→", "nan", "inf"),
    ]
)


@given(st.sampled_from(COMMANDS), st.lists(PIECES | st.text(max_size=8), max_size=30))
def test_any_output_gives_json_or_none(command: str, pieces: list[str]) -> None:
    found = structured(command, "".join(pieces))
    if found is not None:
        json.dumps(found.data, allow_nan=False)


@needs_jc
def test_what_would_keep_jc_busy_is_not_given_to_it(tmp_path: Path) -> None:
    text = output_of("df .", tmp_path)
    assert structured("df .", text) is not None
    assert structured("df .", "a " * 40 + "\n" + text) is None
    assert structured("df .", text + "x" * 1001 + "\n") is None
    assert structured("df .", text * (70_000 // len(text))) is None


@needs_jc
def test_nothing_is_written_to_our_own_output(capfd: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        structured(command, "a\nb: c\n\n'd\n")
    assert capfd.readouterr() == ("", "")
