"""What runtimes behind adapters are set to."""

from pathlib import Path

import pytest

from hermitty.runtime.places import Places
from tests.support.runtimes import Dial, settings_in


@pytest.fixture
def dial(home: Path, places: Places) -> Dial:
    """The settings of `rt`: nobody is asked anything, unless a test turns the policy on."""
    return Dial(settings_in(home, policy__mode="off"))
