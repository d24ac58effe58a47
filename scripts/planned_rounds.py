"""Rounds to plan for: to detect a difference, or to prove that there is none (METHODOLOGY.md, "Rounds for power 0.8").

Everything is on the log scale, where a coefficient of variation c is a standard deviation of sqrt(log(1 + c^2)).
Powers are exact for normal log ratios: noncentral t for a difference, numerical integration for the two one-sided
tests (Schuirmann 1987; Phillips 1990).
"""

from __future__ import annotations

import math

import numpy as np

from fathom.analysis.samplesize import smallest
from fathom.analysis.verdict import log_margin

_POINTS = 2_000
_WRONG_WAY_BELOW = 5.0


def log_sd(cv: float) -> float:
    """Standard deviation of the logs of log-normal values with coefficient of variation cv."""
    return math.sqrt(math.log1p(cv**2))


def difference_sd(cv: float, correlation: float) -> float:
    """Standard deviation of the log ratio per round.

    `correlation` is that of the two runs of a round: 0.7 where a round's conditions make most of the variation.
    """
    return log_sd(cv) * math.sqrt(2 * (1 - correlation))


def rounds_to_detect(
    effect: float, cv: float, *, correlation: float | None = None, alpha: float = 0.05, power: float = 0.8
) -> int:
    """Rounds until a true difference of `effect` (0.05 for 5 %) is found with the given power.

    Args:
        effect: relative difference to find.
        cv: coefficient of variation of the runs of one variant.
        correlation: of the two runs of a round; None for two independent sets of runs (the number is then per set).
        alpha: two-sided level of the test.
        power: wanted chance of finding it.
    """
    return smallest(lambda n: detection_power(n, effect, cv, correlation=correlation, alpha=alpha) >= power)


def rounds_to_prove(
    margin: float, cv: float, *, correlation: float | None = None, alpha: float = 0.05, power: float = 0.8
) -> int:
    """Rounds until two truly equal variants are shown to be equivalent within `margin` with the given power."""
    return smallest(lambda n: equivalence_power(n, margin, cv, correlation=correlation, alpha=alpha) >= power)


def detection_power(
    n: int, effect: float, cv: float, *, correlation: float | None = None, alpha: float = 0.05
) -> float:
    """Chance that the two-sided t test on n rounds finds a true difference of `effect`."""
    from scipy.stats import nct, t

    error, freedom = _standard_error(n, cv, correlation)
    shift = math.log1p(effect) / error
    critical = t.isf(alpha / 2, freedom)
    # The chance of a significant difference in the wrong direction is left out: below 1e-9 it makes scipy return NaN.
    wrong_way = nct.cdf(-critical, freedom, shift) if shift < _WRONG_WAY_BELOW else 0.0
    return float(nct.sf(critical, freedom, shift) + wrong_way)


def equivalence_power(
    n: int, margin: float, cv: float, *, correlation: float | None = None, alpha: float = 0.05
) -> float:
    """Chance that both one-sided tests at `alpha` succeed on n rounds of two equal variants.

    The mean's chance to lie within the margin less t standard errors, averaged over the distribution of the estimated
    standard error (midpoints of equal probability).
    """
    from scipy.stats import chi2, norm, t

    error, freedom = _standard_error(n, cv, correlation)
    estimated = error * np.sqrt(chi2.ppf((np.arange(_POINTS) + 0.5) / _POINTS, freedom) / freedom)
    room = (log_margin(margin) - t.isf(alpha, freedom) * estimated) / error
    return float(np.where(room > 0, 2 * norm.cdf(room) - 1, 0.0).mean())


def _standard_error(n: int, cv: float, correlation: float | None) -> tuple[float, int]:
    """Standard error of the mean log difference and its degrees of freedom."""
    if correlation is None:
        return log_sd(cv) * math.sqrt(2 / n), 2 * n - 2
    return difference_sd(cv, correlation) / math.sqrt(n), n - 1
