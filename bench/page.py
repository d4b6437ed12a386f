"""The page in a real browser: how soon one can type, what is loaded first, and whether much output freezes it.

Chromium runs headless, driven by Playwright; the server is `hermitty serve`. What is measured is noted by a script in
the page, frame by frame: a driver outside would measure itself.
"""

import asyncio
import contextlib
import importlib.util
import itertools
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.machine import say
from bench.plan import Plan
from bench.report import Measurement, at_most, count, median
from bench.samples import coloured_lines
from bench.serving import Server, ending_with, hermitty_server

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

_KB = 1000.0
_MB = 1e6
_PATIENCE_MS = 120_000
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync", "--mute-audio"),
    *("--disable-background-networking", "--disable-component-update", "--disable-extensions", "--disable-quic"),
)
_WIDTH, _HEIGHT = 1280, 800
# A page that draws nothing for so long feels frozen.
_FREEZE_MS = 500
# Steady output: 100 KB, and a pause.
_PIECE_BYTES, _PIECE_S = 100_000, 0.03

# A page is interactive in the first frame that shows a prompt in a terminal which has the keyboard.
_WATCH = """{
  const seen = { interactive: null, bytes: 0, marker: null, drawn: null, frame: 0, task: 0, frames: 0 };
  globalThis.bench = seen;
  const rows = (terminal) => {
    const buffer = terminal.buffer.active;
    const last = buffer.baseY + buffer.cursorY;
    const read = (y) => buffer.getLine(y)?.translateToString(true) ?? '';
    return [4, 3, 2, 1, 0].map((above) => read(last - above)).join('\\n');
  };
  const find = (text) => [...(globalThis.hermitty?.terminals.values() ?? [])].some((each) => text.test(rows(each)));
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) seen.task = Math.max(seen.task, each.duration);
  }).observe({ type: 'longtask', buffered: true });
  let last = performance.now();
  const follow = (now) => {
    seen.frame = Math.max(seen.frame, now - last);
    seen.frames += 1;
    last = now;
    if (seen.interactive === null && document.activeElement?.closest('.xterm') && find(/[$#] /)) seen.interactive = now;
    if (seen.marker !== null && seen.drawn === null && find(new RegExp(seen.marker))) seen.drawn = now;
    requestAnimationFrame(follow);
  };
  requestAnimationFrame(follow);
  const Plain = globalThis.WebSocket;
  globalThis.WebSocket = class extends Plain {
    constructor(...given) {
      super(...given);
      this.addEventListener('message', ({ data }) => { seen.bytes += data.byteLength ?? 0; });
    }
  };
}"""
_LOADED = """() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .map(({ name, transferSize }) => [new URL(name).pathname, transferSize])"""
_BEGIN = """(marker) => {
  Object.assign(bench, { marker, drawn: null, bytes: 0, frame: 0, task: 0, frames: 0, begun: performance.now() });
}"""


async def measure_page(plan: Plan) -> list[Measurement]:
    """Open the page again and again, then let it show much output."""
    browser_path = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if browser_path is None or importlib.util.find_spec("playwright") is None:
        missing = "Chromium" if browser_path is None else "Playwright"
        say(f"bench: page is left out: {missing} is not installed")
        return []
    async with hermitty_server() as server, _browser(browser_path) as browser:
        return [*await _opening(browser, server, plan), *await _output(browser, server, plan)]


@contextlib.asynccontextmanager
async def _browser(path: str) -> AsyncIterator["Browser"]:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        try:
            yield browser
        finally:
            await browser.close()


@contextlib.asynccontextmanager
async def _page(browser: "Browser", server: Server) -> AsyncIterator["Page"]:
    """Open the page in a browser that has never seen it, and wait until one can type."""
    context = await browser.new_context(viewport={"width": _WIDTH, "height": _HEIGHT})
    try:
        page = await context.new_page()
        page.set_default_timeout(_PATIENCE_MS)
        await page.add_init_script(_WATCH)
        await page.goto(f"http://127.0.0.1:{server.port}/?token={server.token}")
        await page.wait_for_function("() => bench.interactive !== null")
        yield page
    finally:
        await context.close()


