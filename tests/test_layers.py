"""Holds the table of layers: who may import whom. A new edge is a change to the table, seen in review.

Every import statement counts, wherever it stands: at the top, in a function, under TYPE_CHECKING.
"""

import ast
import sys
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "hermitty"

L0 = {"errors", "model", "events", "subscribers", "paths", "config", "version"}
# The public names of the library: `import hermitty` and `hermitty.sync`.
FACADE = {"__init__", "sync"}

# Which part of hermitty imports which others, as modules or packages with everything below them.
MAY_IMPORT: dict[str, AbstractSet[str]] = {
    **dict.fromkeys(L0, L0),
    # L1: pure.
    "vt": L0,
    "shell": L0 | {"vt.markers"},
    "policy": L0,
    "output": L0 | {"vt.plain", "vt.capture"},
    "wire": L0,
    # L2: who confines, who forks, who owns PTYs, who owns hosts.
    "sandbox": L0,
    "pty": L0 | {"vt.byte_log", "wire.hostlink", "sandbox"},
    "host": L0 | {"vt.byte_log", "wire.hostlink", "pty", "sandbox"},
    "cluster": L0 | {"vt.byte_log", "wire.hostlink", "wire.nodelink", "pty", "sandbox", "host"},
    # L3: knows the seam, not who is behind it.
    "engine": L0 | {"vt", "shell", "output", "host.base", "sandbox.spec", "sandbox.hidden", "sandbox.denials"},
    # L4: the only place that chooses implementations.
    "runtime": L0 | {"vt", "shell", "policy", "output", "wire", "sandbox", "pty", "host", "cluster", "engine"},
    # L5: doors, which do not know each other.
    "server": L0 | {"wire", "runtime"},
    # The MCP relay is a client of a server, below its API: of the client it uses what knows no API either.
    "adapters": L0 | {"wire", "runtime", "client.backoff", "client.finding", "client.sse"},
    "client": L0 | {"wire", "vt.byte_log", "vt.plain", "shell.environment", "output.pages"},
    # `hermitty host` asks the process that owns the terminals, whatever its version: no runtime can.
    "cli": L0 | {"wire", "runtime", "client", "server", "adapters", "host.control", "cluster.control"} | FACADE,
    **dict.fromkeys(FACADE, L0 | {"runtime", "client"} | FACADE),
}

THIRD_PARTY: dict[str, AbstractSet[str]] = {
    "vt": {"pyghostty", "PIL"},
    "policy": {"tree_sitter", "tree_sitter_bash"},
    "output": {"jc", "re2"},
    "pty": {"winpty"},
    "cluster": {"ray"},
    "config": {"platformdirs"},
    "runtime": {"platformdirs"},
    "cli": {"aiohttp", "platformdirs", "uvloop"},
    "server": {"aiohttp", "msgspec", "uvloop", "yarl"},
    "client": {"aiohttp"},
    "adapters": {
        *("acp", "aiohttp", "anyio", "mcp", "pydantic", "starlette"),
        *("agents", "anthropic", "langchain_core", "pydantic_ai", "smolagents"),
    },
}

PURE = {"vt", "shell", "policy", "output", "wire", "engine.reuse"}
IMPURE_MODULES = {
    *("asyncio", "concurrent", "multiprocessing", "threading", "_thread", "subprocess", "signal", "time"),
    *("os", "fcntl", "pty", "select", "selectors", "socket", "termios"),
}


def within(module: str, places: AbstractSet[str]) -> bool:
    return any(module == place or module.startswith(place + ".") for place in places)


