"""From markers to commands, as tables: a stream goes in, events come out."""

import re

import pytest

from hermitty.shell.tracker import (
    CommandBegan,
    CommandFinished,
    CommandTracker,
    Event,
    MoreInputWanted,
    Output,
    Phase,
    PromptReady,
    PropertyReported,
)
from hermitty.vt.markers import MarkerScanner

NONCE = "5ec2e7"
SUBMIT = None


def mark(body: str) -> bytes:
    return f"\x1b]633;{body};{NONCE}\x07".encode()


PROMPT = mark("A") + b"$ " + mark("B")
C = mark("C")


def track(
    *steps: bytes | None, trust_all: bool = False, prelude: re.Pattern[bytes] | None = None, size: int = 1_000_000
) -> tuple[list[Event], CommandTracker]:
    """Feed a stream in chunks of `size`; SUBMIT stands for a line that we send. Adjacent outputs are joined."""
    scanner = MarkerScanner(NONCE)
    tracker = CommandTracker(trust_all=trust_all, prelude=prelude)
    events: list[Event] = []
    for step in steps:
        if step is SUBMIT:
            tracker.submitted()
            continue
        for at in range(0, len(step), size):
            for piece in scanner.feed(step[at : at + size]):
                for event in tracker.feed(piece):
                    last = events[-1] if events else None
                    if (
                        isinstance(event, Output)
                        and isinstance(last, Output)
                        and last.offset + len(last.data) == event.offset
                    ):
                        events[-1] = Output(last.offset, last.data + event.data)
                    else:
                        events.append(event)
    return events, tracker


def what(events: list[Event]) -> list[object]:
    """The events without their offsets."""
    short: list[object] = []
    for event in events:
        match event:
            case Output(data=data):
                short.append(data)
            case CommandBegan(line=line):
                short.append(("began", line))
            case CommandFinished(exit_code=code, ran=ran, hooks_lost=lost):
                short.append(("finished", code) + (() if ran else ("nothing ran",)) + (("lost",) if lost else ()))
            case PropertyReported(name=name, value=value):
                short.append((name, value))
            case PromptReady():
                short.append("ready")
            case MoreInputWanted():
                short.append("more")
    return short


@pytest.mark.parametrize("size", [1, 7, 1_000_000])
@pytest.mark.parametrize(
    ("steps", "wanted"),
    [
        pytest.param([b"motd\r\n", mark("D;0"), PROMPT], ["ready"], id="start"),
        pytest.param([mark("C"), b"x", mark("D;0")], [], id="nothing counts before the first prompt"),
        pytest.param(
            [PROMPT, SUBMIT, b"ls\r\n", C, b"a\r\n", mark("D;0"), PROMPT],
            ["ready", ("began", None), b"a\r\n", ("finished", 0), "ready"],
            id="a command",
        ),
        pytest.param(
            [PROMPT, SUBMIT, mark("E;ls\\x3b \\\\x"), C, mark("D;2")],
            ["ready", ("began", "ls; \\x"), ("finished", 2)],
            id="the line",
        ),
        pytest.param(
            [PROMPT, b"typed\r\n", C, b"x", mark("D;1"), PROMPT],
            ["ready", ("began", None), b"x", ("finished", 1), "ready"],
            id="a line that a person typed",
        ),
        pytest.param(
            [PROMPT, SUBMIT, C, b"a", C, b"b", mark("D;0")],
            ["ready", ("began", None), b"a", b"b", ("finished", 0)],
            id="a second start marker is the shell's own",
        ),
        pytest.param(
            [PROMPT, SUBMIT, C, b"x", mark("P;Cwd=/a\\x0ab"), mark("D;0"), PROMPT],
            ["ready", ("began", None), b"x", ("Cwd", b"/a\nb"), ("finished", 0), "ready"],
            id="the directory comes before the end",
        ),
        pytest.param(
            [PROMPT, SUBMIT, b"echo )\r\n\x1b[?2004l\r", b"syntax error\r\n", mark("D;2"), PROMPT],
            ["ready", ("began", None), b"syntax error\r\n", ("finished", 2), "ready"],
            id="what a shell says instead of running a line",
        ),
        pytest.param(
            [PROMPT, SUBMIT, b"\r\n\x1b[?2004l\r", mark("D;0"), PROMPT],
            ["ready", ("began", None), ("finished", 0, "nothing ran"), "ready"],
            id="an empty line",
        ),
        pytest.param([PROMPT, b"^C", mark("D;130"), PROMPT], ["ready", "ready"], id="Ctrl-C at the prompt"),
        pytest.param([PROMPT, PROMPT, PROMPT], ["ready"], id="a prompt that is drawn again"),
        pytest.param(
            [PROMPT, SUBMIT, PROMPT, C, b"x", PROMPT, mark("D;0")],
            ["ready", ("began", None), b"x", b"$ ", ("finished", 0)],
            id="a prompt drawn while a line is on its way, or by a program that knows the nonce",
        ),
        pytest.param(
            [PROMPT, SUBMIT, mark("F"), b"> ^C", mark("D;130"), PROMPT],
            ["ready", "more", ("finished", None, "nothing ran"), "ready"],
            id="an open line that is given up",
        ),
        pytest.param(
            [PROMPT, SUBMIT, mark("F"), b"> ", C, b"x", mark("D;0")],
            ["ready", "more", ("began", None), b"x", ("finished", 0)],
            id="an open line that is completed",
        ),
        pytest.param(
            [PROMPT, SUBMIT, C, b"error\r\n", mark("D;2"), mark("F"), b"> "],
            ["ready", ("began", None), b"error\r\n", ("finished", 2), "ready"],
            id="bash draws the second prompt after an open quote inside eval, but reads a new line",
        ),
        pytest.param(
            [PROMPT, SUBMIT, C, b"x", mark("A;3"), b"$ ", mark("B")],
            ["ready", ("began", None), b"x", ("finished", 3, "lost"), "ready"],
            id="a command that removed the hooks",
        ),
        pytest.param(
            [PROMPT, SUBMIT, C, b"\x1b]633;D;0\x07\x1b]133;D;0\x07\x1b]633;D;0;guess\x07", mark("D;1")],
            ["ready", ("began", None), b"\x1b]633;D;0\x07\x1b]133;D;0\x07\x1b]633;D;0;guess\x07", ("finished", 1)],
            id="forged markers are output",
        ),
    ],
)
def test_streams(steps: list[bytes | None], wanted: list[object], size: int) -> None:
    events, _ = track(*steps, size=size)
    # A marker between two outputs keeps them apart in one chunk and not in the other.
    assert _joined(what(events)) == _joined(wanted)


