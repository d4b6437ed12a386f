"""The limit on processes as an ordinary user has it, whose namespace counts them."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.sandbox import bubblewrap
from hermitty.sandbox.layout import layout
from hermitty.sandbox.plan import disk_facts
from hermitty.sandbox.probe import Abilities
from hermitty.sandbox.spec import Confinement, Mode

_BOMB = "i=0; while [ $i -lt 60 ]; do sleep 1000 & i=$((i+1)); done; echo all"


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that any user can use."""
    directory = Path(tempfile.mkdtemp(prefix="hermitty-test-", dir="/tmp"))
    directory.chmod(0o777)
    for name in ("work", "home", "private"):
        (directory / name).mkdir()
        (directory / name).chmod(0o777)
    yield directory
    shutil.rmtree(directory)


@pytest.mark.parametrize(("pids", "fits"), [(20, False), (200, True)])
def test_the_namespace_of_an_ordinary_user_counts_its_own(
    abilities: Abilities, shared: Path, pids: int, fits: bool
) -> None:
    if not abilities.bubblewrap.works:
        pytest.skip(f"bubblewrap does not work here: {abilities.bubblewrap.problem}")
    order = Confinement(Mode.WORKSPACE, str(shared / "work"), pids=pids)
    facts = disk_facts(str(shared / "home"))
    made = layout(order, facts, cwd=str(shared / "work"), directory=str(shared / "private"))
    argv = bubblewrap.arguments(
        abilities.bubblewrap.program or "", order, made, ["/bin/sh", "-c", _BOMB], cwd=str(shared / "work")
    )
    other = {"user": 12345, "group": 12345, "extra_groups": []} if os.getuid() == 0 else {}
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **other)  # type: ignore[call-overload]

    # What it left behind ended with it: the pipes are closed.
    assert ("all" in done.stdout) is fits, done.stderr
    assert ("fork" in done.stderr.lower()) is not fits
