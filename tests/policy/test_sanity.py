"""Lines that look different from what they do are noticed before anything else; ordinary text is not."""

import pytest

from hermitty.policy.sanity import MAX_BYTES, problems, visible
from hermitty.policy.syntax.script import Problem


@pytest.mark.parametrize(
    "line",
    [
        "",
        "ls -l\n\techo x",
        "echo 'caf\u00e9 \u65e5\u672c\u8a9e \u0440\u0443\u0441\u0441\u043a\u0438\u0439 \u2714\ufe0f \U0001f600'",
        "git commit -m 'na\u00efve \u2013 \u201cquoted\u201d'",
        "cat \u0444\u0430\u0439\u043b.txt",
        "grep '\u03b1' notes.md | wc -l",
        "\u00e9diteur x",
        "\u043f\u0440\u0438\u0432\u0435\u0442 x",
        "a" * MAX_BYTES,
    ],
)
def test_ordinary_text_is_fine(line: str) -> None:
    assert problems(line) == []
    assert visible(line) == line


@pytest.mark.parametrize(
    ("char", "reason", "shown"),
    [
        ("\0", "a control character (U+0000)", "\\x00"),
        ("\r", "a control character (U+000D)", "\\x0d"),
        ("\x1b", "a control character (U+001B)", "\\x1b"),
        ("\b", "a control character (U+0008)", "\\x08"),
        ("\x7f", "a control character (U+007F)", "\\x7f"),
        ("\x85", "a control character (U+0085)", "\\x85"),
        ("\x9b", "a control character (U+009B)", "\\x9b"),
        ("\u202e", "an invisible character (RIGHT-TO-LEFT OVERRIDE)", "\\u202e"),
        ("\u2066", "an invisible character (LEFT-TO-RIGHT ISOLATE)", "\\u2066"),
        ("\u200b", "an invisible character (ZERO WIDTH SPACE)", "\\u200b"),
        ("\ufeff", "an invisible character (ZERO WIDTH NO-BREAK SPACE)", "\\ufeff"),
        ("\u00ad", "an invisible character (SOFT HYPHEN)", "\\xad"),
        ("\ufe0f", "an invisible character (VARIATION SELECTOR-16)", "\\ufe0f"),
        ("\u3164", "an invisible character (HANGUL FILLER)", "\\u3164"),
        ("\U000e0041", "an invisible character (TAG LATIN CAPITAL LETTER A)", "\\U000e0041"),
        ("\u00a0", "a space that is no ordinary space (NO-BREAK SPACE)", "\\xa0"),
        ("\u2003", "a space that is no ordinary space (EM SPACE)", "\\u2003"),
        ("\u2028", "a space that is no ordinary space (LINE SEPARATOR)", "\\u2028"),
        ("\u3000", "a space that is no ordinary space (IDEOGRAPHIC SPACE)", "\\u3000"),
        ("\ud800", "half of a character (U+D800)", "\\ud800"),
    ],
)
def test_characters_that_no_line_should_contain(char: str, reason: str, shown: str) -> None:
    assert problems(f"ls a{char}b") == [Problem(reason, 4, 5)]
    assert visible(f"ls a{char}b") == f"ls a{shown}b"


@pytest.mark.parametrize(
    "line",
    [
        "c\u0430t x",
        "ls; \u0441at x",
        "a | gr\u0435p b",
        "sudo r\uff4d x",
        "l\u0455 -l",
        "echo $(c\u0430t x)",
        "cat\uff1brm x",
    ],
)
def test_letters_that_look_like_others_in_the_name_of_a_command(line: str) -> None:
    (problem,) = problems(line)
    assert problem.reason == "letters that look like others in the name of a command"
    assert not line[problem.start : problem.end].isascii()


@pytest.mark.parametrize("line", ["a" * (MAX_BYTES + 1), "\u00e9" * (MAX_BYTES // 2 + 1)])
def test_a_line_that_is_too_long(line: str) -> None:
    assert problems(line) == [Problem("the line is longer than 100000 bytes", 0, len(line))]


@pytest.mark.parametrize("piece", ["\n", "\n\u00e9", "\u0430", " ", "; ", "\u0430 ", "a\u0430"])
def test_any_repetition_is_looked_at_quickly(piece: str) -> None:
    line = "\u00e9" + piece * (90_000 // len(piece.encode()))
    assert all(0 <= problem.start <= problem.end <= len(line) for problem in problems(line))
