"""The census of the machine sees what it is there to see: processes that nobody else remembers."""

import asyncio
import os
import secrets
import sys

import pytest

from soak import census
from tests.support.kernel import so

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


async def test_a_process_is_found_by_the_variable_even_when_it_has_left_its_session_and_its_parent() -> None:
    mark = f"{census.VARIABLE}={secrets.token_hex(8)}"
    name, _, value = mark.partition("=")
    assert census.own_processes(mark, None) == {}
    # The child makes a grandchild in a session of its own, tells its id and leaves it behind.
    program = "setsid sleep 1000.5 >/dev/null 2>&1 & echo $!"
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", program, stdout=asyncio.subprocess.PIPE, env={"PATH": os.environ["PATH"], name: value}
    )
    told, _ = await process.communicate()
    pid = int(told)
    try:
        await so(lambda: census.own_processes(mark, None) == {pid: f"{pid} sleep 1000.5"})
        assert f"{pid} sleep 1000.5" in census.command_lines("sleep 1000.5")
        assert census.is_alive(pid, census.started_at(pid))
        assert not census.is_alive(pid, 1)
    finally:
        os.kill(pid, 9)
    await so(lambda: census.own_processes(mark, None) == {})
    assert not census.is_alive(pid)


def test_memory_descriptors_and_threads_of_a_process_are_counted() -> None:
    memory = census.memory_of(os.getpid())
    assert memory is not None
    assert 0 < memory.anonymous < memory.resident
    assert census.memory_of(2**30) is None
    before = len(census.descriptors_of(os.getpid()))
    reading, writing = os.pipe()
    try:
        assert len(census.descriptors_of(os.getpid())) == before + 2
    finally:
        os.close(reading)
        os.close(writing)
    assert census.threads_of(os.getpid()) >= 1
