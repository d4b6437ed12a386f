"""The audit: complete lines, never lost by another writer, never in anybody's way."""

import json
import multiprocessing
import os
import stat
import threading
from pathlib import Path

import pytest

from hermitty.runtime.audit import Audit, AuditEntry, old_file, read_audit

ENTRY = AuditEntry("npm i", "allow", "answer", "ask", "medium", cwd="/proj", rule="r_1", by="Ann", at=1_900_000_000.5)


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def audit(tmp_path: Path, told: list[str]) -> Audit:
    return Audit(tmp_path / "state" / "audit.jsonl", tell=told.append, clock=lambda: 1_900_000_000.0)


def commands(path: Path) -> list[str]:
    return [record["command"] for record in read_audit(path, limit=100_000)]


def test_a_record_is_one_line_that_only_its_owner_reads(audit: Audit) -> None:
    assert audit.record(ENTRY)
    (line,) = audit.path.read_text().splitlines()
    assert json.loads(line) == {
        "time": "2030-03-17T17:46:40Z",
        "command": "npm i",
        "outcome": "allow",
        "how": "answer",
        "decision": "ask",
        "level": "medium",
        "cwd": "/proj",
        "shell": None,
        "effects": [],
        "reasons": [],
        "rule": "r_1",
        "session": None,
        "terminal": None,
        "origin": "agent",
        "question": None,
        "scope": None,
        "by": "Ann",
        "at": 1_900_000_000.5,
    }
    assert stat.S_IMODE(audit.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(audit.path.parent.stat().st_mode) == 0o700


def test_newest_first_and_only_what_is_wanted(audit: Audit) -> None:
    for number in range(5):
        audit.record(AuditEntry(f"c{number}", "allow" if number % 2 else "deny", "safe", "allow", "low"))
    assert commands(audit.path) == ["c4", "c3", "c2", "c1", "c0"]
    assert [each["command"] for each in read_audit(audit.path, limit=2)] == ["c4", "c3"]
    denied = read_audit(audit.path, wanted=lambda record: record["outcome"] == "deny")
    assert [each["command"] for each in denied] == ["c4", "c2", "c0"]
    assert read_audit(audit.path.with_name("none")) == []


def test_secrets_are_masked_and_texts_have_an_end(audit: Audit) -> None:
    audit.record(AuditEntry("x --password hunter2", "deny", "policy", "ask", "high", reasons=("uses --token hunter2",)))
    audit.record(AuditEntry("y" * 1_000_000, "deny", "policy", "ask", "high", reasons=("z" * 100_000,) * 1000))
    text = audit.path.read_text()
    assert "hunter2" not in text
    assert "--password ***" in text
    assert len(text) < 100_000
    assert "the line has 1000000 characters" in text


@pytest.mark.parametrize("command", ["a\nb", "\udcff\ud800", "\x1b[2J", "\u2028", "\0"])
def test_any_text_is_kept_on_one_line(audit: Audit, command: str) -> None:
    audit.record(AuditEntry(command, "deny", "policy", "ask", "medium"))
    assert audit.path.read_bytes().count(b"\n") == 1
    assert commands(audit.path) == [command]


def test_a_line_that_was_cut_is_closed_by_the_next_writer(audit: Audit) -> None:
    audit.record(ENTRY)
    with audit.path.open("ab") as file:
        file.write(b'{"command": "half a li')
    audit.record(AuditEntry("after", "allow", "safe", "allow", "low"))
    assert commands(audit.path) == ["after", "npm i"]


def test_what_is_no_record_is_left_out(audit: Audit) -> None:
    audit.record(ENTRY)
    with audit.path.open("ab") as file:
        file.write(b'nonsense\n[1]\n{"command": 7, "at": 1}\n{"command": "x"}\n\xff\n' + b"[" * 100_000 + b"\n")
    assert commands(audit.path) == ["npm i"]


def test_a_full_file_is_moved_aside_and_the_oldest_is_forgotten(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.jsonl", max_bytes=1000, kept_files=2)
    for number in range(30):
        assert audit.record(AuditEntry(f"c{number:02}", "allow", "safe", "allow", "low"))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"]
    assert all(path.stat().st_size <= 1000 for path in tmp_path.iterdir())
    found = commands(audit.path)
    assert found == [f"c{number:02}" for number in range(29, 29 - len(found), -1)]
    assert len(found) >= 4
    assert stat.S_IMODE(old_file(audit.path, 1).stat().st_mode) == 0o600


def test_a_record_larger_than_the_file_may_be_is_kept(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.jsonl", max_bytes=10)
    for name in ("a", "b", "c"):
        audit.record(AuditEntry(name, "allow", "safe", "allow", "low"))
    assert commands(audit.path) == ["c", "b", "a"]


@pytest.mark.parametrize("kind", ["directory", "link", "pipe", "parent"])
def test_what_cannot_be_written_is_told_once_and_harms_nobody(tmp_path: Path, told: list[str], kind: str) -> None:
    path = tmp_path / "state" / "audit.jsonl"
    match kind:
        case "parent":
            path.parent.write_text("a file")
        case "directory":
            path.mkdir(parents=True)
        case "link":
            path.parent.mkdir()
            path.symlink_to(tmp_path / "elsewhere")
        case "pipe":
            path.parent.mkdir()
            os.mkfifo(path)
    audit = Audit(path, tell=told.append)
    assert not audit.record(ENTRY)
    assert not audit.record(ENTRY)
    assert audit.lost == 2
    assert len(told) == 1
    assert not (tmp_path / "elsewhere").exists()


def test_it_is_told_again_after_it_worked(tmp_path: Path, told: list[str]) -> None:
    audit = Audit(tmp_path / "audit.jsonl", tell=told.append)
    for _ in range(2):
        audit.path.mkdir()
        assert not audit.record(ENTRY)
        audit.path.rmdir()
        assert audit.record(ENTRY)
        audit.path.unlink()
    assert len(told) == 2


def test_threads_share_a_file(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.jsonl", max_bytes=20_000, kept_files=4)

    def write(name: str) -> None:
        for number in range(40):
            audit.record(AuditEntry(f"{name}{number}", "allow", "safe", "allow", "low"))

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert audit.lost == 0
    assert set(commands(audit.path)) == {f"{name}{number}" for name in "abcd" for number in range(40)}


def _write_many(path: str, name: str) -> None:
    audit = Audit(Path(path), max_bytes=20_000)
    for number in range(40):
        assert audit.record(AuditEntry(f"{name}{number}", "allow", "safe", "allow", "low"))


def test_processes_share_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "audit.jsonl")
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write_many, args=(path, name)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    for writer in writers:
        writer.close()
    assert set(commands(Path(path))) == {f"{name}{number}" for name in "abcd" for number in range(40)}
