"""How many rounds does it take to know a ratio to a margin? Everything is on the log scale."""

from __future__ import annotations

import math
from collections.abc import Callable

from fathom.analysis import student
from fathom.analysis.interval import Floats
from fathom.analysis.verdict import log_margin

FEWEST = 3
MOST = 100_000
LOOK_AGAIN = 5
"""Rounds after which to look again where fewer than FEWEST are there: their scatter tells next to nothing."""

_OF_DISTANCE = 2 / 3

WORTH = 100
"""Rounds beyond which a difference within twice the margin is not worth them."""

AFFORDABLE = 1_000
"""Rounds beyond which a number helps nobody: the cause of the variation must be found instead."""


def rounds_for_half_width(sd: float, half_width: float, level: float) -> int:
    """Rounds until the t interval of a mean of log ratios with standard deviation `sd` is +- `half_width` wide."""
    return smallest(lambda n: student.quantile((1 - level) / 2, n - 1) * sd / math.sqrt(n) <= half_width)


def rounds_to_decide(logs: Floats, sd: float, margin: float, level: float) -> int:
    """Rounds in all after which an undecided comparison should be decided, if its mean stays where it is.

    The aim is an interval no wider than the margin on each side. A mean further out than the margin is decided by an
    interval that leaves 0 out, however wide: the aim is then two thirds of its distance, as few rounds may show a mean
    that is too large. Where the aim is reached already and the mean lies between 0 and the margin, the nearer of two
    aims counts: an interval that leaves 0 out, or one within the margin.
    """
    delta, distance = log_margin(margin), abs(float(logs.mean()))
    wanted = rounds_for_half_width(sd, max(delta, distance * _OF_DISTANCE), level)
    if wanted > len(logs):
        return wanted
    return max(len(logs) + 1, rounds_for_half_width(sd, max(distance, delta - distance), level))


def smallest(enough: Callable[[int], bool]) -> int:
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
