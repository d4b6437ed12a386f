"""Where a stream may be cut so that no character and no escape sequence is cut in two."""

import re

# A sequence that is longer than this without its end is noise, and is not waited for.
_LONGEST_SEQUENCE = 256
_OPEN_SEQUENCE = re.compile(
    rb"\x1b(?:"
    rb"\[[0-?]*[ -/]*"  # CSI without its final byte
    rb"|[\]P_^X][^\x07\x1b\x18\x1a]*\x1b?"  # OSC, DCS and other strings without their end
    rb"|[ -/]*"  # other sequences without their final byte
    rb")\Z"
)


def safe_end(data: bytes) -> int:
    """Return how much of `data` can be shown now: what follows may be the beginning of something."""
    tail_from = max(0, len(data) - _LONGEST_SEQUENCE)
    found = _OPEN_SEQUENCE.search(data, tail_from)
    if found:
        return found.start()
    # The last character, if its first byte announces more than there is.
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - back if length > back else len(data)
    return len(data)
