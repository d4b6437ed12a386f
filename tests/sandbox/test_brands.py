"""The brand that every process of a terminal inherits, whatever else it gets rid of."""

import asyncio
import os
import secrets
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hermitty.host import orphans
from hermitty.pty import processes
from hermitty.pty.spawn import spawn
from tests.sandbox.test_escape import DAEMON, running
from tests.support.kernel import gone, is_alive, so

names = st.text(st.characters(codec="utf-8", exclude_characters="."), max_size=20)


@given(names, names, names)
def test_brands_tell_hosts_and_terminals_apart(token: str, other: str, name: str) -> None:
    brand = processes.brand_of(f"{token}.{name}")
    assert brand is not None
    assert 0 < brand < 2**62
    assert processes.is_branded(brand, token)
    assert processes.is_branded(brand, other) == (processes.brand_of_token(token) == processes.brand_of_token(other))
    assert not processes.is_branded(None, token)


def test_who_was_not_branded_has_no_brand_of_a_host() -> None:
    assert not processes.is_branded(processes.process_table().brand(1), "0" * 16)


async def test_what_a_killed_host_left_is_found_by_its_brand(tmp_path: Path) -> None:
    (tmp_path / "daemon.py").write_text(DAEMON)
    token, mark = secrets.token_hex(8), str(tmp_path / "it_runs")
    bystander = await asyncio.create_subprocess_exec("sleep", "1000", stdin=subprocess.DEVNULL)
    pid = spawn(
        [sys.executable, "-I", "-S", "daemon.py", mark],
        cwd=str(tmp_path),
        env={"PATH": os.defpath},
        actions=[],
        brand=processes.brand_of(f"{token}.t_1"),
    )
    await asyncio.to_thread(os.waitpid, pid, 0)
    await so(lambda: os.path.exists(mark) and len(running(mark)) == 1)
    (daemon,) = running(mark)

    await orphans.end_marked(secrets.token_hex(8))
    assert is_alive(daemon)
    await orphans.end_marked(token)

    await gone(daemon)
    assert is_alive(bystander.pid)
    bystander.kill()
    await bystander.wait()
