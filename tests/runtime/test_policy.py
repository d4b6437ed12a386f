"""The policy in front of `run`: who is asked, what is refused, and what a shell that does something else gets."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

import hermitty
from hermitty import Approval, Question, Runtime
from hermitty.config import PolicySettings, ReuseSettings, Settings, TerminalSettings
from hermitty.errors import CommandDenied, CommandSkipped
from hermitty.model import State
from hermitty.runtime.tools import TOOLS
from tests.support.shells import PATIENCE_S

MakeRuntime = Callable[..., Runtime]


class Person:
    """Answers everything alike, and remembers the questions."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def __call__(self, question: Question) -> Approval:
        self.asked.append(question.line)
        return Approval(self.answer, by="test")  # type: ignore[arg-type]


def settings_in(home: Path, mode: str = "normal") -> Settings:
    terminal = TerminalSettings(shell="bash", env={"HOME": str(home)}, shell_integration_timeout_s=PATIENCE_S)
    return Settings(terminal=terminal, reuse=ReuseSettings(spares=0), policy=PolicySettings(mode=mode))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture(params=["allow", "deny", "skip"])
def person(request: pytest.FixtureRequest) -> Person:
    return Person(request.param)


@pytest.fixture
async def asked(tmp_path: Path, person: Person) -> AsyncIterator[Runtime]:
    async with hermitty.open(settings_in(tmp_path), approver=person) as runtime:
        yield runtime


@pytest.mark.parametrize("way", ["run", "pipe", "words", "temporary", "batch", "in", "start", "tool"])
async def test_every_way_leads_through_the_gate(asked: Runtime, person: Person, work: Path, way: str) -> None:
    line = "touch made"

    async def go() -> object:
        match way:
            case "run":
                return await asked.run(line, cwd=work)
            case "pipe":
                return await asked.run(line, cwd=work, provider="pipe")
            case "words":
                return await asked.run(["touch", "made"], cwd=work)
            case "temporary":
                return await asked.run_temporary(line, cwd=work)
            case "batch":
                return await asked.run_batch([line], cwd=work)
            case "in":
                return await asked.run_in((await asked.open_terminal(cwd=work)).id, line)
            case "start":
                terminal = await asked.open_terminal(cwd=work)
                return await (await asked.start_in(terminal.id, line)).wait(PATIENCE_S)
        return await TOOLS["run_command"].call(asked, {"command": line, "cwd": str(work)})

    if person.answer == "allow":
        await go()
    else:
        with pytest.raises(CommandDenied if person.answer == "deny" else CommandSkipped):
            await go()
    assert person.asked == [line]
    assert (work / "made").exists() is (person.answer == "allow")


async def test_what_only_reads_is_not_asked_about(asked: Runtime, person: Person, work: Path) -> None:
    result = await asked.run("ls -a | wc -l; pwd", cwd=work)
    assert (result.state, result.exit_code, person.asked) == (State.DONE, 0, [])


async def test_a_program_without_an_approver_is_trusted_but_blocks_hold(tmp_path: Path, work: Path) -> None:
    async with hermitty.open(settings_in(tmp_path)) as runtime:
        assert (await runtime.run("touch made", cwd=work)).exit_code == 0
        with pytest.raises(CommandDenied):
            await runtime.run("mkfs.ext4 /dev/no-such-disk", cwd=work)
        assert runtime.check("mkfs.ext4 /dev/no-such-disk", cwd=work).decision == "block"
        [entry, *_] = (await runtime.history()).entries
        assert (entry.command, entry.decision) == ("touch made", "caller")


async def test_without_a_policy_nothing_is_judged(tmp_path: Path, work: Path) -> None:
    person = Person("deny")
    async with hermitty.open(settings_in(tmp_path, "off"), approver=person) as runtime:
        assert (await runtime.run("touch made", cwd=work)).exit_code == 0
    assert person.asked == []


async def test_a_terminal_whose_names_changed_is_asked_about(tmp_path: Path, work: Path) -> None:
    person = Person("allow")
    async with hermitty.open(settings_in(tmp_path), approver=person) as runtime:
        await runtime.run("alias ls='touch stolen; ls'", cwd=work, session="s")
        await runtime.run("ls", cwd=work, session="s")
        await runtime.run("ls", cwd=work, session="other")
    assert person.asked == ["alias ls='touch stolen; ls'", "ls"]


async def test_a_shell_that_runs_something_else_is_stopped(tmp_path: Path, work: Path) -> None:
    person = Person("allow")
    async with hermitty.open(settings_in(tmp_path), approver=person) as runtime:
        terminal = await runtime.open_terminal(cwd=work)
        await terminal.run('bind \'"\\x1ep": "touch other; sleep 1000 #"\'', wait_s=PATIENCE_S)
        result = await runtime.run_in(terminal.id, "echo fine", wait_s=PATIENCE_S)
        assert result.state is State.KILLED
        assert "another line" in result.warnings[0]
        if terminal.is_open:  # a slow machine may need more than an interrupt
            await runtime.run_in(terminal.id, "pwd", wait_s=0)
            assert person.asked == ["pwd"]  # nothing there is believed any more
