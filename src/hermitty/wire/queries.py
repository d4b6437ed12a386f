r"""Output of programs without what asks the terminal something. Pure; the same however the stream is cut.

The server's emulator answers programs, once. A viewer's own terminal that sees the same bytes would answer as well, and
its answers would be typed into the program. So the questions are taken out before a real terminal sees them: attributes
(DA), status and position (DSR), modes (DECRQM), settings (DECRQSS), capabilities (XTGETTCAP), version, colours, the
clipboard, reports of the window, and the mode that makes a terminal report its size. Everything else passes as it is;
a sequence that is cut waits for its rest.
"""

import re
from typing import Final

# C1 controls in UTF-8 are understood by many terminals: U+0090 DCS, 98 SOS, 9A DECID, 9B CSI, 9D OSC, 9E PM, 9F APC.
_START = re.compile(rb"[\x05\x1b]|\xc2(?:[\x90\x98\x9a\x9b\x9d-\x9f]|\Z)")
_C1: Final = {b"\xc2" + bytes((code + 0x40,)): b"\x1b" + bytes((code,)) for code in b"PXZ[]^_"}

# Terminals obey controls in the midst of a sequence; CAN, SUB and ESC give it up.
_CSI = re.compile(rb"\x1b\[([\x00-\x17\x19\x1c-\x3f\x7f]*)([\x40-\x7e])?")
_PARTS = re.compile(rb"([<-?]*)([0-9:;]*)([ -/]*)")
_INSIDE = re.compile(rb"[\x00-\x1f\x7f]+")
_ESCAPE = re.compile(rb"\x1b([ -/]*)([0-~])?")

_STRING_END = re.compile(rb"[\x07\x18\x1a\x1b]|\xc2(?:\x9c|\Z)")
_DCS_END = re.compile(rb"[\x18\x1a\x1b]|\xc2(?:\x9c|\Z)")
_DCS = re.compile(rb"([0-?]*)([ -/]*)([@-~])?")
_OSC = re.compile(rb"([0-9]*)(;)?")

_SEQUENCE_LIMIT = 512
_STRING_LIMIT = 4096

# Without a prefix: by intermediates and final byte.
_ASKS: Final = frozenset(
    {
        *(b"c", b"n", b"x", b"$p", b"$w", b"*y", b"&u", b'"v', b"#|", b"'|", b"#S", b"#R"),
    }
)
_ASKS_WITH: Final = {
    b"?": frozenset({b"n", b"c", b"$p", b"u", b"S", b"m", b"x", b"g", b"*y"}),
    b">": frozenset({b"c", b"q"}),
    b"=": frozenset({b"c", b"S"}),
}
_WINDOW_REPORTS: Final = frozenset({11, 13, 14, 15, 16, 18, 19, 20, 21})
# In-band reports of the size: the server's emulator sends them.
_REPORTING_MODES: Final = frozenset({b"2048"})
_ALTERNATE: Final = frozenset({b"47", b"1047", b"1049"})
# OSC that can ask: palette, special and dynamic colours, kitty's colours, clipboard, fonts, iTerm2's reports.
_OSC_ASKS: Final = frozenset({b"4", b"5", *(str(number).encode() for number in range(10, 20)), b"21", b"50", b"52"})
_OSC_REPORTS: Final = (b"1337;ReportCellSize", b"1337;ReportVariable", b"1337;RequestAttributes", b"1337;Capabilities")
_GRAPHICS_ASKS = re.compile(rb"(?:^G|,)a=q(?:,|;|$)|^Ga=q")


