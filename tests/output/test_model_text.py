"""model_text: what a model reads of a captured command."""

import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.output.model_text import ModelText, model_text
from hermitty.vt.capture import HeadTail


def captured(data: bytes, head: int, tail: int, *, chunk: int = 7) -> HeadTail:
    capture = HeadTail(head, tail)
    for at in range(0, len(data), chunk):
        capture.append(data[at : at + chunk])
    return capture


def test_nothing_captured_is_empty() -> None:
    assert model_text(HeadTail(10, 10)) == ModelText("", truncated=False, omitted_bytes=0)


def test_output_that_fits_is_plain_and_whole() -> None:
    data = "\x1b[31mrot\x1b[0m 1%\r\nlädt 1%\rlädt 2%\r\n日本".encode()
    for head in range(len(data) + 1):
        assert model_text(captured(data, head, 100)) == ModelText(
            "rot 1%\nlädt 2%\n日本", truncated=False, omitted_bytes=0
        )


def test_limits_cut_plain_text_and_count_its_bytes() -> None:
    data = "".join(f"\x1b[1mé{number}\x1b[m\r\n" for number in range(10, 35)).encode()
    assert model_text(captured(data, 10_000, 10_000), max_lines=10) == ModelText(
        "é10\né11\n[... 15 lines omitted ...]\n" + "".join(f"é{number}\n" for number in range(27, 35)),
        truncated=True,
        omitted_bytes=15 * 5,
    )


def test_a_gap_in_the_capture_is_named_in_bytes() -> None:
    data = b"".join(b"line %02d\n" % number for number in range(100))
    assert model_text(captured(data, 16, 20)) == ModelText(
        "line 00\nline 01\n[... 768 bytes omitted ...]\nline 98\nline 99\n", truncated=True, omitted_bytes=768
    )


def test_limits_and_a_gap_make_one_note_with_their_sum() -> None:
    data = b"".join(b"line %02d\n" % number for number in range(100))
    assert model_text(captured(data, 80, 84), max_lines=5) == ModelText(
        "line 00\n[... 760 bytes omitted ...]\nline 96\nline 97\nline 98\nline 99\n",
        truncated=True,
        omitted_bytes=760,
    )


def test_room_that_the_head_does_not_need_goes_to_the_tail() -> None:
    data = b"".join(b"line %02d\n" % number for number in range(100))
    shown = model_text(captured(data, 8, 400), max_lines=10)
    assert shown.text.count("line") == 10
    shown = model_text(captured(data, 400, 18), max_lines=10)
    assert shown.text.count("line") == 10


@pytest.mark.parametrize(
    ("start", "dropped", "shown"),
    [
        (b"31mred", 3, "red"),
        (b"[0;1mred", 5, "red"),
        (b"0;user@host\x07red", 12, "red"),
        (b"0;user@host\x1b\\red", 13, "red"),
        (b"\x97\xa5red", 2, "red"),
        (b"m\x1b[1mred", 0, "mred"),
        (b"red", 0, "red"),
        (b"1" * 100 + b"red", 0, "1" * 100 + "red"),
    ],
)
def test_a_tail_does_not_begin_inside_a_character_or_a_sequence(start: bytes, dropped: int, shown: str) -> None:
    data = b"head" + b"." * 50 + start
    text = model_text(captured(data, 4, len(start))).text
    assert text == f"head\n[... {50 + dropped} bytes omitted ...]\n{shown}"


@pytest.mark.parametrize("end", [b"\x1b", b"\x1b[", b"\x1b[38;5", b"\x1b]0;ti", b"\x1b]0;t\x1b", b"\xe6\x97", b"\xf0"])
def test_a_head_does_not_end_inside_a_character_or_a_sequence(end: bytes) -> None:
    data = b"head" + end + b"." * 50 + b"\ntail"
    shown = model_text(captured(data, 4 + len(end), 5))
    assert shown.text == f"head\n[... {len(end) + 51} bytes omitted ...]\ntail"


def test_a_full_screen_program_across_the_gap_stays_hidden() -> None:
    data = b"before\r\n\x1b[?1049h" + b"drawn " * 50 + b"\x1b[?1049lafter"
    assert model_text(captured(data, 40, 40)).text == "before\n[... 249 bytes omitted ...]\nafter"


def test_one_line_of_16_megabytes_stays_within_memory_and_limit() -> None:
    line = b"x" * 16_000_000
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        capture = HeadTail(64 * 1024, 256 * 1024)
        capture.append(line)
        shown = model_text(capture, max_chars=1000)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak < 3_000_000
    assert shown.text == "x" * 200 + "\n[... 15999000 bytes omitted ...]\n" + "x" * 800


@given(
    st.binary(max_size=300),
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(0, 8),
    st.integers(0, 50),
    st.integers(1, 40),
)
def test_any_output_is_within_the_limits(data: bytes, head: int, tail: int, lines: int, chars: int, chunk: int) -> None:
    shown = model_text(captured(data, head, tail, chunk=chunk), rows=5, max_lines=lines, max_chars=chars)
    note = len("\n[... 123 characters omitted ...]\n")
    assert not chars or len(shown.text) <= chars + note
    assert not lines or shown.text.count("\n") <= lines + 2
    assert shown.truncated == (shown.omitted_bytes > 0)
    assert shown.omitted_bytes >= max(0, len(data) - head - tail)


