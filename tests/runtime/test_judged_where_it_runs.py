"""A command is judged, and shown to a person, for the directory in which it then runs."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import hermitty
from hermitty import Approval, Question, Runtime
from tests.runtime.test_policy import settings_in


class Slow:
    """Allows everything, when told to; meanwhile the questions can be seen."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str | None]] = []
        self.is_asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def __call__(self, question: Question) -> Approval:
        self.seen.append((question.line, question.cwd))
        self.is_asked.set()
        await self.may_answer.wait()
        return Approval("allow", by="test")


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A project, and another one."""
    for name in ("ours", "others"):
        (tmp_path / name).mkdir()
    return tmp_path / "ours", tmp_path / "others"


@pytest.fixture
def person() -> Slow:
    return Slow()


@pytest.fixture
async def asking(tmp_path: Path, person: Slow) -> AsyncIterator[Runtime]:
    async with hermitty.open(settings_in(tmp_path), approver=person) as runtime:
        yield runtime


@pytest.mark.parametrize("mode", ["normal", "trust_workspace"])
async def test_the_lines_of_a_batch(tmp_path: Path, person: Slow, places: tuple[Path, Path], mode: str) -> None:
    ours, others = places
    person.may_answer.set()
    async with hermitty.open(settings_in(tmp_path, mode), approver=person) as runtime:
        lines = ["touch before", f"cd {others}", "touch made"]
        await runtime.run_batch(lines, cwd=ours, workspace=str(ours))

    before = [] if mode == "trust_workspace" else [("touch before", str(ours))]
    assert person.seen == [*before, ("touch made", str(others))]
    assert ((ours / "before").exists(), (others / "made").exists()) == (True, True)


@pytest.mark.parametrize("way", ["run", "temporary"])
async def test_a_session_that_moves_while_the_question_waits(
    asking: Runtime, person: Slow, places: tuple[Path, Path], way: str
) -> None:
    ours, others = places
    await asking.run("true", session="s", cwd=ours)
    run = asking.run if way == "run" else asking.run_temporary
    waiting = asyncio.create_task(run("touch made", session="s"))
    await person.is_asked.wait()
    assert (await asking.run("cd ../others", session="s")).cwd == str(others)

    person.may_answer.set()
    await waiting

    assert person.seen == [("touch made", str(ours))]
    assert ((ours / "made").exists(), (others / "made").exists()) == (True, False)


@pytest.mark.parametrize("way", ["run_in", "start_in"])
async def test_a_terminal_that_moves_while_the_question_waits_is_asked_about_again(
    asking: Runtime, person: Slow, places: tuple[Path, Path], way: str
) -> None:
    ours, others = places
    terminal = await asking.open_terminal(cwd=ours)

    async def run() -> None:
        if way == "run_in":
            await asking.run_in(terminal.id, "touch made")
        else:
            await (await asking.start_in(terminal.id, "touch made")).wait()

    waiting = asyncio.create_task(run())
    await person.is_asked.wait()
    await asking.run_in(terminal.id, "cd ../others")

    person.may_answer.set()
    await waiting

    assert person.seen == [("touch made", str(ours)), ("touch made", str(others))]
    assert ((ours / "made").exists(), (others / "made").exists()) == (False, True)


async def test_another_name_of_the_same_directory_is_no_other_place(
    asking: Runtime, person: Slow, places: tuple[Path, Path], tmp_path: Path
) -> None:
    ours, _ = places
    (tmp_path / "link").symlink_to(ours)
    person.may_answer.set()
    await asking.run("true", session="s", cwd=ours)

    await asking.run("touch made", session="s", cwd=tmp_path / "link")

    assert [line for line, _ in person.seen] == ["touch made"]
