"""Arguments are read as the programs read them; what is not known is asked about."""

import pytest

from hermitty.policy.arguments import Arg
from hermitty.policy.effects import Effect, Verdict
from hermitty.policy.options import Grammar, Parsed, rest

from .judging import HERE, words

GNU = Grammar(
    "-abc -k,--key: -o,--output:write --color? --colour? --count --compress:exec -i,--in-place?change --arg:: --number",
    "read*",
)
HARMLESS = Grammar("-ab -n,--lines: --color?", "read*")


def parsed(line: str, grammar: Grammar = GNU) -> Parsed:
    return grammar.parse(words(line), "prog")


def shape(result: Parsed) -> tuple[list[tuple[str, str | None]], list[str | None], int]:
    options = [(one.option.name, one.value.text if one.value else None) for one in result.options]
    return options, [arg.text for arg in result.operands], len(result.findings)


@pytest.mark.parametrize(
    ("line", "options", "operands"),
    [
        ("-a -b x", [("-a", None), ("-b", None)], ["x"]),
        ("-abc x", [("-a", None), ("-b", None), ("-c", None)], ["x"]),
        ("-k 2 x", [("-k", "2")], ["x"]),
        ("-k2 x", [("-k", "2")], ["x"]),
        ("-ak2 x", [("-a", None), ("-k", "2")], ["x"]),
        ("-abofile x", [("-a", None), ("-b", None), ("-o", "file")], ["x"]),
        ("-abo file x", [("-a", None), ("-b", None), ("-o", "file")], ["x"]),
        ("--key=2 x", [("-k", "2")], ["x"]),
        ("--key 2 x", [("-k", "2")], ["x"]),
        ("--ke 2 x", [("-k", "2")], ["x"]),
        ("--outp=f x", [("-o", "f")], ["x"]),
        ("--o f x", [("-o", "f")], ["x"]),
        ("--color x", [("--color", None)], ["x"]),
        ("--color=always x", [("--color", "always")], ["x"]),
        ("-i x", [("-i", None)], ["x"]),
        ("-i.bak x", [("-i", ".bak")], ["x"]),
        ("-ai.bak x", [("-a", None), ("-i", ".bak")], ["x"]),
        ("--in x", [("-i", None)], ["x"]),
        ("--arg a b x", [("--arg", "b")], ["x"]),
        ("x -a y", [("-a", None)], ["x", "y"]),
        ("-- -a -o f", [], ["-a", "-o", "f"]),
        ("x -- -a", [], ["x", "-a"]),
        ("-k -- x", [("-k", "--")], ["x"]),
        ("- x", [], ["-", "x"]),
        ("-k= x", [("-k", "=")], ["x"]),
        ("--key= x", [("-k", "")], ["x"]),
        ("-o", [("-o", None)], []),
        ("'' x", [], ["", "x"]),
        ("--key='a b' 'c d'", [("-k", "a b")], ["c d"]),
    ],
)
def test_options_and_operands(line: str, options: list[tuple[str, str | None]], operands: list[str | None]) -> None:
    assert shape(parsed(line)) == (options, operands, 0)


@pytest.mark.parametrize(
    "line",
    ["-z", "-az", "--nonsense", "--c", "--co", "--coun=3", "--key2", "-a-b", "--number=3", "---", "-3", "--=x"],
)
def test_what_is_not_in_the_table_is_unknown(line: str) -> None:
    [finding] = parsed(line).findings
    assert (finding.verdict, finding.effect) == (Verdict.ASK, Effect.UNKNOWN)
    assert finding.reason == f"{line} is not a known option of prog"


@pytest.mark.parametrize(
    "line", ["$x", '"$x"', "*", "*.txt", "-$x", '"-$x"', "--$x", '-a"$x"', "-k $x y", "a$x", "./$x", "-k2$x", "?x"]
)
def test_an_unknown_word_may_be_an_option_of_a_program_that_has_dangerous_ones(line: str) -> None:
    assert parsed(line).findings
    assert not parsed(line, HARMLESS).findings or line.startswith("-k")


