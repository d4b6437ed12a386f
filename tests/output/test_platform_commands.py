"""platform_commands: which words each platform uses, and paths for Windows without harm to anything else."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.output.platform_commands import (
    EQUIVALENTS,
    Platform,
    ShellFamily,
    commands_of,
    equivalent,
    facts_of,
    join_path,
    list_files_command,
    normalise_paths,
    platform_of,
    shell_family,
    spelling,
)


@pytest.mark.parametrize(
    ("name", "platform"),
    [("linux", Platform.LINUX), ("darwin", Platform.MACOS), ("win32", Platform.WINDOWS), ("freebsd14", Platform.LINUX)],
)
def test_platforms_by_the_name_that_python_gives(name: str, platform: Platform) -> None:
    assert platform_of(name) is platform


@pytest.mark.parametrize(
    ("shell", "family"),
    [
        ("/bin/bash", "posix"),
        ("-zsh", "posix"),
        ("zsh-5.9", "posix"),
        ("/usr/local/bin/fish", "fish"),
        ("C:\\Windows\\System32\\cmd.exe", "cmd"),
        ('"C:\\Program Files\\PowerShell\\7\\pwsh.exe"', "pwsh"),
        ("PowerShell.exe", "pwsh"),
        ("python", None),
        ("", None),
    ],
)
def test_shells_by_name_or_path(shell: str, family: ShellFamily | None) -> None:
    assert shell_family(shell) == family


def test_files_are_listed_as_the_platform_does() -> None:
    assert [list_files_command(platform) for platform in Platform] == ["ls -la", "ls -la", "dir"]
    assert facts_of(Platform.WINDOWS).path_separator == "\\"
    assert facts_of(Platform.MACOS).shells[0] == "zsh"


def test_paths_are_joined_as_the_platform_does() -> None:
    assert join_path(Platform.LINUX, "a", "b/c", "d") == "a/b/c/d"
    assert join_path(Platform.WINDOWS, "C:/src", "b/c", "d") == "C:\\src\\b\\c\\d"
    assert join_path(Platform.MACOS, "a", "/b") == "/b"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "dash"])
def test_the_words_work_in_real_shells(shell: str, tmp_path: Path) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "a file").touch()
    family = shell_family(shell)
    assert family
    words = commands_of(family)
    line = (
        f"{words.set_variable.format(name='HERE', value='there')}{words.after_each_other} "
        f"{words.list_files} {words.and_then} echo {words.read_variable.format(name='HERE')}"
        f"{words.after_each_other} false {words.or_else} {words.current_directory}"
        f"{words.after_each_other} echo lost > {words.null_device}"
    )
    flags = {"fish": ["--no-config"], "zsh": ["-f"]}.get(shell, [])
    done = subprocess.run(
        [found, *flags, "-c", line],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "a file" in done.stdout
    assert done.stdout.splitlines()[-2:] == ["there", str(tmp_path)]


@pytest.mark.parametrize(
    ("command", "family", "expected"),
    [
        ("ls", "cmd", "dir"),
        ("dir", "posix", "ls"),
        ("cat", "cmd", "type"),
        ("type", "posix", "cat"),
        ("rm", "cmd", "del"),
        ("DEL", "fish", "rm"),
        ("rm  -r", "pwsh", "Remove-Item -Recurse"),
        ("get-content", "posix", "cat"),
        ("clear", "pwsh", "Clear-Host"),
    ],
)
def test_equivalents(command: str, family: ShellFamily, expected: str) -> None:
    found = equivalent(command, family)
    assert found is not None
    assert spelling(found, family) == expected


def test_what_is_at_home_or_unknown_has_no_equivalent() -> None:
    assert equivalent("ls", "posix") is None
    assert equivalent("mkdir", "cmd") is None
    assert equivalent("terraform", "cmd") is None
    assert len({each.posix for each in EQUIVALENTS}) == len(EQUIVALENTS)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dir src/lib", "dir src\\lib"),
        ("type a/b.txt > out/c.txt", "type a\\b.txt > out\\c.txt"),
        ('copy "my files/a b.txt" ../x', 'copy "my files\\a b.txt" ..\\x'),
        ("./gradlew build", ".\\gradlew build"),
        ("node_modules/.bin/tsc -p src/app", "node_modules\\.bin\\tsc -p src\\app"),
        ("python src/main.py --out=a/b", "python src\\main.py --out=a/b"),
        ("cd C:/src && del a/b", "cd C:\\src && del a\\b"),
        ("del %TEMP%/x/y", "del %TEMP%\\x\\y"),
        ("git add ./src/a.py", "git add .\\src\\a.py"),
        ("python a/b.py | more", "python a\\b.py | more"),
    ],
)
def test_path_arguments_are_written_for_windows(line: str, expected: str) -> None:
    assert normalise_paths(line, Platform.WINDOWS) == expected
    assert normalise_paths(line, Platform.LINUX) == normalise_paths(line, Platform.MACOS) == line


@pytest.mark.parametrize(
    "line",
    [
        "dir /s /b",
        "dir /a:d",
        "xcopy a b /e /i",
        "cmd /c start",
        "curl https://example.org/a/b -o x",
        "start https://example.org/a",
        "pip install git+https://example.org/a/b.git",
        "git clone git@example.org:a/b.git",
        "git checkout feature/x",
        "git push origin feature/x",
        "npm install @scope/name",
        "docker run library/redis",
        "curl -H application/json x",
        "sed s/a/b/ file",
        "echo and/or",
        'python -c "print(1/2)"',
        "python -m a/b",
        "calc 1/2",
        "backup 12/31/2026",
        "tool --out=a/b -I/usr/include",
        "scp host:a/b .",
        "",
        "   ",
    ],
)
def test_options_addresses_and_other_slashes_stay(line: str) -> None:
    assert normalise_paths(line, Platform.WINDOWS) == line


@given(
    st.lists(
        st.sampled_from(["dir", "a/b", "./x", "/s", "-x/y", "https://a/b", "'a/b'", '"', "&&", ">", " ", "C:/", "\\"])
    )
)
def test_only_slashes_change_and_only_once(pieces: list[str]) -> None:
    line = "".join(pieces)
    written = normalise_paths(line, Platform.WINDOWS)
    assert written.replace("\\", "/") == line.replace("\\", "/")
    assert normalise_paths(written, Platform.WINDOWS) == written


@given(st.text(max_size=100))
def test_any_line_keeps_its_length(line: str) -> None:
    assert len(normalise_paths(line, Platform.WINDOWS)) == len(line)
