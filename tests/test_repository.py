"""What holds for the repository as a whole: its files, its metadata, what importing it costs."""

import ast
import importlib.metadata
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hermitty
from hermitty.version import __version__

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "hermitty"

# Directories that exist on somebody's machine only. Examples use the names of nobody.
NOBODY = ("user", "me", "you", "ann", "bob", "alice", "dev")
MACHINE_PATH = re.compile(
    rf"(?<![\w.])/(?:home|Users)/(?!(?:{'|'.join(NOBODY)})\b)[\w.-]"
    r"|(?<![\w.~])/(?:root|work|workspace)[/]"
    r"|\b[A-Z]:\\Users\\(?!me\b)"
)

# Slow to import or bound to the system: only what is used is loaded, on first use.
LOADED_ON_USE = {
    *("asyncio", "concurrent.futures", "selectors", "socket", "ssl", "subprocess", "tomllib"),
    *("cffi", "jc", "PIL", "platformdirs", "pyghostty", "tree_sitter", "hermitty.engine", "hermitty.host"),
}


def repository_files() -> list[Path]:
    """Every file that is tracked, or would be after `git add`."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    # The checkout may belong to somebody else than the one who runs the tests.
    command = [git, "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    paths = (ROOT / name for name in listed.decode().split("\0") if name)
    return sorted(path for path in paths if path.is_file())


def text_files() -> list[tuple[str, str]]:
    """The name and text of the files that people edit: not recorded byte streams, nor the built page."""
    found = []
    for path in repository_files():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(("tests/data/", "src/hermitty/server/static/")):
            continue
        content = path.read_bytes()
        if content and b"\0" not in content:
            found.append((name, content.decode("utf-8")))
    return found


def test_no_file_names_a_directory_of_somebody_s_machine() -> None:
    # What the policy says about home directories is tested with some; nobody lives there.
    found = [
        f"{name}:{number}: {line.strip()}"
        for name, text in text_files()
        if not name.startswith("tests/policy/")
        for number, line in enumerate(text.splitlines(), start=1)
        if MACHINE_PATH.search(line)
    ]
    assert not found, "paths of one machine:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("see |home|xaver|notes", True),
        ("see |Users|xaver", True),
        ("'|root|.bashrc'", True),
        ("file:|||work|tree", True),
        ("cd |home|user|project", False),
        ("~|work|tree and src|work|tree", False),
        ("the home page, |home, |root", False),
    ],
)
def test_paths_of_a_machine_are_told_from_examples(line: str, is_found: bool) -> None:
    # Written with bars, because this file is searched as well.
    assert bool(MACHINE_PATH.search(line.replace("|", "/"))) is is_found


def test_text_files_end_with_one_newline_and_have_unix_line_ends() -> None:
    texts = text_files()
    assert [name for name, text in texts if not text.endswith("\n") or text.endswith("\n\n")] == []
    assert [name for name, text in texts if "\r\n" in text] == []


def test_every_module_says_what_it_is() -> None:
    modules = sorted(PACKAGE.rglob("*.py"))
    silent = [
        path.relative_to(PACKAGE).as_posix()
        for path in modules
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_every_package_is_one_on_purpose() -> None:
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [str(folder.relative_to(PACKAGE)) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_the_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


def test_the_installed_version_is_the_one_in_the_source() -> None:
    assert importlib.metadata.version("hermitty") == __version__
    assert Path(hermitty.__file__).is_relative_to(PACKAGE)


def test_constraints_are_names_and_versions_only() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert [line for line in pins if not re.fullmatch(r"[a-z0-9-]+==[a-z0-9.!]+", line)] == []
    assert pins


def test_importing_hermitty_loads_nothing_heavy() -> None:
    script = "import sys; before = set(sys.modules); import hermitty; print(*set(sys.modules) - before, sep='\\n')"
    loaded = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, check=True, text=True).stdout
    assert LOADED_ON_USE & set(loaded.split()) == set()
