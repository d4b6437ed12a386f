"""PowerShell: what can be said without one, and a real one where it is installed."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.shell.dialect import ShellOptions, Submission
from hermitty.shell.pwsh import Pwsh
from tests.support.raw_shell import OpenShell, Ran, ShellContract, installed


@pytest.fixture
def open_shell(tmp_path: Path) -> Iterator[OpenShell]:
    with contextlib.ExitStack() as stack:
        yield OpenShell(stack, Pwsh(), installed("pwsh"), tmp_path)


def test_the_script_is_named_and_not_given_on_the_command_line() -> None:
    startup = Pwsh().startup("secret", "/it's/private", {}, ShellOptions(powershell_counter=True))
    assert startup.args == ("-NoLogo", "-NoExit", "-Command", ". '/it''s/private/init.ps1'")
    assert startup.secret_files == ("init.ps1",)
    assert not [text for text in (*startup.args, *startup.env.values()) if "secret" in text]
    script = startup.files["init.ps1"].decode()
    assert "Directory = '/it''s/private'" in script
    assert "Counter   = 1" in script
    assert "@" not in script.replace("= @{", "")


def test_login_comes_first() -> None:
    assert Pwsh().startup("n", "/d", {}, ShellOptions(login=True)).args[0] == "-Login"


def test_the_line_goes_through_the_file() -> None:
    assert Pwsh().submit("Get-Item\n'é'", "/d", ShellOptions()) == Submission(
        keys=b"__hermitty_run\r", files={"line": "Get-Item\n'é'".encode()}
    )


@pytest.mark.parametrize(
    ("path", "argument"),
    [
        ("/a b", "'/a b'"),
        ("C:\\it's", "'C:\\it''s'"),
        ("\\\\server\\share", "'\\\\server\\share'"),
        ("-", "'./-'"),
        ("~x", "'./~x'"),
        ("+1", "'./+1'"),
        ("[a]", "'./[a]'"),
    ],
)
def test_a_directory_is_taken_literally(path: str, argument: str) -> None:
    line = Pwsh().change_directory(path)
    assert line == f"Microsoft.PowerShell.Management\\Set-Location -LiteralPath {argument}"


def test_one_line_without_a_terminal_keeps_the_code_of_a_program() -> None:
    *options, line = Pwsh().one_shot("git status # now")
    assert options == ["-NoLogo", "-NoProfile", "-NonInteractive", "-Command"]
    assert line.startswith("git status # now\n")


class TestPwsh(ShellContract):
    syntax_error_code = 1
    export = "$env:{name} = {value}"
    last_status = "$LASTEXITCODE"


def test_codes_of_commands_and_programs(open_shell: OpenShell) -> None:
    shell = open_shell()
    assert shell.run("sh -c 'exit 3'").exit_code == 3
    assert shell.run("Get-Item /no/such/file").exit_code == 1
    assert shell.run("1 + 1") == Ran(b"2\r\n", 0)


def test_a_prompt_that_was_replaced_is_wrapped_again(open_shell: OpenShell) -> None:
    shell = open_shell()
    shell.run("function prompt { 'mine> ' }")
    assert shell.run("Write-Output a").lines == ["a"]
    assert shell.run("sh -c 'exit 4'").exit_code == 4
