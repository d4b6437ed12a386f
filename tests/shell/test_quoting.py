"""Quoted words come out of the real shells as they went in, and so do exported values."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermitty.shell.bash import Bash
from hermitty.shell.dialect import Dialect
from hermitty.shell.fish import Fish
from hermitty.shell.posix import Posix
from hermitty.shell.pwsh import Pwsh
from hermitty.shell.quoting import parse_exports, quote_posix
from hermitty.shell.zsh import Zsh, parse_entries
from tests.support.raw_shell import installed

SHELLS: dict[str, tuple[Dialect, tuple[str, ...]]] = {
    "bash": (Bash(), ("--norc",)),
    "zsh": (Zsh(), ("-f",)),
    "fish": (Fish(), ("--no-config",)),
    "dash": (Posix(), ()),
}

# A word may be anything but NUL; bytes that are no UTF-8 travel as surrogates.
characters = st.characters(exclude_characters="\0", exclude_categories=["Cs"]) | st.sampled_from(
    "'\"\\$`!~*? \n\t;&|-#=%\x1b"
)
words = st.text(characters, max_size=12) | st.binary(max_size=4).map(
    lambda raw: raw.replace(b"\0", b"").decode("utf-8", "surrogateescape")
)


@pytest.mark.parametrize("name", SHELLS)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_words=st.lists(words, min_size=1, max_size=40))
def test_a_quoted_word_is_one_word_and_unchanged(name: str, tmp_path: Path, given_words: list[str]) -> None:
    dialect, options = SHELLS[name]
    wanted = ["-n", "--", "-", "", "~", "~x", "+1", "a=b", "{a,b}", "it's", "\\", "\\'", *given_words]
    script = tmp_path / "script"
    lines = [f"printf '%s\\0' {dialect.quote(word)}x" for word in wanted]
    # As an argument of its own, not only as the beginning of one.
    lines += [f'sh -c \'printf "%s\\0" "$@"\' sh {" ".join(map(dialect.quote, wanted))}']
    script.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape") + b"\n")
    done = subprocess.run([installed(name), *options, script], capture_output=True, check=True)
    seen = [entry.decode("utf-8", "surrogateescape") for entry in done.stdout.split(b"\0")[:-1]]
    assert seen == [word + "x" for word in wanted] + wanted


@pytest.mark.parametrize("name", ["bash", "dash"])
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(words, min_size=1, max_size=40))
def test_exports_are_read_back(name: str, tmp_path: Path, values: list[str]) -> None:
    wanted = {f"V{number}": value for number, value in enumerate(["", "a\nexport V9=x", "$'x'", *values])}
    script = tmp_path / "script"
    lines = [f"export {variable}={quote_posix(value)}" for variable, value in wanted.items()]
    script.write_bytes("\n".join([*lines, "export NO_VALUE", "export -p"]).encode("utf-8", "surrogateescape") + b"\n")
    options = SHELLS[name][1]
    done = subprocess.run(
        [installed(name), *options, script],
        capture_output=True,
        check=True,
        env={"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"},
    )
    told = parse_exports(done.stdout)
    assert {variable: told.get(variable) for variable in wanted} == wanted


@pytest.mark.parametrize(
    ("dump", "wanted"),
    [
        (b"", {}),
        (b'declare -x A="1"\ndeclare -x B\ndeclare -x C="x\ny"\n', {"A": "1", "C": "x\ny"}),
        (b"""declare -x A="q\\"u\\$o\\`t\\\\e"\n""", {"A": 'q"u$o`t\\e'}),
        (rb"""declare -x A=$'\E[31m\t\001\'\\\u00e9\xff'""", {"A": "\x1b[31m\t\x01'\\é\udcff"}),
        (b"export A='it'\\''s'\nexport B='x'\"'\"'y'\n", {"A": "it's", "B": "x'y"}),
        (b"export -i A=5\ntypeset -x B=plain\n", {"A": "5", "B": "plain"}),
        (b"noise\nexport 1=2\nexport A=1", {"A": "1"}),
    ],
)
def test_dumps_of_export(dump: bytes, wanted: dict[str, str]) -> None:
    assert parse_exports(dump) == wanted


def test_entries_of_the_environment() -> None:
    dump = b"A=1\0B=\0C=x=y\nz\0D=\xff\0noise\0"
    assert parse_entries(dump) == {"A": "1", "B": "", "C": "x=y\nz", "D": "\udcff"}


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("", "''"),
        ("plain", "'plain'"),
        ("-Force", "'-Force'"),
        ("it's", "'it''s'"),
        ("\u2018typographic\u2019", "'\u2018\u2018typographic\u2019\u2019'"),
        ('$x `n "q"', "'$x `n \"q\"'"),
        ("a\nb", "'a\nb'"),
    ],
)
def test_powershell_doubles_every_kind_of_single_quote(word: str, quoted: str) -> None:
    assert Pwsh().quote(word) == quoted


@pytest.mark.parametrize("dialect", [Bash(), Zsh(), Posix(), Fish()], ids=lambda dialect: dialect.name)
def test_plain_words_stay_readable(dialect: Dialect) -> None:
    assert dialect.quote("src/main.py") == "src/main.py"
    assert dialect.one_shot("echo 'x'") == ("-c", "echo 'x'")
