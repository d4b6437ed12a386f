"""The pure parts by themselves, in memory: the search for markers, text for a model, the screen."""

from collections.abc import Sequence
from functools import partial

from bench.plan import Plan
from bench.report import Measurement, count, median
from bench.samples import coloured_lines, command_lines, text_lines
from bench.turns import time_calls
from hermitty.config import TerminalSettings
from hermitty.model import Size
from hermitty.output.model_text import model_text
from hermitty.shell.tracker import CommandFinished, CommandTracker
from hermitty.vt.capture import HeadTail
from hermitty.vt.ghostty import GhosttyScreen
from hermitty.vt.markers import MarkerScanner
from hermitty.vt.plain import plain_text

# As a terminal hands it on: full turns of its reader.
_CHUNK_BYTES = 64 * 1024
_SETTINGS = TerminalSettings()
_CAPTURED_CHUNKS = (_SETTINGS.capture_head_bytes + _SETTINGS.capture_tail_bytes) // _CHUNK_BYTES
_NONCE = "0123456789abcdef0123456789abcdef"


async def measure_text(plan: Plan) -> list[Measurement]:
    """Measure the rate of each part, for plain lines, for coloured ones, and for many short commands."""
    samples = {
        "text": text_lines(plan.text_bytes).replace(b"\n", b"\r\n"),
        "coloured": coloured_lines(plan.text_bytes).replace(b"\n", b"\r\n"),
        "commands": command_lines(plan.text_bytes, _NONCE),
    }
    found = []
    for kind, data in samples.items():
        chunks = [data[at : at + _CHUNK_BYTES] for at in range(0, len(data), _CHUNK_BYTES)]
        # A longer output is not read as a whole: its middle is dropped.
        captured = chunks[:_CAPTURED_CHUNKS]
        calls = {
            "markers": partial(_find_markers, chunks, commands=data.count(b"\x1b]633;D;")),
            "plain_text": partial(_make_plain, data),
            "model_text": partial(_make_model_text, captured),
            "screen": partial(_draw, chunks),
        }
        times = await time_calls(calls, rounds=plan.text_rounds)
        for name, rounds in times.items():
            size = sum(map(len, captured if name == "model_text" else chunks))
            rates = [[size / 1e6 / sample for sample in turn] for turn in rounds]
            details = {"bytes": size, "samples": count(rates)}
            found.append(Measurement(f"{name}_{kind}", median(rates), "MB/s", details=details))
    return found


async def _find_markers(chunks: Sequence[bytes], *, commands: int) -> None:
    scanner = MarkerScanner(_NONCE)
    tracker = CommandTracker()
    ended = 0
    for chunk in chunks:
        for piece in scanner.feed(chunk):
            ended += sum(isinstance(event, CommandFinished) for event in tracker.feed(piece))
    # The first D comes before any C: it ends nothing.
    if ended != max(0, commands - 1):
        raise AssertionError(f"{ended} commands were found in a stream of {commands}")


async def _make_plain(data: bytes) -> None:
    if b"\x1b" in plain_text(data).encode():
        raise AssertionError("an escape is left in plain text")


async def _make_model_text(chunks: Sequence[bytes]) -> None:
    capture = HeadTail(_SETTINGS.capture_head_bytes, _SETTINGS.capture_tail_bytes)
    for chunk in chunks:
        capture.append(chunk)
    if capture.omitted:
        raise AssertionError(f"{capture.omitted} bytes would not be read")
    model_text(capture, max_lines=_SETTINGS.output_line_limit, max_chars=_SETTINGS.output_character_limit)


async def _draw(chunks: Sequence[bytes]) -> None:
    screen = GhosttyScreen(Size())
    try:
        for chunk in chunks:
            screen.feed(chunk)
    finally:
        screen.close()
