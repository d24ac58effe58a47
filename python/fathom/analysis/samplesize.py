"""How many rounds does it take to know a ratio to a margin? Everything is on the log scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from fathom.analysis import student
from fathom.analysis.interval import Floats
from fathom.analysis.verdict import log_margin

FEWEST = 3
MOST = 100_000
LOOK_AGAIN = 5
"""Rounds after which to look again where fewer than FEWEST are there: their scatter tells next to nothing."""

AFFORDABLE = 1_000
"""Rounds beyond which a number helps nobody: the cause of the variation must be found instead."""


POWER = 0.8
"""Chance of an answer after the rounds that are advised."""

_POINTS = 100
_Gaps = Sequence[tuple[Floats | float, Floats | float]]


def rounds_for_half_width(sd: float, half_width: float, level: float) -> int:
    """Rounds until the t interval of a mean of log ratios with standard deviation `sd` is +- `half_width` wide."""
    return smallest(lambda n: student.quantile((1 - level) / 2, n - 1) * sd / math.sqrt(n) <= half_width)


def rounds_to_decide(mean: float, sd: float, *, have: int, margin: float, alpha: float, equal_alpha: float) -> int:
    """Rounds in all after which an undecided comparison has a verdict in four of five cases.

    Args:
        mean: of the log ratios so far.
        sd: their standard deviation between rounds.
        have: rounds so far, which count in the end as well.
        margin: of equivalence, as a fraction.
        alpha: two-sided level of the next look for a difference.
        equal_alpha: one-sided level of the next look for equivalence.
    """
    delta = log_margin(margin)

    def undecided(n: int, error: Floats) -> _Gaps:
        differs = student.quantile(alpha / 2, n - 1) * error
        equal = np.maximum(delta - student.quantile(equal_alpha, n - 1) * error, 0.0)
        return (equal, differs), (-differs, -equal)

    return _rounds(mean, sd, have, undecided)


def rounds_to_bound(mean: float, sd: float, *, have: int, margin: float, level: float, held_level: float) -> int:
    """Rounds in all after which a guard is certainly worse or held, in about three of four cases."""
    delta = log_margin(margin)

    def unclear(n: int, error: Floats) -> _Gaps:
        held = delta - student.quantile((1 - held_level) / 2, n - 1) * error
        return ((held, np.maximum(student.quantile((1 - level) / 2, n - 1) * error, delta)),)

    return _rounds(mean, sd, have, unclear)


def _rounds(mean: float, sd: float, have: int, gaps: Callable[[int, Floats], _Gaps]) -> int:
    """The smallest number of rounds that leaves the final mean outside the gaps with the wanted chance.

    Neither the true mean nor the true scatter is known. The variance has an inverse chi-squared distribution, and the
    true mean is either none, with its likelihood over the largest one, or normal about the mean so far: the rounds so
    far count in the end as well. Planned with the point alone, one advice in three keeps its promise.
    """
    from scipy.special import ndtr

    scatter = sd * _spreads(have - 1)
    likelihood = (1 + mean**2 * have / (sd**2 * (have - 1))) ** (-have / 2)
    none = likelihood / (1 + likelihood)

    def enough(n: int) -> bool:
        left = 0.0
        cases = (
            (none, mean * have / n, math.sqrt(n - have) / n),
            (1 - none, mean, math.sqrt(1 / have - 1 / n)),
        )
        for weight, about, moves in cases:
            for low, high in gaps(n, scatter / math.sqrt(n)):
                inside = ndtr((high - about) / (scatter * moves)) - ndtr((low - about) / (scatter * moves))
                left += weight * float(np.maximum(inside, 0.0).mean())
        return left <= 1 - POWER

    return smallest(enough, have + 1)


@lru_cache(maxsize=64)
def _spreads(freedom: int) -> Floats:
    """What the true standard deviation may be over the one that was seen, at points of equal probability."""
    from scipy.special import chdtri

    points = (np.arange(_POINTS) + 0.5) / _POINTS
    return np.sqrt(freedom / np.asarray(chdtri(freedom, points), dtype=np.float64))


def smallest(enough: Callable[[int], bool], fewest: int = FEWEST) -> int:
    """The smallest n from `fewest` on that is enough; MOST if none below it is. `enough` must not turn false again."""
    low, high = fewest, fewest
    while not enough(high):
        if high >= MOST:
            return MOST
        low, high = high + 1, min(MOST, high * 2)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return high
