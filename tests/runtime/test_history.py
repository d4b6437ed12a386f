"""The history of commands: what is kept, found, masked and forgotten, and what happens when the file is in trouble."""

import asyncio
import contextlib
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

import hermitty
from hermitty.config import HistorySettings, Settings, TerminalSettings
from hermitty.errors import HostUnavailable, NotSupported
from hermitty.model import State
from hermitty.runtime.api import Runtime
from hermitty.runtime.history.entry import COMMAND_LIMIT_BYTES, HistoryEntry, HistoryQuery, entry_of_result
from hermitty.runtime.history.masking import mask_secrets, names_a_secret
from hermitty.runtime.history.store import MIGRATIONS, HistoryDatabase, read_history
from hermitty.runtime.history.writer import History

# Entries are forgotten by age, so the tests live in the present.
NOW = time.time()


def entry(number: int, command: str = "true", **values: object) -> HistoryEntry:
    given: dict[str, object] = {"source": "agent", "started_at": NOW + number, "state": State.DONE, "exit_code": 0}
    return HistoryEntry(command_id=f"c_{number}", command=command, **{**given, **values})  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the history is; its directory is not there yet."""
    return tmp_path / "state" / "history.db"


@pytest.fixture
def told() -> list[str]:
    """What the history said."""
    return []


@pytest.fixture
async def history(path: Path, told: list[str]) -> AsyncIterator[History]:
    """A history that is not used yet."""
    history = History(path, tell=told.append)
    yield history
    await history.aclose()


async def ids(history: History, **query: object) -> list[str]:
    page = await history.search(HistoryQuery(**query))  # type: ignore[arg-type]
    return [found.command_id for found in page.entries]


# What is kept.


async def test_everything_about_a_command_is_found_again_after_a_restart(path: Path) -> None:
    whole = HistoryEntry(
        command_id="c_1", command="make -j2\n\ttest ä\u2028", source="user", started_at=NOW, state=State.KILLED,
        duration_s=1.5, exit_code=143, signal="SIGTERM", session="fix", workspace="w", terminal="t_1", provider="pipe",
        shell="zsh", cwd="/a", cwd_after="/b", decision="allow", rule="make", output_bytes=12, artifact="a_1",
    )  # fmt: skip
    bare = HistoryEntry(command_id="c_2", command="x", source="agent", started_at=NOW + 1, state=State.RUNNING)
    history = History(path)
    assert history.record(whole)
    assert history.record(bare)
    await history.aclose()
    again = History(path)
    page = await again.search(HistoryQuery())
    await again.aclose()
    assert (page.entries, page.next, page.missing) == ([bare, whole], None, 0)
    assert read_history(path, HistoryQuery()) == page


async def test_the_end_of_a_command_replaces_its_start(history: History) -> None:
    history.record(entry(1, state=State.RUNNING, exit_code=None))
    history.record(entry(2))
    history.record(entry(1, exit_code=3))
    page = await history.search(HistoryQuery())
    assert page.entries == [entry(2), entry(1, exit_code=3)]


async def test_nothing_is_made_before_the_first_use(path: Path) -> None:
    history = History(path)
    await history.flush()
    await history.aclose()
    assert not path.parent.exists()
    assert read_history(path, HistoryQuery()).entries == []
    assert not path.parent.exists()


async def test_only_the_owner_can_read_it(history: History, path: Path) -> None:
    history.record(entry(1))
    await history.flush()
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {"history.db": 0o600, "history.db-wal": 0o600, "history.db-shm": 0o600}


async def test_text_that_is_no_text_is_kept_readable(history: History) -> None:
    history.record(entry(1, "cat \udcff\x00", cwd="/\udcfe"))
    (found,) = (await history.search(HistoryQuery(search="\udcff"))).entries
    assert (found.command, found.cwd) == ("cat \\udcff\x00", "/\\udcfe")


@pytest.mark.parametrize("letter", ["x", "ä", "\U0001f980"])
async def test_a_long_line_is_cut_with_a_note(history: History, letter: str) -> None:
    history.record(entry(1, letter * 1_000_000))
    history.record(entry(2, "x" * COMMAND_LIMIT_BYTES))
    exact, cut = (await history.search(HistoryQuery())).entries
    assert exact.command == "x" * COMMAND_LIMIT_BYTES
    kept = COMMAND_LIMIT_BYTES // len(letter.encode())
    assert cut.command == letter * kept + "… [cut here: the line has 1000000 characters]"


async def test_a_secret_at_the_cut_is_masked(history: History) -> None:
    start = "x" * (COMMAND_LIMIT_BYTES - 20)
    history.record(entry(1, f"{start} ghp_{'s' * 36} {'y' * 10_000}"))
    (found,) = (await history.search(HistoryQuery())).entries
    assert found.command.startswith(f"{start} *** yyy")


async def test_settings_say_what_is_recorded(path: Path) -> None:
    settings = HistorySettings(enabled=False)
    history = History(path, lambda: settings)
    assert not history.record(entry(1))
    settings = HistorySettings(ignore_space=True, mask_secrets=False)
    assert not history.record(entry(2, " secret"))
    assert history.record(entry(3, "login --password hunter2"))
    settings = HistorySettings()
    assert history.record(entry(4, " kept --password hunter2"))
    page = await history.search(HistoryQuery())
    await history.aclose()
    assert [found.command for found in page.entries] == [" kept --password ***", "login --password hunter2"]
    assert (history.dropped, page.missing) == (0, 0)


async def test_old_and_surplus_entries_are_forgotten_when_it_is_opened(path: Path) -> None:
    history = History(path)
    for number in range(5):
        history.record(entry(number))
    history.record(entry(9, started_at=NOW - 10 * 86400))
    await history.aclose()
    history = History(path, lambda: HistorySettings(keep_days=5, max_entries=3))
    assert await ids(history) == ["c_4", "c_3", "c_2"]
    await history.aclose()
    history = History(path, lambda: HistorySettings(keep_days=None, max_entries=None))
    assert await ids(history) == ["c_4", "c_3", "c_2"]
    await history.aclose()


# What is found.


async def test_entries_are_found_by_text_session_failure_and_time(history: History) -> None:
    history.record(entry(1, "git push", session="a"))
    history.record(entry(2, "GIT status 100%", session="b", exit_code=1))
    history.record(entry(3, "sleep 9", session="a", exit_code=None, state=State.KILLED))
    history.record(entry(4, "a_b", exit_code=None, state=State.RUNNING))
    history.record(entry(5, "axb", exit_code=None))
    assert await ids(history) == ["c_5", "c_4", "c_3", "c_2", "c_1"]
    assert await ids(history, search="git") == ["c_2", "c_1"]
    assert await ids(history, search="100%") == ["c_2"]
    assert await ids(history, search="a_b") == ["c_4"]
    assert await ids(history, search="\\") == []
    assert await ids(history, session="a") == ["c_3", "c_1"]
    assert await ids(history, failed=True) == ["c_3", "c_2"]
    assert await ids(history, since=NOW + 2, until=NOW + 4) == ["c_4", "c_3", "c_2"]
    assert await ids(history, search="git", session="a", failed=True) == []


async def test_pages_neither_repeat_nor_skip_while_new_commands_come(history: History) -> None:
    for number in range(7):
        history.record(entry(number, started_at=NOW + number // 3))  # several at the same time
    seen, cursor = [], None
    while True:
        page = await history.search(HistoryQuery(limit=2, before=cursor))
        seen += [found.command_id for found in page.entries]
        history.record(entry(100 + len(seen)))
        if (cursor := page.next) is None:
            break
    assert seen == ["c_6", "c_5", "c_4", "c_3", "c_2", "c_1", "c_0"]


# Several processes, and sudden ends.

WRITER = """
import asyncio, sys
from hermitty.runtime.history.writer import History
from hermitty.runtime.history.entry import HistoryEntry
from hermitty.model import State, TerminalId
from pathlib import Path