def _joined(events: list[object]) -> list[object]:
    result: list[object] = []
    for event in events:
        if isinstance(event, bytes) and result and isinstance(last := result[-1], bytes):
            result[-1] = last + event
        else:
            result.append(event)
    return result


def test_output_is_a_span_of_the_log() -> None:
    stream = PROMPT + b"ls\r\n" + C + b"a\r\n" + mark("D;0")
    events, _ = track(PROMPT, SUBMIT, stream.removeprefix(PROMPT))
    start = stream.index(b"a\r\n")
    assert events[1:] == [
        CommandBegan(start, None),
        Output(start, b"a\r\n"),
        CommandFinished(start + 3, 0, ran=True),
    ]


@pytest.mark.parametrize(
    ("fields", "code"),
    [("", None), (";0", 0), (";255", 255), (";-1", None), (";x", None), (";1000", None), (";", None)],
)
def test_an_exit_code_that_makes_no_sense_is_unknown(fields: str, code: int | None) -> None:
    events, _ = track(PROMPT, SUBMIT, C, mark(f"D{fields}"))
    assert what(events)[-1] == ("finished", code)


def test_a_foreign_shell_is_believed_when_nothing_better_is_there() -> None:
    stream = b"\x1b]133;A\x07$ \x1b]133;B\x07ls\r\n\x1b]133;C\x07out\x1b]133;D;1\x1b\\\x1b]133;A\x07$ \x1b]133;B\x07"
    assert what(track(stream, trust_all=True)[0]) == ["ready", ("began", None), b"out", ("finished", 1), "ready"]
    assert what(track(stream)[0]) == []


@pytest.mark.parametrize(
    ("steps", "phase"),
    [
        ([], Phase.STARTING),
        ([PROMPT], Phase.AT_PROMPT),
        ([PROMPT, SUBMIT], Phase.SUBMITTED),
        ([PROMPT, SUBMIT, mark("F")], Phase.CONTINUATION),
        ([PROMPT, SUBMIT, C], Phase.RUNNING),
        ([PROMPT, SUBMIT, C, mark("D;0")], Phase.BETWEEN),
    ],
)
def test_phases(steps: list[bytes | None], phase: Phase) -> None:
    assert track(*steps)[1].phase is phase


# A shell that announces itself after the start marker: "<", then maybe "!".
PRELUDE = re.compile(rb"\x1b<(?:!|(?!\Z))|(?!\Z|\x1b\Z|\x1b<)")


@pytest.mark.parametrize("size", [1, 2, 1_000_000])
@pytest.mark.parametrize(
    ("printed", "output"),
    [
        (b"\x1b<!out", [b"out"]),
        (b"\x1b<out", [b"out"]),
        (b"out\x1b<!", [b"out\x1b<!"]),
        (b"\x1b[31mred", [b"\x1b[31mred"]),
        (b"\x1b<!", []),
        (b"\x1b<", []),
        (b"", []),
    ],
)
def test_the_shell_s_own_prelude_is_not_output(printed: bytes, output: list[bytes], size: int) -> None:
    events, _ = track(PROMPT, SUBMIT, C, printed, mark("D;0"), prelude=PRELUDE, size=size)
    assert what(events) == ["ready", ("began", None), *output, ("finished", 0)]


@pytest.mark.parametrize("size", [1, 7, 1_000_000])
def test_the_end_may_tell_the_directory_too(size: int) -> None:
    end = mark("D;3;Cwd=/a\\x3bb\\\\c")
    events, _ = track(PROMPT, SUBMIT, C + b"x" + end + PROMPT, SUBMIT, C + mark("D;0;Cwd") + PROMPT, size=size)
    told = [event for event in events if isinstance(event, PropertyReported | CommandFinished)]
    assert [event if isinstance(event, PropertyReported) else event.exit_code for event in told] == [
        PropertyReported("Cwd", b"/a;b\\c"),
        3,
        0,
    ]


def test_a_directory_is_told_with_every_end_that_the_shell_reports() -> None:
    end = mark("D;0;Cwd=/a")
    events, _ = track(end + PROMPT + end + PROMPT, SUBMIT, end)
    assert [event for event in events if isinstance(event, PropertyReported)] == [PropertyReported("Cwd", b"/a")] * 3
