"""Changing a file of settings: only what is meant changes, and the rest stays as somebody wrote it."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from hermitty.errors import InvalidSettings
from hermitty.server.settings_editor import edited, toml


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("", {"terminal.cols": 80}, "[terminal]\ncols = 80\n"),
        ("# hi\n", {"terminal.cols": 80}, "# hi\n\n[terminal]\ncols = 80\n"),
        ("[run]\nwait_s = 5", {"terminal.cols": 80}, "[run]\nwait_s = 5\n\n[terminal]\ncols = 80\n"),
        ("[terminal]\nrows = 9\n", {"terminal.cols": 80}, "[terminal]\ncols = 80\nrows = 9\n"),
        ("[terminal]\ncols = 1 # why\nrows = 9\n", {"terminal.cols": 80}, "[terminal]\ncols = 80 # why\nrows = 9\n"),
        ("  [terminal]\n  cols=1\n", {"terminal.cols": 80}, "  [terminal]\n  cols=80\n"),
        ("terminal.cols = 1\n", {"terminal.cols": 80}, "terminal.cols = 80\n"),
        ('[terminal]\nshell = "a # b"\n', {"terminal.shell": "zsh"}, '[terminal]\nshell = "zsh"\n'),
        ("[terminal]\nshell = 'x'\n", {"terminal.shell": None}, '[terminal]\nshell = "none"\n'),
        (
            '[run]\nkill_exempt = [\n  "a", # one\n  "b",\n]\nwait_s = 5\n',
            {"run.kill_exempt": ("c",)},
            '[run]\nkill_exempt = ["c"]\nwait_s = 5\n',
        ),
        ("[terminal]\ncols = 1\nrows = 9\n", {"terminal.cols": UNSET}, "[terminal]\nrows = 9\n"),
        ("[terminal]\nrows = 9\n", {"terminal.cols": UNSET}, "[terminal]\nrows = 9\n"),
        ("", {"terminal.cols": UNSET}, ""),
        (
            "[terminal]\ncols = 1\n[other]\ncols = 2\n",
            {"terminal.cols": 80, "terminal.rows": 24},
            "[terminal]\nrows = 24\ncols = 80\n[other]\ncols = 2\n",
        ),
    ],
)
def test_a_value_is_changed_in_its_place(text: str, values: dict[str, object], expected: str) -> None:
    assert edited(text, values) == expected


@pytest.mark.parametrize("text", ["terminal = { cols = 1 }\n", "[terminal\n", "terminal = 5\n"])
def test_what_cannot_be_edited_surely_is_left_to_its_owner(text: str) -> None:
    with pytest.raises(InvalidSettings):
        edited(text, {"terminal.cols": 80})


TABLES = st.dictionaries(
    st.sampled_from(["cols", "rows", "shell", "env", "login_shell", "unknown"]),
    st.integers(1, 99) | st.booleans() | st.text(max_size=5) | st.lists(st.text(max_size=3), max_size=3),
    max_size=4,
)


@given(TABLES, TABLES, st.integers(1, 4096), st.booleans(), st.sampled_from(["", "# a comment\n", "\n\n"]))
def test_everything_else_stays_as_it_was(
    terminal: dict[str, object], run: dict[str, object], cols: int, removes: bool, gap: str
) -> None:
    text = gap.join(
        ["", "[terminal]\n", *(f"{name} = {toml(value)} # note\n" for name, value in terminal.items()), "[run]\n"]
        + [f"{name} = {toml(value)}\n" for name, value in run.items()]
    )
    before = tomllib.loads(text)
    after = tomllib.loads(edited(text, {"terminal.cols": UNSET if removes else cols}))
    before["terminal"].pop("cols", None)
    if not removes:
        before["terminal"]["cols"] = cols
    assert after == before


@given(st.text() | st.lists(st.text()) | st.dictionaries(st.text(), st.text()) | st.booleans() | st.integers())
def test_what_is_written_is_read_back(value: object) -> None:
    try:
        found = tomllib.loads(f"value = {toml(value)}")["value"]
    except tomllib.TOMLDecodeError:
        # Python's texts may hold half a surrogate pair, which TOML has no way to write.
        assert any(0xD800 <= ord(each) <= 0xDFFF for each in str(value))
        return
    assert found == value
