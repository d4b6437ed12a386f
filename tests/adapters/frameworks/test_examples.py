"""The examples run to their end without a key and a network, and do nothing that nobody allowed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.shells import PATIENCE_S

EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "examples" / "frameworks").glob("*.py"))
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "LANGCHAIN_MODEL", "PYDANTIC_AI_MODEL", "HF_TOKEN")


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 5


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_to_its_end(example: Path, tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name not in KEYS}
    done = subprocess.run(
        [sys.executable, str(example)],
        cwd=tmp_path,
        env={**env, "HOME": str(tmp_path), "SHELL": "/bin/bash"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "the agent wants to run: touch example-of-an-agent" in done.stdout
    assert "not done: not allowed: the person at the terminal said no" in done.stdout
    assert done.stdout.endswith("That is all.\n")
    assert "example-of-an-agent" not in {each.name for each in tmp_path.iterdir()}
