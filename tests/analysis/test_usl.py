"""The scalability law is recovered, and a hard cap is not called contention."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.analysis.interval import Floats
from fathom.analysis.load import LoadTable
from fathom.analysis.usl import Law, fit_law, fit_scalability

LOADS = np.array([1.0, 2, 4, 8, 16, 32, 64])


def table(loads: Floats, rates: Floats) -> LoadTable:
    return LoadTable("workload.users", {"v": "x"}, "iops", loads, rates, 1e3 * loads / rates)


@settings(deadline=None)
@given(st.floats(1, 1e6), st.floats(0, 0.5), st.floats(0, 0.01))
def test_exact_law_is_recovered(gamma: float, alpha: float, beta: float) -> None:
    found = fit_law(LOADS, Law(gamma, alpha, beta).throughput(LOADS))
    assert found is not None
    assert found.gamma == pytest.approx(gamma, rel=1e-6)
    assert found.alpha == pytest.approx(alpha, abs=1e-6)
    assert found.beta == pytest.approx(beta, abs=1e-6)


@settings(deadline=None)
@given(st.lists(st.floats(1, 1e6), min_size=7, max_size=7))
def test_coefficients_are_never_negative(rates: list[float]) -> None:
    found = fit_law(LOADS, np.array(rates))
    assert found is None or (found.gamma > 0 and found.alpha >= 0 and found.beta >= 0)


def test_fit_is_least_squares_of_relative_errors() -> None:
    """Against scipy's bounded non-linear fit of X itself: for small noise, the same coefficients."""
    from scipy.optimize import curve_fit

    rng = np.random.default_rng(1)
    loads = np.repeat(LOADS, 6)
    rates = Law(1000, 0.03, 0.0005).throughput(loads) * np.exp(0.005 * rng.standard_normal(len(loads)))
    theirs = curve_fit(
        lambda n, g, a, b: Law(g, a, b).throughput(n),
        loads,
        rates,
        p0=(900, 0.01, 0.001),
        sigma=rates,
        bounds=(0, np.inf),
    )[0]
    ours = fit_law(loads, rates)
    assert ours is not None
    assert tuple(ours) == pytest.approx(tuple(theirs), rel=0.02)


def test_a_curve_that_turns_has_a_maximum() -> None:
    rng = np.random.default_rng(2)
    loads = np.repeat(LOADS, 5)
    rates = Law(1000, 0.02, 0.001).throughput(loads) * np.exp(0.02 * rng.standard_normal(len(loads)))
    fit = fit_scalability(table(loads, rates), 1)
    assert fit is not None
    assert fit.beta.low > 0
    assert fit.n_max == pytest.approx(np.sqrt(0.98 / 0.001), rel=0.1)
    assert fit.r_squared > 0.98
    assert fit.note is None


def test_a_curve_that_only_flattens_has_no_maximum() -> None:
    rng = np.random.default_rng(3)
    loads = np.repeat(LOADS, 5)
    rates = Law(1000, 0.05, 0.0).throughput(loads) * np.exp(0.03 * rng.standard_normal(len(loads)))
    fit = fit_scalability(table(loads, rates), 1)
    assert fit is not None
    assert fit.n_max is None
    assert fit.alpha.low < 0.05 < fit.alpha.high


def test_a_hard_cap_is_not_contention() -> None:
    rng = np.random.default_rng(4)
    loads = np.repeat(LOADS, 5)
    rates = np.minimum(1000 * loads, 12_000) * np.exp(0.01 * rng.standard_normal(len(loads)))
    fit = fit_scalability(table(loads, rates), 1)
    assert fit is not None
    assert fit.alpha.value > 0.01
    assert fit.note is not None
    assert fit.note.startswith("cap, not contention")
    assert fit.n_max is None


def test_three_loads_are_too_few() -> None:
    assert fit_scalability(table(LOADS[:3], 1000 * LOADS[:3]), 1) is None
