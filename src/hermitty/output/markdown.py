"""Text of others inside Markdown: it cannot end the block or the span that it stands in."""

import re

_BACKTICKS = re.compile(r"`+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_SPAN_CHARS = 200


def code_block(text: str, language: str = "text") -> str:
    """Put text into a fenced block, with a fence that is longer than any in it."""
    fence = "`" * max(3, _longest_run(text) + 1)
    visible = _CONTROL.sub(_show, text)
    return f"{fence}{language}\n{visible}{'' if visible.endswith(chr(10)) or not visible else chr(10)}{fence}"


def code_span(text: str, max_chars: int = _SPAN_CHARS) -> str:
    """Put one line of text into a span; several lines and long ones are cut, visibly."""
    line, more, _ = text.strip().partition("\n")
    if more or len(line) > max_chars:
        line = line[:max_chars] + " …"
    line = _CONTROL.sub(_show, line)
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def _show(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
