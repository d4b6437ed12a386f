"""The MCP conformance suite and the Inspector, where they are installed.

`make test` installs them with a Node that runs them. Otherwise HERMITTY_MCP_TOOLS names a directory with `node_modules`
of @modelcontextprotocol/conformance (0.2.0-alpha.12) and @modelcontextprotocol/inspector (2.12.0), and HERMITTY_NODE is
the Node 22 or later to run them with.
"""

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest

from hermitty.adapters.mcp.http import http_serving
from hermitty.adapters.mcp.local import LocalTerminals
from hermitty.adapters.mcp.server import serving
from hermitty.runtime.api import Runtime
from tests.adapters.mcp.fixtures import add_fixtures
from tests.adapters.mcp.processes import ARGUMENTS, environment
from tests.adapters.packages import node as find_node
from tests.adapters.packages import package

TOOLS = package("@modelcontextprotocol", "HERMITTY_MCP_TOOLS")
CONFORMANCE = TOOLS / "conformance" / "dist" / "index.js"
INSPECTOR = TOOLS / "inspector" / "clients" / "launcher" / "build" / "index.js"
NODE = find_node(22)
SUITE_S = 240.0

# Not scored by the suite, and what they test is not served: the tasks extension, a header for arguments, a schema that
# only a fixture could have, and streams that are resumed.
NOT_SERVED = re.compile(r"tasks-.*|json-schema-2020-12|http-custom-header-server-validation|server-sse-polling")


async def node(script: Path, *arguments: str, cwd: Path) -> tuple[int, str]:
    assert NODE is not None
    process = await asyncio.create_subprocess_exec(
        NODE,
        str(script),
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=cwd,
        env=environment(cwd),
    )
    async with asyncio.timeout(SUITE_S):
        out, _ = await process.communicate()
    return process.returncode or 0, out.decode()


@pytest.mark.skipif(NODE is None or not CONFORMANCE.exists(), reason="needs Node 22, and the conformance suite of npm")
@pytest.mark.filterwarnings("ignore:The logging capability")  # a fixture's
@pytest.mark.parametrize("requirements", ["2026-07-28", "2025-11-25"])
async def test_the_conformance_suite_passes(rt: Runtime, tmp_path: Path, requirements: str) -> None:
    async with serving(LocalTerminals(rt)) as server:
        add_fixtures(server)
        async with http_serving(server, host="127.0.0.1", port=0, token=None) as url:
            code, out = await node(CONFORMANCE, "server", "--url", url, "--requirements", requirements, cwd=tmp_path)
    summary = out.partition("=== SUMMARY ===")[2]
    failed = {name for name in re.findall(r"^✗ (\S+): ", summary, re.MULTILINE) if not NOT_SERVED.fullmatch(name)}
    passed = re.findall(r"^✓ (\S+): ", summary, re.MULTILINE)
    assert (code, failed) == (0, set()), summary
    assert len(passed) > 25


@pytest.mark.skipif(NODE is None or not INSPECTOR.exists(), reason="needs Node 22, and the Inspector of npm")
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_finds_nothing_wrong_with_the_schemas(tmp_path: Path, era: str) -> None:
    started = (sys.executable, *ARGUMENTS)
    code, out = await node(
        INSPECTOR, "--cli", *started, "--method", "tools/list", "--strict", "--protocol-era", era, cwd=tmp_path
    )
    assert code == 0, out
    assert json.loads(out[out.index("{") :])["tools"][0]["name"] == "run"
