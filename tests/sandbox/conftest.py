"""Confined terminals in an empty home, with a workspace beside it; once for each mechanism that works here."""

import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

import hermitty
from hermitty.runtime.api import Runtime, Sandbox, Terminal
from hermitty.sandbox import probe
from hermitty.sandbox.probe import Abilities, Bubblewrap
from tests.support.runtimes import settings_in

OpenConfined = Callable[..., Awaitable[Terminal]]

# Python itself may be installed in a home directory, which sandboxes hide.
PYTHON = tuple(dict.fromkeys((sys.base_prefix, sys.prefix)))


@pytest.fixture(scope="session")
def abilities() -> Abilities:
    """What works on this machine, found out once."""
    return probe.abilities()


def without_bubblewrap(abilities: Abilities) -> Abilities:
    """The same machine, if bubblewrap did not work on it."""
    return Abilities(Bubblewrap(None, "bubblewrap (bwrap) is not installed"), abilities.landlock)


@pytest.fixture(params=["bubblewrap", "landlock"])
def mechanism(request: pytest.FixtureRequest, abilities: Abilities, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each mechanism, as if there were no better one."""
    name: str = request.param
    found = abilities.bubblewrap if name == "bubblewrap" else abilities.landlock
    if not found.works:
        pytest.skip(f"{name} does not work here: {found.problem}")
    if name == "landlock":
        monkeypatch.setattr(probe, "_known", without_bubblewrap(abilities))
    return name


@pytest.fixture
def needs_bubblewrap(abilities: Abilities) -> None:
    """Skip where bubblewrap does not work."""
    if not abilities.bubblewrap.works:
        pytest.skip(f"bubblewrap does not work here: {abilities.bubblewrap.problem}")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory with secrets."""
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text("SECRET-KEY")
    (home / ".netrc").write_text("SECRET-PASSWORD")
    (home / "notes").write_text("harmless")
    return home


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A workspace that is a repository."""
    work = tmp_path / "work"
    work.mkdir()
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    return work


@pytest.fixture
async def runtime(home: Path) -> AsyncIterator[Runtime]:
    """A runtime that allows weaker sandboxes, so that each mechanism can be had."""
    async with hermitty.open(settings_in(home, sandbox__allow_weaker=True, policy__mode="off")) as runtime:
        yield runtime


@pytest.fixture
def confined(runtime: Runtime, work: Path, mechanism: str) -> OpenConfined:
    """Open a terminal confined by that mechanism."""

    async def open_it(mode: str = "workspace", **fields: object) -> Terminal:
        wish = Sandbox(**{"mode": mode, "read": PYTHON, **fields})  # type: ignore[arg-type]
        terminal = await runtime.open_terminal(cwd=work, shell="bash", sandbox=wish)
        assert terminal.sandbox_effective is not None
        assert terminal.sandbox_effective.mechanism == mechanism
        return terminal

    return open_it
