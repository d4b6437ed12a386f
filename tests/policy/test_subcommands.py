"""Programs with sub-commands: every table below can be read, and nothing raises on noise."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermitty.policy import programs
from hermitty.policy.arguments import Arg
from hermitty.policy.effects import Effect, Level, Verdict
from hermitty.policy.findings import unclear
from hermitty.policy.options import Grammar
from hermitty.policy.programs import git, system_packages
from hermitty.policy.programs.subcommands import Asked, Tool, Worse, asked, mentions, worse
from hermitty.policy.programs.tables import Program

from .judging import HERE, Judging, words

TABLES = (*programs._ANYWHERE, *programs._BUILTINS.values(), git._COMMANDS, system_packages._BREW)


def _nested(program: Program, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Program]]:
    yield path, program
    if isinstance(program, Tool):
        for name, inner in program.commands.items():
            yield from _nested(inner, (*path, name))
    elif isinstance(program, Worse):
        yield from _nested(program.program, path)


ALL = [found for table in TABLES for name, program in table.items() for found in _nested(program, (name,))]
PATHS = sorted({path for path, _ in ALL if len(path) > 1} | {("git", name) for name in git._COMMANDS})


def test_every_table_can_be_read() -> None:
    for path, program in ALL:
        if isinstance(program, Grammar):
            assert isinstance(program.is_harmless, bool), path
        elif isinstance(program, Tool):
            assert not program.grammar.is_harmless, path
        elif isinstance(program, Asked):
            assert program.reason, path
            assert program.effects, path
            assert program.reason[-1] != ".", path


ARGS = st.one_of(
    st.sampled_from(["-", "--", "-a", "-f", "-o", "x", "--help", "-c", ":", "a:b", "+x", "-1", "--x=y", "{", "="]).map(
        Arg.literal
    ),
    st.from_regex(r"--?[a-zA-Z]{1,9}(=[a-z/]{0,4})?", fullmatch=True).map(Arg.literal),
    st.text(max_size=6).map(Arg.literal),
    st.builds(
        lambda text, many: Arg(None, text + "$x", text, many), st.sampled_from(["", "-", "./", "--o="]), st.booleans()
    ),
)


@settings(max_examples=1500, deadline=None)
@given(st.sampled_from(PATHS), st.lists(ARGS, max_size=5))
def test_noise_is_judged(path: tuple[str, ...], args: list[Arg]) -> None:
    for finding in Judging(HERE).command([*map(Arg.literal, path), *args]):
        assert finding.reason
        assert finding.verdict is not Verdict.ALLOW or finding.level is Level.LOW
        assert finding.verdict is Verdict.ALLOW or finding.effect is not None


@pytest.mark.parametrize(
    "name", ["git", "npm", "pip", "docker", "kubectl", "helm", "go", "cargo", "apt", "openssl", "gh"]
)
@pytest.mark.parametrize("word", ["$x", '"$x"', "*"])
def test_an_unknown_sub_command_is_asked_about(name: str, word: str) -> None:
    assert any(one.verdict is Verdict.ASK for one in Judging(HERE).command(words(f"{name} {word}")))


@pytest.mark.parametrize(
    ("line", "names", "expected"),
    [
        ("-f", ["-f"], True),
        ("-af", ["-f"], True),
        ("--force", ["--force"], True),
        ("--force=x", ["--force"], True),
        ("--forc", ["--force"], True),
        ("--for", ["--force"], True),
        ("--fo", ["--force"], False),
        ("--forced", ["--force"], False),
        ("--foo", ["-f"], False),
        ("x f", ["-f"], False),
        ("-destroy", ["-destroy"], True),
        ("--destroy", ["-destroy"], True),
        ("fix", ["fix"], True),
        ("", ["-f"], False),
    ],
)
def test_an_option_is_found_in_all_its_forms(line: str, names: list[str], expected: bool) -> None:
    assert mentions(words(line), *names) is expected


def test_a_table_of_questions() -> None:
    table = asked("""
        a b: high write,exec does things
        c: low network asks others
    """)
    assert set(table) == {"a", "b", "c"}
    assert table["a"] == Asked(Level.HIGH, (Effect.WRITE, Effect.EXEC), "does things")
    found = Judging(HERE)
    program = table["c"]
    assert not isinstance(program, Grammar)
    assert [(one.reason, one.level) for one in program("x c", words("y"), found)] == [("x c asks others", Level.LOW)]
    assert program("x c", words("--help"), found) == []
    assert program("x c", words("--help y"), found) != []


def test_a_graver_option_adds_to_what_was_found() -> None:
    judge = Judging(HERE)
    program = worse(asked("a: low write does it")["a"], "-f --force", Level.HIGH, Effect.DELETE, "does more")
    assert [one.level for one in program("a", words("x"), judge)] == [Level.LOW]
    assert [one.level for one in program("a", words("x -f"), judge)] == [Level.LOW, Level.HIGH]
    assert program("a", words("--help"), judge) == []


def test_tools_nest() -> None:
    judge = Judging(HERE)
    tool = Tool({"b": Tool({"c": Grammar("-x", "plain")}, "-y")}, "-z")
    assert tool("a", words("-z b -y c -x d"), judge) == []
    assert [one.reason for one in tool("a", words("b d"), judge)] == ["a b d is not a known sub-command"]
    assert tool("a", words("-x b c"), judge) == [unclear("-x is not a known option of a")]
    assert [one.reason for one in tool("a", words("b c -y"), judge)] == ["-y is not a known option of a b c"]
