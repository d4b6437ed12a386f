"""What is kept of a terminal beside its PTY, so that another process can go on with it.

Files in the private directory of a durable PTY:

    kept.birth     once, when it is open: what never changes
    kept.state     before each line is sent, and with every screen: where shell and command stand, and at which offset
    kept.screen    every so many bytes of output: the screen, and at which offset
    kept.head      the first bytes of a long output, once there are no more to come

Whoever takes over reads the output from the offset of the screen on. The screen is fed all of it; scanner and tracker
only what comes after the offset of the state. Lines are numbered by the host's count of writes: one that the state
speaks of, and the host never got, was never typed.
"""

import json
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from hermitty.engine.command import Command
from hermitty.errors import HostUnavailable
from hermitty.model import CommandId, Quality, Size, State
from hermitty.shell.dialect import ShellOptions
from hermitty.shell.tracker import Phase, TrackerState
from hermitty.vt.capture import HeadTail

if TYPE_CHECKING:
    from hermitty.engine.terminal import Terminal

VERSION = 1
BIRTH, STATE, SCREEN, HEAD = "kept.birth", "kept.state", "kept.screen", "kept.head"

# So much output may come between two screens. A host holds more than twice as much before it pauses a program.
KEEP_EVERY = 192 * 1024

Record = dict[str, Any]

