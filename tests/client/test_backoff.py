"""Pauses between tries."""

import pytest

from hermitty.client.backoff import Backoff


def test_pauses_double_up_to_the_longest_and_end_with_the_patience() -> None:
    backoff = Backoff(10.0, first_s=1.0, longest_s=4.0)
    assert [backoff.pause_s(now) for now in (0.0, 1.0, 3.0, 7.0)] == [1.0, 2.0, 4.0, 3.0]
    assert backoff.pause_s(10.0) is None


def test_a_success_begins_anew() -> None:
    backoff = Backoff(1.0, first_s=0.5, longest_s=4.0)
    assert backoff.pause_s(0.0) == 0.5
    backoff.succeeded()
    assert backoff.pause_s(100.0) == 0.5


@pytest.mark.parametrize(("chance", "pause_s"), [(0.0, 0.5), (0.5, 0.75), (1.0, 1.0)])
def test_chance_spreads_the_tries(chance: float, pause_s: float) -> None:
    assert Backoff(None, first_s=1.0).pause_s(0.0, chance) == pause_s


def test_no_patience_is_one_try_and_none_is_for_ever() -> None:
    assert Backoff(0.0).pause_s(5.0) is None
    forever = Backoff(None)
    assert all(forever.pause_s(now * 1000.0) is not None for now in range(100))
