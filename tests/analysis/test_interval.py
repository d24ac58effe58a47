"""Intervals of a mean agree with scipy, and with arithmetic where that is possible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import bootstrap, ttest_1samp

from fathom.analysis.estimate import CONSTANT, DETERMINISTIC, SINGLE, estimate_mean, estimate_ratio
from fathom.analysis.interval import (
    BOOTSTRAP_FROM,
    RESAMPLES,
    bca_interval,
    expanded_level,
    is_constant,
    mean_interval,
    method_name,
    t_interval,
)

VALUES = arrays(np.float64, st.integers(2, 15), elements=st.floats(-1e3, 1e3, width=32))


@settings(deadline=None)
@given(VALUES, st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_t_interval_is_scipys(values: np.ndarray, level: float) -> None:
    if is_constant(values):
        return
    ours = t_interval(values, level)
    theirs = ttest_1samp(values, 0.0).confidence_interval(level)
    assert ours.low == pytest.approx(theirs.low, rel=1e-9, abs=1e-9)
    assert ours.high == pytest.approx(theirs.high, rel=1e-9, abs=1e-9)


@settings(deadline=None)
@given(VALUES, st.floats(-100, 100))
def test_t_interval_moves_with_the_values_and_holds_the_mean(values: np.ndarray, shift: float) -> None:
    plain, moved = t_interval(values, 0.95), t_interval(values + shift, 0.95)
    assert plain.low <= plain.mean <= plain.high
    assert moved.low == pytest.approx(plain.low + shift, abs=1e-6)
    assert moved.high == pytest.approx(plain.high + shift, abs=1e-6)


def test_bca_interval_is_scipys_at_the_expanded_level() -> None:
    values = np.random.default_rng(1).gamma(2.0, size=24)
    ours = bca_interval(values, 0.95, seed=3)
    theirs = bootstrap(
        (values,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=100,
        confidence_level=expanded_level(0.95, 24),
        method="BCa",
        rng=np.random.default_rng(3),
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-12)


def test_expansion_makes_a_percentile_interval_of_normal_data_as_wide_as_t() -> None:
    """The percentile bootstrap of a mean spans z times the spread with denominator n; expanded, that is t's width."""
    from scipy.stats import norm, t

    n = 20
    z = norm.isf((1 - expanded_level(0.95, n)) / 2)
    assert z * np.sqrt((n - 1) / n) == pytest.approx(t.isf(0.025, n - 1), rel=1e-9)


def test_method_changes_at_twenty_observations() -> None:
    values = np.random.default_rng(2).standard_normal(BOOTSTRAP_FROM)
    assert mean_interval(values[:-1], 0.95, 1) == t_interval(values[:-1], 0.95)
    assert mean_interval(values, 0.95, 1) == bca_interval(values, 0.95, 1)
    assert mean_interval(values, 0.998, 1) == t_interval(values, 0.998), "its tail is too light there"
    assert method_name(len(values), 0.998) == method_name(5, 0.95) != method_name(len(values), 0.95)


def test_same_seed_gives_the_same_bootstrap() -> None:
    values = np.random.default_rng(3).standard_normal(30)
    assert bca_interval(values, 0.95, 5) == bca_interval(values, 0.95, 5)


def test_one_observation_has_no_interval() -> None:
    with pytest.raises(ValueError, match="2 or more"):
        mean_interval(np.array([1.0]), 0.95, 1)
    single = estimate_mean(np.array([5.0]), level=0.95, seed=1, virtual=False)
    assert single is not None
    assert (single.level, single.method, single.has_interval) == (0.0, SINGLE, False)


def test_no_observation_has_no_estimate() -> None:
    assert estimate_mean(np.array([]), level=0.95, seed=1, virtual=False) is None


@pytest.mark.parametrize(("virtual", "method"), [(True, DETERMINISTIC), (False, CONSTANT)])
@pytest.mark.parametrize("n", [2, 25])
def test_equal_observations_are_named_for_what_they_are(virtual: bool, method: str, n: int) -> None:
    found = estimate_mean(np.full(n, 4.2), level=0.95, seed=1, virtual=virtual)
    assert found is not None
    assert (found.value, found.low, found.high, found.method) == (4.2, 4.2, 4.2, method)


def test_ratio_is_the_geometric_mean_and_its_interval_is_symmetric_on_logs() -> None:
    logs = np.log(np.array([1.9, 2.0, 2.2, 2.05]))
    found = estimate_ratio(logs, level=0.95, seed=1, virtual=False)
    assert found is not None
    assert found.value == pytest.approx(np.exp(logs.mean()))
    assert found.value / found.low == pytest.approx(found.high / found.value)


def test_absurdly_wide_ratio_stays_finite() -> None:
    found = estimate_ratio(np.array([-9.0, 9.0]), level=0.9999, seed=1, virtual=False)
    assert found is not None
    assert 0 < found.low < 1 < found.high < float("inf")
