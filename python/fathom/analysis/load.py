"""Tables of load against throughput: the runs of one load factor, all else fixed, with rate and latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathom.analysis.interval import Floats
from fathom.analysis.variants import Key, Variant, numeric, users, variant_key
from fathom.metrics import metric as metric_facts
from fathom.results import Run

_PER_SECOND = ("iops", "rows_per_second", "commits_per_second")
"""Rates in 1/s of what the users wait for, in order of preference."""


@dataclass(frozen=True)
class LoadTable:
    """Finished runs over the levels of one load factor, all other factors fixed.

    Attributes:
        factor: dotted path of the load; `variant` the fixed levels; `metric` the throughput's name.
        loads, rates, latencies: one value per run, loads ascending; latency in ms, NaN where it is not known.
    """

    factor: str
    variant: Variant
    metric: str
    loads: Floats
    rates: Floats
    latencies: Floats

    @cached_property
    def levels(self) -> Floats:
        """The distinct loads, ascending."""
        return np.unique(self.loads)

    @property
    def medians(self) -> tuple[tuple[float, float, float], ...]:
        """(load, median rate, median latency in ms or NaN) of every load, ascending."""
        rows = []
        for level in self.levels:
            latencies = self.latencies[(self.loads == level) & np.isfinite(self.latencies)]
            latency = float(np.median(latencies)) if len(latencies) else float("nan")
            rows.append((float(level), float(np.median(self.rates[self.loads == level])), latency))
        return tuple(rows)

    def resampled(self, rng: np.random.Generator, count: int) -> NDArray[np.intp]:
        """Bootstrap samples of the runs, one of `count` rows each: places of runs, drawn within each load.

        No load is lost, so that every sample has the loads of the table.
        """
        _, first, size = np.unique(self.loads, return_index=True, return_counts=True)
        drawn = rng.integers(0, np.repeat(size, size), (count, len(self.loads)))
        return np.asarray(np.repeat(first, size) + drawn, dtype=np.intp)


def load_tables(runs: Sequence[Run], study: Mapping[str, Any], primary: str | None) -> tuple[LoadTable, ...]:
    """Every table of a campaign with three or more loads; `primary` is the metric the study compares."""
    factors = [factor for factor, what in study.get("loads", {}).items() if what == "users"]
    tables: list[LoadTable] = []
    for factor in factors:
        groups: dict[Key, list[Run]] = {}
        for run in runs:
            level = numeric(run.variant[factor]) if factor in run.variant else None
            if run.ok and level is not None and level > 0:
                groups.setdefault(variant_key(_without(run.variant, factor)), []).append(run)
        tables += [table for group in groups.values() if (table := _table(group, factor, study, primary)) is not None]
    return tuple(tables)


def _without(variant: Variant, factor: str) -> Variant:
    return {name: level for name, level in variant.items() if name != factor}


def _table(runs: Sequence[Run], factor: str, study: Mapping[str, Any], primary: str | None) -> LoadTable | None:
    name = _rate_metric(runs, primary)
    if name is None:
        return None
    rows = []
    for run in runs:
        rate, load = run.metrics.get(name), numeric(run.variant[factor])
        if rate is not None and rate > 0 and load is not None:
            rows.append((load, rate, _latency_ms(run, name, load, rate, study)))
    table = np.array(sorted(rows), dtype=np.float64).reshape(-1, 3)
    if len(np.unique(table[:, 0])) < 3:
        return None
    return LoadTable(factor, _without(runs[0].variant, factor), name, table[:, 0], table[:, 1], table[:, 2])


def _rate_metric(runs: Sequence[Run], primary: str | None) -> str | None:
    """The study's own metric where more of it is better (a throughput), else the first rate that was measured."""
    # What one of several databases got done says nothing of what the load brought in all.
    primary = None if primary is None else primary.removeprefix("per_database_")
    wanted = [primary] if primary is not None and metric_facts(primary).higher_is_better else []
    present = (name for name in (*wanted, *_PER_SECOND) if any(run.metrics.get(name) for run in runs))
    return next(present, None)


def _latency_ms(run: Run, name: str, load: float, rate: float, study: Mapping[str, Any]) -> float:
    """Latency of what `name` counts: measured for I/O; for other rates load / rate, in a loop that never pauses."""
    if name == "iops" and run.metrics.get("latency_ms"):
        return float(run.metrics["latency_ms"] or np.nan)
    known = name in _PER_SECOND[1:] and users(study, run.variant) is not None
    return 1e3 * load / rate if known else float("nan")
