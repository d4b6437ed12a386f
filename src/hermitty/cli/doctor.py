"""`hermitty doctor`: what works on this machine, found out by trying it."""

import argparse
import asyncio
import os
import platform
import shutil
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import hermitty
from hermitty.cli.escapes import visible
from hermitty.errors import HermittyError
from hermitty.runtime.api import Runtime, abilities, advise, installed_shells, look_around, our_hierarchies
from hermitty.version import __version__
from hermitty.wire.records import to_json

_KNOWN_SHELLS = ("bash", "zsh", "fish", "sh", "pwsh")
_PACKAGES = ("pyghostty", "pillow", "platformdirs")


def examine(options: argparse.Namespace) -> int:
    """Examine the machine and print what was found; the exit code is 1 when no shell works."""
    found = asyncio.run(_examine())
    if options.json:
        print(to_json(found))
    else:
        _print(found)
    return 0 if any(shell["works"] for shell in found["shells"]) else 1


async def _examine() -> dict[str, Any]:
    async with hermitty.open() as runtime:
        shells = [await _try_shell(runtime, name) for name in _KNOWN_SHELLS]
    return {
        "hermitty": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "shells": shells,
        "host": _host(),
        "input_detection": _input_detection(),
        "extras": _extras(),
        "sandbox": await asyncio.to_thread(_sandbox),
    }


async def _try_shell(runtime: Runtime, name: str) -> dict[str, Any]:
    if name not in installed_shells(shutil.which):
        return {"shell": name, "works": False, "quality": None, "problem": "not installed"}
    started = time.perf_counter()
    try:
        terminal = await runtime.open_terminal(shell=name)
        opened = time.perf_counter()
        result = await terminal.run("true", wait_s=10)
        done = time.perf_counter()
    except HermittyError as error:
        return {"shell": name, "works": False, "quality": None, "problem": str(error)}
    return {
        "shell": name,
        "works": result.exit_code == 0,
        "quality": str(terminal.quality),
        "problem": terminal.integration_failed,
        "open_ms": round((opened - started) * 1000, 1),
        "run_ms": round((done - opened) * 1000, 2),
    }


def _host() -> dict[str, Any]:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = Path("/proc/sys/kernel/pty/max")
    return {
        "kind": "in-process",
        "durable": _durable(),
        "descriptors": {"soft": soft, "hard": hard},
        "ptys": int(limit.read_text()) if limit.exists() else None,
        "memory_directory": os.access("/dev/shm", os.W_OK),
    }


def _durable() -> dict[str, Any]:
    """Describe the host that keeps the terminals of a server."""
    from hermitty.host.control import host_status
    from hermitty.runtime.places import find_places

    try:
        status = host_status(find_places().state)
    except HermittyError as error:
        return {"running": False, "problem": str(error)}
    if status is None:
        return {"running": False, "problem": None}
    return {"running": True, "pid": status.welcome.pid, "terminals": len(status.report.terminals)}


def _extras() -> dict[str, bool]:
    """Say which parts have all the packages they need."""
    needed = {"server": ("aiohttp", "msgspec"), "mcp": ("mcp",), "acp": ("agent-client-protocol",)}
    return {name: all(_version(package) for package in packages) for name, packages in needed.items()}


def _sandbox() -> dict[str, Any]:
    """Say what can confine terminals here, found out by confining something, and what would help."""
    found = abilities()
    there = our_hierarchies()
    limits: dict[str, str | None] = {}
    for what in ("pids", "memory", "cpu"):
        hierarchy = there.limits.get(what) or there.unified
        if hierarchy is None:
            limits[what] = "there is no control group for it"
        elif hierarchy.problem is not None:
            limits[what] = hierarchy.problem
        else:
            writable = os.access(hierarchy.here, os.W_OK)
            limits[what] = None if writable else f"{hierarchy.here} cannot be written"
    return {
        "available": found.bubblewrap.works,
        "reason": found.bubblewrap.problem,
        "bubblewrap": {"program": found.bubblewrap.program, "problem": found.bubblewrap.problem},
        "landlock": {"version": found.landlock.version, "problem": found.landlock.problem},
        "limits": limits,
        "advice": list(advise(found, look_around())),
    }


def _print_sandbox(sandbox: dict[str, Any]) -> None:
    landlock = sandbox["landlock"]
    weaker = f"Landlock {landlock['version']}" if landlock["version"] else f"no Landlock: {landlock['problem']}"
    _say(f"  sandbox            {'bubblewrap' if sandbox['available'] else 'no: ' + sandbox['reason']}; {weaker}")
    for what, problem in sandbox["limits"].items():
        _say(f"    limit of {what:<9} {'by control group' if problem is None else f'not by control group: {problem}'}")
    for advice in sandbox["advice"]:
        _say(f"    {advice}")


def _durable_words(durable: dict[str, Any]) -> str:
    if durable["running"]:
        return f"runs (process {durable['pid']}, {durable['terminals']} terminals)"
    return f"no: {durable['problem']}" if durable["problem"] else "does not run; `hermitty serve` starts it"


def _input_detection() -> str:
    return "kernel" if Path("/proc/self/syscall").exists() else "pattern"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _say(line: str) -> None:
    """Print a line; problems may have the words of programs and the names of files in them."""
    print(visible(line))


def _print(found: dict[str, Any]) -> None:
    _say(f"hermitty {found['hermitty']}, Python {found['python']}, {found['platform']}")
    print("\nshells")
    for shell in found["shells"]:
        if shell["works"]:
            times = f"opens in {shell['open_ms']} ms, runs `true` in {shell['run_ms']} ms"
            note = f"; {shell['problem']}" if shell["problem"] else ""
            _say(f"  {shell['shell']:<6} integration {shell['quality']}, {times}{note}")
        else:
            _say(f"  {shell['shell']:<6} no: {shell['problem']}")
    print("\nthis machine")
    host = found["host"]
    print(
        f"  terminals          at most {host['ptys'] or 'unknown'} (kernel), {host['descriptors']['hard']} descriptors"
    )
    print(f"  input detection    by {found['input_detection']}")
    print(f"  pictures (PNG)     {'yes' if found['packages']['pillow'] else 'no: install hermitty[image]'}")
    _say(f"  durable host       {_durable_words(host['durable'])}")
    for name, is_there in found["extras"].items():
        print(f"  {name:<18} {'yes' if is_there else f'no: install hermitty[{name}]'}")
    _print_sandbox(found["sandbox"])
    if not any(shell["works"] for shell in found["shells"]):
        print("\nno shell works: install bash", file=sys.stderr)
