"""All programs together: nothing raises on noise, and unknown words pass only where nothing can happen."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermitty.policy import programs
from hermitty.policy.arguments import Arg
from hermitty.policy.effects import Effect, Level, Verdict

from .judging import HERE, Judging, is_asked, judged

NAMES = sorted({name for table in (*programs._ANYWHERE, *programs._BUILTINS.values()) for name in table})

TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["-", "--", "-c", "-o", "-i", "-exec", ";", "+", "{}", "{", "s/a/b/", "a=b", "/", "~", "-5", "+x", "--x=", "]"]
    ),
    st.from_regex(r"--?[a-zA-Z]{1,9}(=[a-z/]{0,4})?", fullmatch=True),
)
ARGS = st.one_of(
    TEXTS.map(Arg.literal),
    st.builds(
        lambda prefix, many, glob: Arg(None, prefix + "$x", prefix, many, glob), TEXTS, st.booleans(), st.booleans()
    ),
    st.just(Arg(None, "<(x)", is_stream=True)),
)


@settings(max_examples=2000, deadline=None)
@given(st.sampled_from(NAMES), st.lists(ARGS, max_size=6), st.sampled_from(["bash", "zsh", "sh", "fish", "pwsh"]))
def test_noise_is_judged(name: str, args: list[Arg], shell: str) -> None:
    here = type(HERE)(cwd="/work", workspace="/work", home=None, shell=shell)
    for finding in programs.judge_program(name, args, Judging(here)):
        assert finding.reason
        assert finding.verdict is not Verdict.ALLOW or finding.level is Level.LOW
        assert finding.verdict is Verdict.ALLOW or finding.effect is not None
        assert finding.verdict is not Verdict.BLOCK or finding.level is Level.CRITICAL


@pytest.mark.parametrize(
    "name",
    [
        *(
            "sort",
            "uniq",
            "shuf",
            "xxd",
            "tree",
            "file",
            "less",
            "man",
            "date",
            "hostname",
            "yq",
            "bat",
            "rg",
            "ag",
            "ack",
        ),
        *(
            "nm",
            "iconv",
            "base64",
            "zstdcat",
            "sdiff",
            "diff3",
            "ss",
            "dmesg",
            "journalctl",
            "sysctl",
            "lsof",
            "getent",
        ),
        *(
            "sed",
            "awk",
            "find",
            "fd",
            "xargs",
            "env",
            "sudo",
            "timeout",
            "nice",
            "sh",
            "bash",
            "eval",
            "watch",
            "busybox",
        ),
        *(
            "rm",
            "mv",
            "cp",
            "tee",
            "dd",
            "chmod",
            "tar",
            "unzip",
            "gzip",
            "mkfs",
            "kill",
            "systemctl",
            "crontab",
            "exec",
        ),
        *("export", "declare", "unset", "alias", "set", "shopt", "trap", "hash", "enable", "source", "read", "printf"),
        *("test", "let", "wait", "umask", "history", "fc", "compgen", "command", "builtin", "strace", "script", "ldd"),
    ],
)
def test_unknown_words_are_asked_about_where_they_may_do_something(name: str) -> None:
    assert is_asked(f"{name} $x $y")


def test_a_program_that_is_not_known_is_asked_about() -> None:
    [finding] = judged("frobnicate x").items
    assert (finding.verdict, finding.effect) == (Verdict.ASK, Effect.UNKNOWN)
    assert finding.reason == "what frobnicate does is not known"


@pytest.mark.parametrize("name", ["", "/", "/usr/bin/", "ls ", " ls", "LS", "l\u0455", "-ls", "/usr/bin/nonsense"])
def test_strange_names_are_asked_about(name: str) -> None:
    assert [one.effect for one in programs.judge_program(name, [], Judging())] == [Effect.UNKNOWN]
