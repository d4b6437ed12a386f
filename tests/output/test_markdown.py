import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.output.markdown import code_block, code_span


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("a\nb\n", "```text\na\nb\n```"),
        ("a", "```text\na\n```"),
        ("", "```text\n```"),
        ("```\n# not a heading\n```", "````text\n```\n# not a heading\n```\n````"),
        ("\x1b[31mred\x07", "```text\n\\x1b[31mred\\x07\n```"),
        ("right\u202eleft", "```text\nright\\u202eleft\n```"),
    ],
)
def test_a_block_ends_where_it_should(text: str, block: str) -> None:
    assert code_block(text) == block


@given(st.text(alphabet="`~ab\n#\x1b", max_size=60))
def test_no_text_can_end_its_block(text: str) -> None:
    lines = code_block(text).split("\n")
    fence = lines[-1]
    assert re.fullmatch("`{3,}", fence)
    assert lines[0] == f"{fence}text"
    assert not [line for line in lines[1:-1] if line.strip().startswith(fence)]


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("ls", "`ls`"),
        ("echo `date`", "`` echo `date` ``"),
        ("cat <<E\nx\nE", "`cat <<E …`"),
        ("a\x1bb", "`a\\x1bb`"),
        ("", "`  `"),
        ("x" * 300, f"`{'x' * 200} …`"),
    ],
)
def test_a_span_is_one_line(text: str, span: str) -> None:
    assert code_span(text) == span