class WithoutQueries:
    """Takes the questions out of a stream. `alternate` tells whether it left the terminal on the alternate screen."""

    def __init__(self) -> None:
        self.alternate = False
        self._held = b""
        self._string: tuple[re.Pattern[bytes], bool] | None = (
            None  # how the one that goes by ends, and whether it passes
        )

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes and return what may be shown."""
        data = self._held + data
        self._held = b""
        out: list[bytes] = []
        at = 0
        while at < len(data):
            if self._string is not None:
                at = self._go_by(data, at, out)
                continue
            start = _START.search(data, at)
            if start is None:
                out.append(data[at:])
                break
            out.append(data[at : start.start()])
            following = self._take(data, start.start(), out)
            if following is None:
                self._hold(data[start.start() :])
                break
            at = following
        return b"".join(out)

    def _take(self, data: bytes, at: int, out: list[bytes]) -> int | None:
        """Take what begins at an escape; return where it ends, or None when its rest has not come yet."""
        if data[at] == 0x05:
            return at + 1  # ENQ asks for the answerback
        two = data[at : at + 2]
        if len(two) < 2:
            return None
        if two[0] == 0xC2:
            shift = _C1[two]
            # Both are two bytes long, so that places stay the same.
            data = data[:at] + shift + data[at + 2 :]
            two = shift
        match two[1:]:
            case b"[":
                return self._csi(data, at, out)
            case b"]":
                return self._osc(data, at, out)
            case b"P":
                return self._dcs(data, at, out)
            case b"_":
                return self._apc(data, at, out)
            case b"X" | b"^":
                out.append(two)
                self._string = (_DCS_END, True)
                return at + 2
            case b"Z":
                return at + 2  # DECID, the oldest question
        found = _ESCAPE.match(data, at)
        if found is None:
            return at + 1  # given up by another control
        if found[2] is None:
            return None if found.end() == len(data) and found.end() - at < _SEQUENCE_LIMIT else found.end()
        out.append(found[0])
        return found.end()

    def _csi(self, data: bytes, at: int, out: list[bytes]) -> int | None:
        found = _CSI.match(data, at)
        assert found is not None
        if found[2] is None:
            if found.end() == len(data) and found.end() - at < _SEQUENCE_LIMIT:
                return None
            return found.end()  # given up, or longer than any terminal takes
        inside = b"".join(_INSIDE.findall(found[1])).replace(b"\x05", b"").replace(b"\x7f", b"")
        parts = _PARTS.fullmatch(_INSIDE.sub(b"", found[1]))
        if parts is None:
            out.append(inside)  # no terminal understands it in a way that is known
            return found.end()
        prefix, numbers, between = parts.groups()
        out += [inside, self._shown(prefix, numbers, between, found[2])]
        return found.end()

    def _shown(self, prefix: bytes, numbers: bytes, between: bytes, final: bytes) -> bytes:
        """Return a control sequence, or nothing if it asks."""
        what = between + final
        if what in (_ASKS_WITH.get(prefix, frozenset()) if prefix else _ASKS):
            return b""
        if final == b"t" and not between and not prefix:
            first = numbers.partition(b";")[0]
            if first.isdigit() and int(first[:6]) in _WINDOW_REPORTS:
                return b""
        if prefix == b"?" and what in (b"h", b"l"):
            modes = numbers.split(b";")
            kept = [mode for mode in modes if mode.lstrip(b"0") not in _REPORTING_MODES]
            if not _ALTERNATE.isdisjoint(mode.lstrip(b"0") for mode in kept):
                self.alternate = final == b"h"
            if not kept:
                return b""
            numbers = b";".join(kept)
        return b"\x1b[" + prefix + numbers + between + final

    def _osc(self, data: bytes, at: int, out: list[bytes]) -> int | None:
        number = _OSC.match(data, at + 2)
        assert number is not None
        end = _STRING_END.search(data, at + 2)
        may_grow = len(data) - at < _STRING_LIMIT
        if end is None and number[2] is None and number.end() == len(data) and may_grow:
            return None
        asks = number[1].lstrip(b"0") in _OSC_ASKS or number[1] == b"1337"
        if not asks:
            return self._pass(data, at, out, _STRING_END)
        if end is None or (end[0] == b"\xc2"):
            if may_grow:
                return None
            if number[1] in (b"52", b"1337"):
                return self._pass(data, at, out, _STRING_END)  # a clipboard or a picture: questions are short
            self._string = (_STRING_END, False)
            return at + 2
        body = data[at + 2 : end.start()]
        fields = body.split(b";")[1:]
        if any(field == b"?" or field.endswith(b"=?") for field in fields) or body.startswith(_OSC_REPORTS):
            self._string = (_STRING_END, False)
            return end.start()
        return self._pass(data, at, out, _STRING_END)

    def _dcs(self, data: bytes, at: int, out: list[bytes]) -> int | None:
        found = _DCS.match(data, at + 2)
        assert found is not None
        if found[3] is None and found.end() == len(data) and len(data) - at < _SEQUENCE_LIMIT:
            return None
        asks = found[3] is None or (found[2] in (b"$", b"+") and found[3] == b"q")
        if asks:
            self._string = (_DCS_END, False)
            return at + 2
        return self._pass(data, at, out, _DCS_END)

    def _apc(self, data: bytes, at: int, out: list[bytes]) -> int | None:
        end = re.compile(rb"[;\x18\x1a\x1b]|\xc2(?:\x9c|\Z)").search(data, at + 2)
        if (end is None or end[0] == b"\xc2") and len(data) - at < _SEQUENCE_LIMIT:
            return None
        head = data[at + 2 : end.start() if end else len(data)]
        if _GRAPHICS_ASKS.search(head):
            self._string = (_DCS_END, False)
            return at + 2
        return self._pass(data, at, out, _DCS_END)

    def _pass(self, data: bytes, at: int, out: list[bytes], end: re.Pattern[bytes]) -> int:
        """Let a string pass, from its introducer on."""
        out.append(data[at : at + 2])
        self._string = (end, True)
        return at + 2

    def _go_by(self, data: bytes, at: int, out: list[bytes]) -> int:
        """Let a string go by up to its end."""
        assert self._string is not None
        ending, passes = self._string
        end = ending.search(data, at)
        stop = len(data) if end is None else end.start()
        if passes:
            out.append(data[at:stop])
        if end is None:
            return stop
        if end[0] == b"\xc2":
            self._hold(data[stop:])
            return len(data)
        self._string = None
        if end[0] == b"\x1b":
            return stop  # ST, or a sequence that gives the string up
        if passes:
            out.append(end[0])
        return end.end()

    def _hold(self, data: bytes) -> None:
        self._held = data