async def main(path, name, start, count):
    history = History(Path(path))
    for number in range(int(count)):
        history.record(HistoryEntry(f"{name}{number}", f"echo {number}", "agent", float(start), State.DONE))
        if number % 10 == 0:
            await history.flush()
    await history.flush()
    print("stored", flush=True)
    sys.stdin.read()
    await history.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


def writer(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(NOW), str(count)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_what_was_stored_survives_kill_9(path: Path) -> None:
    with writer(path, "c", 25) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "stored\n"
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert len(read_history(path, HistoryQuery(limit=100)).entries) == 25


def test_several_processes_share_one_file(path: Path) -> None:
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(writer(path, name, 100)) for name in ("a", "b", "c")]
        outcomes = [process.communicate("") for process in processes]
    assert [output for output, _ in outcomes] == ["stored\n"] * 3
    page = read_history(path, HistoryQuery(limit=1000))
    assert len({found.command_id for found in page.entries}) == 300
    assert page.missing == 0


# Trouble.


async def test_what_cannot_be_stored_in_time_is_counted_told_and_noted(path: Path, told: list[str]) -> None:
    history = History(path, tell=told.append, queue_bytes=10 * entry(1).cost_bytes)
    history.record(entry(0))
    await history.flush()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        taken = [history.record(entry(number)) for number in range(1, 101)]
        other.execute("ROLLBACK")
    lost = taken.count(False)
    assert lost >= 80  # the thread may have taken one full queue before the next one filled
    assert history.dropped == lost
    await history.flush()
    history.record(entry(101))  # the count is noted with the next commands that are stored
    page = await history.search(HistoryQuery(limit=1000))
    await history.aclose()
    expected = [0, *(number for number, was_taken in enumerate(taken, 1) if was_taken), 101]
    assert [found.command_id for found in reversed(page.entries)] == [f"c_{number}" for number in expected]
    assert page.missing == lost
    why = "they came faster than they could be stored"
    assert f"history: commands are not recorded for now: {why}" in told
    counts = re.findall(rf"^history: (\d+) commands were not recorded: {why}$", "\n".join(told), re.MULTILINE)
    assert sum(map(int, counts)) == lost


