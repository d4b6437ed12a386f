"""Every label of the corpus is met: nothing unsafe is allowed, no block is missed, nothing safe is asked about."""

from collections import Counter
from pathlib import Path

import pytest

from .lines import CORPUS, decide, labelled

FILES = sorted(CORPUS.glob("*.jsonl"))
SHELLS = {"bash", "zsh", "fish", "sh", "pwsh"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_line_is_decided_as_it_is_labelled(file: Path) -> None:
    wrong = []
    for one in labelled(file):
        decision = decide(one.command, one.shell)
        if decision.decision != one.decision or one.level not in (None, decision.level.label):
            got = f"{decision.decision} ({decision.level.label}: {'; '.join(decision.reasons)})"
            wrong.append(f"{one.shell} {one.command!r}: {one.expect} {one.level or ''}, but {got}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_is_not_allowed_says_why(file: Path) -> None:
    for one in labelled(file):
        decision = decide(one.command, one.shell)
        assert bool(decision.reasons) == (decision.decision != "allow"), one.command


def test_the_corpus_is_large_and_has_everything() -> None:
    lines = [one for file in FILES for one in labelled(file)]
    assert len(lines) >= 2000
    of_shell = Counter((one.shell, one.expect) for one in lines)
    assert {shell for shell, _ in of_shell} == SHELLS
    assert all(of_shell[shell, expect] for shell in SHELLS for expect in ("safe", "confirm", "block"))
    assert len({one.kind for one in lines}) >= 20


def test_no_line_has_two_labels() -> None:
    labels: dict[object, set[str]] = {}
    for file in FILES:
        for one in labelled(file):
            labels.setdefault((one.command, one.shell), set()).add(one.expect)
    assert not [key for key, expected in labels.items() if len(expected) > 1]


@pytest.mark.parametrize("wrapped", ["ls; {}", "{{ {}; }}", "if true; then {}; fi", "( {} ) | cat", 'echo "$( {} )"'])
def test_a_dangerous_line_stays_so_inside_of_another(wrapped: str) -> None:
    lines = [one for one in labelled(CORPUS / "bash-block.jsonl") if isinstance(one.command, str)]
    plain = [one.command for one in lines if "\n" not in str(one.command) and str(one.command).isascii()]
    plain = [str(line) for line in plain if "\r" not in str(line) and not str(line).endswith("&")]
    assert len(plain) > 250
    assert [line for line in plain if decide(wrapped.format(line)).decision != "block"] == []
