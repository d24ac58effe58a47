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
PLATEAU = 1.25
"""A table shows its knee only if the highest load is this many times as high as the ceiling needs, and the ceiling
needs this many times the lowest one: of a table that is saturated throughout, the knee would be the lowest load."""

MISFIT = 0.10
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
    ((slope, ceiling),) = _fit_all(loads, rates[None, :]).tolist()
    return None if math.isnan(slope) else Bounds(slope, ceiling)


def _fit_all(loads: Floats, rates: Floats) -> Floats:
    """The bounds of many tables with the same loads: (slope, ceiling) for each row of rates, NaN for none."""
    log_loads, log_rates = np.log(loads), np.log(rates)
    levels = np.unique(loads)
    best, least = np.full((len(rates), 2), np.nan), np.full(len(rates), np.inf)
    for last_below in levels[:-1]:
        below = loads <= last_below
        found = np.column_stack((_middles((log_rates - log_loads)[:, below]), _middles(log_rates[:, ~below])))
        fitted = np.minimum(log_loads + found[:, :1], found[:, 1:])
        misfits = np.abs(log_rates - fitted).sum(axis=1)
        better = misfits < least - 1e-12
        least, best = np.where(better, misfits, least), np.where(better[:, None], found, best)
    bounds: Floats = np.exp(best)
    bounds[levels[-1] < PLATEAU * bounds[:, 1] / bounds[:, 0]] = np.nan
    return bounds


def find_knee(table: LoadTable, study: Mapping[str, Any], seed: int) -> Knee | None:
    """The knee of a table, with intervals; None where latency is unknown or the table ends before it or starts beyond.

    The study's volumes are searched for a limit that equals what was met.
    """
    (found,) = _with_floors(table.loads, table.rates[None, :], table.latencies[None, :]).tolist()
    if math.isnan(found[0]) or starts_beyond(table.loads, found[2]):
        return None
    off = misfit(table.loads, table.rates, Bounds(found[1] / found[2], found[1]))
    if off > MISFIT:
        return None
    n, rng = len(table.loads), np.random.default_rng(seed)
    drawn = table.resampled(rng, _RESAMPLES if n > len(table.levels) else 0)
    columns = _with_floors(table.loads, table.rates[drawn], table.latencies[drawn])
    columns = columns[np.isfinite(columns).all(axis=1)]

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


def starts_beyond(loads: Floats, n_star: float) -> bool:
    """Whether no load lies below the knee: it and the latency without waiting are then bounded from above only."""
    return not is_lowest(float(loads[0])) and n_star < PLATEAU * loads[0]


def is_lowest(load: float) -> bool:
    """Whether no lower load can be tried: nobody waits for one alone."""
    return load <= 1


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


def _with_floors(loads: Floats, rates: Floats, latencies: Floats) -> Floats:
    """For each row: latency floor in ms (the median below the knee), ceiling of the rate, load where the bounds meet.

    NaN in a row without bounds or without a latency below them.
    """
    bounds = _fit_all(loads, rates)
    ceilings, n_stars = bounds[:, 1], bounds[:, 1] / bounds[:, 0]
    below = (loads <= np.maximum(n_stars, loads[0])[:, None]) & np.isfinite(latencies)
    return np.column_stack((_medians(np.where(below, latencies, np.nan)), ceilings, n_stars))


def _middles(values: Floats) -> Floats:
    """The median of each row, all of it known; np.median takes six times as long for rows of a hundred."""
    ordered, n = np.sort(values, axis=1), values.shape[1]
    middles: Floats = (ordered[:, (n - 1) // 2] + ordered[:, n // 2]) / 2
    return middles


def _medians(values: Floats) -> Floats:
    """The median of what is known in each row, NaN where nothing is; np.nanmedian goes row by row."""
    ordered, last = np.sort(values, axis=1), values.shape[1] - 1
    known = (~np.isnan(values)).sum(axis=1)[:, None]
    middle = [np.take_along_axis(ordered, np.clip(at, 0, last), axis=1) for at in ((known - 1) // 2, known // 2)]
    return np.where(known > 0, (middle[0] + middle[1]) / 2, np.nan)[:, 0]


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
