"""Changes of variables are undone by real shells; additions to PATH come and go."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermitty.shell.bash import Bash
from hermitty.shell.dialect import Dialect
from hermitty.shell.environment import Difference, PathContributions, difference, restore_line
from hermitty.shell.fish import Fish
from hermitty.shell.posix import Posix
from hermitty.shell.pwsh import Pwsh
from hermitty.shell.zsh import Zsh
from tests.support.raw_shell import installed

SHELLS: dict[str, tuple[Dialect, tuple[str, ...]]] = {
    "bash": (Bash(), ("--norc",)),
    "zsh": (Zsh(), ("-f",)),
    "fish": (Fish(), ("--no-config",)),
    "dash": (Posix(), ()),
}
SHELL_OWN = {"PWD", "OLDPWD", "SHLVL", "_"}

NAMES = st.sampled_from(["ONE", "TWO_2", "_three", "MY_PATH", "lower"])
VALUES = st.text(st.sampled_from("ab =:'\"\\$`!~* \n\t;&|-#%é\x1b"), max_size=8)
VARIABLES = st.dictionaries(NAMES, VALUES, max_size=5)


def test_the_difference_tells_what_came_went_and_changed() -> None:
    before = {"KEPT": "1", "GONE": "2", "CHANGED": "3"}
    after = {"KEPT": "1", "CHANGED": "4", "NEW": "5"}
    assert difference(before, after) == Difference(
        added={"NEW": "5"}, removed={"GONE": "2"}, changed={"CHANGED": ("3", "4")}
    )
    assert not difference(before, dict(before))


def test_the_shell_s_own_variables_and_odd_names_are_left_alone() -> None:
    before = {"PWD": "/a", "SHLVL": "1", "BASH_FUNC_f%%": "() { :; }", "A-B": "1", "1A": "x", "A\n": "x"}
    after = {"PWD": "/b", "OLDPWD": "/a", "_": "x", "SHLVL": "2", "A.B": "2"}
    assert difference(before, after) == Difference()
    assert restore_line(Bash(), before, after) is None


@pytest.mark.parametrize(
    ("dialect", "line"),
    [
        (Bash(), "builtin unset -v N1 N2; builtin export C='it'\\''s' G=x"),
        (Zsh(), "builtin unset -v N1 N2; builtin export C='it'\\''s' G=x"),
        (Posix(), "command unset -v N1 N2; command export C='it'\\''s' G=x"),
        (Fish(), "builtin set -eg N1; builtin set -eg N2; builtin set -gx C 'it\\'s'; builtin set -gx G x"),
        (
            Pwsh(),
            (
                "Microsoft.PowerShell.Management\\Remove-Item -LiteralPath 'Env:N1'; "
                "Microsoft.PowerShell.Management\\Remove-Item -LiteralPath 'Env:N2'; "
                "${env:C} = 'it''s'; ${env:G} = 'x'"
            ),
        ),
    ],
)
def test_the_line_of_each_shell(dialect: Dialect, line: str) -> None:
    assert restore_line(dialect, {"G": "x", "C": "it's", "S": "s"}, {"N2": "", "N1": "1", "C": "c", "S": "s"}) == line


@pytest.mark.parametrize("name", SHELLS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=VARIABLES, after=VARIABLES)
def test_a_real_shell_is_led_back(name: str, tmp_path: Path, before: dict[str, str], after: dict[str, str]) -> None:
    dialect, options = SHELLS[name]
    base = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8"}

    def exported(script: str) -> dict[str, str]:
        file = tmp_path / "script"
        file.write_bytes(script.encode() + b"\nenv -0\n")
        done = subprocess.run([installed(name), *options, file], capture_output=True, check=True, env=base | before)
        assert not done.stderr
        entries = dict(entry.split("=", 1) for entry in done.stdout.decode().split("\0")[:-1])
        return {variable: value for variable, value in entries.items() if variable not in SHELL_OWN}

    began = exported("")
    # The way there is the way back of the opposite change.
    there = restore_line(dialect, base | after, began) or ""
    changed = exported(there)
    back = restore_line(dialect, began, changed) or ""
    assert {key: changed.get(key) for key in after} == after
    assert not (before.keys() - after.keys()) & changed.keys()
    assert exported(f"{there}\n{back}") == began


@pytest.mark.parametrize("name", SHELLS)
def test_path_is_restored(name: str, tmp_path: Path) -> None:
    dialect, options = SHELLS[name]
    back = restore_line(dialect, {"PATH": "/usr/bin:/bin"}, {"PATH": "/nowhere:/usr/bin"})
    go = "set -gx PATH /nowhere /usr/bin" if name == "fish" else "PATH=/nowhere:/usr/bin"
    script = tmp_path / "script"
    script.write_text(f"{go}\n{back}\nsh -c 'echo $PATH'\n")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run([installed(name), *options, script], capture_output=True, check=True, env=env)
    assert done.stdout == b"/usr/bin:/bin\n"


def test_a_contributor_s_later_addition_replaces_the_earlier() -> None:
    path = PathContributions()
    assert path.apply("/bin") == "/bin"
    assert path.contribute("git", "/first")
    assert path.contribute("git", "/second")
    assert path.apply("/bin") == "/bin:/second"
    assert not path.contribute("git", "/second")
    assert path.contribute("git", None)
    assert not path.contribute("git", None)
    assert path.apply("/bin") == "/bin"


def test_additions_go_to_the_side_that_was_asked_for() -> None:
    path = PathContributions()
    path.contribute("a", "/a")
    path.contribute("b", "/b", prepend=True)
    path.contribute("c", "/c")
    path.contribute("d", "/d", prepend=True)
    assert path.apply("/usr/bin:/bin") == "/d:/b:/usr/bin:/bin:/a:/c"
    assert path.apply("C:\\bin", separator=";") == "/d;/b;C:\\bin;/a;/c"
    assert path.apply("") == "/d:/b:/a:/c"
