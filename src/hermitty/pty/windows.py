"""A pseudo console on Windows (ConPTY), through pywinpty.

Written against pywinpty's documented interface and not yet run on Windows: `hermitty doctor` says so there. What ConPTY
does not have is not imitated: no process groups (an interrupt is Ctrl-C as a key), and no way to see what a program
waits for.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hermitty.errors import HostUnavailable, NotSupported
from hermitty.model import ExitStatus, Size

_READ_BYTES = 64 * 1024
_CTRL_C = "\x03"


class WindowsPty:
    """Owns one pseudo console. Tells `on_output` and `on_exit`, from the event loop."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        size: Size,
        on_output: Callable[[bytes], None],
        on_exit: Callable[[ExitStatus], None],
    ) -> None:
        try:
            from winpty import PtyProcess, WinptyError
        except ImportError as exc:
            raise NotSupported("terminals on Windows need pywinpty: pip install pywinpty") from exc
        self._on_output = on_output
        self._on_exit = on_exit
        self._loop = asyncio.get_running_loop()
        try:
            self._process: Any = PtyProcess.spawn(list(argv), cwd=cwd, env=dict(env), dimensions=(size.rows, size.cols))
        except (OSError, WinptyError) as exc:
            raise HostUnavailable(f"cannot start {argv[0]!r}: {exc}") from exc
        self.pid: int = self._process.pid
        # ConPTY has no descriptor that an event loop could watch; reading blocks, so it has a thread of its own.
        self._reader = threading.Thread(target=self._read, name=f"hermitty-{self.pid}", daemon=True)
        self._reader.start()

    def write(self, data: bytes) -> None:
        """Write input."""
        self._process.write(data.decode("utf-8", "replace"))

    def resize(self, size: Size) -> None:
        """Change the window size."""
        self._process.setwinsize(size.rows, size.cols)

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self._process.write(_CTRL_C)

    async def close(self) -> None:
        """End the program and its console; Windows ends the processes attached to it."""
        await asyncio.to_thread(self._process.close, True)
        await asyncio.to_thread(self._reader.join)

    def _read(self) -> None:
        while True:
            try:
                text: str = self._process.read(_READ_BYTES)
            except EOFError:
                break
            self._loop.call_soon_threadsafe(self._on_output, text.encode("utf-8", "replace"))
        code: int | None = self._process.wait()
        self._loop.call_soon_threadsafe(self._on_exit, ExitStatus(code=code))
