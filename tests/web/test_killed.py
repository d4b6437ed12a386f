"""A server that is killed while somebody watches: its terminals go on, and so does the page."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from hermitty.host.control import stop_host
from hermitty.runtime.places import Places
from tests.support.server_process import TOKEN, ServerProcess
from tests.web.browsing import NETWORK_TROUBLE, PATIENCE_MS
from tests.web.conftest import NewPerson

KILLS = 2
# A few lines at a time, so that kills come between them. The page has room for all of them: at some number it waits,
# however slow the rest of the machine is.
COUNT = """\
n=0
while [ ! -e stop ]; do
  [ $n -lt 9000 ] && seq -f 'line %.0f' $((n + 1)) $((n + 10)) && n=$((n + 10))
  sleep 0.05
done
echo "counted to $n"
"""


@pytest.fixture
async def killed(places: Places, home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ServerProcess]:
    """`hermitty serve` with a durable host, always at the same address."""
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SHELL", "/bin/bash")
    server = ServerProcess()
    try:
        await server.start()
        yield server
    finally:
        if server.port:
            await server.end(signal.SIGKILL)
        await asyncio.to_thread(stop_host, places.state)


async def test_a_killed_server_loses_and_doubles_no_line(
    killed: ServerProcess, work: Path, new_person: NewPerson
) -> None:
    (work / "count.sh").write_text(COUNT)
    person = await new_person(f"http://127.0.0.1:{killed.port}")
    person.may_complain_about = NETWORK_TROUBLE
    await person.log_in(TOKEN)
    await person.open_terminal()
    await person.runs(f"cd {work}; sh count.sh")
    await person.sees("^line 50$")
    indicator = person.page.locator(".terminal-head .pulse")
    for _ in range(KILLS):
        await killed.end(signal.SIGKILL)
        await expect(indicator).to_be_visible(timeout=PATIENCE_MS)
        seen = last_line(await person.rows())
        await killed.start()
        # A person whose network is back does not wait for the next try.
        await person.page.evaluate("dispatchEvent(new Event('online'))")
        await person.sees(rf"^line {seen + 100}$")
        await expect(indicator).to_have_count(0, timeout=PATIENCE_MS)
    await expect(person.page.locator(".connection.open")).to_be_visible(timeout=PATIENCE_MS)
    (work / "stop").touch()
    await person.sees(r"^counted to \d+$")
    rows = await person.rows()
    count = int(next(row for row in rows if row.startswith("counted to ")).removeprefix("counted to "))
    first = rows.index("line 1")
    # Nothing else is between the lines, such as a word about the connection.
    expected = [*(f"line {n}" for n in range(1, count + 1)), f"counted to {count}"]
    assert rows[first : first + len(expected)] == expected
    assert not [row for row in rows[:first] + rows[first + len(expected) :] if row.startswith("line ")]
    await person.runs("echo typed again")
    await person.sees("^typed again$")
    await person.expect_tabs(1)


async def test_what_is_typed_while_a_killed_server_is_away_reaches_the_same_shell(
    killed: ServerProcess, new_person: NewPerson
) -> None:
    person = await new_person(f"http://127.0.0.1:{killed.port}")
    person.may_complain_about = NETWORK_TROUBLE
    await person.log_in(TOKEN)
    await person.open_terminal()
    await person.runs("kept=yes; echo rea''dy")
    await person.sees("^ready$")
    await killed.end(signal.SIGKILL)
    await expect(person.page.locator(".terminal-head .pulse")).to_be_visible(timeout=PATIENCE_MS)
    await person.runs("echo kept $kept")
    await killed.start()
    await person.page.evaluate("dispatchEvent(new Event('online'))")
    await person.sees("^kept yes$")
    assert (await person.rows()).count("kept yes") == 1
    # Nobody has to log in again, neither here nor after a reload.
    await person.page.reload()
    await person.sees("^kept yes$")


def last_line(rows: list[str]) -> int:
    return max(int(row.removeprefix("line ")) for row in rows if re.fullmatch(r"line \d+", row))
