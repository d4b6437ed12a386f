"""A real browser with the page of a real server: one browser for all tests, the rest is each test's own."""

import re
import shutil
import subprocess
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from playwright.async_api import Browser, async_playwright

from hermitty.runtime.places import Places
from hermitty.server.page import STATIC
from hermitty.server.serving import Options, serving
from tests.server.conftest import OWN_TOKEN, source_for
from tests.server.talking import Client
from tests.support.shells import PATIENCE_S
from tests.web.browsing import Person

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0"),
    # Nothing may leave this machine.
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-quic", "--disable-extensions", "--mute-audio"),
)

NewPerson = Callable[..., Awaitable[Person]]


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a browser listens for its driver."""
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("no Chromium (on Debian: apt-get install chromium)")
    if not (STATIC / "index.html").is_file():
        pytest.skip("the page is not built (docs/web.md says how)")
    profile = tmp_path_factory.mktemp("chromium")
    with subprocess.Popen(
        [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        assert process.stderr is not None
        try:
            address = _address(process.stderr)
            # What it says later must not fill the pipe.
            drain = threading.Thread(target=process.stderr.read, daemon=True)
            drain.start()
            yield address
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def _address(lines: IO[str]) -> str:
    said = []
    for line in lines:
        said.append(line)
        if found := re.search(r"DevTools listening on (ws://\S+)", line):
            return found[1]
    pytest.fail("Chromium did not start:\n" + "".join(said))


@pytest.fixture
async def browser(chromium: str) -> AsyncIterator[Browser]:
    """The browser, by a driver of the test's own."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.connect_over_cdp(chromium)
        yield browser
        for context in browser.contexts[1:]:
            await context.close()
        await browser.close()


@pytest.fixture
async def server(home: Path, places: Places) -> AsyncIterator[Client]:
    """A server that asks nobody, and a client with the owner's token."""
    async with _served(home, places, policy__mode="off") as client:
        yield client


@pytest.fixture
async def asking(home: Path, places: Places) -> AsyncIterator[Client]:
    """A server that asks about what is dangerous."""
    async with _served(home, places) as client:
        await client.open(name="idle")  # so that a page does not open a terminal by itself
        yield client


@asynccontextmanager
async def _served(home: Path, places: Places, **values: object) -> AsyncIterator[Client]:
    settings = source_for(home, places, **values)
    async with (
        serving(Options(port=0, token=OWN_TOKEN), places=places, settings=settings) as ready,
        Client(ready, OWN_TOKEN) as client,
    ):
        yield client


@pytest.fixture
async def new_person(browser: Browser) -> AsyncIterator[NewPerson]:
    """Lets somebody sit down at a page, in a browser that knows nobody; `options` are those of a browser context.

    At the end nobody's browser may have complained.
    """
    people: list[Person] = []

    async def sit(url: str, **options: Any) -> Person:
        context = await browser.new_context(**{"viewport": {"width": 1100, "height": 700}, **options})
        person = await Person.sit_down(context, url)
        people.append(person)
        return person

    yield sit
    complaints = [complaint for person in people for complaint in person.complaints()]
    for person in people:
        await person.page.context.close()
    assert complaints == []


@pytest.fixture
async def person(server: Client, new_person: NewPerson) -> Person:
    """Somebody who is logged in. The page opens a terminal by itself, as nothing is open."""
    person = await new_person(server.url)
    await person.log_in(OWN_TOKEN)
    return person
