"""Words become what a real shell makes of them, or are unknown."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hermitty.policy.arguments import Arg
from hermitty.policy.evaluate import expand, value
from hermitty.policy.parser import parse
from hermitty.policy.syntax.commands import Simple
from hermitty.policy.syntax.words import Word


def simple(line: str, shell: str = "bash") -> Simple:
    script = parse(line, shell)
    assert script.problems == ()
    (statement,) = script.body
    assert isinstance(statement.command, Simple)
    return statement.command


def words(text: str, shell: str = "bash") -> tuple[Word, ...]:
    return simple(f"printf {text}", shell).words[1:]


def arguments(text: str, variables: Mapping[str, str | None] | None = None, shell: str = "bash") -> list[Arg]:
    return [arg for word in words(text, shell) for arg in expand(word, variables or {}, shell=shell)]


def texts(text: str, variables: Mapping[str, str | None] | None = None, shell: str = "bash") -> list[str | None]:
    return [arg.text for arg in arguments(text, variables, shell)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b", ["a", "b"]),
        ("'a b'c", ["a bc"]),
        ("\\r\\m", ["rm"]),
        ('r"m"', ["rm"]),
        ("''", [""]),
        ("a''b", ["ab"]),
        ("$'a\\tb\\x41\\u00e9\\101'", ["a\tbA\u00e9A"]),
        ('$"text"', ["text"]),
        ('"a\\"b\\$c\\n"', ['a"b$c\\n']),
        ("a\\\nb", ["ab"]),
        ("{a,b}", ["a", "b"]),
        ("x{a,b{1,2}}y", ["xay", "xb1y", "xb2y"]),
        ("{1..3}", ["1", "2", "3"]),
        ("{3..1}", ["3", "2", "1"]),
        ("{01..10..4}", ["01", "05", "09"]),
        ("{a..e..2}", ["a", "c", "e"]),
        ("{-1..1}", ["-1", "0", "1"]),
        ("{a}", ["{a}"]),
        ("{a,b", ["{a,b"]),
        ("'{a,b}'", ["{a,b}"]),
        ("{,x}", ["x"]),
        ('{"",x}', ["", "x"]),
        ("a=b", ["a=b"]),
        ("[", ["["]),
        ("#", []),
        ("a#", ["a#"]),
        ("'~/x'", ["~/x"]),
    ],
)
def test_words_without_expansions_are_known_exactly(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$x", [Arg(None, "$x", is_many=True)]),
        ('"$x"', [Arg(None, '"$x"')]),
        ('"$@"', [Arg(None, '"$@"', is_many=True)]),
        ('"${a[@]}"', [Arg(None, '"${a[@]}"', is_many=True)]),
        ("--out=$x/y", [Arg(None, "--out=$x/y", "--out=", is_many=True)]),
        ('./"$x"', [Arg(None, './"$x"', "./")]),
        ("$(date)", [Arg(None, "$(date)", is_many=True)]),
        ('"a$(date)"', [Arg(None, '"a$(date)"', "a")]),
        ("`date`", [Arg(None, "`date`", is_many=True)]),
        ("$((1+2))", [Arg(None, "$((1+2))")]),
        ("<(date)", [Arg(None, "<(date)", is_stream=True)]),
        ("src/*.py", [Arg(None, "src/*.py", "src/", is_many=True, is_glob=True)]),
        ("a?b", [Arg(None, "a?b", "a", is_many=True, is_glob=True)]),
        ("@(a|b)", [Arg(None, "@(a|b)", is_many=True, is_glob=True)]),
        ("~/x", [Arg("~/x", "~/x", "~/x", is_home=True)]),
        ("~", [Arg("~", "~", "~", is_home=True)]),
        ("~root/*", [Arg(None, "~root/*", "~root/", is_many=True, is_glob=True, is_home=True)]),
        ("$HOME/x", [Arg("~/x", "$HOME/x", "~/x", is_home=True)]),
        ('"${HOME}"', [Arg("~", '"${HOME}"', "~", is_home=True)]),
        ("~+/x", [Arg(None, "~+/x")]),
        ("of=~/x", [Arg(None, "of=~/x", "of=")]),
        ("{1..100000}", [Arg(None, "{1..100000}", is_many=True)]),
        ("{A..z}", [Arg(None, "{A..z}", is_many=True)]),
        ("{a,b}{c,d}{e,f}{1..200}", [Arg(None, "{a,b}{c,d}{e,f}{1..200}", is_many=True)]),
        ("${x:-a}", [Arg(None, "${x:-a}", is_many=True)]),
        ("${x@P}", [Arg(None, "${x@P}", is_many=True)]),
    ],
)
def test_what_depends_on_anything_else_is_unknown_behind_a_certain_prefix(text: str, expected: list[Arg]) -> None:
    found = arguments(text)
    assert [(arg.start, arg.end) for arg in found] == [(7, 7 + len(text))] * len(found)
    fields = ("text", "shown", "prefix", "is_many", "is_glob", "is_home", "is_stream")
    assert [[getattr(arg, name) for name in fields] for arg in found] == [
        [getattr(arg, name) for name in fields] for arg in expected
    ]


def test_braces_that_hold_something_unknown_give_one_argument_each() -> None:
    assert [(arg.text, arg.prefix) for arg in arguments("{a,$x}/y")] == [("a/y", "a/y"), (None, "")]


@pytest.mark.parametrize(
    ("text", "variables", "expected"),
    [
        ("$a", {"a": "/"}, ["/"]),
        ('"$a"/x', {"a": "b c"}, ["b c/x"]),
        ("$a", {"a": "b c"}, ["b", "c"]),
        ("x$a", {"a": " b c "}, ["x", "b", "c"]),
        ("$a$b", {"a": "x ", "b": "y"}, ["x", "y"]),
        ("$a", {"a": ""}, []),
        ("$a", {"a": "  "}, []),
        ('"$a"', {"a": ""}, [""]),
        ("$a", {"a": "*"}, [None]),
        ('"$a"', {"a": "*"}, ["*"]),
        ("$a", {"a": None}, [None]),
        ("$a", {"a": "b c", "IFS": ":"}, [None]),
        ("${a}b", {"a": "x"}, ["xb"]),
        ("$a{b,c}", {"a": "x", "ab": "y"}, [None, None]),
        ("${a}{b,c}", {"a": "x"}, ["xb", "xc"]),
        ("~/x", {"HOME": "/home/u"}, ["/home/u/x"]),
        ("~/x", {"HOME": None}, [None]),
        ("$HOME", {"HOME": "/home/u"}, ["/home/u"]),
        ("{~/a,b}", {"HOME": "/home/u"}, ["/home/u/a", "b"]),
        ("~{a,b}", {"HOME": "/home/u"}, [None, None]),
        ("~/{a,b}", {"HOME": "/home/u"}, ["/home/u/a", "/home/u/b"]),
    ],
)
def test_variables_of_the_line_are_split_and_matched_as_the_shell_does(
    text: str, variables: dict[str, str | None], expected: list[str | None]
) -> None:
    assert texts(text, variables) == expected


def test_zsh_is_not_trusted_to_split() -> None:
    assert texts("$a", {"a": "b"}, "zsh") == ["b"]
    assert texts("$a", {"a": "b c"}, "zsh") == [None]


@pytest.mark.parametrize(
    ("line", "expected"),
    [("a=b*c", "b*c"), ("a=$x", "1 2"), ('a="$x"y', "1 2y"), ("a=", ""), ("a=$(id)", None), ("a={1,2}", "{1,2}")],
)
def test_a_value_is_neither_split_nor_a_pattern(line: str, expected: str | None) -> None:
    (assignment,) = simple(line).assignments
    assert value(assignment.value, {"x": "1 2"}).text == expected


PLAIN = st.text("ab.,-=/:@%+_{}~^#!", min_size=1, max_size=4)
SINGLE = st.text('ab $`"{},~*', max_size=4).map(lambda text: f"'{text}'")
DOUBLE = st.lists(
    st.sampled_from(["a", " ", "'", "{", ",", "}", "~", "*", "!", '\\"', "\\\\", "\\$", "\\a"]), max_size=4
).map(lambda pieces: '"' + "".join(pieces) + '"')
ANSI_C = st.lists(
    st.sampled_from(["a", " ", "\\n", "\\t", "\\'", "\\\\", "\\x41", "\\101", "\\u00e9", "{", ","]), max_size=4
).map(lambda pieces: "$'" + "".join(pieces) + "'")
ESCAPE = st.sampled_from(
    ["\\ ", "\\a", "\\$", "\\{", "\\,", "\\}", "\\\\", "\\*", "\\~", "\\\n", "\\n", "\\x41", "\\101"]
)
RANGE = st.sampled_from(
    ["{1..3}", "{3..1}", "{01..3}", "{a..c}", "{c..a..2}", "{1..}", "{-1..01}", "{1..2..3}", "{a..1}"]
)
PIECE = st.one_of(PLAIN, SINGLE, DOUBLE, ANSI_C, ESCAPE, RANGE)
BRACED = st.recursive(
    PIECE,
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(lambda found: "{" + ",".join(found) + "}"),
    max_leaves=5,
)
SHELLS = {
    "bash": ["bash", "--noprofile", "--norc"],
    "zsh": ["zsh", "-f"],
    "fish": ["fish", "--no-config"],
    "sh": ["dash"],
}


@pytest.mark.parametrize("shell", SHELLS)
@settings(
    max_examples=25,
    # The comparison names the word; to look for a smaller batch takes minutes.
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(batch=st.lists(st.lists(BRACED, min_size=1, max_size=3).map("".join), min_size=40, max_size=40))
def test_harmless_words_become_what_a_real_shell_makes_of_them(batch: list[str], shell: str, tmp_path: Path) -> None:
    program = shutil.which(SHELLS[shell][0])
    if program is None:
        pytest.skip(f"{SHELLS[shell][0]} is not installed")
    known: dict[str, list[str]] = {}
    for text in batch:
        script = parse(f"printf {text}", shell)
        if script.problems or len(script.body) != 1:
            continue
        found = [arg.text for arg in arguments(text, {"HOME": str(tmp_path)}, shell) if not arg.is_home]
        exact = [text for text in found if text is not None]
        if len(exact) == len(arguments(text, {"HOME": str(tmp_path)}, shell)):
            known[text] = exact
    ran = subprocess.run(
        [program, *SHELLS[shell][1:]],
        input="".join(f"printf '%s\\0' {text}\nprintf '\\001\\000'\n" for text in known).encode(),
        capture_output=True,
        cwd=tmp_path,
        env={"PATH": "/nonexistent", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
        check=True,
    )
    answers = ran.stdout.decode().split("\1\0")[:-1]
    # printf without arguments prints its format once, as if it had got an empty one.
    expected = ["".join(f"{text}\0" for text in found or [""]) for found in known.values()]
    assert list(zip(known, answers, strict=True)) == list(zip(known, expected, strict=True))
