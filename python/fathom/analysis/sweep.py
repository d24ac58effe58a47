"""What a table of loads shows where its bounds show no knee: growth, saturation from the start, decline, or neither.

The share of a higher load that becomes throughput is d log X / d log N; by Little's law the rest of it is latency. A
decline is a slope of log X over log N below 0 at the 5 % level (two-sided, over runs).
"""

from __future__ import annotations

import math
from enum import Enum, auto

import numpy as np

from fathom.analysis import student
from fathom.analysis.knee import PLATEAU
from fathom.analysis.load import LoadTable

_GROWS = 0.5
"""Share of a load's growth that becomes throughput, from which nobody would call it saturated."""

_STEP = 2.0
"""Growth is judged over loads so far apart: between nearer ones it is less than the scatter of runs."""

_LESS = 1.05
_ALPHA = 0.05


class Shape(Enum):
    """The answers to "where does it saturate?" without a place."""

    GROWS = auto()
    FROM_START = auto()
    DECLINES = auto()
    LEVELS_OFF = auto()


def shape_of(table: LoadTable) -> Shape:
    """The shape of a table of three or more loads."""
    points = table.medians
    (first, least, _), (last, most, _) = points[0], points[-1]
    near, before, _ = next((point for point in points[::-1] if point[0] * _STEP <= last), points[0])
    if min(_share(first, least, last, most), _share(near, before, last, most)) >= _GROWS:
        return Shape.GROWS
    rest = [rate for _, rate, _ in points[1:]]
    if max(rest) <= least and least > _LESS * most and _declines(table):
        return Shape.DECLINES
    if float(np.median(rest)) < PLATEAU * least and most < PLATEAU * least:
        return Shape.FROM_START
    return Shape.LEVELS_OFF


def _share(load: float, rate: float, higher: float, rate_there: float) -> float:
    return math.log(rate_there / rate) / math.log(higher / load)


def _declines(table: LoadTable) -> bool:
    """Whether the rate falls with the load by more than its scatter about a straight line of logarithms."""
    x, y = np.log(table.loads), np.log(table.rates)
    x, y = x - x.mean(), y - y.mean()
    slope, freedom = float(x @ y / (x @ x)), len(x) - 2
    error = math.sqrt(float(((y - slope * x) ** 2).sum()) / freedom / float(x @ x))
    return slope < 0 and (error == 0 or student.tail(-slope / error, freedom) < _ALPHA / 2)
