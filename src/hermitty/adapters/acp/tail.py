"""The end of a text, within a limit in bytes."""


class TailText:
    """Keeps the newest text. The limit counts UTF-8 bytes; a cut never goes through a character."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.total_bytes = 0  # of everything that came
        self._kept = bytearray()
        self._text: str | None = ""

    @property
    def is_truncated(self) -> bool:
        """Tell whether something was dropped; once it is so, it stays so."""
        return self.total_bytes > self.limit_bytes

    def append(self, text: str) -> None:
        """Add text at the end."""
        if not text:
            return
        data = text.encode("utf-8", "replace")
        self.total_bytes += len(data)
        if self.limit_bytes == 0:
            return
        self._text = None
        self._kept += data
        # Dropping seldom, and much at once, costs a fixed share of what is added.
        if len(self._kept) > 2 * self.limit_bytes + 4096:
            del self._kept[: len(self._kept) - self.limit_bytes]

    def shrink(self, limit_bytes: int) -> None:
        """Lower the limit from now on."""
        if limit_bytes >= self.limit_bytes:
            return
        kept = self.text()
        self.limit_bytes = limit_bytes
        self._kept = bytearray(kept.encode() if limit_bytes else b"")
        self._text = None

    def text(self) -> str:
        """Return what is kept."""
        if self._text is None:
            start = max(0, len(self._kept) - self.limit_bytes)
            while start < len(self._kept) and self._kept[start] & 0xC0 == 0x80:
                start += 1
            self._text = self._kept[start:].decode()
        return self._text
