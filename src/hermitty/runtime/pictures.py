"""Pictures of screens, for doors that show them."""

from collections.abc import Callable

from hermitty.vt.picture import pieces_of, svg
from hermitty.vt.screen import Screen

__all__ = ["png_later", "svg"]


def png_later(screen: Screen) -> Callable[[], bytes]:
    """Read a screen now and return the function that draws it as PNG, in whichever thread: that takes a while.

    Raises NotSupported without Pillow (`hermitty[image]`).
    """
    # Pillow takes 40 ms to import and is optional.
    from hermitty.vt.picture_png import draw

    size, pieces = screen.size, pieces_of(screen)
    return lambda: draw(size, pieces)
