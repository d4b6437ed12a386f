"""The page's sentences for reasons are those of the policy. No browser is needed."""

import json
import re
from pathlib import Path

from hermitty.policy.modes import ASK_ALWAYS, NOT_AUTOMATIC, OWN_PLACES
from hermitty.policy.plain_words import WORDS
from tests.policy.lines import CORPUS, decide, labelled

PAGE = Path(__file__).parents[2] / "web" / "src" / "views" / "words"
SENTENCES: dict[str, str] = json.loads((PAGE / "reasons.zh.json").read_text(encoding="utf-8"))
# How a long list ends.
_ALSO = {ASK_ALWAYS, NOT_AUTOMATIC, OWN_PLACES, "and 3 more"}


def pattern(sentence: str) -> re.Pattern[str]:
    return re.compile("(.+)".join(map(re.escape, re.split(r"\{\d\}", sentence))), re.DOTALL)


def test_most_reasons_have_words_and_no_sentence_is_out_of_date() -> None:
    decisions = [decide(each.command, each.shell) for file in CORPUS.glob("*.jsonl") for each in labelled(file)]
    reasons = [reason for decision in decisions for reason in decision.reasons]
    patterns = {sentence: pattern(sentence) for sentence in SENTENCES}
    distinct = {*reasons, *_ALSO}
    known = {text for text in distinct if any(each.fullmatch(text) for each in patterns.values())}
    assert sum(reason in known for reason in reasons) > 0.9 * len(reasons)
    # What some sentences are about is a sentence again: "{0}, which holds secrets".
    outer = [each for sentence, each in patterns.items() if re.match(r"\{0\}[,:]", sentence)]
    distinct |= {found[1] for text in distinct for each in outer if (found := each.fullmatch(text))}
    unused = [sentence for sentence, each in patterns.items() if not any(map(each.fullmatch, distinct))]
    assert unused == []


def test_every_effect_has_words() -> None:
    page = (PAGE / "zh.ts").read_text(encoding="utf-8")
    assert [text for text in WORDS.values() if f"'{text}':" not in page] == []
