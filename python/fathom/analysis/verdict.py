"""From an interval, an equivalence interval and a margin to one of the closed list of verdicts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fathom.analysis.interval import Floats
from fathom.analysis.model import Verdict


def log_margin(margin: float) -> float:
    """The margin on the log scale, symmetric there so that it does not matter which variant is the baseline.

    A margin of 2 % means a ratio between 1/1.02 and 1.02.
    """
    return float(np.log1p(margin))


def classify(
    *, point: Floats, low: Floats, high: Floats, equal_low: Floats, equal_high: Floats, margin: float
) -> NDArray[np.str_]:
    """Verdicts (as text of `Verdict`) for log ratios; all arrays of one shape.

    The order settles what holds when two apply: a difference that is certain is stated as one even where it is small.

    Args:
        point: log of the ratio.
        low: log of its interval's lower bound.
        high: log of its interval's upper bound.
        equal_low: lower bound of the two one-sided tests' interval (90 % for a single look).
        equal_high: its upper bound.
        margin: equivalence margin as a fraction.
    """
    delta = log_margin(margin)
    large = np.abs(point) >= delta
    above, below = low > 0, high < 0
    inside = (equal_low > -delta) & (equal_high < delta)
    return np.select(
        [above & large, below & large, above, below, inside],
        [Verdict.FASTER, Verdict.SLOWER, Verdict.FASTER_SMALL, Verdict.SLOWER_SMALL, Verdict.EQUIVALENT],
        default=Verdict.UNDECIDED,
    )
