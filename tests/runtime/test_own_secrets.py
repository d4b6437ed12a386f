"""The token of the server is the key to its approvals: no command reads it without a question."""

from pathlib import Path

import pytest

from hermitty.config import PolicySettings
from hermitty.runtime.approvals import Approvals
from hermitty.runtime.gate import Gate
from hermitty.runtime.places import Places


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    places = Places(tmp_path / "config.toml", tmp_path / "kept" / "state")
    return Gate.at(places, PolicySettings, Approvals())


@pytest.mark.parametrize(
    ("line", "cwd", "decision"),
    [
        ("cat kept/state/token", "", "ask"),
        ("cat token", "kept/state", "ask"),
        ("cat ../state/tok*", "kept/other", "ask"),
        ("cd kept && cat state/token", "", "ask"),
        ("head -c 99 < kept/state/logins.json", "", "ask"),
        ("grep -r . kept", "", "ask"),
        ("for f in kept/state/*; do cat $f; done", "", "ask"),
        ("cat kept/notes", "", "allow"),
        ("ls kept", "", "allow"),
    ],
)
def test_reading_what_the_server_keeps_is_asked_about(
    gate: Gate, tmp_path: Path, line: str, cwd: str, decision: str
) -> None:
    where = str(tmp_path / cwd)
    assert gate.decide(line, shell="bash", cwd=where, workspace=str(tmp_path)).decision == decision
