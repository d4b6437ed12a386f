"""What a result means: a sentence, its output as data, and what to try next."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from hermitty.model import State
from hermitty.runtime.api import Runtime
from hermitty.runtime.explanation import names_on_path
from tests.support.runtimes import Dial, Gate

with_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.mark.parametrize("provider", ["pty", "pipe"])
async def test_a_listing_is_data_besides_its_text(rt: Runtime, work: Path, provider: Any) -> None:
    (work / "a file").write_text("12345")
    (work / "link").symlink_to("a file")
    (work / "README.md").touch()

    result = await rt.run("ls -la", cwd=work, provider=provider)
    explained = await rt.explain(result)

    assert explained.structured is not None
    assert explained.structured.parser == "hermitty"
    assert isinstance(explained.structured.data, list)
    found = {each["filename"]: each for each in explained.structured.data if isinstance(each, dict)}
    assert set(found) == {".", "..", "README.md", "a file", "link", "src", "docs"}
    assert (found["a file"]["size"], found["a file"]["type"]) == (5, "file")
    assert "a file" in result.text
    assert explained.summary.startswith("`ls -la` succeeded after ")
    assert "cat README.md" in [each.command for each in explained.suggestions]


@with_git
async def test_the_state_of_a_repository_is_data(rt: Runtime, work: Path) -> None:
    await rt.run("git init -q -b main . && touch new && mkdir -p d && touch d/staged && git add d/staged", cwd=work)

    result = await rt.run("git status", cwd=work)
    explained = await rt.explain(result)

    assert explained.structured is not None
    data = explained.structured.data
    assert isinstance(data, dict)
    assert data["branch"] == "main"
    assert "d/staged" in str(data)
    assert "new" in str(data)
    assert "Changes to be committed" in result.text


async def test_a_failure_is_summed_up_and_a_misspelt_command_corrected(
    rt: Runtime, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "frobnicate"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")

    result = await rt.run("frobincate --fast 'a b'", cwd=work)
    explained = await rt.explain(result)

    assert result.exit_code == 127
    assert "exit code 127" in explained.summary
    assert explained.suggestions[0].command == "frobnicate --fast 'a b'"
    assert explained.structured is None


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
async def test_errors_listings_and_builds_lead_to_what_comes_next(rt: Runtime, work: Path) -> None:
    (work / "Makefile").write_text("all:\n\t@echo built\n")
    told = {}
    for line in ("cat missing", "ls", "make all"):
        explained = await rt.explain(await rt.run(line, cwd=work))
        told[line] = (explained.summary, [each.command for each in explained.suggestions])

    assert "`cat missing` ended with exit code 1 after " in told["cat missing"][0]
    assert told["cat missing"][0].endswith("Last error line: cat: missing: No such file or directory")
    assert told["cat missing"][1] == ["ls -la ."]
    assert "cat Makefile" in told["ls"][1]
    assert told["make all"][1] == ["make test"]


async def test_a_part_of_an_output_is_not_read_as_data(rt: Runtime, work: Path, gate: Gate, dial: Dial) -> None:
    running = await rt.run("ls -la . gate", cwd=work, wait_s=0)
    assert running.state is State.RUNNING
    explained = await rt.explain(running)
    assert (explained.structured, explained.suggestions) == (None, [])

    dial.turn(terminal__output_line_limit=3)
    terminal = await rt.open_terminal(cwd=work.parent)  # one that is open already goes by the settings it began with
    cut = await rt.run_in(terminal.id, "ls -la")
    assert cut.truncated
    assert (await rt.explain(cut)).structured is None


def test_names_on_path_survive_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").touch()
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)

    assert set(names_on_path(f"/no/such/place:{tmp_path}:{tmp_path}/file:")) == {"one", "file"}
    assert set(names_on_path("")) == {"one", "file"}  # an empty place on PATH is where one is