async def test_a_locked_history_is_waited_for(path: Path, told: list[str]) -> None:
    waits = asyncio.Event()
    loop = asyncio.get_running_loop()

    def tell(text: str) -> None:
        told.append(text)
        loop.call_soon_threadsafe(waits.set)

    history = History(path, tell=tell)
    history.record(entry(0))
    await history.flush()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        history.record(entry(1))
        async with asyncio.timeout(60):
            await waits.wait()
        other.execute("ROLLBACK")
    found = await ids(history)
    await history.aclose()
    assert found == ["c_1", "c_0"]
    assert told == ["history: another program has it locked; commands wait to be recorded"]
    assert history.dropped == 0


def content_of(path: Path) -> bytes:
    return path.read_bytes()


def damaged_header(path: Path) -> None:
    path.write_bytes(b"this is no database" * 1000)


def damaged_inside(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [damaged_header, damaged_inside])
async def test_a_damaged_file_is_moved_aside_and_a_new_one_begun(
    path: Path, told: list[str], damage: Callable[[Path], None]
) -> None:
    history = History(path)
    for number in range(200):
        history.record(entry(number, "x" * 200))
    await history.aclose()
    damage(path)
    content = content_of(path)
    with pytest.raises(HostUnavailable, match="moved aside when the next command is recorded"):
        read_history(path, HistoryQuery(search="x", limit=1000))
    history = History(path, tell=told.append)
    history.record(entry(1, "after"))
    found = await ids(history)
    await history.aclose()
    assert found == ["c_1"]
    (aside,) = path.parent.glob("history.damaged-*Z.db")
    assert content_of(aside) == content
    assert len(told) == 1
    assert f"it is {aside.name} now, and a new one was begun" in told[0]
    assert history.dropped == 0


async def test_a_file_that_vanishes_is_made_again(history: History, path: Path) -> None:
    history.record(entry(1))
    await history.flush()
    for file in path.parent.iterdir():
        file.unlink()
    history.record(entry(2))
    assert await ids(history) == ["c_2"]


async def test_a_newer_schema_is_refused_and_left_alone(path: Path, told: list[str]) -> None:
    HistoryDatabase(path, migrations=(*MIGRATIONS, ("ALTER TABLE commands ADD COLUMN mood TEXT",))).close()
    before = content_of(path)
    with pytest.raises(NotSupported, match="written by a newer hermitty"):
        read_history(path, HistoryQuery())
    history = History(path, tell=told.append)
    history.record(entry(1))
    await history.flush()
    history.record(entry(2))
    with pytest.raises(NotSupported):
        await history.search(HistoryQuery())
    await history.aclose()
    assert history.dropped == 2
    assert told[0].startswith("history: commands are not recorded for now: history ")
    assert told[1].startswith("history: 2 commands were not recorded")
    assert len(told) == 2
    assert content_of(path) == before


def test_an_older_schema_is_brought_up_to_date_and_keeps_its_entries(path: Path) -> None:
    with contextlib.closing(HistoryDatabase(path)) as database:
        database.write([entry(1)])
    newer = (*MIGRATIONS, ("CREATE TABLE extra (x)", "INSERT INTO extra SELECT command FROM commands"))
    with contextlib.closing(HistoryDatabase(path, migrations=newer)) as database:
        assert database.search(HistoryQuery()).entries == [entry(1)]
    with contextlib.closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS) + 1,)
        assert raw.execute("SELECT * FROM extra").fetchall() == [("true",)]


