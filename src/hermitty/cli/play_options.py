"""The command line of `hermitty play`."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_EPILOG = """\
examples:
  hermitty play t_15a6349bae6e                     as it was; ended terminals, too
  hermitty play demo.cast --speed 2 --idle-limit 1
  hermitty play t_15a6349bae6e --dump > all.txt    everything at once

keys: space pauses and goes on, . shows the next piece, left and right skip 5 seconds,
q ends it.

What could make your terminal do anything but show text is left out: changes of the
clipboard, questions that it would answer, mouse and keyboard modes, pictures.
"""


def add_play(commands: "Commands") -> None:
    """Describe `hermitty play`."""
    play = commands.add_parser(
        "play",
        help="play the recording of a terminal",
        description="Play a recording in this terminal: an asciicast file (version 2 or 3), or a terminal by its id.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    play.add_argument(
        "recording", metavar="FILE|ID", help="a file, or the id of a terminal that a server recorded, or its beginning"
    )
    play.add_argument("--speed", metavar="X", type=float, default=1.0, help="so many times as fast (default: 1)")
    play.add_argument("--idle-limit", metavar="S", type=float, help="no pause longer than S seconds")
    play.add_argument("--from", metavar="S", type=float, default=0.0, dest="start", help="begin S seconds in")
    play.add_argument("--dump", action="store_true", help="print everything at once")
