"""Where does more load only mean more waiting? Asymptotic bounds of operational analysis, fitted robustly.

With N requests outstanding, latency is at least R0 (an empty system) and at least N / Xmax (a full one): R = max(R0,
N / Xmax), and the two meet at N* = Xmax R0 (Denning and Buzen, ACM Computing Surveys 10, 1978). The loads are cut in
two where the sum of absolute residuals of log R is least; medians on each side make R0 and Xmax. Intervals are
percentiles of a bootstrap over runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from fathom.analysis.interval import Floats
from fathom.analysis.load import LoadTable
from fathom.analysis.model import Estimate, Knee
from fathom.analysis.words import number

LEVEL = 0.95
_RESAMPLES = 1_000
_PLATEAU = 1.25
"""A table shows its knee only if its last latency is this many times the floor."""

_SAME_LIMIT = 0.03
_SAME_DEPTH = 0.05


class Bounds(NamedTuple):
    """Latency floor in ms and ceiling of the rate in 1/s."""

    floor_ms: float
    ceiling: float

    @property
    def n_star(self) -> float:
        """Load at which the two bounds meet."""
        return self.ceiling * self.floor_ms / 1e3


def fit_bounds(loads: Floats, latencies_ms: Floats) -> Bounds | None:
    """The bounds of a table of loads (ascending) and latencies; None where the latency never leaves its floor."""
    logs = np.log(latencies_ms)
    ceilings = np.log(loads) - logs + math.log(1e3)
    best: tuple[float, Bounds] | None = None
    levels = np.unique(loads)
    for last_below in levels[:-1]:
        below = loads <= last_below
        floor, ceiling = float(np.median(logs[below])), float(np.median(ceilings[~below]))
        fitted = np.maximum(floor, np.log(loads) - ceiling + math.log(1e3))
        misfit = float(np.abs(logs - fitted).sum())
        if best is None or misfit < best[0] - 1e-12:
            best = misfit, Bounds(math.exp(floor), math.exp(ceiling))
    if best is None:
        return None
    highest = float(np.median(latencies_ms[loads == levels[-1]]))
    return best[1] if highest >= _PLATEAU * best[1].floor_ms else None


def find_knee(table: LoadTable, study: Mapping[str, Any], facts: Mapping[str, Any], seed: int) -> Knee | None:
    """The knee of a table, with intervals; None where latency is unknown or the table ends before it.

    `facts` are the volumes of a run as provisioned; they and the study's settings are searched for the limit met.
    """
    known = np.isfinite(table.latencies)
    if len(np.unique(table.loads[known])) < 3:
        return None
    found = fit_bounds(table.loads[known], table.latencies[known])
    if found is None:
        return None
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(_RESAMPLES):
        drawn = table.resampled(rng)
        bounds = fit_bounds(drawn.loads, drawn.latencies) if known.all() else None
        if bounds is not None:
            draws.append((bounds.floor_ms, bounds.ceiling, bounds.n_star))
    columns = np.array(draws).reshape(-1, 3)

    def estimate(value: float, column: int) -> Estimate:
        if not len(columns) or len(table.loads) == len(table.levels):
            return Estimate(value, value, value, 0.0, len(table.loads), "one run per load, no interval")
        low, high = np.quantile(columns[:, column], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return Estimate(value, float(low), float(high), LEVEL, len(table.loads), "percentile bootstrap over runs")

    return Knee(
        table.factor,
        estimate(found.floor_ms, 0),
        estimate(found.ceiling, 1),
        estimate(found.n_star, 2),
        _bottleneck(found, {"volumes": study.get("volumes", {})}, facts),
        table.variant,
        table.metric,
    )


def _bottleneck(bounds: Bounds, *settings: Mapping[str, Any]) -> str | None:
    """A setting that equals the ceiling (an IOPS limit) or the load where it is met (a queue depth)."""
    for path, value in (leaf for tree in settings for leaf in _numbers(tree)):
        name = path.rsplit(".", 1)[-1]
        if "iops" in name and abs(bounds.ceiling / value - 1) <= _SAME_LIMIT:
            return f"{path} = {number(value)}"
        if "depth" in name and abs(bounds.n_star / value - 1) <= _SAME_DEPTH:
            return f"{path} = {number(value)}"
    return None


def _numbers(tree: object, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Positive numbers of nested settings with their dotted paths; "3,000" style text is not guessed at."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from _numbers(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(tree, list | tuple):
        for index, value in enumerate(tree):
            yield from _numbers(value, f"{prefix}.{index}")
    elif isinstance(tree, int | float) and not isinstance(tree, bool) and tree > 0:
        yield prefix, float(tree)