def test_a_migration_that_fails_changes_nothing(path: Path) -> None:
    HistoryDatabase(path).close()
    with pytest.raises(sqlite3.OperationalError):
        HistoryDatabase(path, migrations=(*MIGRATIONS, ("CREATE TABLE extra (x)", "CREATE TABLE extra (x)")))
    with contextlib.closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        assert raw.execute("SELECT name FROM sqlite_schema WHERE name = 'extra'").fetchall() == []


async def test_a_place_that_cannot_be_written_costs_only_the_record(tmp_path: Path, told: list[str]) -> None:
    (tmp_path / "file").touch()
    history = History(tmp_path / "file" / "history.db", tell=told.append)
    assert history.record(entry(1))
    await history.flush()
    assert history.record(entry(2))
    await history.flush()
    with pytest.raises(HostUnavailable):
        await history.search(HistoryQuery())
    await history.aclose()
    assert history.dropped == 2
    assert len(told) == 2  # once as long as it lasts, and the count at the end


async def test_a_cancelled_search_leaves_the_history_usable(history: History) -> None:
    task = asyncio.create_task(history.search(HistoryQuery()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    history.record(entry(1))
    assert await ids(history) == ["c_1"]


async def test_a_closed_history_takes_nothing_and_says_so(history: History, told: list[str]) -> None:
    history.record(entry(1))
    await history.aclose()
    await history.aclose()
    assert not history.record(entry(2))
    assert history.dropped == 1
    assert told == ["history: commands are not recorded for now: the history was closed"]
    with pytest.raises(HostUnavailable):
        await history.search(HistoryQuery())


# Secrets.


@pytest.mark.parametrize(
    ("line", "stored"),
    [
        ("login --password hunter2 --user me", "login --password *** --user me"),
        ("login --password='a b' x", "login --password=*** x"),
        ('login --db-password "a \\" b" x', "login --db-password *** x"),
        ("login --password 'never closed", "login --password ***"),
        ("x --api-key=k1; y --apikey k2 | z -token k3", "x --api-key=***; y --apikey *** | z -token ***"),
        ("GITHUB_TOKEN=abc make", "GITHUB_TOKEN=*** make"),
        ("export AWS_SECRET_ACCESS_KEY=$'a\\'b' X=1", "export AWS_SECRET_ACCESS_KEY=*** X=1"),
        ("MYSQL_PWD=a DB_PASS=b PGPASSWORD=c psql", "MYSQL_PWD=*** DB_PASS=*** PGPASSWORD=*** psql"),
        ("curl -d 'token=abc&x=1' http://h 'y'", "curl -d 'token=***&x=1' http://h 'y'"),
        ("""curl -d '{"password": "a\\\\b", "x": 1}'""", """curl -d '{"password": "***", "x": 1}'"""),
        ('curl -d "{\\"password\\": \\"ab\\"}"', 'curl -d "{\\"password\\": \\"***\\"}"'),
        ("set -gx API_KEY abc; ls", "set -gx API_KEY ***; ls"),
        ("$env:API_TOKEN = 'abc'; ls", "$env:API_TOKEN = ***; ls"),
        ("git clone https://me:pw@host/r.git", "git clone https://me:***@host/r.git"),
        ("curl -H 'Authorization: Bearer abc.def' u", "curl -H 'Authorization: Bearer ***' u"),
        ("curl -H 'authorization: abc' -H 'X-Api-Key: k' u", "curl -H 'authorization: ***' -H 'X-Api-Key: ***' u"),
        ("curl -s -u me:pw u", "curl -s -u me:*** u"),
        ("curl --user 'me:p w' u", "curl --user 'me:***' u"),
        ("mysql -u root -phunter2 db", "mysql -u root -p*** db"),
        ("sshpass -p hunter2 ssh h", "sshpass -p *** ssh h"),
        ("docker login -u me -p pw reg", "docker login -u me -p *** reg"),
        ("redis-cli -h x -a pw ping", "redis-cli -h x -a *** ping"),
        ("openssl rsa -passin pass:pw -in k", "openssl rsa -passin pass:*** -in k"),
        (f"echo ghp_{'a' * 36} > f", "echo *** > f"),
        ("echo AKIAABCDEFGHIJKLMNOP", "echo ***"),
        (f"x eyJ{'a' * 20}.eyJ{'b' * 20}.sig_-1 y", "x *** y"),
        ("cat <<E\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nE", "cat <<E\n***\nE"),
    ],
)
def test_secrets_are_masked(line: str, stored: str) -> None:
    assert mask_secrets(line) == stored
    assert mask_secrets(stored) == stored


@pytest.mark.parametrize(
    "line",
    [
        'login --password $PW --token ${T} --secret "$(cat f)" --api-key $(pass show x)',
        "TOKEN=$OTHER make",
        'curl -H "Authorization: Bearer $TOKEN" u',
        "psql --no-password mydb",
        "login --password-stdin < f",
        "login --password --user me",
        "docker build --secret id=x,src=f .",
        "cat token.txt; grep -r password src; ls secrets/",
        "TOKENIZERS_PARALLELISM=false python x.py --max-tokens 5",
        "cd $OLDPWD; PWD=/x ls",
        "git clone git@host:me/r.git; curl https://host:8080/a@b",
        "mkdir -p a; mysql -p db; ssh -p 22 h; docker run -p 80:80 x",
        "git commit -m 'add a password field'",
        "echo sk-short eyJx.eyJy.z",
    ],
)
def test_what_is_no_secret_stays(line: str) -> None:
    assert mask_secrets(line) == line


def test_variables_that_hold_secrets_are_known_by_name() -> None:
    assert all(map(names_a_secret, ("GITHUB_TOKEN", "password", "DB_PASS", "apiKey", "AWS_SECRET_ACCESS_KEY")))
    assert not any(map(names_a_secret, ("PATH", "PWD", "OLDPWD", "TOKENIZERS_PARALLELISM", "COMPASS")))


# From a runtime.


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[Runtime]:
    """A runtime whose shells start in an empty home."""
    env = {"HOME": str(tmp_path)}
    async with hermitty.open(Settings(terminal=TerminalSettings(env=env, shell_integration_timeout_s=60.0))) as runtime:
        yield runtime


async def test_commands_of_agents_and_people_are_recorded(runtime: Runtime, tmp_path: Path) -> None:
    terminal = await runtime.open_terminal(shell="bash", cwd=tmp_path, session="fix", workspace="w")
    await terminal.run("mkdir sub; cd sub; echo hi; (exit 3)")
    typed = asyncio.Event()
    runtime.subscribe(lambda event: typed.set() if "printf typed" in str(event) and "exit_code" in str(event) else None)
    terminal.write("printf typed\r")
    async with asyncio.timeout(60):
        await typed.wait()
    running = await terminal.start("sleep 1000")
    while (entries := (await runtime.history()).entries)[0].command_id != running.id:
        await asyncio.sleep(0)  # it is recorded when it has run for a while
    (last, user, agent) = entries[:3]
    assert (last.command, last.state, last.duration_s, last.cwd_after) == ("sleep 1000", State.RUNNING, None, None)
    await running.kill()
    (last, *_) = (await runtime.history()).entries
    assert (last.command_id, last.state) == (running.id, State.KILLED)
    assert last.duration_s is not None
    sub = str(tmp_path / "sub")
    assert agent == HistoryEntry(
        command_id=agent.command_id, command="mkdir sub; cd sub; echo hi; (exit 3)", source="agent",
        started_at=agent.started_at, state=State.DONE, duration_s=agent.duration_s, exit_code=3, session="fix",
        workspace="w", terminal=terminal.id, shell="bash", cwd=str(tmp_path), cwd_after=sub, output_bytes=4,
    )  # fmt: skip
    assert (user.command, user.source, user.exit_code, user.cwd) == ("printf typed", "user", 0, sub)
    assert agent.started_at >= NOW


async def test_the_end_of_a_process_that_outlived_its_caller_is_recorded(runtime: Runtime, tmp_path: Path) -> None:
    result = await runtime.run(["sleep", "0.2"], cwd=tmp_path, wait_s=0)
    assert result.state is State.RUNNING
    found = (await runtime.history()).entries[0]
    while found.state is State.RUNNING:
        found = (await runtime.history()).entries[0]
    assert (found.command_id, found.state, found.exit_code) == (result.id, State.DONE, 0)


async def test_a_result_becomes_an_entry(runtime: Runtime, tmp_path: Path) -> None:
    result = await runtime.run("echo hi; exit 4", cwd=tmp_path, provider="pipe", shell="bash")
    made = entry_of_result(replace(result, session="s"), started_at=NOW, cwd=str(tmp_path), decision="allow")
    assert made == HistoryEntry(
        command_id=result.id, command="echo hi; exit 4", source="agent", started_at=NOW, state=State.DONE,
        duration_s=result.duration_s, exit_code=4, session="s", provider="pipe", shell="bash", cwd=str(tmp_path),
        cwd_after=str(tmp_path), decision="allow", output_bytes=3,
    )  # fmt: skip
