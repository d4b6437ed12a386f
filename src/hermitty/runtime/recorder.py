"""Keeps what terminals do beyond their own memory: complete outputs, history, recent commands, heat and silence."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from hermitty.engine.command import Command
from hermitty.engine.terminal import Terminal
from hermitty.output.model_text import model_text
from hermitty.runtime.artifacts import ArtifactStore
from hermitty.runtime.closed_logs import ClosedLogs
from hermitty.runtime.history.recorder import HistoryRecorder
from hermitty.runtime.silence import SilenceWatch
from hermitty.runtime.tracks import Tracks

if TYPE_CHECKING:
    from hermitty.runtime.artifact_writer import ArtifactWriter


class Recorder:
    """Observes the terminals of one runtime."""

    def __init__(
        self,
        tracks: Tracks,
        artifacts: ArtifactStore,
        history: HistoryRecorder | None,
        silence: SilenceWatch,
        add: Callable[[Terminal, Command], object] = lambda terminal, command: None,
        over: Callable[[Command], object] = lambda command: None,
        took_s: Callable[[str], float | None] = lambda command_id: None,
    ) -> None:
        self._tracks = tracks
        self._artifacts = artifacts
        self._history = history
        self._silence = silence
        self._add = add
        self._over = over
        self._took_s = took_s  # by the id of a command whose end another process has seen
        self._closed = ClosedLogs()
        self._writers: WeakKeyDictionary[Command, ArtifactWriter] = WeakKeyDictionary()

    def began(self, terminal: Terminal, command: Command) -> None:
        """Start to keep a command's output."""
        self._add(terminal, command)
        self._writers[command] = self._artifacts.open(command.id)
        self._tracks.began(terminal, command)
        self._silence.began(terminal, command)
        if self._history is not None:
            self._history.began(terminal, command)

    def keep(self, command: Command) -> dict[str, Any]:
        """Return what another process needs to go on with a command."""
        writer = self._writers.get(command)
        return {
            "artifact": None if writer is None else writer.state(),
            "history": None if self._history is None else self._history.state_of(command),
        }

    def resumed(self, terminal: Terminal, command: Command, kept: dict[str, Any]) -> None:
        """Go on with a command that began in another process."""
        command.took_s = self._took_s(command.id)
        self._add(terminal, command)
        writer = self._writers[command] = self._artifacts.open(command.id)
        if (artifact := kept.get("artifact")) is not None:
            writer.go_on_from(artifact)
        self._tracks.began(terminal, command)
        self._silence.began(terminal, command)
        if self._history is not None:
            self._history.resumed(terminal, command, kept.get("history"))

    def output(self, terminal: Terminal, command: Command, data: bytes) -> None:
        """Keep a piece of output."""
        writer = self._writers.get(command)
        if writer is not None:
            writer.append(data)
        self._tracks.output(terminal, data)

    def ended(self, terminal: Terminal, command: Command) -> None:
        """Decide whether the complete output is kept, and note the command in the history."""
        self._tracks.ended(terminal)
        self._silence.ended(command)
        writer = self._writers.get(command)
        artifact = None
        if writer is not None:
            writer.close()
            if self._shows_all(terminal, command, writer):
                writer.discard()
                del self._writers[command]
            else:
                artifact = writer.keep()
                if writer.problem:
                    command.warnings.append(writer.problem)
        if self._history is not None:
            self._history.ended(terminal, command, artifact)
        self._over(command)

    def closed(self, terminal: Terminal) -> None:
        """Keep the terminal's output for a while."""
        self._closed.add(terminal.log)

    def artifact(self, command: Command) -> str | None:
        """Return the artifact of a command whose text does not show everything."""
        writer = self._writers.get(command)
        return writer.keep() if writer is not None else None

    def _shows_all(self, terminal: Terminal, command: Command, writer: "ArtifactWriter") -> bool:
        """Tell whether the text of a command's result shows everything; what has a file already is kept."""
        settings = terminal.settings
        lines, characters = settings.output_line_limit, settings.output_character_limit
        if not command.capture.omitted and writer.surely_fits(lines, characters):
            return True
        if not writer.is_small:
            return False
        text = model_text(
            command.capture,
            rows=terminal.size.rows,
            max_lines=lines,
            max_chars=characters,
            compress_progress=settings.compress_progress_bar,
        )
        return not text.truncated