@given(st.text("ab日\n", max_size=200), st.integers(0, 60), st.integers(1, 60))
def test_every_byte_of_plain_output_is_shown_or_counted(text: str, head: int, tail: int) -> None:
    data = text.encode()
    shown = model_text(captured(data, head, tail), compress_progress=False)  # folding has a test of its own
    if not shown.omitted_bytes:
        assert shown.text == text
        return
    before, _, after = shown.text.partition(f"[... {shown.omitted_bytes} byte")
    after = after.partition("omitted ...]")[2].removeprefix("\n")
    if len((before + after).encode()) + shown.omitted_bytes > len(data):
        before = before.removesuffix("\n")
    assert text.startswith(before)
    assert text.endswith(after)
    assert len((before + after).encode()) + shown.omitted_bytes == len(data)


def test_progress_can_be_kept_line_by_line() -> None:
    capture = HeadTail(100, 100)
    capture.append(b"10%\r50%\r100%\r\ndone\r\n")
    assert model_text(capture).text == "100%\ndone\n"
    assert model_text(capture, compress_progress=False).text == "10%\n50%\n100%\ndone\n"


LONG = "warning: a line that is long enough to be worth it"


def test_equal_lines_are_folded_and_nothing_counts_as_omitted() -> None:
    data = f"\x1b[33m{LONG}\x1b[m\r\n".encode() * 6 + b"done\r\n"
    text = f"{LONG}\n[... the same line 5 more times ...]\ndone\n"
    assert model_text(captured(data, 10_000, 10_000)) == ModelText(text, truncated=False, omitted_bytes=0)
    assert model_text(captured(data, 10_000, 10_000), compress_progress=False).text == f"{LONG}\n" * 6 + "done\n"


def test_folding_makes_room_for_the_lines_before() -> None:
    data = b"".join(b"step %d\n" % number for number in range(5)) + f"{LONG}\n".encode() * 3000
    assert model_text(captured(data, 200_000, 200_000), max_lines=10) == ModelText(
        f"step 0\nstep 1\nstep 2\nstep 3\nstep 4\n{LONG}\n[... the same line 2999 more times ...]\n",
        truncated=False,
        omitted_bytes=0,
    )


def test_lines_that_a_fold_hides_count_when_the_fold_is_cut() -> None:
    run = f"{LONG}\n" * 100
    steps = "".join(f"step {number:02}\n" for number in range(20))
    shown = model_text(captured((steps + run + steps).encode(), 20_000, 20_000), max_lines=10)
    omitted = 18 * 8 + len(run) + 12 * 8
    assert shown == ModelText(
        f"step 00\nstep 01\n[... {omitted} bytes omitted ...]\n"
        + "".join(f"step {number:02}\n" for number in range(12, 20)),
        truncated=True,
        omitted_bytes=omitted,
    )


@pytest.mark.parametrize(("head", "tail"), [(20_000, 20_000), (500, 700)])
def test_a_limit_of_characters_leaves_no_part_of_a_note(head: int, tail: int) -> None:
    steps = "".join(f"step {number:02}\n" for number in range(30))
    data = (f"{LONG}\n" * 8 + steps + f"{LONG}\n" * 8 + steps).encode()
    seen: set[int] = set()
    for max_chars in range(20, 700):
        shown = model_text(captured(data, head, tail), max_chars=max_chars)
        whole = shown.text.replace("[... the same line 7 more times ...]\n", "")
        folded = (len(shown.text) - len(whole)) // len("[... the same line 7 more times ...]\n")
        rest = re.sub(r"\n?\[\.\.\. [0-9]+ bytes? omitted \.\.\.\]\n?", "", whole)
        assert "same line" not in rest
        assert "[" not in rest
        seen.add(folded)
        # Up to two newlines of the text are taken for those around the note.
        counted = len(rest) + folded * 7 * (len(LONG) + 1) + shown.omitted_bytes
        assert 0 <= len(data) - counted <= 1
    assert len(seen) > 1


REPEATED = re.compile(r"^(.*)\n\[\.\.\. the same line ([0-9]+) more times? \.\.\.\]", re.MULTILINE)


@given(
    st.lists(st.tuples(st.sampled_from(["", "a", "日本" * 10, LONG]), st.integers(1, 30)), min_size=1),
    st.integers(0, 900),
    st.integers(1, 900),
    st.integers(0, 12),
)
def test_every_byte_of_repeated_lines_is_shown_folded_or_counted(
    runs: list[tuple[str, int]], head: int, tail: int, lines: int
) -> None:
    text = "".join(f"{line}\n" * count for line, count in runs)
    shown = model_text(captured(text.encode(), head, tail, chunk=50), max_lines=lines)
    whole = REPEATED.sub(lambda run: "\n".join([run[1]] * (int(run[2]) + 1)), shown.text)
    note = f"[... {shown.omitted_bytes} byte"
    if note in whole:
        before, _, after = whole.partition(note)
        after = after.partition("omitted ...]")[2].removeprefix("\n")
        if len((before + after).encode()) + shown.omitted_bytes > len(text.encode()):
            before = before.removesuffix("\n")
        assert text.startswith(before)
        assert text.endswith(after)
        assert len((before + after).encode()) + shown.omitted_bytes == len(text.encode())
    elif not shown.omitted_bytes:
        assert whole == text