async def _opening(browser: "Browser", server: Server, plan: Plan) -> list[Measurement]:
    """Measure the first load. The first page opens the terminal that all others find."""
    times: list[float] = []
    loaded: list[list[Any]] = []
    for number in range(plan.page_loads + 1):
        async with _page(browser, server) as page:
            if number:
                times.append(await page.evaluate("bench.interactive"))
            await _prove_typing(page, number)
            loaded = await page.evaluate(_LOADED)
    player = [name for name, _ in loaded if "player" in name.lower()]
    if player:
        raise AssertionError(f"the player is in the first load: {player}")
    files = [size for name, size in loaded if name == "/" or name.startswith(("/assets/", "/favicon"))]
    return [
        Measurement(
            "page_interactive",
            median([times]),
            "ms",
            target=at_most(1000),
            details={"samples": count([times]), "slowest": max(times)},
        ),
        Measurement(
            "page_first_load",
            sum(files) / _KB,
            "KB",
            target=at_most(400),
            details={"files": len(files), "requests": len(loaded)},
        ),
    ]


async def _prove_typing(page: "Page", number: int) -> None:
    """Type a line and wait for what it prints: a page that takes no keys is not interactive."""
    typed, marker = ending_with("true", number)
    await page.evaluate(_BEGIN, marker)
    await page.keyboard.type(typed.removesuffix("\r"))
    await page.keyboard.press("Enter")
    await page.wait_for_function("() => bench.drawn !== null")


async def _output(browser: "Browser", server: Server, plan: Plan) -> list[Measurement]:
    """Let a terminal in view print much, and look at the frames meanwhile.

    A flood is faster than any page draws: it is shown the screen now and then, and the last lines in full. Steady
    output is slow enough for every byte to be drawn.
    """
    found = []
    with tempfile.TemporaryDirectory(prefix="bench-page-") as directory:
        file = Path(directory, "lines")
        size = await asyncio.to_thread(file.write_bytes, coloured_lines(plan.page_bytes))
        pieces = -(-size // _PIECE_BYTES)
        lines = {
            "flood": f"cat {file}",
            "steady": f"for each in $(seq {pieces}); do head -c {_PIECE_BYTES}; sleep {_PIECE_S}; done < {file}",
        }
        numbers = itertools.count(1000)
        async with _page(browser, server) as page:
            driver = await page.context.new_cdp_session(page)
            idle = await _run(page, "sleep 1", next(numbers))
            before = await _heap_bytes(driver)
            for name, line in lines.items():
                rounds = [await _run(page, line, next(numbers)) for _ in range(plan.page_rounds)]
                found += _measured(name, rounds, size, idle)
            after = await _heap_bytes(driver)
    heap = Measurement("page_heap", after / _MB, "MB", target=at_most(100), details={"before": before / _MB})
    return [*found, heap]


def _measured(name: str, rounds: Sequence[dict[str, float]], size: int, idle: dict[str, float]) -> list[Measurement]:
    drawn = median([[each["seconds"] for each in rounds]])
    details: dict[str, float | int | str] = {"bytes": size, "samples": len(rounds)}
    share = {"mb_per_s": size / drawn / _MB, "delivered": min(each["bytes"] / size for each in rounds)}
    frames: dict[str, float | int | str] = {
        "frames": sum(int(each["frames"]) for each in rounds),
        "floor_is": "a page where nothing happens",
    }
    longest = max(each["frame"] for each in rounds)
    task = max(each["task"] for each in rounds)
    return [
        Measurement(f"page_{name}_drawn", drawn, "s", details=details | share),
        Measurement(
            f"page_{name}_longest_frame",
            longest,
            "ms",
            floor=idle["frame"],
            ratio=longest / idle["frame"],
            target=at_most(_FREEZE_MS),
            details=details | frames,
        ),
        Measurement(f"page_{name}_longest_task", task, "ms", target=at_most(_FREEZE_MS), details=details),
    ]


async def _run(page: "Page", line: str, number: int) -> dict[str, float]:
    """Run a command line, and return what was noted until its end was drawn."""
    typed, marker = ending_with(line, number)
    await page.keyboard.type(typed.removesuffix("\r"))
    await page.evaluate(_BEGIN, marker)
    await page.keyboard.press("Enter")
    await page.wait_for_function("() => bench.drawn !== null", polling=50)
    seen: dict[str, float] = await page.evaluate("bench")
    return seen | {"seconds": (seen["drawn"] - seen["begun"]) / 1000}


async def _heap_bytes(driver: Any) -> float:
    """Return what the page's objects take when garbage is gone."""
    await driver.send("HeapProfiler.collectGarbage")
    return float((await driver.send("Runtime.getHeapUsage"))["usedSize"])
