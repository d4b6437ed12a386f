"""Short lines that would take much memory or time, of the policy or of the shell: both are bounded."""

import tracemalloc

import pytest

from hermitty.policy.arguments import MAX_TEXT
from hermitty.policy.check import examine

from .judging import lines
from .lines import HERE, decide

DOUBLED = "a=xxxxxxxx;"
LONG = DOUBLED + "a=$a$a;" * 13
WORDS = 'a="x y";' + 'a="$a $a";' * 9
ARGUMENTS = "set -- a b;" + 'set -- "$@" "$@";' * 8

GROWING = {
    "twice": DOUBLED + "a=$a$a;" * 24 + "ls",
    "appended": DOUBLED + "a+=$a;" * 24 + "ls",
    "in turn": DOUBLED + "b=$a$a;a=$b;" * 24 + "ls",
    "read": DOUBLED + 'read a <<< "$a$a";' * 24 + "ls",
    "printed": DOUBLED + "a=$(printf %s $a$a);" * 24 + "ls",
    "replaced": LONG + "b=${a//x/${a:0:2000}}; ls",
    "many": LONG + "".join(f"b{n}=x$a;" for n in range(1000)),
    "words": LONG + "ls " + "x$a " * 2000,
    "echoed": LONG + "b=$(echo " + "$a " * 2000 + ")",
    "loop": LONG + "for i in " + "x$a " * 2000 + "; do ls; done",
    "braces": LONG + "ls " + "$a{1..999} " * 20,
    "arguments": "set -- a b;" + 'set -- "$@" "$@";' * 18 + "ls",
}


@pytest.mark.parametrize("line", GROWING.values(), ids=GROWING)
def test_texts_stay_short(line: str) -> None:
    decide("ls")
    tracemalloc.start()
    try:
        decide(line)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 48_000_000


def test_what_is_too_long_is_unknown() -> None:
    unknown = "which command it is, is only known when it runs"
    assert len(DOUBLED) << 13 < MAX_TEXT < 8 << 14
    assert unknown not in decide(f"{LONG} $a").reasons
    assert unknown in decide(f"{LONG} a=$a$a; $a").reasons


REPEATED = {
    "eval": "eval " * 19_000 + "ls",
    "eval by another name": "command eval " * 7_000 + "ls",
    "env": "env " * 24_000 + "ls",
    "xargs": "xargs " * 16_000 + "ls",
    "xargs with input": "echo a | " + "xargs " * 16_000 + "ls",
    "timeout": "timeout 1 " * 9_900 + "ls",
    "sudo": "sudo " * 19_000 + "ls",
    "redirections": WORDS + "ls" + " <$a" * 9_000,
    "redirections of a group": WORDS + "{ ls; }" + " <$a" * 9_000,
    "words that are split": WORDS + "ls $a;" * 5_000,
    "arguments": ARGUMENTS + 'ls "$@";' * 5_000,
    "braces": "ls {1..999};" * 5_000,
}


@pytest.mark.parametrize("line", REPEATED.values(), ids=REPEATED)
def test_work_ends_early(line: str) -> None:
    decision, judged = examine(line, "bash", HERE)
    assert decision.decision == "ask"
    assert not any("RecursionError" in reason for reason in decision.reasons)
    assert sum(len(command.argv) for command in judged.commands) < 150_000


@pytest.mark.parametrize("name", ["env", "nice", "command", "timeout 1", "xargs", "noglob"])
def test_commands_that_run_commands_are_followed_up_to_a_depth(name: str) -> None:
    shell = "zsh" if name == "noglob" else "bash"
    assert "deletes x" in decide(f"{name} " * 6 + "rm x", shell).reasons
    reasons = decide(f"{name} " * 30 + "rm x", shell).reasons
    assert "commands that run commands are nested too deeply" in reasons


@pytest.mark.parametrize(
    "line",
    lines(r"""
        echo {1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}
        : {1..999999999}
        : {1..99999999999999999999}
        : {-60000..60000}
        : {1..60000} {1..60000}
        : {a,{1..999999999}}
        : {a,b}{1..99999}
        for i in {1..999999999}; do ls; done
        a=({1..999999999})
        ls < {1..999999999}
    """),
)
def test_words_that_fill_the_memory_of_the_shell_are_asked_about(line: str) -> None:
    assert decide(line).reasons == ("braces make so many words that the shell may run out of memory",)


def test_the_length_of_words_counts() -> None:
    line = f"echo {'x' * 5_000}" + "{1..9999}"
    assert decide(line).reasons == ("braces make so many words that the shell may run out of memory",)


@pytest.mark.parametrize(
    "line",
    lines(r"""
        echo {1..100}
        echo {1..999999999..100000}
        echo {a..z}{a..z}{a..z}
        for i in {1..50000}; do ls; done
        echo '{1..999999999}'
        a={1..999999999}
    """),
)
def test_other_braces_are_not(line: str) -> None:
    assert decide(line).reasons == ()
