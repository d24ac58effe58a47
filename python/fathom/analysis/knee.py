"""Where does more load only mean more waiting? Asymptotic bounds of operational analysis, fitted robustly.

A closed system with N users completes at most N / R0 (nobody waits; R0 includes think time, if there is any) and at
most Xmax (something is always busy): X = min(N / R0, Xmax), without think time R = max(R0, N / Xmax). The two meet at
N* = Xmax R0 (Denning and Buzen, ACM Computing Surveys 10, 1978). The loads are cut in two where the sum of absolute
residuals of log X is least; medians on each side make the bounds. Intervals are percentiles of a bootstrap over runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from fathom.analysis.interval import Floats
from fathom.analysis.load import LoadTable
from fathom.analysis.model import Estimate, Knee
from fathom.analysis.variants import resolved
from fathom.analysis.words import number

LEVEL = 0.95
_RESAMPLES = 500
_PLATEAU = 1.25
"""A table shows its knee only if the highest load is this many times as high as the ceiling needs."""

_MISFIT = 0.10
"""Largest relative distance of a load's median rate from the bounds, outside the bend, at which they are a fit."""

_BEND = 2.0
"""Loads within this factor of the knee lie below both bounds in any real system; they may, by so much and no more."""

_BELOW_IN_BEND = 0.45

_SAME_LIMIT = 0.03
_SAME_DEPTH = 0.05


class Bounds(NamedTuple):
    """Rate per unit of load while nobody waits, and the ceiling of the rate; both in the unit of the rate."""

    slope: float
    ceiling: float

    @property
    def n_star(self) -> float:
        """Load at which the two bounds meet."""
        return self.ceiling / self.slope

    def rate(self, loads: Floats) -> Floats:
        """The lower of the two bounds at the given loads."""
        return np.minimum(self.slope * loads, self.ceiling)


def fit_bounds(loads: Floats, rates: Floats) -> Bounds | None:
    """The bounds of a table of loads (ascending) and rates; None where the rate never meets a ceiling."""
    log_loads, log_rates = np.log(loads), np.log(rates)
    levels = np.unique(loads)
    best: tuple[float, Bounds] | None = None
    for last_below in levels[:-1]:
        below = loads <= last_below
        slope, ceiling = _median((log_rates - log_loads)[below]), _median(log_rates[~below])
        misfit = float(np.abs(log_rates - np.minimum(log_loads + slope, ceiling)).sum())
        if best is None or misfit < best[0] - 1e-12:
            best = misfit, Bounds(math.exp(slope), math.exp(ceiling))
    if best is None or levels[-1] < _PLATEAU * best[1].n_star:
        return None
    return best[1]


def find_knee(table: LoadTable, study: Mapping[str, Any], seed: int) -> Knee | None:
    """The knee of a table, with intervals; None where latency is unknown or the table ends before it.

    The study's volumes are searched for a limit that equals what was met.
    """
    found = _with_floor(table)
    if found is None:
        return None
    off = misfit(table.loads, table.rates, Bounds(found[1] / found[2], found[1]))
    if off > _MISFIT:
        return None
    n, rng = len(table.loads), np.random.default_rng(seed)
    tables = (table.resampled(rng) for _ in range(_RESAMPLES if n > len(table.levels) else 0))
    columns = np.array([drawn for one in tables if (drawn := _with_floor(one)) is not None]).reshape(-1, 3)

    def estimate(column: int) -> Estimate:
        value = found[column]
        if not len(columns):
            return Estimate(value, value, value, 0.0, n, "one run per load, no interval")
        low, high = np.quantile(columns[:, column], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return Estimate(value, float(low), float(high), LEVEL, n, "percentile bootstrap over runs")

    settings = {"volumes": resolved(study, table.variant).get("settings", {}).get("volumes", {})}
    return Knee(
        load_factor=table.factor,
        service_floor_ms=estimate(0),
        throughput_ceiling=estimate(1),
        n_star=estimate(2),
        bottleneck=_bottleneck(found[1], found[2], settings),
        variant=table.variant,
        metric=table.metric,
        misfit=off,
        points=table.medians,
    )


def misfit(loads: Floats, rates: Floats, bounds: Bounds) -> float:
    """The largest relative distance of a load's median rate from the bounds; inf where they are no bounds at all.

    Rates above a bound count everywhere, rates below them outside the bend only, where every real system is below.
    """
    worst = 0.0
    for load in np.unique(loads):
        ratio = float(np.median(rates[loads == load]) / bounds.rate(np.array([load]))[0])
        if ratio >= 1:
            worst = max(worst, ratio - 1)
        elif not bounds.n_star / _BEND < load < bounds.n_star * _BEND:
            worst = max(worst, 1 - ratio)
        elif ratio < 1 - _BELOW_IN_BEND:
            return math.inf
    return worst


def _with_floor(table: LoadTable) -> tuple[float, float, float] | None:
    """Latency floor in ms (the median below the knee), ceiling of the rate, load where the two bounds meet."""
    bounds = fit_bounds(table.loads, table.rates)
    if bounds is None:
        return None
    below = table.latencies[(table.loads <= max(bounds.n_star, table.loads[0])) & np.isfinite(table.latencies)]
    return (_median(below), bounds.ceiling, bounds.n_star) if len(below) else None


def _median(values: Floats) -> float:
    """What np.median gives, in a tenth of its time: a bootstrap asks some thousand times."""
    ordered, n = np.sort(values), len(values)
    return float((ordered[(n - 1) // 2] + ordered[n // 2]) / 2)


def _bottleneck(ceiling: float, n_star: float, settings: Mapping[str, Any]) -> str | None:
    """A setting that equals the ceiling (an IOPS limit) or the load where it is met (a queue depth)."""
    for path, value in _numbers(settings):
        name = path.rsplit(".", 1)[-1]
        if "iops" in name and abs(ceiling / value - 1) <= _SAME_LIMIT:
            return f"{path} = {number(value)}"
        if "depth" in name and abs(n_star / value - 1) <= _SAME_DEPTH:
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
