"""Whether more output is likely to follow soon: a report that waits a moment for a hot terminal is complete.

Output makes a command hot for 2 s. A compiler is silent for longer: a word such as "compiling" in its output, or
"build" in its command line, makes that 15 s, until it says that it is through ("compiled", "done", "failed"). A
command that has ended is never hot. Time is passed in.
"""

import re

PLAIN_S = 2.0
COMPILING_S = 15.0

# A flood is looked at only at its end: older words say nothing about what comes next.
_LOOK_BYTES = 512
# The longest end of an unfinished word or sequence that is kept until the next output. All words below are shorter,
# so the end of a long word is not taken for one of them.
_KEPT_BYTES = 32

_BUSY = (
    rb"compiling|building|rebuilding|bundling|transpiling|generating|starting|linking|assembling|minifying|optimizing"
    rb"|packaging|installing"
)
_THROUGH = (
    rb"compiled|built|success(?:ful|fully)?|succeeded|finish(?:ed|es)?|complete[ds]?|done|fail(?:ed|ure)?s?|errors?"
)
_WORD = re.compile(rb"\b(?:(?P<busy>" + _BUSY + rb")|" + _THROUGH + rb")\b", re.IGNORECASE)
_COMMAND_WORD = re.compile(
    r"\b(?:compile|build|rebuild|bundle|transpile|make|cmake|ninja|cargo|tsc|webpack|vite|rollup|esbuild|gradle|mvn"
    r"|gcc|g\+\+|clang|rustc|javac)(?![\w-])",
    re.IGNORECASE,
)
_SEQUENCE = re.compile(rb"\x1b\[[0-?]*+[ -/]*+[@-~]")
_UNFINISHED = re.compile(rb"(?:\x1b(?:\[[0-?]*+)?|\w++)\Z")


class Heat:
    """How long after its last output a command counts as hot.

    `is_hot` is the same however the output was cut, if it came at the same time and is not a flood.
    """

    __slots__ = ("_compiling", "_compiling_s", "_hot_until", "_kept", "_plain_s")

    def __init__(
        self, command: str = "", *, now: float, plain_s: float = PLAIN_S, compiling_s: float = COMPILING_S
    ) -> None:
        self._plain_s = plain_s
        self._compiling_s = compiling_s
        # Whether the last word that matters was one of a compiler at work; the unfinished word at the end of the
        # output is not settled, and is looked at again with what follows.
        self._compiling = bool(_COMMAND_WORD.search(command))
        self._kept = b""
        # A compiler is at work before it says anything.
        self._hot_until = now + compiling_s if self._compiling else now

    def on_output(self, data: bytes, now: float) -> None:
        """Note that output arrived."""
        text = _SEQUENCE.sub(b" ", self._kept + data[-_LOOK_BYTES:])
        unfinished = _UNFINISHED.search(text, max(0, len(text) - _KEPT_BYTES))
        settled_end = unfinished.start() if unfinished else len(text)
        compiling = self._compiling
        for word in _WORD.finditer(text):
            compiling = word["busy"] is not None
            if word.end() <= settled_end:
                self._compiling = compiling
        self._kept = text[settled_end:]
        self._hot_until = now + (self._compiling_s if compiling else self._plain_s)

    def on_finished(self) -> None:
        """Note that the command has ended."""
        self._hot_until = float("-inf")

    @property
    def hot_until(self) -> float:
        """When the command cools down if nothing more comes."""
        return self._hot_until

    def is_hot(self, now: float) -> bool:
        """Tell whether more output is likely to follow."""
        return now < self._hot_until
