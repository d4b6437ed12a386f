"""The pure parts by themselves, in memory: text for a model, the search for markers, the screen."""

from collections.abc import Awaitable, Callable
from functools import partial

from bench.plan import Plan
from bench.report import Measurement, median
from bench.samples import coloured_lines, text_lines
from bench.turns import time_calls
from hermitty.config import TerminalSettings
from hermitty.model import Size
from hermitty.output.model_text import model_text
from hermitty.vt.capture import HeadTail
from hermitty.vt.ghostty import GhosttyScreen
from hermitty.vt.markers import MarkerScanner
from hermitty.vt.plain import plain_text

# As a terminal hands it on: full turns of its reader.
_CHUNK_BYTES = 64 * 1024


async def measure_text(plan: Plan) -> list[Measurement]:
    """Measure the rate of each part, for plain lines and for coloured ones."""
    found = []
    for kind, make in (("text", text_lines), ("coloured", coloured_lines)):
        data = make(plan.text_bytes).replace(b"\n", b"\r\n")
        chunks = [data[at : at + _CHUNK_BYTES] for at in range(0, len(data), _CHUNK_BYTES)]
        calls: dict[str, Callable[[], Awaitable[None]]] = {
            "plain_text": partial(_plain, data),
            "model_text": partial(_model, chunks),
            "marker_scanner": partial(_scan, chunks),
            "screen": partial(_draw, chunks),
        }
        times = await time_calls(calls, rounds=plan.text_rounds)
        for name, rounds in times.items():
            rates = [[len(data) / 1e6 / sample for sample in turn] for turn in rounds]
            found.append(Measurement(f"{name}_{kind}", median(rates), "MB/s", details={"bytes": len(data)}))
    return found


async def _plain(data: bytes) -> None:
    plain_text(data)


async def _model(chunks: list[bytes]) -> None:
    settings = TerminalSettings()
    capture = HeadTail(settings.capture_head_bytes, settings.capture_tail_bytes)
    for chunk in chunks:
        capture.append(chunk)
    model_text(capture, max_lines=settings.output_line_limit, max_chars=settings.output_character_limit)


async def _scan(chunks: list[bytes]) -> None:
    scanner = MarkerScanner("0123456789abcdef")
    for chunk in chunks:
        scanner.feed(chunk)


async def _draw(chunks: list[bytes]) -> None:
    screen = GhosttyScreen(Size())
    for chunk in chunks:
        screen.feed(chunk)
    screen.close()
