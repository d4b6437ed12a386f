"""A runtime in an empty home that asks a person of the test, and a model that follows a script."""

import contextlib
import os
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hermitty
from hermitty.adapters.agent_session import AgentSession
from hermitty.runtime.api import Runtime, build_runtime
from hermitty.runtime.approvals import Approval, Question
from hermitty.runtime.places import Places
from tests.support.kernel import so
from tests.support.notes import stirs
from tests.support.runtimes import Dial, Gate, settings_in
from tests.support.shells import PATIENCE_S

# What calls a tool: its name, and its arguments, or how to make them of what the tool before said.
Step = tuple[str, dict[str, Any] | Callable[[str], dict[str, Any]]]

NOT_RUN = "[not run: an earlier command has the terminal; call again to wait, or restart]"


class Person:
    """Says yes to lines that have `allowed` in them, and no to all others."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, question: Question) -> Approval:
        self.asked.append(question.line)
        return Approval("allow" if "allowed" in question.line else "deny", by="the test", note="as it is")


class Work:
    """A project with a gate, and what a model is to do there in each framework."""

    def __init__(self, path: Path, dial: Dial) -> None:
        self.path = path
        self.dial = dial
        (path / "sub").mkdir(parents=True)
        self.gate = Gate(path / "gate")
        self._letting: threading.Thread | None = None

    def hurry(self) -> None:
        """From now on commands go on in the background at once."""
        self.dial.turn(tools__wait_persistent_s=0.0)

    def let(self) -> None:
        """From now on commands are waited for, and `cat gate` ends."""
        self.dial.turn(tools__wait_persistent_s=PATIENCE_S)
        # Opening the gate waits for its reader.
        self._letting = threading.Thread(target=self.gate.let, args=("through\n",))
        self._letting.start()

    @contextlib.asynccontextmanager
    async def reader(self) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Wait until somebody reads from the gate; yield how to wait until nobody does any more."""
        found: list[int] = []

        def is_read() -> bool:
            with contextlib.suppress(OSError):  # nobody reads
                found.append(os.open(self.path / "gate", os.O_WRONLY | os.O_NONBLOCK))
            return bool(found)

        await so(is_read)
        [gate] = found
        try:
            # Nothing can be read from this end: what the kernel tells is an error, that the last reader has gone.
            yield lambda: stirs(gate)
        finally:
            os.close(gate)

    def close(self) -> None:
        if self._letting is not None:
            self._letting.join(PATIENCE_S)

    def tool_steps(self) -> list[Step]:
        """What a model does with the tools of the table."""
        terminal = ""

        def at(said: str) -> dict[str, Any]:
            nonlocal terminal
            if found := re.search(r"\bt_\w+", said):
                terminal = terminal or found.group()
            return {"persistent_terminal_id": terminal}

        def hurried(said: str) -> dict[str, Any]:
            self.hurry()
            return {"command": "cat ../gate", **at(said)}

        def patient(said: str) -> dict[str, Any]:
            self.let()
            return {**at(said), "wait_s": PATIENCE_S}

        return [
            ("run_command", {"command": "echo hello; (exit 3)"}),
            ("run_command", {"command": "touch unwanted"}),
            ("run_command", {"command": "touch allowed", "cwd": None}),
            ("open_persistent_terminal", {}),
            ("run_persistent_command", lambda said: {"command": "cd sub", **at(said)}),
            ("run_persistent_command", lambda said: {"command": "pwd", **at(said)}),
            ("run_persistent_command", hurried),
            ("wait_persistent_command", patient),
            ("run_persistent_command", lambda said: {"command": "echo", "persistent_terminal_id": "t_none"}),
            ("kill_persistent_terminal", at),
        ]

    def check_tool_texts(self, texts: list[str]) -> None:
        """Compare what the tools said with what they should have said."""
        texts = [re.sub(r"\bt_(?!none)\w+", "T", text) for text in texts]
        assert texts[0] == "hello\n[exit code 3]"
        assert texts[1] == "[not done: not allowed: the test said no: as it is]"
        assert texts[2] == "[exit code 0]"
        assert texts[3] == f"Terminal T is open in {self.path} (bash)."
        assert texts[4] == "[exit code 0]"
        assert texts[5] == f"{self.path}/sub\n[exit code 0]"
        assert texts[6] == "[still running in terminal T]"
        assert texts[7] == "through\n[exit code 0]"
        assert texts[8].startswith("[not done: ")
        assert "t_none" in texts[8]
        assert texts[9] == "Terminal T is closed, and everything that ran in it has ended."
        assert len(texts) == 10
        self.check_files()

    def shell_steps(self) -> list[Callable[[], str]]:
        """Return what a model sends to a tool that is a shell, one command after the other."""

        def hurried() -> str:
            self.hurry()
            return "cat ../gate"

        def patient() -> str:
            self.let()
            return "pwd"

        return [
            lambda: "echo hello; (exit 3)",
            lambda: "touch unwanted",
            lambda: "touch allowed",
            lambda: "cd sub",
            lambda: "pwd",
            hurried,
            lambda: "echo too early",
            patient,
        ]

    def check_shell_texts(self, texts: list[str]) -> None:
        """Compare what the shell said with what it should have said."""
        texts = [re.sub(r"\bt_\w+", "T", text) for text in texts]
        assert texts == [
            "hello\n[exit code 3]",
            "[not done: not allowed: the test said no: as it is]",
            "[exit code 0]",
            "[exit code 0]",
            f"{self.path}/sub\n[exit code 0]",
            "[still running in terminal T]",
            f"[`cat ../gate` is still running in terminal T]\n{NOT_RUN}",
            f"{self.path}/sub\n[exit code 0]",
        ]
        self.check_files()

    def check_files(self) -> None:
        self.check_files_are("sub", "gate", "allowed")

    def check_files_are(self, *names: str) -> None:
        """Check that nothing else was made."""
        assert {each.name for each in self.path.iterdir()} == set(names)


