"""Pictures of screens."""

import io
import sys
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from hermitty.errors import InvalidRequest, NotSupported
from hermitty.model import Size
from hermitty.vt.ghostty import GhosttyScreen
from hermitty.vt.picture import png, svg

SVG = "{http://www.w3.org/2000/svg}"
BACKGROUND = (0x1D, 0x1F, 0x21)


def screen_with(text: str, size: Size | None = None) -> GhosttyScreen:
    screen = GhosttyScreen(size or Size(20, 4))
    screen.feed(text.encode())
    return screen


def texts_of(document: str) -> list[tuple[str, dict[str, str]]]:
    root = ElementTree.fromstring(document)
    return [(node.text or "", dict(node.attrib)) for node in root.iter(f"{SVG}text")]


def colors_of(image: Image.Image, col: int, row: int) -> set[tuple[int, ...]]:
    """Collect the colours in a cell."""
    cell = image.crop((col * 9, row * 18, col * 9 + 9, row * 18 + 18)).convert("RGB")
    return {cell.getpixel((x, y)) for x in range(9) for y in range(18)}  # type: ignore[misc]


def test_an_svg_places_each_run_by_its_cells() -> None:
    document = svg(screen_with("\x1b[?25lab \x1b[31mred\x1b[0m\r\n日x"))
    assert [(text, node["x"], node["y"], node["textLength"]) for text, node in texts_of(document)] == [
        ("ab ", "0", "14", "27"),
        ("red", "27", "14", "27"),
        ("日", "0", "32", "18"),
        ("x", "18", "32", "9"),
    ]


def test_an_svg_separates_what_another_font_may_draw() -> None:
    assert [text for text, _ in texts_of(svg(screen_with("\x1b[?25l│ a │")))] == ["│", " a ", "│"]


@pytest.mark.parametrize(
    ("codes", "attributes"),
    [
        ("31", {"fill": "#cc6666"}),
        ("38;5;21", {"fill": "#0000ff"}),
        ("38;5;255", {"fill": "#eeeeee"}),
        ("38;2;1;2;3", {"fill": "#010203"}),
        ("1", {"font-weight": "bold"}),
        ("3", {"font-style": "italic"}),
        ("4;9;53", {"text-decoration": "underline line-through overline"}),
        ("7", {"fill": "#1d1f21"}),
        ("2", {"fill": "#717373"}),
    ],
)
def test_styles_become_attributes(codes: str, attributes: dict[str, str]) -> None:
    [(text, found)] = texts_of(svg(screen_with(f"\x1b[?25l\x1b[{codes}mx")))
    assert text == "x"
    assert {name: found[name] for name in attributes} == attributes
    assert not set(found) - set(attributes) - {"x", "y", "textLength", "lengthAdjust"}


def test_text_is_escaped() -> None:
    [(text, _)] = texts_of(svg(screen_with('\x1b[?25l</text>&"<b>')))
    assert text == '</text>&"<b>'


def test_invisible_text_is_not_in_the_picture() -> None:
    assert "secret" not in svg(screen_with("\x1b[8msecret"))


@pytest.mark.parametrize(
    ("data", "rectangle"),
    [
        ("ab", ("18", "0", "9")),
        ("ab\x1b[D", ("9", "0", "9")),
        ("日\x1b[2D", ("0", "0", "18")),
        ("\x1b[3;5H", ("36", "36", "9")),
    ],
)
def test_the_cursor_is_a_cell_in_reverse(data: str, rectangle: tuple[str, str, str]) -> None:
    root = ElementTree.fromstring(svg(screen_with(data)))
    [_, cursor] = root.iter(f"{SVG}rect")
    assert (cursor.get("x"), cursor.get("y"), cursor.get("width")) == rectangle
    assert cursor.get("fill") == "#c5c8c6"


def test_a_hidden_cursor_is_not_drawn() -> None:
    root = ElementTree.fromstring(svg(screen_with("\x1b[?25lab")))
    assert len(list(root.iter(f"{SVG}rect"))) == 1


@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.binary(max_size=120))
def test_any_screen_is_a_well_formed_svg(data: bytes) -> None:
    screen = GhosttyScreen(Size(12, 4))
    screen.feed(data)
    ElementTree.fromstring(svg(screen))


@settings(deadline=None, max_examples=20, derandomize=True)
@given(st.text(max_size=40))
def test_any_screen_is_a_png(text: str) -> None:
    assert Image.open(io.BytesIO(png(screen_with(text, Size(12, 4))))).size == (12 * 9, 4 * 18)


def test_a_png_shows_colours_where_the_cells_are() -> None:
    image = Image.open(io.BytesIO(png(screen_with("\x1b[?25l\x1b[31mM\x1b[0m \x1b[42m \x1b[0m\r\n日本 e\u0301⠋"))))
    assert image.size == (180, 72)
    assert (0xCC, 0x66, 0x66) in colors_of(image, 0, 0)
    assert colors_of(image, 1, 0) == {BACKGROUND}
    assert colors_of(image, 2, 0) == {(0xB5, 0xBD, 0x68)}
    drawn = [col for col in range(20) if colors_of(image, col, 1) != {BACKGROUND}]
    assert drawn == [0, 1, 2, 3, 5, 6]


def test_a_picture_of_a_huge_screen_is_refused() -> None:
    screen = GhosttyScreen(Size(4096, 4096))
    for draw in (svg, png):
        with pytest.raises(InvalidRequest, match="too large"):
            draw(screen)


def test_without_pillow_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.delitem(sys.modules, "hermitty.vt.picture_png", raising=False)
    with pytest.raises(NotSupported, match=r"hermitty\[image\]"):
        png(screen_with("x"))
