"""How much viewers may have."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AttachLimits:
    """Limits of all viewers, and of each."""

    viewers: int = 2048
    viewers_of_terminal: int = 256
    # What one viewer may be sent before it acknowledges, once it does. xterm.js gets sluggish with 512 KB unparsed.
    window_bytes: int = 384 * 1024
    # What may wait in the memory of this process for one viewer's connection, before it gets no more.
    buffer_bytes: int = 256 * 1024
    # The longest message that is taken from a viewer.
    message_bytes: int = 1024 * 1024
    # Of what has scrolled off the screen, for a viewer that comes.
    history_bytes: int = 256 * 1024
    # A viewer that says nothing for so long is asked whether it is there, and has as long to answer.
    heartbeat_s: float = 20.0
    # How long the other side may take to say goodbye.
    goodbye_s: float = 5.0
