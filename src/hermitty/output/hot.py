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
# Pieces at least this long that follow each other are one flood. The kernel hands out PTY output in pieces of 4 KB.
_FLOOD_BYTES = 2048
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
# Of text in lower case: that takes a third of the time of ignoring the case.
_WORD = re.compile(rb"\b(?:(?P<busy>" + _BUSY + rb")|" + _THROUGH + rb")\b")
_COMMAND_WORD = re.compile(
    r"\b(?:compile|build|rebuild|bundle|transpile|make|cmake|ninja|cargo|tsc|webpack|vite|rollup|esbuild|gradle|mvn"
    r"|gcc|g\+\+|clang|rustc|javac)(?![\w-])",
    re.IGNORECASE,
)
_SEQUENCE = re.compile(rb"\x1b\[[0-?]*+[ -/]*+[@-~]")
_UNFINISHED = re.compile(rb"(?:\x1b(?:\[[0-?]*+)?|\w++)\Z")


class Heat:
    """How long after its last output a command counts as hot.

    `is_hot` is the same however the output was cut, if it came at the same time and is not a flood. Words are looked
    for when somebody asks, or when other output follows: most pieces of a flood cost nothing.
    """

    __slots__ = (
        *("_compiling", "_compiling_s", "_hot_until", "_is_flood", "_kept", "_last_output", "_plain_s", "_unseen"),
    )

    def __init__(
        self, command: str = "", *, now: float, plain_s: float = PLAIN_S, compiling_s: float = COMPILING_S
    ) -> None:
        self._plain_s = plain_s
        self._compiling_s = compiling_s
        # Whether the last word that matters was one of a compiler at work; the unfinished word at the end of the
        # output is not settled, and is looked at again with what follows.
        self._compiling = bool(_COMMAND_WORD.search(command))
        self._kept = b""
        # The end of the last output, until words are looked for in it; whether that output is part of a flood.
        self._unseen: bytes | None = None
        self._is_flood = False
        self._last_output = now
        # A compiler is at work before it says anything.
        self._hot_until = now + compiling_s if self._compiling else now

    def on_output(self, data: bytes, now: float) -> None:
        """Note that output arrived."""
        is_long = len(data) >= _FLOOD_BYTES
        if not (is_long and self._is_flood):
            self._look()
        self._is_flood = is_long
        self._unseen = data[-_LOOK_BYTES:]
        self._last_output = now

    def _look(self) -> None:
        """Find the words in what came last."""
        if self._unseen is None:
            return
        text = _SEQUENCE.sub(b" ", self._kept + self._unseen).lower()
        self._unseen = None
        unfinished = _UNFINISHED.search(text, max(0, len(text) - _KEPT_BYTES))
        settled_end = unfinished.start() if unfinished else len(text)
        compiling = self._compiling
        for word in _WORD.finditer(text):
            compiling = word["busy"] is not None
            if word.end() <= settled_end:
                self._compiling = compiling
        self._kept = text[settled_end:]
        self._hot_until = self._last_output + (self._compiling_s if compiling else self._plain_s)

    def on_finished(self) -> None:
        """Note that the command has ended."""
        self._unseen = None
        self._hot_until = float("-inf")

    @property
    def hot_until(self) -> float:
        """When the command cools down if nothing more comes."""
        self._look()
        return self._hot_until

    def is_hot(self, now: float) -> bool:
        """Tell whether more output is likely to follow."""
        return now < self.hot_until