_ENCODER = json.JSONEncoder(separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Birth:
    """What never changes about a terminal."""

    shell: str
    program: str
    nonce: str
    options: ShellOptions
    env: dict[str, str]
    sandbox: dict[str, Any] | None = None  # see `Confinement`


@dataclass(frozen=True, slots=True)
class Kept:
    """What was read back of a terminal's state; `tail` are the last bytes of its command's output."""

    offset: int
    record: Record
    tail: bytes


def keep_birth(terminal: "Terminal", program: str) -> None:
    """Keep what never changes, and the first state."""
    sandbox = None if terminal.sandbox is None else terminal.sandbox.to_json()
    birth = Birth(terminal.shell, program, terminal.nonce, terminal.options, terminal.started_with, sandbox)
    terminal.pty.put_file(BIRTH, _dump({"version": VERSION, **asdict(birth)}))
    keep_state(terminal, terminal.scanner.offset)


def keep_screen(terminal: "Terminal") -> None:
    """Keep everything as it stands, and let the host forget the output before."""
    end = terminal.log.end
    keep_state(terminal, terminal.scanner.offset)
    size = terminal.size
    header = {"version": VERSION, "offset": end, "cols": size.cols, "rows": size.rows}
    _put(terminal, SCREEN, _dump(header) + b"\n" + _snapshot(terminal))
    # Also when there was no room for it: a program that waits for ever is worse than output that a restart would lose.
    terminal.pty.acknowledge(terminal.scanner.offset)


def _snapshot(terminal: "Terminal") -> bytes:
    """Return the screen; nothing if the emulator cannot write it: then it is made of the output that is there."""
    try:
        return terminal.screen.snapshot()
    except HostUnavailable:
        return b""


def keep_state(terminal: "Terminal", offset: int, *, is_line: bool = False) -> None:
    """Keep where shell and command stand when the output before `offset` was understood.

    With `is_line`, the next write is the line of the command.
    """
    command, tail = terminal.current, b""
    record: Record = {
        "version": VERSION,
        "offset": offset,
        "cwd": terminal.cwd,
        "quality": terminal.quality.value,
        "takes_commands": terminal.takes_commands,
        "integration_failed": terminal.integration_failed,
        "uses_sentinel": terminal.uses_sentinel,
        "hooks_lost": terminal.prompt.hooks_lost,
        "recovering": terminal.prompt.recovering,
        "typed_prompts": terminal.prompt.typed,
        "at_prompt": terminal.prompt.is_there.is_set(),
        "paused_by": terminal.paused_by,
        "watched": terminal.viewing.count,
        "tracker": _tracker_record(terminal.tracker.state),
        "line_write": terminal.pty.writes + 1 if is_line else 0,
        "last": _last_record(terminal.last),
    }
    if command is not None and command.is_sent:
        record["command"] = _command_record(command)
        record["command"]["kept"] = terminal.observer.keep(command)
        capture = command.capture
        if capture.omitted or capture.tail:
            if command.kept_head != len(capture.head):
                command.kept_head = len(capture.head) if _put(terminal, HEAD, capture.head) else 0
            record["command"]["head_in_file"] = True
            tail = capture.tail
        else:
            record["command"]["head"] = capture.head.decode("latin-1")
        record["command"]["total"] = capture.total
    _put(terminal, STATE, _dump(record) + b"\n" + tail)


def _put(terminal: "Terminal", name: str, data: bytes) -> bool:
    """Keep a file; False when there is no room. What runs goes on then, and says that a restart would cost its end."""
    try:
        terminal.pty.put_file(name, data)
    except OSError as exc:
        warning = f"what the next server needs to go on with this command could not be kept: {exc.strerror or exc}"
        if (command := terminal.current) is not None and warning not in command.warnings:
            command.warnings.append(warning)
        return False
    return True


def read_birth(data: bytes | None) -> Birth | None:
    """Read what was kept of a terminal's birth; None: it is not there, or another version wrote it."""
    record = _load(data)
    if record is None:
        return None
    options = ShellOptions(**record["options"])
    return Birth(record["shell"], record["program"], record["nonce"], options, record["env"], record.get("sandbox"))


def read_state(data: bytes | None) -> Kept | None:
    """Read a state back."""
    header, _, tail = (data or b"").partition(b"\n")
    record = _load(header)
    return None if record is None else Kept(record["offset"], record, tail)


def read_screen(data: bytes | None) -> tuple[int, Size, bytes] | None:
    """Read a screen back: its offset, its size, and its snapshot."""
    header, _, snapshot = (data or b"").partition(b"\n")
    record = _load(header)
    return None if record is None else (record["offset"], Size(record["cols"], record["rows"]), snapshot)


def restore_state(terminal: "Terminal", kept: Kept, *, writes: int, head: bytes | None) -> None:
    """Let a terminal stand where another process left it; `writes` is the host's count."""
    record = kept.record
    terminal.cwd = record["cwd"]
    terminal.quality = Quality(record["quality"])
    terminal.takes_commands = record["takes_commands"]
    terminal.integration_failed = record["integration_failed"]
    terminal.uses_sentinel = record["uses_sentinel"]
    terminal.prompt.hooks_lost = record["hooks_lost"]
    terminal.prompt.recovering = record["recovering"]
    terminal.prompt.typed = record["typed_prompts"]
    terminal.paused_by = record["paused_by"]
    terminal.tracker.go_on_from(_tracker_state(record["tracker"]))
    if record["at_prompt"]:
        terminal.prompt.is_there.set()
    if (last := record["last"]) is not None:
        terminal.last = _last_command(terminal, last)
    if (said := record.get("command")) is None:
        return
    command = _command(terminal, said, kept.tail, head)
    if record["line_write"] > writes:
        # It was about to be typed, and never was.
        command.warnings.append("the server ended before this line was sent to the shell; it did not run")
        terminal.tracker.go_on_from(TrackerState(Phase.AT_PROMPT, None, None, b"", False))
        terminal.prompt.is_there.set()
        terminal.forget_unsent(command)
        return
    limit = said["time_limit"]
    terminal.resume(command, said["kept"] or {}, tuple(limit) if limit else None)


def _tracker_record(state: TrackerState) -> Record:
    held = None if state.held is None else state.held.decode("latin-1")
    return {
        "phase": state.phase.name,
        "held": held,
        "line": state.line,
        "echo": state.echo.decode("latin-1"),
        "unconfirmed": state.unconfirmed,
    }


def _tracker_state(record: Record) -> TrackerState:
    held = None if record["held"] is None else record["held"].encode("latin-1")
    return TrackerState(
        Phase[record["phase"]], held, record["line"], record["echo"].encode("latin-1"), record["unconfirmed"]
    )


def _command_record(command: Command) -> Record:
    return {
        "id": command.id,
        "line": command.line,
        "origin": command.origin,
        "expected": command.expected,
        "decided": command.decided,
        "has_begun": command.has_begun,
        "output_from": command.output_from,
        "output_to": command.output_to,
        "mark": command.mark,
        "warnings": command.warnings,
        "started": command.started,
        "time_limit": command.time_limit,
        "stopping": command.stopping.value if command.stopping else None,
    }


def _command(terminal: "Terminal", record: Record, tail: bytes, head: bytes | None) -> Command:
    command = Command(terminal, record["line"], record["origin"], CommandId(record["id"]))
    command.is_sent = True
    command.expected = record["expected"]
    command.decided = tuple(record["decided"]) if record["decided"] else None
    command.has_begun = record["has_begun"]
    command.output_from = record["output_from"]
    command.output_to = record["output_to"]
    command.mark = record["mark"]
    command.warnings = list(record["warnings"])
    command.started = record["started"]
    command.last_activity = time.monotonic()
    if stopping := record.get("stopping"):
        command.stop_as(State(stopping))
    first = (head or b"") if record.get("head_in_file") else record["head"].encode("latin-1")
    settings = terminal.settings
    command.capture = HeadTail.of(
        max(settings.capture_head_bytes, len(first)),
        max(settings.capture_tail_bytes, len(tail)),
        head=first,
        tail=tail,
        total=record["total"],
    )
    return command


def _last_record(command: Command | None) -> Record | None:
    if command is None:
        return None
    return {
        "id": command.id,
        "line": command.line,
        "origin": command.origin,
        "state": command.state.value,
        "exit_code": command.exit_code,
        "started": command.started,
        "duration_s": command.duration_s,
    }


def _last_command(terminal: "Terminal", record: Record) -> Command:
    """Make a command that is over. Its output is not here: results and artifacts have it."""
    command = Command(terminal, record["line"], record["origin"], CommandId(record["id"]))
    command.is_sent = command.has_begun = True
    command.started = record["started"]
    command.finish(State(record["state"]), record["exit_code"], at=record["started"] + record["duration_s"])
    return command


def _dump(record: Record) -> bytes:
    return _ENCODER.encode(record).encode()


def _load(data: bytes | None) -> Record | None:
    try:
        record = json.loads(data or b"null")
    except ValueError:
        return None
    return record if isinstance(record, dict) and record.get("version") == VERSION else None
