"""Did the measured phase outlive its trends? What a longer run could make of a ratio, from the thirds of its runs.

The run is the unit of replication: what fluctuates within runs (checkpoints, flushing, convoys of locks) is part of the
scatter between rounds already. A trend is not: warm-up, a cache that fills, a table that grows shift every run of a
variant the same way. It shows as a last third that differs from the first in the same direction in every round, more
for one variant than for the other. Where it is certain, the ratio of the last third, carried on as the thirds go on,
is what a longer run might show.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fathom.analysis import student
from fathom.analysis.interval import Floats, is_constant
from fathom.analysis.model import SteadyState

ALPHA = 0.10
"""Level of the test over rounds: a missed trend is worse than a remark too many."""

_CERTAIN = 4.0
"""Standard errors, by the scatter within runs, that tell a trend where rounds are too few to."""

_FASTEST, _SLOWEST = 0.65, 0.75
"""Steps that shrink are carried on as a geometric series whose ratio lies between these: three thirds tell it badly,
and a bias that is thought too small makes false verdicts. What grows is taken to go on once more as it did."""

_FEWEST = 3


@dataclass(frozen=True)
class Trend:
    """In log units of the rate: `seen` from the first to the last third, `shift` what a longer run may change."""

    seen: float
    shift: float


def trend_of(states: Sequence[SteadyState]) -> Trend | None:
    """The trend that the runs of one side share."""
    rows = [(state.thirds, state.error) for state in states if state.thirds]
    return _trend([np.array(thirds) for thirds, _ in rows], [error for _, error in rows])


def trend_between(variant: Mapping[int, SteadyState], baseline: Mapping[int, SteadyState]) -> Trend | None:
    """The trend of the ratio of two sides, paired by round; what both share cancels."""
    both = [r for r in sorted(set(variant) & set(baseline)) if variant[r].thirds and baseline[r].thirds]
    rows = [np.array(variant[r].thirds) - np.array(baseline[r].thirds) for r in both]
    return _trend(rows, [math.hypot(variant[r].error, baseline[r].error) for r in both])


def _trend(rows: Sequence[Floats], errors: Sequence[float]) -> Trend | None:
    if not rows:
        return None
    first, middle, last = np.mean(rows, axis=0)
    change = np.array([row[2] - row[0] for row in rows])
    if not _certain(change, np.array(errors)):
        return None
    early, late = float(middle - first), float(last - middle)
    going_on = late / early if early else math.inf
    if going_on >= 1:
        rest = late
    else:
        share = min(max(going_on, _FASTEST if late * (last - first) > 0 else 0.0), _SLOWEST)
        rest = late * share / (1 - share)
    return Trend(float(change.mean()), float(last) + rest)


def _certain(change: Floats, errors: Floats) -> bool:
    """Whether the change is more than chance: by its scatter over rounds, or by that within the runs."""
    n, mean = len(change), abs(float(change.mean()))
    if mean == 0:
        return False
    if n >= _FEWEST:
        if is_constant(change):
            return True
        error = float(change.std(ddof=1)) / math.sqrt(n)
        if mean > student.quantile(ALPHA / 2, n - 1) * error:
            return True
    within = math.sqrt(float((errors**2).sum())) / n
    return bool(mean > _CERTAIN * within)
