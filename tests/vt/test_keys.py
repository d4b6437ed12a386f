"""key_bytes: what keys send."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.errors import UnknownKey
from hermitty.vt.keys import key_bytes

KEYS = {
    # Characters.
    "a": b"a",
    "A": b"A",
    "é": "é".encode(),
    "👍": "👍".encode(),
    " ": b" ",
    "-": b"-",
    "+": b"+",
    "^": b"^",
    "\r": b"\r",
    "shift-a": b"A",
    # Names.
    "enter": b"\r",
    "Return": b"\r",
    "tab": b"\t",
    "shift-tab": b"\x1b[Z",
    "backtab": b"\x1b[Z",
    "escape": b"\x1b",
    "ESC": b"\x1b",
    "space": b" ",
    "backspace": b"\x7f",
    "bs": b"\x7f",
    "delete": b"\x1b[3~",
    "del": b"\x1b[3~",
    "insert": b"\x1b[2~",
    "home": b"\x1b[H",
    "end": b"\x1b[F",
    "pageup": b"\x1b[5~",
    "PgUp": b"\x1b[5~",
    "page-down": b"\x1b[6~",
    "pgdn": b"\x1b[6~",
    "up": b"\x1b[A",
    "down": b"\x1b[B",
    "right": b"\x1b[C",
    "left": b"\x1b[D",
    "f1": b"\x1bOP",
    "f4": b"\x1bOS",
    "f5": b"\x1b[15~",
    "f6": b"\x1b[17~",
    "F10": b"\x1b[21~",
    "f11": b"\x1b[23~",
    "f12": b"\x1b[24~",
    # Controls.
    "ctrl-c": b"\x03",
    "Ctrl+C": b"\x03",
    "control-c": b"\x03",
    "c-c": b"\x03",
    "^C": b"\x03",
    "^c": b"\x03",
    "^[": b"\x1b",
    "^?": b"\x7f",
    "ctrl-@": b"\x00",
    "ctrl-space": b"\x00",
    "ctrl-[": b"\x1b",
    "ctrl-\\": b"\x1c",
    "ctrl-]": b"\x1d",
    "ctrl-^": b"\x1e",
    "ctrl-_": b"\x1f",
    "ctrl-/": b"\x1f",
    "ctrl-backspace": b"\x08",
    # Alt.
    "alt-x": b"\x1bx",
    "alt-X": b"\x1bX",
    "m-x": b"\x1bx",
    "meta+x": b"\x1bx",
    "alt--": b"\x1b-",
    "alt++": b"\x1b+",
    "alt-é": b"\x1b" + "é".encode(),
    "alt-enter": b"\x1b\r",
    "alt-backspace": b"\x1b\x7f",
    "ctrl-alt-c": b"\x1b\x03",
    "alt-ctrl-c": b"\x1b\x03",
    # Modifiers in xterm's form: 1 + shift 1 + alt 2 + ctrl 4.
    "ctrl-left": b"\x1b[1;5D",
    "shift-up": b"\x1b[1;2A",
    "alt-down": b"\x1b[1;3B",
    "ctrl-shift-right": b"\x1b[1;6C",
    "ctrl+alt+shift+home": b"\x1b[1;8H",
    "alt-f5": b"\x1b[15;3~",
    "shift-f1": b"\x1b[1;2P",
    "ctrl-delete": b"\x1b[3;5~",
    "ctrl-page-up": b"\x1b[5;5~",
}


@pytest.mark.parametrize(("name", "data"), KEYS.items())
def test_a_key_sends(name: str, data: bytes) -> None:
    assert key_bytes(name) == data


def test_ctrl_with_every_letter_is_its_control() -> None:
    assert b"".join(key_bytes(f"ctrl-{letter}") for letter in string.ascii_lowercase) == bytes(range(1, 27))


def test_application_mode_changes_only_bare_cursor_keys() -> None:
    changed = {name for name in KEYS if key_bytes(name, application_cursor=True) != KEYS[name]}
    assert changed == {"up", "down", "left", "right", "home", "end"}
    assert key_bytes("up", application_cursor=True) == b"\x1bOA"
    assert key_bytes("end", application_cursor=True) == b"\x1bOF"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "f0",
        "f13",
        "ab",
        "ctrl-",
        "ctrl--",
        "ctrl-é",
        "ctrl-enter",
        "shift-enter",
        "shift-1",
        "hyper-x",
        "ctrl-ctrl-a",
        "ctrl-shift-c",
        "enterx",
        "-a",
        "\ud800",
        "alt-\ud800",
        "^AB",
        "ctrl-tab",
    ],
)
def test_an_unknown_key_is_refused_by_name(name: str) -> None:
    with pytest.raises(UnknownKey) as caught:
        key_bytes(name)
    assert caught.value.key == name


@given(st.text(max_size=12))
def test_any_name_gives_bytes_or_an_unknown_key(name: str) -> None:
    try:
        assert key_bytes(name)
    except UnknownKey:
        assert len(name) != 1
