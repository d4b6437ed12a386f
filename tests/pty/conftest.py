"""PTYs and piped processes that end with their test."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from hermitty.model import Size, TerminalId
from hermitty.pty.pipes import PipeProcess
from hermitty.pty.posix import PosixPty
from tests.support.recorders import ProcessRecorder, Recorder


@dataclass
class OpenPty:
    """A PTY and what it did so far."""

    pty: PosixPty
    sink: Recorder


@dataclass
class OpenProcess:
    """A piped process and what it did so far."""

    process: PipeProcess
    sink: ProcessRecorder


OpenPtyOf = Callable[..., OpenPty]
OpenProcessOf = Callable[..., OpenProcess]


def clean_environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": "xterm"}


@pytest.fixture
async def open_pty(tmp_path: Path) -> AsyncIterator[OpenPtyOf]:
    """Opens programs on PTYs: `open_pty("sh", "-c", "tty")`."""
    async with AsyncExitStack() as stack:

        def start(*argv: str, size: Size | None = None, env: dict[str, str] | None = None) -> OpenPty:
            sink = Recorder()
            pty = PosixPty(
                TerminalId("t_1"),
                argv,
                owner=f"{tmp_path.name}.{id(sink)}",
                cwd=str(tmp_path),
                env={**clean_environment(tmp_path), **(env or {})},
                size=size or Size(80, 24),
                descriptor_limit=None,
                glance=sink.glance,
                on_output=sink.on_output,
                on_exit=sink.on_exit,
            )
            stack.push_async_callback(pty.close)
            return OpenPty(pty, sink)

        yield start


@pytest.fixture
async def open_process(tmp_path: Path) -> AsyncIterator[OpenProcessOf]:
    """Starts programs with pipes: `open_process("cat", stdin=True)`."""
    async with AsyncExitStack() as stack:

        def start(*argv: str, stdin: bool = False) -> OpenProcess:
            sink = ProcessRecorder()
            process = PipeProcess(
                f"{tmp_path.name}.{id(sink)}",
                argv,
                cwd=str(tmp_path),
                env=clean_environment(tmp_path),
                stdin=stdin,
                descriptor_limit=None,
                on_output=lambda stream, data: sink.on_output("stdout" if stream == 1 else "stderr", data),
                on_exit=sink.on_exit,
            )
            stack.push_async_callback(process.close)
            return OpenProcess(process, sink)

        yield start
