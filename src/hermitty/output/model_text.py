"""The text of one command for a model: plain, within limits, with an exact count of what is missing."""

import re
from dataclasses import dataclass

from hermitty.output.folding import Folded, fold_repeats
from hermitty.output.truncate import (
    count_lines,
    fit,
    head_share,
    join_head_tail,
    tail_share,
    take_head,
    take_tail,
)
from hermitty.vt.capture import HeadTail
from hermitty.vt.plain import ends_on_alternate_screen, plain_text

# Where the tail begins nobody knows what came before. The next line is a safe place to start, if it is near.
_NEAR_BYTES = 4096
# Otherwise what looks like the rest of a sequence goes: of a string up to its end, or of a CSI.
_REST_OF_STRING = re.compile(rb"[^\x07\x1b\n]{0,4096}+(?:\x07|\x1b\\)")
_REST_OF_CSI = re.compile(rb"\[?[0-9;:<=>?]{1,64}+[ -/]?[@-~]|\[[@-~]")
_CUT_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*+[ -/]*+|[ -/]++|[\]PX^_][^\x07\x18\x1a\x1b\n]*+\x1b?)?\Z")
_CUT_CHARACTER = re.compile(rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z")
_ENTER_ALTERNATE_SCREEN = b"\x1b[?1049h"
_LINE_END_OR_RETURN = re.compile(rb"\r+\n|\r")


@dataclass(frozen=True, slots=True)
class ModelText:
    """What a model reads of a command.

    `omitted_bytes` counts the output that `text` does not represent: the bytes that the capture dropped, the
    pieces of characters, sequences or lines next to that gap, and the UTF-8 length of the plain text that the
    limits cut. Bytes that say nothing to a reader, such as colours or what was overwritten, are not omitted.
    """

    text: str
    truncated: bool
    omitted_bytes: int


def model_text(
    capture: HeadTail,
    *,
    rows: int = 30,
    max_lines: int | None = 500,
    max_chars: int | None = 50_000,
    compress_progress: bool = True,
) -> ModelText:
    """Make the text of a command's captured output. None or 0 is no limit.

    With `compress_progress`, a line that was drawn again and again shows its last state, and a run of equal lines
    is folded (see `folding`), which omits nothing; without, every state and every line is a line. Where the capture
    dropped bytes, or the limits cut folded text, one note counts all the bytes that are missing.
    """
    if not capture.omitted:
        whole = _read(capture.head + capture.tail, rows, compress_progress)
        if whole.folds:
            return _fit_folded(whole, max_lines=max_lines or None, max_chars=max_chars or None)
        fitted = fit(whole.text, max_lines=max_lines, max_chars=max_chars)
        return ModelText(fitted.text, truncated=fitted.omitted_chars > 0, omitted_bytes=fitted.omitted_bytes)
    head, tail = _whole_end(capture.head), _whole_start(capture.tail)
    omitted = capture.total - len(head) - len(tail)
    if ends_on_alternate_screen(head):
        # The tail begins in the middle of a full-screen program.
        tail = _ENTER_ALTERNATE_SCREEN + tail
    first, last = (_read(part, rows, compress_progress) for part in (head, tail))
    shown_first, shown_last = _share(first.text, last.text, max_lines=max_lines or None, max_chars=max_chars or None)
    head_end = first.whole_notes_head(len(shown_first))
    tail_start = last.whole_notes_tail(len(last.text) - len(shown_last))
    omitted += first.original_bytes(head_end, len(first.text)) + last.original_bytes(0, tail_start)
    text = join_head_tail(first.text[:head_end], last.text[tail_start:], omitted)
    return ModelText(text, truncated=True, omitted_bytes=omitted)


def _read(data: bytes, rows: int, compress_progress: bool) -> Folded:
    if compress_progress:
        return fold_repeats(plain_text(data, rows=rows))
    return Folded(plain_text(_LINE_END_OR_RETURN.sub(b"\n", data), rows=rows))


def _fit_folded(whole: Folded, *, max_lines: int | None, max_chars: int | None) -> ModelText:
    """Cut the middle out of folded text as `fit` does, and count the bytes that it stands for."""
    text = whole.text
    char_room = max_chars if max_chars and len(text) > max_chars else None
    lines = count_lines(text) + (char_room is not None)
    line_room = max_lines if max_lines and lines > max_lines else None
    if char_room is None and line_room is None:
        return ModelText(text, truncated=False, omitted_bytes=0)
    head = take_head(text, max_lines=head_share(line_room), max_chars=head_share(char_room))
    tail = take_tail(text, max_lines=tail_share(line_room), max_chars=tail_share(char_room))
    head_end = whole.whole_notes_head(len(head))
    tail_start = whole.whole_notes_tail(len(text) - len(tail))
    omitted = whole.original_bytes(head_end, tail_start)
    return ModelText(join_head_tail(text[:head_end], text[tail_start:], omitted), truncated=True, omitted_bytes=omitted)


def _share(first: str, last: str, *, max_lines: int | None, max_chars: int | None) -> tuple[str, str]:
    """Cut both ends of a text so that they fit together; room that one does not need goes to the other."""
    shown_first = take_head(
        first,
        max_lines=_room(max_lines, head_share(max_lines), count_lines(last)),
        max_chars=_room(max_chars, head_share(max_chars), len(last)),
    )
    shown_last = take_tail(
        last,
        max_lines=None if max_lines is None else max_lines - count_lines(shown_first),
        max_chars=None if max_chars is None else max_chars - len(shown_first),
    )
    return shown_first, shown_last


def _room(limit: int | None, share: int | None, other: int) -> int | None:
    return None if limit is None or share is None else max(share, limit - other)


def _whole_end(head: bytes) -> bytes:
    """Drop a character or a sequence that the end of the head cuts."""
    cut = _CUT_CHARACTER.search(head, max(0, len(head) - 3))
    if cut:
        return head[: cut.start()]
    return _CUT_SEQUENCE.sub(b"", head)


def _whole_start(tail: bytes) -> bytes:
    """Drop what the beginning of the tail cuts: the rest of a line, or of a sequence and a character."""
    newline = tail.find(b"\n", 0, _NEAR_BYTES)
    if 0 <= newline < len(tail) - 1:
        return tail[newline + 1 :]
    rest = _REST_OF_STRING.match(tail) or _REST_OF_CSI.match(tail)
    if rest:
        tail = tail[rest.end() :]
    at = 0
    while at < min(3, len(tail)) and 0x80 <= tail[at] <= 0xBF:
        at += 1
    return tail[at:]
