"""Records as JSON: nothing changes on the way, and nothing in it is obeyed by a terminal."""

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from hermitty.wire.records import to_json

CONTROLS = "\x00\x1b\x7f\x80\x9b\x9f\u200e\u202e\u2066"


@given(st.text(st.one_of(st.sampled_from(CONTROLS), st.characters(exclude_categories=["Cs"]))))
def test_text_is_the_same_and_holds_no_controls(text: str) -> None:
    written = to_json({text: [text]})
    assert json.loads(written) == {text: [text]}
    assert not [char for char in written if unicodedata.category(char) == "Cc"]
    assert not set(CONTROLS) & set(written)


def test_bytes_that_were_no_text_are_replaced() -> None:
    assert json.loads(to_json("a\udcffb")) == "a?b"
