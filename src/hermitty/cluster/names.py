"""The ids of a cluster's terminals: t_NODE_INCARNATION_NUMBER.

An id tells on which node its terminal is, and under which run of the node's host, so that nobody has to keep a
directory of terminals.
"""

import re
from dataclasses import dataclass

from hermitty.model import TerminalId

_ID = re.compile(r"t_([0-9a-f]{8})_([0-9a-f]{8})_([0-9a-f]{4,16})")
_INCARNATION_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where a terminal is."""

    node: str
    incarnation: str


def name_terminal(terminal: TerminalId, node: str, incarnation: str) -> TerminalId:
    """Return the id of a new terminal on a node."""
    return TerminalId(f"t_{node}_{incarnation[:_INCARNATION_DIGITS]}_{terminal.removeprefix('t_')[:16]}")


def whereabouts(terminal: str) -> Whereabouts | None:
    """Return where a terminal is; None for an id that does not tell."""
    match = _ID.fullmatch(terminal)
    return None if match is None else Whereabouts(match[1], match[2])


def is_of(where: Whereabouts, node: str, incarnation: str) -> bool:
    """Tell whether a terminal is there."""
    return where == Whereabouts(node, incarnation[:_INCARNATION_DIGITS])
