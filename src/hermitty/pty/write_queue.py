"""Writing to a descriptor that may be full, without waiting and without an unbounded queue."""

import asyncio
import os
from collections import deque

# A paste of some megabytes is legitimate; a program that never reads must not eat our memory.
INPUT_LIMIT = 8 * 1024 * 1024


class WriteQueue:
    """Bytes on their way into one non-blocking descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._queue: deque[memoryview] = deque()
        self._watching = False
        self._close_when_empty = False
        self.waiting = 0

    def write(self, data: bytes) -> None:
        """Write now what the kernel takes and the rest when it can."""
        if self._descriptor < 0 or not data:
            return
        self._queue.append(memoryview(data))
        self.waiting += len(data)
        if not self._watching:
            self._flush()

    def discard(self) -> None:
        """Forget what has not been written."""
        self._queue.clear()
        self.waiting = 0

    def finish(self) -> None:
        """Close the descriptor once everything has been written."""
        self._close_when_empty = True
        if not self._queue:
            self.close()

    def close(self, *, owns_descriptor: bool = True) -> None:
        """Forget the rest and let the descriptor go."""
        self.discard()
        if self._descriptor < 0:
            return
        if self._watching:
            self._loop.remove_writer(self._descriptor)
            self._watching = False
        if owns_descriptor:
            os.close(self._descriptor)
        self._descriptor = -1

    def _flush(self) -> None:
        while self._queue:
            chunk = self._queue[0]
            try:
                written = os.write(self._descriptor, chunk)
            except BlockingIOError:
                break
            except OSError:
                # The reader is gone (EIO on a PTY, EPIPE on a pipe); its exit is reported elsewhere.
                self.discard()
                break
            self.waiting -= written
            if written == len(chunk):
                self._queue.popleft()
            else:
                self._queue[0] = chunk[written:]
        if self._queue and not self._watching:
            self._loop.add_writer(self._descriptor, self._flush)
            self._watching = True
        elif not self._queue and self._watching:
            self._loop.remove_writer(self._descriptor)
            self._watching = False
        if not self._queue and self._close_when_empty:
            self.close()
