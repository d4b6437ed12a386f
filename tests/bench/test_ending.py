import asyncio
import contextlib
import os
import signal
from pathlib import Path

import pytest

from bench.ending import OutOfTime, deadline, ended_by_signals, output_of_python


def test_a_deadline_gets_out_of_a_callback_of_an_event_loop() -> None:
    def hang() -> None:
        while True:
            signal.pause()

    with contextlib.closing(asyncio.new_event_loop()) as loop:
        loop.call_soon(hang)
        with pytest.raises(OutOfTime, match=r"it is not done after 0\.05 s"), deadline(0.05, "it"):
            loop.run_forever()


def test_a_deadline_that_is_kept_rings_no_bell() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with deadline(30, "it"):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_does_what_an_interrupt_does(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with ended_by_signals() as noted, pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    assert noted == [number]
    assert signal.getsignal(number) is before


async def test_the_output_of_a_fresh_python_comes_back() -> None:
    assert await output_of_python("-c", "print(6 * 7)") == b"42\n"


async def test_a_fresh_python_that_fails_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        await output_of_python("-c", "raise SystemExit(3)")


async def test_cancelling_ends_the_fresh_python(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ready")
    code = f"import os, signal; open({str(tmp_path / 'ready')!r}, 'w').write(str(os.getpid())); signal.pause()"
    task = asyncio.create_task(output_of_python("-c", code))
    pid = int(await asyncio.to_thread((tmp_path / "ready").read_text))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
