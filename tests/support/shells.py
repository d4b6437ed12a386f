"""Which shells the tests run against: every one that is installed; the others show as skips."""

import shutil

import pytest

SHELLS = [
    pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed"))
    for name in ("bash", "zsh", "fish", "sh", "pwsh")
]
POSIX_SHELLS = [param for param in SHELLS if param.values[0] in ("bash", "zsh", "sh")]

# Generous: these machines are shared. Nothing waits this long unless something is broken.
PATIENCE_S = 60.0
