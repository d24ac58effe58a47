"""How many rounds does it take to detect a difference, to prove that there is none, to know a ratio to a margin?

Everything is on the log scale, where a coefficient of variation c is a standard deviation of sqrt(log(1 + c^2)).
Powers are exact for normal log ratios: noncentral t for a difference, numerical integration for the two one-sided
tests (Schuirmann 1987; Phillips 1990).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fathom.analysis import student
from fathom.analysis.interval import Floats
from fathom.analysis.model import Comparison, Verdict
from fathom.analysis.verdict import log_margin
from fathom.analysis.words import percent, rounds

FEWEST = 3
MOST = 100_000
AFFORDABLE = 1_000
"""Rounds beyond which a number helps nobody: the cause of the variation must be found instead."""

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
    return _smallest(lambda n: detection_power(n, effect, cv, correlation=correlation, alpha=alpha) >= power)


def rounds_to_prove(
    margin: float, cv: float, *, correlation: float | None = None, alpha: float = 0.05, power: float = 0.8
) -> int:
    """Rounds until two truly equal variants are shown to be equivalent within `margin` with the given power."""
    return _smallest(lambda n: equivalence_power(n, margin, cv, correlation=correlation, alpha=alpha) >= power)


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


def rounds_for_half_width(sd: float, half_width: float, level: float) -> int:
    """Rounds until the t interval of a mean of log ratios with standard deviation `sd` is +- `half_width` wide."""
    return _smallest(lambda n: student.quantile((1 - level) / 2, n - 1) * sd / math.sqrt(n) <= half_width)


def rounds_to_decide(logs: Floats, sd: float, margin: float, level: float) -> int:
    """Rounds in all after which an undecided comparison should be decided, if its mean stays where it is.

    The aim is an interval no wider than the margin on each side. Where that is reached already and the mean lies
    between 0 and the margin, the nearer of two aims counts: an interval that leaves 0 out, or one within the margin.
    """
    delta = log_margin(margin)
    wanted = rounds_for_half_width(sd, delta, level)
    if wanted > len(logs):
        return wanted
    distance = abs(float(logs.mean()))
    return max(len(logs) + 1, rounds_for_half_width(sd, max(distance, delta - distance), level))


def advice(comparison: Comparison) -> str:
    """What to do next about a comparison, in one or two sentences."""
    ratio, margin = comparison.ratio, percent(comparison.margin)
    match comparison.verdict:
        case Verdict.NOT_COMPARABLE:
            return "Remove the cause first; more rounds do not help."
        case Verdict.UNDECIDED if ratio is None or ratio.n < 2:
            return f"Run {rounds(comparison.more_rounds or FEWEST)} more: variation cannot be seen in fewer than two."
        case Verdict.UNDECIDED if comparison.more_rounds is None:
            return (
                f"More than {rounds(AFFORDABLE)} would be needed to decide within {margin}: find the cause of the "
                "variation first, lengthen the runs, or accept a wider margin."
            )
        case Verdict.UNDECIDED:
            have = ratio.n if ratio else 0
            more = comparison.more_rounds or 0
            return f"Run about {rounds(more)} more ({have + more} in all) to know the ratio to within {margin}."
        case Verdict.EQUIVALENT:
            return f"Choose by other criteria: a difference of {margin} or more is ruled out."
        case Verdict.FASTER_SMALL | Verdict.SLOWER_SMALL:
            return f"The difference is real but below the {margin} that the study calls worth having."
        case _:
            return "Decided; no more rounds are needed."


def _standard_error(n: int, cv: float, correlation: float | None) -> tuple[float, int]:
    """Standard error of the mean log difference and its degrees of freedom."""
    if correlation is None:
        return log_sd(cv) * math.sqrt(2 / n), 2 * n - 2
    return difference_sd(cv, correlation) / math.sqrt(n), n - 1


def _smallest(enough: Callable[[int], bool]) -> int:
    """The smallest n from FEWEST on that is enough; MOST if none below it is. `enough` must not turn false again."""
    low, high = FEWEST, FEWEST
    while not enough(high):
        if high >= MOST:
            return MOST
        low, high = high + 1, min(MOST, high * 2)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return high
