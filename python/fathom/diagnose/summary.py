"""A summary of each series of a log, without keeping its samples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fathom.diagnose.table import SCHEMA, Block, Series

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass
class _Total:
    samples: int = 0
    missing: int = 0
    first: int = np.iinfo(np.int64).max
    last: int = np.iinfo(np.int64).min
    sum: float = 0.0
    most: float = -np.inf
    lengths: list[int] = field(default_factory=list)
    """Places of the lists of intervals."""


def summary(blocks: Iterable[Block]) -> pl.DataFrame:
    """One row per series: layer, host, device, metric, samples (with a value), missing, first, last, interval_s (median
    of `seconds`), mean, max; sorted.
    """
    totals: dict[Series, _Total] = {}
    lengths: list[NDArray[np.float64]] = []
    for block in blocks:
        good, most = ~np.isnan(block.values), np.fmax.reduce(block.values, axis=0).tolist()
        counts, sums = good.sum(axis=0).tolist(), block.values.sum(axis=0, where=good).tolist()
        moments, first, last = len(block.times_ns), int(block.times_ns.min()), int(block.times_ns.max())
        lengths.append(block.seconds[np.isfinite(block.seconds)])
        for series, count, total, largest in zip(block.series, counts, sums, most, strict=True):
            known = totals.setdefault(series, _Total())
            known.samples += count
            known.missing += moments - count
            known.first, known.last = min(known.first, first), max(known.last, last)
            known.sum += total
            known.most = max(known.most, largest) if count else known.most
            known.lengths.append(len(lengths) - 1)
    medians: dict[tuple[int, ...], float | None] = {}
    rows = []
    for series, known in totals.items():
        places = tuple(known.lengths)
        if places not in medians:
            every = np.concatenate([lengths[place] for place in places])
            medians[places] = float(np.median(every)) if len(every) else None
        mean, most_of = (known.sum / known.samples, known.most) if known.samples else (None, None)
        times = (known.first, known.last)
        key = (series.layer, series.host, series.device, series.metric)
        rows.append((*key, known.samples, known.missing, *times, medians[places], mean, most_of))
    return pl.DataFrame(rows, schema=_COLUMNS, orient="row").sort("layer", "host", "device", "metric")


_COLUMNS = {
    "layer": SCHEMA["layer"],
    "host": pl.String(),
    "device": pl.String(),
    "metric": SCHEMA["metric"],
    "samples": pl.UInt32(),
    "missing": pl.UInt32(),
    "first": SCHEMA["time"],
    "last": SCHEMA["time"],
    "interval_s": pl.Float64(),
    "mean": pl.Float64(),
    "max": pl.Float64(),
}
