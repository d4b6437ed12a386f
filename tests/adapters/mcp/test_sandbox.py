"""Agents choose how much their commands are confined: what the settings say, or more."""

import os
from pathlib import Path

import pytest

from hermitty.sandbox import probe
from tests.adapters.mcp.conftest import Connect, call, data, failure, said
from tests.support.runtimes import Dial

WORKSPACE = "workspace (bubblewrap), network off"
STRICT = "strict (bubblewrap), network off"
OUTSIDE = "touch /etc/hermitty-was-here"


@pytest.fixture(autouse=True)
def needs_bubblewrap() -> None:
    """Skip where bubblewrap does not work."""
    found = probe.abilities().bubblewrap
    if not found.works:
        pytest.skip(f"bubblewrap does not work here: {found.problem}")


async def test_a_command_is_confined_as_asked_and_says_so(connect: Connect, work: Path) -> None:
    async with connect() as client:
        plain = await data(client, "run", command="true", cwd=str(work))
        done = await call(client, "run", command=OUTSIDE, cwd=str(work), sandbox="workspace")
        strict = await data(client, "start", command="true", cwd=str(work), sandbox="strict")
        ended = await data(client, "wait", target=strict["id"])

    assert plain.get("sandbox") is None
    assert done.structured_content is not None
    assert (done.structured_content["exit_code"], done.structured_content["sandbox"]) == (1, WORKSPACE)
    assert f"[sandbox: {WORKSPACE}]" in said(done)
    assert "is read-only here (sandbox)" in said(done)
    assert (ended["exit_code"], ended["sandbox"]) == (0, STRICT)
    assert "hermitty-was-here" not in os.listdir("/etc")


async def test_a_terminal_is_confined_as_asked_for_as_long_as_it_lives(connect: Connect, work: Path) -> None:
    async with connect() as client:
        opened = await call(client, "open", cwd=str(work), sandbox="workspace")
        assert opened.structured_content is not None
        terminal = opened.structured_content["id"]
        assert opened.structured_content["sandbox"] == WORKSPACE
        assert f"Sandbox: {WORKSPACE}." in said(opened)
        listed = await data(client, "list")
        assert [each["sandbox"] for each in listed["terminals"]] == [WORKSPACE]

        for less in (None, "off", "workspace"):
            arguments = {} if less is None else {"sandbox": less}
            done = await data(client, "run", command=OUTSIDE, terminal_id=terminal, **arguments)
            assert (done["exit_code"], done["sandbox"], done["terminal"]) == (1, WORKSPACE, terminal)
        why = await failure(client, "run", command="true", terminal_id=terminal, sandbox="strict")
        assert f"the sandbox of terminal {terminal} is workspace, and never changes" in why

        plain = await data(client, "open", cwd=str(work))
        assert plain["sandbox"] is None
        assert "is off" in await failure(client, "run", command="true", terminal_id=plain["id"], sandbox="workspace")


@pytest.mark.parametrize(
    ("floor", "refused", "granted"),
    [
        ("workspace", ["off"], {None: WORKSPACE, "workspace": WORKSPACE, "strict": STRICT}),
        ("strict", ["off", "workspace"], {None: STRICT, "strict": STRICT}),
    ],
)
async def test_nobody_asks_for_less_than_the_settings(
    connect: Connect, work: Path, dial: Dial, floor: str, refused: list[str], granted: dict[str | None, str]
) -> None:
    dial.turn(sandbox__mode=floor)
    async with connect() as client:
        for less in refused:
            for tool, more in (("run", {"command": OUTSIDE}), ("start", {"command": OUTSIDE}), ("open", {})):
                why = await failure(client, tool, cwd=str(work), sandbox=less, **more)
                assert f"sandbox.mode is {floor}" in why
        assert (await data(client, "list", all_sessions=True))["terminals"] == []
        for wish, effective in granted.items():
            arguments = {} if wish is None else {"sandbox": wish}
            assert (await data(client, "run", command="true", cwd=str(work), **arguments))["sandbox"] == effective
    assert "hermitty-was-here" not in os.listdir("/etc")


async def test_nobody_asks_for_less_than_the_settings_of_a_workspace(connect: Connect, work: Path, dial: Dial) -> None:
    dial.turn(sandbox__workspaces={str(work): "strict"})
    (work / "deep").mkdir()
    async with connect() as client:
        for less in ("off", "workspace"):
            assert "ask for no less" in await failure(
                client, "run", command="true", cwd=str(work / "deep"), sandbox=less
            )
        assert (await data(client, "run", command="true", cwd=str(work / "deep")))["sandbox"] == STRICT


async def test_an_unknown_mode_is_refused(connect: Connect, work: Path) -> None:
    async with connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for name in ("run", "start", "open"):
            schema = tools[name].input_schema
            assert schema["properties"]["sandbox"]["enum"] == ["off", "workspace", "strict"]
            assert "sandbox" not in schema["required"]
        assert "sandbox" in await failure(client, "run", command="true", cwd=str(work), sandbox="loose")
