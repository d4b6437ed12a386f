"""What a soak reads in the server's log."""

from pathlib import Path

from soak.plan import Plan
from soak.server import Server


async def test_every_exception_that_nobody_expected_is_found(tmp_path: Path) -> None:
    server = Server(tmp_path, Plan(seconds=1, seed=1))
    assert server.failures() == []
    first, second = (f"Traceback (most recent call last):\n  {name}\nValueError: {name}\n" for name in ("one", "two"))
    (tmp_path / "server.log").write_text(f"started\n{first}a line between\n{second}")
    found = server.failures()
    assert len(found) == 2
    assert found[0].startswith(first)
    assert found[1] == second
