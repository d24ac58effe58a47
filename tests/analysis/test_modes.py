"""Two modes are found where they are, and rarely where they are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.analysis.modes import FEWEST_RUNS, find_modes

HAMMERDB_822 = np.array([134092.0, 129852.0, 206136.0, 198488.0, 123287.0, 195082.0])
"""NOPM of six runs of one configuration: github.com/TPC-Council/HammerDB/issues/822."""


def test_hammerdb_822_is_two_modes() -> None:
    modes = find_modes(HAMMERDB_822)
    assert modes is not None
    assert (modes.low_runs, modes.high_runs) == (3, 3)
    assert 123_000 < modes.low < 134_100
    assert 195_000 < modes.high < 206_200


@pytest.mark.parametrize("runs", [6, 8, 12, 20, 40])
@pytest.mark.parametrize("cv", [0.05, 0.24])
def test_one_noisy_mode_is_rarely_taken_for_two(runs: int, cv: float) -> None:
    rng = np.random.default_rng(1)
    found = sum(find_modes(np.exp(rng.normal(0, cv, runs))) is not None for _ in range(2_000))
    assert found / 2_000 <= 0.01, f"{found} of 2000"


@pytest.mark.parametrize(("runs", "least"), [(8, 0.6), (12, 0.85), (20, 0.9)])
def test_modes_at_a_distance_of_ten_spreads_are_found(runs: int, least: float) -> None:
    """2 % noise around two levels 22 % apart, each run in either with equal chance."""
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(300):
        values = np.exp(rng.normal(0, 0.02, runs) + 0.2 * (rng.random(runs) < 0.5))
        found += find_modes(values) is not None
    assert found / 300 >= least


def test_one_run_apart_is_an_outlier_not_a_mode() -> None:
    assert find_modes(np.array([100.0, 101, 99, 100, 102, 98, 150])) is None


def test_modes_nearer_than_ten_per_cent_do_not_count() -> None:
    assert find_modes(np.array([100.0, 100.1, 99.9, 107, 107.1, 106.9])) is None


def test_too_few_or_equal_runs_have_no_modes() -> None:
    assert find_modes(HAMMERDB_822[: FEWEST_RUNS - 1]) is None
    assert find_modes(np.full(8, 5.0)) is None


@settings(deadline=None)
@given(st.permutations(HAMMERDB_822.tolist()), st.floats(1e-3, 1e3))
def test_modes_do_not_depend_on_order_or_unit(values: list[float], unit: float) -> None:
    modes = find_modes(np.array(values) * unit)
    assert modes is not None
    assert modes.high / modes.low == pytest.approx(199_847 / 129_006, rel=0.01)