class Script:
    """The mind of a fake model: it calls a tool at each turn, and notes what the tools said."""

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps
        self.texts: list[str] = []

    def next(self, said: str | None) -> tuple[str, dict[str, Any]] | None:
        """Take what the last tool said, and return the next call; None at the end."""
        if said is not None:
            self.texts.append(said)
        if len(self.texts) == len(self._steps):
            return None
        name, arguments = self._steps[len(self.texts)]
        return name, arguments(said or "") if callable(arguments) else arguments


@pytest.fixture
def dial(home: Path, places: Places) -> Dial:
    """The settings of `rt`, with the policy as it is by default."""
    return Dial(settings_in(home))


@pytest.fixture
def work(tmp_path: Path, dial: Dial) -> Iterator[Work]:
    """A project to work in."""
    work = Work(tmp_path / "work", dial)
    yield work
    work.close()


@pytest.fixture
def person() -> Person:
    """Who is asked."""
    return Person()


@pytest.fixture
async def rt(dial: Dial, person: Person) -> AsyncIterator[Runtime]:
    """A runtime of this process that asks the person."""
    async with build_runtime(dial, approver=person) as runtime:
        yield runtime


@pytest.fixture
async def session(rt: Runtime, work: Work) -> AsyncIterator[AgentSession]:
    """A session in the project; at its end nothing of it is left."""
    async with AgentSession(rt, cwd=work.path) as session:
        yield session
    assert rt.terminals() == []


@pytest.fixture
def sync_session(dial: Dial, person: Person, work: Work) -> Iterator[AgentSession]:
    """The same for programs without an event loop."""
    # A dial may be turned while the runtime runs.
    with hermitty.sync.open(dial, approver=person) as rt:
        with AgentSession(rt, cwd=work.path) as session:
            yield session
        assert rt.terminals() == []
