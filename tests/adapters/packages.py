"""Packages of npm that protocols are compared with, and a Node to run them: `make test` installs both, if npm works."""

import functools
import os
import shutil
import subprocess
from pathlib import Path

_HERE = Path(__file__).parent / "npm"


def package(name: str, variable: str) -> Path:
    """Return where a package is, or would be; the variable names another directory with `node_modules`."""
    return Path(os.environ.get(variable) or _HERE) / "node_modules" / name


@functools.cache
def node(least: int) -> str | None:
    """Return a Node that is new enough: the one in HERMITTY_NODE, the one of the packages, or that of the system."""
    candidates = (os.environ.get("HERMITTY_NODE"), str(_HERE / "node_modules" / "node" / "bin" / "node"), "node")
    for each in candidates:
        found = shutil.which(each) if each else None
        if found is not None and _major(found) >= least:
            return found
    return None


def _major(program: str) -> int:
    try:
        told = subprocess.run([program, "--version"], capture_output=True, check=True, timeout=60).stdout
        return int(told.decode().lstrip("v").partition(".")[0])
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0
