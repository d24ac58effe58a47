"""Confidence intervals for the mean of independent observations: Student's t, or an expanded BCa bootstrap from 20 on.

Every function works on the last axis, so that the coverage simulations in the tests run exactly the code that
produces a verdict. An observation is a run or a round, never a sample within a run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fathom.analysis import student

Floats = NDArray[np.float64]

BOOTSTRAP_FROM = 20
"""Observations from which the bootstrap replaces Student's t (coverage below that: METHODOLOGY.md, "Intervals")."""

STRICTEST = 0.99
"""Highest level of the bootstrap: beyond it its tail is too light (30 equal variants, 20 rounds, Holm: 7.4 %)."""

RESAMPLES = 10_000
_RESAMPLES_AT_ONCE = 100

_NO_SPREAD = 1e-12
"""Relative spread below which observations count as equal: rounding of float64 arithmetic, not variation."""


class Interval(NamedTuple):
    """Mean and interval bounds; arrays of the input's shape without its last axis."""

    mean: Floats
    low: Floats
    high: Floats


def is_constant(values: Floats) -> NDArray[np.bool_]:
    """Whether all observations along the last axis are equal to within rounding."""
    spread = np.ptp(values, axis=-1)
    return np.asarray(spread <= _NO_SPREAD * np.maximum(1.0, np.abs(values).max(axis=-1)))


def t_interval(values: Floats, level: float) -> Interval:
    """Student's t interval of the mean, exact for normal observations; needs 2 or more along the last axis."""
    n = values.shape[-1]
    mean = values.mean(axis=-1)
    half = student.quantile((1 - level) / 2, n - 1) * values.std(axis=-1, ddof=1) / np.sqrt(n)
    return Interval(mean, mean - half, mean + half)


def expanded_level(level: float, n: int) -> float:
    """The nominal level at which a percentile-type bootstrap of a mean covers `level` for normal data.

    The plain bootstrap uses normal quantiles and the n-denominator spread, so at n = 20 it covers about 0.93 instead
    of 0.95. Hesterberg (The American Statistician 69, 2015, arXiv:1411.5279, section 4.1 "expanded percentile")
    takes the tail area Phi(-sqrt(n / (n - 1)) t) instead; R's `resample::CI.bca(expand = TRUE)` does the same.
    """
    from scipy.stats import norm, t

    return float(1 - 2 * norm.sf(np.sqrt(n / (n - 1)) * t.isf((1 - level) / 2, n - 1)))


def bca_interval(values: Floats, level: float, seed: int) -> Interval:
    """Bias-corrected and accelerated bootstrap interval of the mean (Efron 1987), at the expanded level."""
    from scipy.stats import bootstrap

    mean = values.mean(axis=-1)
    constant = is_constant(values)
    if constant.all():
        return Interval(mean, mean, mean)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = bootstrap(
            (values,),
            np.mean,
            axis=-1,
            vectorized=True,
            n_resamples=RESAMPLES,
            batch=_RESAMPLES_AT_ONCE,
            confidence_level=expanded_level(level, values.shape[-1]),
            method="BCa",
            rng=np.random.default_rng(seed),
        ).confidence_interval
    return Interval(mean, np.where(constant, mean, found.low), np.where(constant, mean, found.high))


def mean_interval(values: Floats, level: float, seed: int, hidden: float = 0.0) -> Interval:
    """The interval this project uses: expanded BCa from BOOTSTRAP_FROM observations and up to STRICTEST, else t.

    Observations that are all equal scatter by `hidden`, a standard deviation in their unit (`rounding`).
    """
    n = values.shape[-1]
    if n < 2:
        raise ValueError(f"an interval needs 2 or more observations, got {n}")
    if hidden and is_constant(values).all():
        mean = values.mean(axis=-1)
        half = student.quantile((1 - level) / 2, n - 1) * hidden / np.sqrt(n)
        return Interval(mean, mean - half, mean + half)
    return bca_interval(values, level, seed) if _bootstrapped(n, level) else t_interval(values, level)


def method_name(n: int, level: float) -> str:
    """What `mean_interval` does with n observations, in the words of METHODOLOGY.md."""
    return "expanded BCa bootstrap" if _bootstrapped(n, level) else "Student's t"


def _bootstrapped(n: int, level: float) -> bool:
    return n >= BOOTSTRAP_FROM and level <= STRICTEST
