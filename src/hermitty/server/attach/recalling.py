"""The commands in what a snapshot paints, for viewers that mark them beside their lines."""

from collections.abc import Iterable

from hermitty.runtime.api import Command, Terminal, places_of
from hermitty.wire.attach import Mark

# A screen keeps the history of a few hundred rows; what is looked at takes a few milliseconds.
_COMMANDS = 50
_BYTES = 256 * 1024
# A command line stands before its output, with the prompt.
_LINE_BYTES = 4096
# A line may be as long as a file; viewers that want all of it ask for the command.
LINE_CHARACTERS = 4096


def recall(terminal: Terminal, commands: Iterable[Command]) -> list[Mark]:
    """Return the newest commands whose place on the screen and above it is known, the oldest first."""
    log = terminal.log
    first = max(log.start, log.end - _BYTES)
    found = [each for each in commands if each.output_from is not None and each.output_from >= first]
    found = sorted(found, key=lambda each: each.output_from or 0)[-_COMMANDS:]
    if not found:
        return []
    first = max(first, (found[0].output_from or 0) - _LINE_BYTES)
    offsets = sorted({offset for each in found for offset in _offsets(each) if offset <= log.end})
    data = log.read(first, log.end).data
    places = dict(zip(offsets, places_of([each - first for each in offsets], data, terminal.screen), strict=True))
    marks: dict[int, Mark] = {}
    for command in found:
        start, *rest = (places.get(offset) for offset in _offsets(command))
        if start is None:
            continue
        end = rest[0] if rest else None
        # Of two in the same row, the newer one has overwritten the other.
        marks[start.above] = Mark(
            command.id,
            command.line[:LINE_CHARACTERS] if command.line else command.line,
            "user" if command.origin == "user" else "agent",
            start.above,
            start.column,
            command.is_running,
            command.exit_code,
            None if end is None else end.above,
            0 if end is None else end.column,
        )
    return list(marks.values())


def _offsets(command: Command) -> list[int]:
    """Return where the output starts, and where it ends if it does."""
    ends = [] if command.is_running or command.output_to is None else [command.output_to]
    return [command.output_from or 0, *ends]
