"""suggest: what may help next; and that nothing in hostile output becomes more than a word."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermitty.output.nearest import edit_distance, nearest
from hermitty.output.suggest import MAX_SUGGESTIONS, SuggestContext, Suggestion, suggest
from hermitty.output.suggest_rules import FAILURES, SUCCESSES

NAMES = ["git", "gist", "grep", "ls", "python3", "pytest", "node", "npm", "lsof", "ss", "sed", "chmod"]
NO_UPSTREAM = """fatal: The current branch {branch} has no upstream branch.
To push the current branch and set the remote as upstream, use

    git push --set-upstream origin {branch}

"""


def commands(command: str, exit_code: int | None, text: str, **more: object) -> list[str]:
    context = SuggestContext(command, exit_code, text, **{"names_on_path": NAMES, **more})  # type: ignore[arg-type]
    found = suggest(context)
    assert len(found) <= MAX_SUGGESTIONS
    assert all(suggestion.reason for suggestion in found)
    return [suggestion.command for suggestion in found]


@pytest.mark.parametrize(
    ("shell", "text"),
    [
        ("bash", "bash: gti: command not found\n"),
        ("bash", "bash: line 1: gti: command not found\n"),
        ("zsh", "zsh: command not found: gti\n"),
        ("fish", "fish: Unknown command: gti\n"),
        ("sh", "sh: 1: gti: not found\n"),
        ("pwsh", "gti: The term 'gti' is not recognized as a name of a cmdlet, function, script file\n"),
        ("cmd", "'gti' is not recognized as an internal or external command,\n"),
    ],
)
def test_a_command_that_is_not_found_is_corrected_in_its_line(shell: str, text: str) -> None:
    (found,) = suggest(SuggestContext("cd 'a b' && gti status", 127, text, shell, names_on_path=lambda: NAMES))
    assert found == Suggestion(
        "cd 'a b' && git status", "gti is not a command here; git is the nearest name on PATH", "high"
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "dash"])
def test_real_shells_say_it_in_a_way_that_is_understood(shell: str, tmp_path: Path) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    flags = {"fish": ["--no-config"], "zsh": ["-f"]}.get(shell, [])
    script = tmp_path / "run me.sh"
    script.write_text("echo hi\n")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C"}

    def run(line: str) -> tuple[int, str]:
        done = subprocess.run(
            [found, *flags, "-c", line], cwd=tmp_path, env=env, stdout=-1, stderr=subprocess.STDOUT, check=False
        )
        return done.returncode, done.stdout.decode()

    assert commands("gti status", *run("gti status"), shell=shell) == ["git status"]
    line = "./run\\ me.sh"
    code, text = run(line)
    assert code == 126
    (fix,) = commands(line, code, text, shell=shell)
    assert run(fix) == (0, "")
    assert script.stat().st_mode & 0o100


def test_only_a_word_of_the_line_is_corrected() -> None:
    assert commands("make", 2, "sh: 1: gti: not found\n") == []
    assert commands("gti", 127, "bash: gti: command not found\n", names_on_path=None) == []
    assert commands("echo gti\n gti", 127, "bash: gti: command not found\n") == []


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python app.py", "python -m pip install PyYAML"),
        (".venv/bin/python3 app.py", ".venv/bin/python3 -m pip install PyYAML"),
        (".venv/bin/pytest -q", ".venv/bin/python -m pip install PyYAML"),
        ("uv run app.py", "uv add PyYAML"),
        ("poetry run pytest", "poetry add PyYAML"),
        ("pytest", "python3 -m pip install PyYAML"),
    ],
)
def test_a_missing_python_module_is_installed_the_way_the_command_ran(command: str, expected: str) -> None:
    text = "Traceback (most recent call last):\nModuleNotFoundError: No module named 'yaml'\n"
    assert commands(command, 1, text) == [expected]


@pytest.mark.parametrize("module", ["utils", "json", "tests", "src.app", "a;b", "$(x)"])
def test_modules_that_no_index_has_are_not_installed(module: str) -> None:
    made = commands("python app.py", 1, f"ModuleNotFoundError: No module named '{module}'\n")
    assert made == ([] if module != "a;b" else ["python -m pip install a"])


@pytest.mark.parametrize(
    ("command", "module", "expected"),
    [
        ("node app.js", "express", ["npm install express"]),
        ("yarn start", "lodash/fp", ["yarn add lodash"]),
        ("pnpm test", "@scope/name", ["pnpm add @scope/name"]),
        ("node app.js", "./local", []),
        ("node app.js", "/abs/olute", []),
    ],
)
def test_a_missing_node_module(command: str, module: str, expected: list[str]) -> None:
    assert commands(command, 1, f"Error: Cannot find module '{module}'\n") == [
        line.replace("@scope/name", "'@scope/name'") for line in expected
    ]


def test_git_without_an_upstream_names_the_exact_line() -> None:
    assert commands("git push", 128, NO_UPSTREAM.format(branch="fix/x")) == ["git push --set-upstream origin fix/x"]
    hostile = "$(touch${IFS}pwned)"
    assert commands("git push", 128, NO_UPSTREAM.format(branch=hostile)) == [
        f"git push --set-upstream origin '{hostile}'"
    ]
    assert commands("git push", 128, NO_UPSTREAM.format(branch="--force")) == []
    assert commands("cat notes", 1, NO_UPSTREAM.format(branch="x")) == []


def git(line: str, cwd: Path) -> tuple[int, str]:
    env = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(cwd), "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1"}
    env |= {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(["bash", "-c", line], cwd=cwd, env=env, stdout=-1, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout.decode()


def test_what_real_git_says(tmp_path: Path) -> None:
    assert commands("git status", *git("git status", tmp_path)) == ["find . -maxdepth 2 -name .git", "git init"]
    setup = (
        "git init -q --bare up && git init -q -b main here && cd here && git remote add origin ../up"
        " && echo 1 > 'a file' && git add . && git commit -qm 1 && git checkout -qb other && echo 2 > 'a file'"
        " && git commit -qam 2 && git checkout -q main && echo 3 > 'a file' && git commit -qam 3"
    )
    assert git(setup, tmp_path) == (0, "")
    here = tmp_path / "here"
    assert commands("git push", *git("git push", here)) == ["git push --set-upstream origin main"]
    assert commands("git stauts -s", *git("git stauts -s", here)) == ["git status -s"]
    assert commands("git checkout nowhere", *git("git checkout nowhere", here)) == ["git branch --all"]
    assert commands("git merge other", *git("git merge other", here)) == [
        "git diff --name-only --diff-filter=U",
        "git diff -- 'a file'",
        "git merge --abort",
    ]
    assert git("git diff -- 'a file' && git merge --abort", here)[0] == 0
    assert commands("git clone here 'over there'", *git("git clone here 'over there'", tmp_path)) == ["cd 'over there'"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git clone https://example.org/a/project.git", ["cd project"]),
        ("git clone --depth 1 git@example.org:a/project", ["cd project"]),
        ("git clone https://example.org/a/project.git elsewhere", ["cd elsewhere"]),
        ("git clone --bare https://example.org/a/project.git", []),
    ],
)
def test_after_a_clone_comes_its_directory(command: str, expected: list[str]) -> None:
    assert commands(command, 0, "Cloning into 'ignored'...\n") == expected


PYTEST = """=================== short test summary info ====================
FAILED {test} - assert 1 == 2
FAILED tests/test_b.py::test_other - KeyError
2 failed, 3 passed in 0.12s
"""


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("pytest -q tests", "pytest"),
        ("uv run pytest", "uv run pytest"),
        ("cd x && .venv/bin/python -m pytest -x", ".venv/bin/python -m pytest"),
    ],
)
def test_the_failing_test_is_run_again(command: str, runner: str) -> None:
    text = PYTEST.format(test="tests/test_a.py::test_it[a b]")
    assert commands(command, 1, text) == [f"{runner} 'tests/test_a.py::test_it[a b]'", f"{runner} --last-failed"]


def test_a_pipeline_hides_the_failure_but_not_its_output() -> None:
    text = PYTEST.format(test="t.py::test_it")
    assert commands("pytest 2>&1 | tail -5", 0, text) == ["pytest t.py::test_it", "pytest --last-failed"]
    assert commands("pytest", 0, text) == []


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        ("go test ./...", "--- FAIL: TestX (0.00s)\n", ["go test -run '^TestX$' ./..."]),
        ("cargo test", "test tests::it_works ... FAILED\n", ["cargo test tests::it_works -- --exact"]),
        ("python -m unittest", "FAIL: test_x (m.C.test_x)\n", ["python -m unittest m.C.test_x"]),
        ("make", "src/a b.c:12:5: error: expected ';'\n", ["sed -n 7,17p 'src/a b.c'"]),
        ("cargo build", "error[E0425]: x\n --> src/main.rs:3:5\n", ["sed -n 1,8p src/main.rs"]),
        ("npx tsc", "src/a.ts(3,5): error TS2304: x\n", ["sed -n 1,8p src/a.ts"]),
        ("go build", "./main.go:5:2: undefined: x\n", ["sed -n 1,10p ./main.go"]),
        (
            "python a.py",
            '  File "a.py", line 9, in f\n  File "/usr/lib/x.py", line 3\nTypeError\n',
            ["sed -n 4,14p a.py"],
        ),
        ("make", "/etc/passwd:1:1: error: look\n", []),
        ("make", "../../secret:1:1: error: look\n", []),
        ("make", "-n:1:1: error: look\n", ["sed -n 1,6p ./-n"]),
        (
            "npm run dev",
            "Error: listen EADDRINUSE: address already in use :::3000\n",
            ["lsof -nP -iTCP:3000 -sTCP:LISTEN"],
        ),
        ("app", "listen tcp :8080: bind: address already in use\n", ["lsof -nP -iTCP:8080 -sTCP:LISTEN"]),
        ("flask run", "Port 5000 is in use by another program.\n", ["lsof -nP -iTCP:5000 -sTCP:LISTEN"]),
        ("app", "listen tcp :99999: bind: address already in use\n", []),
        ("npm run tset", 'npm error Missing script: "tset"\n', ["npm run"]),
        ("npm run build", "sh: 1: vite: not found\n", ["npm install"]),
        (
            "mkdir a/b",
            "mkdir: cannot create directory 'a/b': No such file or directory\n",
            ["mkdir -p a/b", "ls -la a"],
        ),
        ("cat src/x.txt", "cat: src/x.txt: No such file or directory\n", ["ls -la src"]),
        ("cat src/x.txt", "cat: /etc/shadow: No such file or directory\n", []),
        ("cat secret", "cat: secret: Permission denied\n", ["ls -ld secret"]),
        ("tool", "", []),
    ],
)
def test_errors_lead_to_what_concerns_them(command: str, text: str, expected: list[str]) -> None:
    assert commands(command, 1, text) == expected


def test_without_lsof_there_is_ss() -> None:
    text = "listen tcp :8080: bind: address already in use\n"
    assert commands("app", 1, text, names_on_path=["ss"]) == ["ss -ltnp sport '=' :8080"]
    assert commands("app", 1, text, names_on_path=[]) == []


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("npm run build", ["npm test", "npm start"]),
        ("cd x && cargo build --release", ["cargo test", "cargo run"]),
        ("go build ./...", ["go test ./...", "go run ."]),
        ("make", ["make test"]),
        ("make -j4", ["make test"]),
        ("make install", []),
        ("cmake --build out", ["ctest --test-dir out"]),
        ("python -m venv .venv", [". .venv/bin/activate"]),
        ("mkdir 'a b'", ["cd 'a b'"]),
        ("git add .", ["git diff --cached --stat"]),
        ("echo done", []),
    ],
)
def test_after_success_comes_the_next_step(command: str, expected: list[str]) -> None:
    assert commands(command, 0, "") == expected


def test_fish_has_its_own_way_to_use_an_environment() -> None:
    assert commands("python -m venv env", 0, "", shell="fish") == [". env/bin/activate.fish"]


def test_after_a_listing_come_its_files(tmp_path: Path) -> None:
    for name in ("README.md", "app.py", "zzz.bin"):
        (tmp_path / name).touch()
    (tmp_path / "-src").mkdir()
    text = subprocess.run(["ls", "-l"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert commands("ls -l", 0, text, on_terminal=False) == ["cat README.md", "head -n 40 app.py", "ls -la ./-src"]
    assert commands("ls -l 'a b'", 0, text, on_terminal=False)[0] == "cat 'a b/README.md'"
    assert commands("ls -l $DIR", 0, text, on_terminal=False) == []


def test_an_interrupted_command_needs_no_advice() -> None:
    assert commands("pytest", 130, PYTEST.format(test="t.py::test_it")) == []


def test_nothing_suggests_to_become_root_or_to_delete() -> None:
    words = {word for rule in (*FAILURES, *SUCCESSES) for template in rule.templates for word in template.words}
    assert words & {"sudo", "doas", "rm", "-rf", "--force", "-f", "--hard"} == set()


# One output per place where a name from output goes into a command.
PLACES = [
    ("git push", NO_UPSTREAM),
    ("git merge x", "CONFLICT (content): Merge conflict in {branch}\n"),
    ("pytest", "FAILED {branch} - assert\n1 failed in 0.1s\n"),
    ("make", "{branch}:3:1: error: no\n"),
    ("python x.py", '  File "{branch}", line 3, in f\n'),
    ("npm test", " FAIL  {branch}\n"),
    ("python x.py", "ModuleNotFoundError: No module named '{branch}'\n"),
    ("node x.js", "Error: Cannot find module '{branch}'\n"),
    ("go build", "x.go:1:1: no required module provides package {branch}; to add it:\n"),
    ("x", "bash: {branch}: command not found\nbash: {branch}: Permission denied\n"),
    ("ls -F", "{branch}\n{branch}.py\n{branch}/\n"),
]
HOSTILE = st.sampled_from(
    [
        *("$(touch pwned)", "`touch pwned`", "; touch pwned", "&& touch pwned", "| touch pwned", "<(x)", "{a,b}", "$x"),
        *("'", '"', "\\", "\n", "\r", "\x1b[2J", "\x00", "\u202e", "-rf", "--help", "~", "*", "!!", "#", "="),
        *(" ", "a", "/", "..", "é"),
    ]
)
BASH = shutil.which("bash") or "bash"


def words_of(line: str, directory: Path) -> list[str]:
    """The words that bash makes of a line, of which nothing is run but a printer."""
    subprocess.run([BASH, "-n", "-c", line], check=True, capture_output=True)
    done = subprocess.run(
        [BASH, "--norc", "-c", 'say() { printf "%s\\0" "$@"; }; say ' + line],
        cwd=directory,
        env={"PATH": "/nonexistent", "HOME": str(directory), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    return done.stdout.decode().split("\0")[:-1]


@settings(max_examples=150)
@given(st.sampled_from(PLACES), st.lists(HOSTILE, min_size=1, max_size=4).map("".join))
def test_a_hostile_name_stays_one_word_or_is_not_used(place: tuple[str, str], name: str) -> None:
    command, output = place
    text = output.replace("{branch}", name)
    for exit_code in (0, 1):
        for suggestion in suggest(SuggestContext(command, exit_code, text, names_on_path=NAMES, cwd="/nowhere")):
            assert suggestion.command.isprintable()
            assert suggestion.reason.isprintable()
            words = words_of(suggestion.command, Path("/tmp"))
            # Everything that was taken from the output is in one word, and that is no option.
            assert len(words) <= 7
            for word in words:
                assert "pwned" not in word or "touch" in word
                assert not word.startswith(("-rf", "--help"))
    assert not Path("/tmp/pwned").exists()


@given(
    st.text(max_size=40),
    st.integers(-1, 300) | st.none(),
    st.text(max_size=200),
    st.sampled_from(["bash", "pwsh", "cmd"]),
)
def test_nothing_raises(command: str, exit_code: int | None, text: str, shell: str) -> None:
    suggest(SuggestContext(command, exit_code, text, shell, names_on_path=NAMES))


@pytest.mark.parametrize("line", ["a" * 100_000, "a: " * 30_000, "'" * 100_000, "git push --set-upstream " * 5000])
def test_endless_lines_are_cut(line: str) -> None:
    assert commands("git push", 1, f"{line}\n{line}") == []


def test_edits_are_counted_as_people_make_them() -> None:
    distances = {"git": 1, "gti": 0, "gt": 1, "gtis": 1, "xgtix": 2, "grep": None}
    assert {other: edit_distance("gti", other, 2) for other in distances} == distances
    assert nearest("pyhton3", ["python3", "python2", "bash"]) == ["python3", "python2"]
    assert nearest("sl", ["ls", "sh", "sed", "$(x)", "s\x1b"]) == ["ls", "sh"]


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_a_distance_is_the_same_both_ways(one: str, other: str) -> None:
    assert edit_distance(one, other, 2) == edit_distance(other, one, 2)
    assert (edit_distance(one, other, 2) == 0) == (one == other)
