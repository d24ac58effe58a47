"""From observations to an `Estimate`: which interval, and what to say where there is none.

Three cases have no sampling distribution to speak of and are named as such: a single observation (level 0: a point
without an interval), a virtual-time campaign whose rounds repeat one run, and a measured value that never varies.
Rounds of a simulation that agree by their rounding only have the interval of what that hides (`rounding`).
"""

from __future__ import annotations

import math

import numpy as np

from fathom.analysis.interval import Floats, is_constant, mean_interval, method_name
from fathom.analysis.model import Estimate

DETERMINISTIC = "deterministic simulation"
SINGLE = "single observation, no interval"
CONSTANT = "no variation between rounds"
ROUNDED = "Student's t of the scatter that rounding hides"


def estimate_mean(values: Floats, *, level: float, seed: int, virtual: bool, hidden: float = 0.0) -> Estimate | None:
    """Mean of a one-dimensional array of runs with its interval, in the unit of the values; None without values.

    `hidden` is the standard deviation, in that unit, that rounding may hide where a simulation's values are equal.
    """
    n = len(values)
    if n == 0:
        return None
    mean = float(values.mean())
    if n == 1:
        return Estimate(mean, mean, mean, 0.0, 1, SINGLE)
    constant = bool(is_constant(values))
    if constant and not (virtual and hidden):
        return Estimate(mean, mean, mean, level, n, DETERMINISTIC if virtual else CONSTANT)
    found = mean_interval(values, level, seed, hidden)
    method = ROUNDED if constant else method_name(n, level)
    return Estimate(mean, float(found.low), float(found.high), level, n, method)


def estimate_ratio(logs: Floats, *, level: float, seed: int, virtual: bool, hidden: float = 0.0) -> Estimate | None:
    """Geometric mean of ratios given as natural logs, one per round, with its interval as a ratio."""
    on_logs = estimate_mean(np.asarray(logs, dtype=np.float64), level=level, seed=seed, virtual=virtual, hidden=hidden)
    if on_logs is None:
        return None
    method = on_logs.method
    if method == method_name(on_logs.n, level):
        method = f"{method} on log ratios per round"
    value, low, high = (math.exp(_within_float(x)) for x in (on_logs.value, on_logs.low, on_logs.high))
    return Estimate(value, low, high, on_logs.level, on_logs.n, method)


def _within_float(log: float) -> float:
    """The log, kept where its exponential is a float: two rounds at a strict level can give a bound beyond e**700."""
    return min(max(log, -700.0), 700.0)
