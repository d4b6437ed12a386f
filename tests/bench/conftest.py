from collections.abc import Iterator

import pytest

from bench.machine import plain_surroundings


@pytest.fixture(autouse=True)
def empty_home() -> Iterator[None]:
    """The surroundings in which benchmarks run."""
    with plain_surroundings():
        yield