def imports(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """The line and absolute dotted name of each import; a name taken from a module is appended to it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".") if node.level else []
            source = ".".join(parts[: len(parts) - node.level + 1] + ([node.module] if node.module else []))
            yield from ((node.lineno, f"{source}.{alias.name}") for alias in node.names)


def problem_with(importer: str, imported: str) -> str | None:
    """Why the module `importer` of hermitty may not import the absolute name `imported`; None if it may."""
    unit = importer.partition(".")[0]
    top, _, inner = imported.partition(".")
    if top == "hermitty":
        # `from hermitty import name` reads the facade, unless the name is a part of the table.
        target = inner if inner.partition(".")[0] in MAY_IMPORT else "__init__"
        allowed = target.partition(".")[0] == unit or within(target, MAY_IMPORT.get(unit, set()))
        return None if allowed else "not in the table of layers"
    if within(importer, PURE) and top in IMPURE_MODULES:
        return "pure code neither waits nor touches the system"
    if within(imported, {"importlib.import_module"}) and unit not in FACADE:
        return "imports are statements, so that this test sees them"
    if top not in sys.stdlib_module_names and top not in THIRD_PARTY.get(unit, set()):
        return "not a package that this part may use"
    return None


def violations(source: str, path: str) -> list[str]:
    """What the table forbids in the source of one module; `path` is relative to the package directory."""
    parts = Path(path).with_suffix("").parts
    package = ".".join(("hermitty", *parts[:-1]))
    importer = ".".join(parts if parts == ("__init__",) or parts[-1] != "__init__" else parts[:-1])
    return [
        f"src/hermitty/{path}:{line}: {importer} -> {imported}: {problem}"
        for line, imported in sorted(imports(ast.parse(source), package))
        if (problem := problem_with(importer, imported))
    ]


def parts_of(package: Path) -> set[str]:
    """The top-level modules and packages that really are there."""
    modules = {path.stem for path in package.glob("*.py")}
    return modules | {path.name for path in package.iterdir() if path.is_dir() and any(path.rglob("*.py"))}


def test_imports_point_down() -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    found = [
        violation
        for file in files
        for violation in violations(file.read_text(encoding="utf-8"), file.relative_to(PACKAGE).as_posix())
    ]
    assert files
    assert not found, "imports against the layers:\n" + "\n".join(found)


def test_every_part_has_its_place_in_the_table() -> None:
    unplaced = parts_of(PACKAGE) - MAY_IMPORT.keys()
    assert not unplaced, f"give {', '.join(sorted(unplaced))} a layer in MAY_IMPORT"


def test_a_part_that_nobody_placed_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "gadgets").mkdir()
    (tmp_path / "gadgets" / "one.py").touch()
    (tmp_path / "scripts_only").mkdir()
    (tmp_path / "loose.py").touch()
    assert parts_of(tmp_path) - MAY_IMPORT.keys() == {"gadgets", "loose"}


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("vt/markers.py", "import hermitty.shell.bash"),
        ("vt/markers.py", "from hermitty import shell"),
        ("vt/markers.py", "from ..shell import bash"),
        ("vt/__init__.py", "from ..shell.bash import Bash"),
        ("vt/markers.py", "def late() -> None:\n    from hermitty.engine import terminal"),
        ("vt/markers.py", "if TYPE_CHECKING:\n    from hermitty.host.base import Host"),
        ("vt/markers.py", "import os.path"),
        ("vt/markers.py", "from time import monotonic"),
        ("vt/markers.py", "import requests"),
        ("shell/tracker.py", "from hermitty.vt import byte_log"),
        ("shell/tracker.py", "import pyghostty"),
        ("output/pipeline.py", "from hermitty.vt.screen import Screen"),
        ("errors.py", "from hermitty.vt.plain import plain"),
        ("errors.py", "from hermitty import open"),
        ("host/local.py", "from hermitty.engine.terminal import Terminal"),
        ("pty/posix.py", "from hermitty.host import base"),
        ("engine/terminal.py", "from hermitty.host.local import LocalHost"),
        ("engine/terminal.py", "from hermitty.host import LocalHost"),
        ("engine/run.py", "import hermitty.policy"),
        ("engine/run.py", "import hermitty.pty.posix"),
        ("engine/reuse.py", "import asyncio"),
        ("engine/run.py", "from importlib import import_module"),
        ("runtime/build.py", "from hermitty.cli import main"),
        ("server/app.py", "from hermitty.engine import Terminal"),
        ("server/app.py", "from hermitty.client import Client"),
        ("client/http.py", "from hermitty.runtime import Runtime"),
        ("sync.py", "from hermitty.engine import Terminal"),
        ("gadgets/one.py", "import hermitty.errors"),
    ],
)
def test_an_edge_that_is_not_in_the_table_is_named(path: str, source: str) -> None:
    (found,) = violations(source, path)
    line = source.count("\n") + 1
    assert found.startswith(f"src/hermitty/{path}:{line}: ")


@pytest.mark.parametrize(
    ("path", "source"),
    [
        (
            "vt/ghostty.py",
            "import re\nimport pyghostty\nfrom PIL import Image\nfrom . import screen\nfrom .. import errors",
        ),
        ("shell/tracker.py", "from hermitty.vt import markers\nfrom hermitty.vt.markers import Scanner"),
        ("output/pipeline.py", "import jc.lib\nfrom hermitty.vt.capture import HeadTail"),
        (
            "host/local.py",
            "import asyncio\nfrom ..pty.posix import spawn\nfrom hermitty.vt.byte_log import ByteLog",
        ),
        (
            "engine/run.py",
            "import asyncio\nfrom hermitty.host.base import Host\nfrom .terminal import Terminal",
        ),
        ("runtime/build.py", "import platformdirs\nfrom hermitty.host.local import LocalHost"),
        (
            "cli/main.py",
            "import hermitty\nfrom hermitty import open, sync\nfrom importlib.metadata import version",
        ),
        (
            "__init__.py",
            "from importlib import import_module\nfrom .errors import HermittyError\nfrom .runtime import x",
        ),
        ("sync.py", "import hermitty\nfrom hermitty.runtime.runtime import Runtime"),
    ],
)
def test_edges_of_the_table_are_allowed(path: str, source: str) -> None:
    assert violations(source, path) == []
