"""Both outputs of a process as one: in the order in which they were written."""

import os
import sys
from pathlib import Path

import pytest

from hermitty.host.base import PipeSpec
from hermitty.host.local import LocalHost
from hermitty.model import ExitStatus
from tests.support.recorders import ProcessRecorder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")

SCRIPT = "i=0; while [ $i -lt 500 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done; exit 3"


@pytest.mark.parametrize("stdin", [False, True])
async def test_merged_output_has_the_order_in_which_it_was_written(tmp_path: Path, stdin: bool) -> None:
    host = LocalHost()
    try:
        before = set(os.listdir("/dev/fd"))
        sink = ProcessRecorder()
        spec = PipeSpec("c_1", ("/bin/sh", "-c", SCRIPT), str(tmp_path), host.environment(), stdin=stdin, merged=True)
        process = await host.start(spec, sink)
        process.close_input()
        assert await sink.ended() == ExitStatus(code=3)
        await process.close()
        assert set(os.listdir("/dev/fd")) == before
    finally:
        await host.aclose()
    expected = "".join(f"out {number}\nerr {number}\n" for number in range(500)).encode()
    assert sink.streams == {"stdout": expected, "stderr": b""}
