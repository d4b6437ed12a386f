"""Keeps what terminals do beyond their own memory: complete outputs, history, recent commands and heat."""

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from hermitty.engine.command import Command
from hermitty.engine.terminal import Terminal
from hermitty.runtime.artifacts import ArtifactStore
from hermitty.runtime.history.recorder import HistoryRecorder
from hermitty.runtime.tracks import Tracks

if TYPE_CHECKING:
    from hermitty.runtime.artifact_writer import ArtifactWriter


class Recorder:
    """Observes the terminals of one runtime."""

    def __init__(self, tracks: Tracks, artifacts: ArtifactStore, history: HistoryRecorder | None) -> None:
        self._tracks = tracks
        self._artifacts = artifacts
        self._history = history
        self._writers: WeakKeyDictionary[Command, ArtifactWriter] = WeakKeyDictionary()

    def began(self, terminal: Terminal, command: Command) -> None:
        """Start to keep a command's output."""
        self._writers[command] = self._artifacts.open(command.id)
        self._tracks.began(terminal, command)
        if self._history is not None:
            self._history.began(terminal, command)

    def output(self, terminal: Terminal, command: Command, data: bytes) -> None:
        """Keep a piece of output."""
        writer = self._writers.get(command)
        if writer is not None:
            writer.append(data)
        self._tracks.output(terminal, data)

    def ended(self, terminal: Terminal, command: Command) -> None:
        """Decide whether the complete output is kept, and note the command in the history."""
        self._tracks.ended(terminal)
        writer = self._writers.get(command)
        artifact = None
        if writer is not None:
            writer.close()
            settings = terminal.settings
            if writer.exceeds(settings.output_line_limit, settings.output_character_limit):
                artifact = writer.keep()
                if writer.problem:
                    command.warnings.append(writer.problem)
            else:
                writer.discard()
                del self._writers[command]
        if self._history is not None:
            self._history.ended(terminal, command, artifact)

    def artifact(self, command: Command) -> str | None:
        """Return the artifact of a command whose text does not show everything."""
        writer = self._writers.get(command)
        return writer.keep() if writer is not None else None
