"""Commands in a sandbox that need no question, with real terminals: only where the user has said so."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

import hermitty
from hermitty.errors import CommandDenied
from hermitty.runtime.api import Runtime
from hermitty.sandbox import probe
from hermitty.sandbox.probe import Abilities
from tests.sandbox.conftest import without_bubblewrap
from tests.support.runtimes import settings_in

OpenAsking = Callable[..., AbstractAsyncContextManager[tuple[Runtime, list[str]]]]


@pytest.fixture
def asking(home: Path) -> OpenAsking:
    """A runtime whose questions are written down and answered with no."""

    @asynccontextmanager
    async def open_it(**values: object) -> AsyncIterator[tuple[Runtime, list[str]]]:
        asked: list[str] = []

        async def say_no(question: hermitty.Question) -> hermitty.Approval:
            asked.append(question.command)
            return hermitty.Approval("deny", by="the test")

        async with hermitty.open(settings_in(home, **values), approver=say_no) as runtime:
            yield runtime, asked

    return open_it


async def test_what_is_contained_is_not_asked_about(needs_bubblewrap: None, asking: OpenAsking, work: Path) -> None:
    (work / "Makefile").write_text("all:\n\ttouch made\n")
    async with asking(sandbox__workspaces={str(work): "workspace"}) as (runtime, asked):
        assert (await runtime.run("make", cwd=work)).exit_code == 0
        terminal = await runtime.open_terminal(cwd=work)
        assert (await runtime.run_in(terminal.id, "touch more")).exit_code == 0
        assert asked == []
        assert {"made", "more"} <= set(os.listdir(work))
        for line in ("rm made", "git push", "touch ../out", "cat ~/.ssh/id_ed25519"):
            with pytest.raises(CommandDenied):
                await runtime.run(line, cwd=work)
        assert len(asked) == 4


@pytest.mark.parametrize(
    ("settings", "sandbox"),
    [
        ({}, None),
        ({}, "workspace"),  # the caller asks for it, and nobody named the directory
        ({"sandbox__mode": "workspace"}, None),
        ({"sandbox__workspaces": True, "sandbox__network": "host"}, None),
        ({"sandbox__workspaces": True, "sandbox__fewer_questions": False}, None),
        ({"sandbox__workspaces": True, "policy__mode": "ask_always"}, None),
    ],
)
async def test_otherwise_it_is(
    needs_bubblewrap: None, asking: OpenAsking, work: Path, settings: dict[str, object], sandbox: str | None
) -> None:
    if "sandbox__workspaces" in settings:
        settings = {**settings, "sandbox__workspaces": {str(work): "workspace"}}
    async with asking(**settings) as (runtime, asked):
        with pytest.raises(CommandDenied):
            await runtime.run("make", cwd=work, sandbox=sandbox)
        assert asked == ["make"]


async def test_a_link_does_not_make_another_directory_ours(
    needs_bubblewrap: None, asking: OpenAsking, work: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (work / "link").symlink_to(tmp_path / "other")
    async with asking(sandbox__workspaces={str(work): "workspace"}) as (runtime, asked):
        with pytest.raises(CommandDenied):
            await runtime.run("touch x", cwd=work / "link", sandbox="workspace")
        assert asked == ["touch x"]


async def test_a_weaker_sandbox_is_asked_about(
    asking: OpenAsking, work: Path, abilities: Abilities, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "_known", without_bubblewrap(abilities))
    settings = {"sandbox__workspaces": {str(work): "workspace"}, "sandbox__allow_weaker": True}
    async with asking(**settings) as (runtime, asked):
        with pytest.raises(CommandDenied):
            await runtime.run("make", cwd=work)
        assert asked == ["make"]
