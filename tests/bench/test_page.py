"""The benchmark of the page, with counts so small that the numbers mean nothing."""

import shutil

import pytest

from bench.page import measure_page
from bench.plan import Plan

SMALL = Plan(page_loads=1, page_rounds=1, page_bytes=150_000)


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium")
async def test_the_page_is_measured_in_a_browser() -> None:
    found = {each.metric: each for each in await measure_page(SMALL)}
    flows = [
        f"page_{name}_{what}" for name in ("flood", "steady") for what in ("drawn", "longest_frame", "longest_task")
    ]
    assert list(found) == ["page_interactive", "page_first_load", *flows, "page_heap"]
    # What is loaded is the same on any machine.
    assert found["page_first_load"].met
    # Every byte of so little output is drawn, with what the line itself prints.
    assert found["page_steady_drawn"].details["delivered"] >= 1  # type: ignore[operator]


async def test_without_a_browser_the_page_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert await measure_page(SMALL) == []
    assert capsys.readouterr().err == "bench: page is left out: Chromium is not installed\n"