@pytest.mark.parametrize(
    "line", ['"./$x"', "./*", "src/*.py", '-- "$x"', "-- *", '-k "$x"', '--key="$x"', '-k"$x"', "<(ls)", 'a"$x"']
)
def test_an_unknown_word_that_cannot_be_an_option_is_none(line: str) -> None:
    assert not parsed(line).findings


def test_the_value_of_an_unknown_word_keeps_what_is_known() -> None:
    [given] = parsed('--output="dir/$x"').options
    assert given.value
    assert (given.value.text, given.value.prefix) == (None, "dir/")


def test_options_end_at_the_first_operand_where_a_program_says_so() -> None:
    grammar = Grammar("-a -k:", "ask*", permutes=False)
    assert shape(parsed("-a -k 1 x -a -z", grammar)) == ([("-a", None), ("-k", "1")], ["x", "-a", "-z"], 0)


def test_numbers_and_plus_words_are_options_where_a_program_says_so() -> None:
    grammar = Grammar("-a", numbers=True, plus=True)
    assert shape(parsed("-3 -a5 +7 x", grammar)) == ([("-a", None), ("+7", None)], ["x"], 0)


def test_options_with_one_dash() -> None:
    grammar = Grammar("-name: -print -o,-output:write", "name*", single_dash=True)
    assert shape(parsed("-name x -print --print -output=f y", grammar)) == (
        [("-name", "x"), ("-print", None), ("-print", None), ("-o", "f")],
        ["y"],
        0,
    )
    assert parsed("-prin", grammar).findings
    assert parsed("-printx", grammar).findings


def verdicts(grammar: Grammar, line: str) -> list[tuple[Verdict, Effect | None]]:
    return [(one.verdict, one.effect) for one in grammar.judge("prog", words(line), HERE)]


def test_roles_of_operands_are_taken_in_order() -> None:
    grammar = Grammar("-e:", "plain read write", first_unless=("-e",))
    ask_write = (Verdict.ASK, Effect.WRITE)
    read = (Verdict.ALLOW, Effect.READ)
    assert verdicts(grammar, "p a b") == [read, ask_write]
    assert verdicts(grammar, "-e p a b") == [read, ask_write]
    assert verdicts(grammar, "p a b c") == [read, ask_write, (Verdict.ASK, Effect.UNKNOWN)]


def test_an_operand_that_may_be_several_has_the_roles_of_those_behind_it_too() -> None:
    grammar = Grammar("", "read write")
    assert (Verdict.ASK, Effect.WRITE) in verdicts(grammar, "./*")
    assert (Verdict.ASK, Effect.WRITE) in verdicts(grammar, "./* a")


@pytest.mark.parametrize(
    ("line", "effect"),
    [
        ("-o f", Effect.WRITE),
        ("-of", Effect.WRITE),
        ("--compress=./x", Effect.EXEC),
        ("-i", Effect.WRITE),
        ("-i.bak", Effect.WRITE),
        ("-o", Effect.UNKNOWN),
    ],
)
def test_roles_of_options(line: str, effect: Effect) -> None:
    assert verdicts(GNU, line) == [(Verdict.ASK, effect)]


def test_the_standard_streams_are_no_files() -> None:
    grammar = Grammar("-O:output -o:write", "read*")
    assert verdicts(grammar, "- -O -") == []
    assert verdicts(grammar, "-o -") == [(Verdict.ASK, Effect.WRITE)]


def test_any_options_of_some_programs_are_harmless() -> None:
    grammar = Grammar("-x:write", "plain*", any_options=True)
    assert verdicts(grammar, "-q --nonsense a") == []
    assert verdicts(grammar, "-x f") == [(Verdict.ASK, Effect.WRITE)]


def test_the_rest_of_a_word() -> None:
    arg = Arg(None, 'of=a"$x"', "of=a", start=3, end=12)
    assert rest(arg, 3) == Arg(None, 'a"$x"', "a", start=3, end=12)
    assert rest(Arg.literal("of=~/x", "'of=~/x'"), 3).text == "~/x"
