"""What a run did over time: of the compared metric, where that has a series of its own, else its rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.analysis.interval import Floats
from fathom.results import Run

if TYPE_CHECKING:
    import polars as pl

FEWEST_SAMPLES = 16
RATE, LATENCY, VOLUME_TRAFFIC = "the rate", "the latency", "the volume traffic of a transaction"


@dataclass(frozen=True)
class Series:
    """Values at equal intervals of the measured phase, `interval_s` long each; `what` names them in sentences."""

    what: str
    values: Floats
    interval_s: float


def series_of(run: Run, metric: str) -> Series | None:
    """The series that tells whether `metric` was level; None without samples."""
    own = None
    if "latency" in metric:
        what, own = LATENCY, latency_series(run)
    elif metric == "place_kib_per_transaction":
        what, own = VOLUME_TRAFFIC, traffic_series(run)
    if own is None:
        what, own = RATE, measured_series(run)
    return None if own is None else Series(what, *own)


def latency_series(run: Run) -> tuple[Floats, float] | None:
    """Mean latency per interval of what the user sees (ms), and the interval's length in s; None without one."""
    import polars as pl

    known = pl.col("latency_mean_ns").is_not_null() & (pl.col("count") > 0)
    mean_ms = (pl.col("latency_mean_ns") * pl.col("count")).sum() / pl.col("count").sum() / 1e6
    means = _intervals(run, mean_ms, among=known)
    if means is None or len(means[0]) < FEWEST_SAMPLES:
        return None
    values, seconds = means
    return values, float(np.median(seconds))


def measured_series(run: Run) -> tuple[Floats, float] | None:
    """Rate per interval of what the user sees in the measured phase (1/s), and the interval's length in s.

    Transactions are counted where there are any, otherwise reads and writes; the last interval is left out if it was
    cut short. An interval in which none of them happened counts as 0.
    """
    import polars as pl

    rates = _intervals(run, pl.col("count").sum())
    if rates is None or len(rates[0]) == 0:
        return None
    counts, seconds = rates
    interval_s = float(np.median(seconds))
    whole = seconds > 0.5 * interval_s
    return counts[whole] / seconds[whole], interval_s


def traffic_series(run: Run) -> tuple[Floats, float] | None:
    """What places read and wrote per transaction in each interval (KiB), and its length in s; None without either.

    Hosts are observed at moments of their own: what was read and written in an interval is interpolated.
    """
    import polars as pl

    activity, counted = run.activity(), measured_series(run)
    if activity is None or counted is None or len(counted[0]) < FEWEST_SAMPLES:
        return None
    rates, interval_s = counted
    of_places = (pl.col("kind") == "place") & pl.col("measure").is_in(["read_bytes", "write_bytes"])
    end, moved = pl.col("t_s") + pl.col("seconds"), pl.col("value") * pl.col("seconds")
    grown = activity.lazy().filter(of_places).with_columns(end=end, value=moved)
    total = (
        grown.group_by("end").agg(pl.col("value").sum(), pl.col("t_s").min()).sort("end").collect(engine="in-memory")
    )
    if total.height == 0 or not (rates > 0).all():
        return None
    moments = np.arange(len(rates) + 1) * interval_s
    ends, sums = [total["t_s"][0], *total["end"]], [0.0, *total["value"].cum_sum()]
    grown_by = np.diff(np.interp(moments, ends, sums))
    return grown_by / 1024 / (rates * interval_s), interval_s


def _intervals(run: Run, value: pl.Expr, among: pl.Expr | None = None) -> tuple[Floats, Floats] | None:
    """A value of each interval of the measured phase with the interval's length in s; None without samples.

    `count` is that of what the user sees: transactions where there are any, else reads and writes, of the workload
    where it has samples. `among` leaves intervals out that have no such row.
    """
    import polars as pl

    frame = run.samples()
    if frame is None or frame.height == 0:
        return None
    nodes = frame["node"].unique().to_list()
    node = "workload" if "workload" in nodes else frame["node"][0]
    # One query: each costs most of a millisecond whatever it does, and a campaign has many runs.
    rows = frame.lazy().filter((pl.col("phase") == "measure") & (pl.col("node") == node))
    transactions = pl.col("op") == "transaction"
    seen = pl.when(transactions.any()).then(transactions).otherwise(pl.col("op").is_in(["read", "write"]))
    rows = rows.with_columns(count=pl.when(seen).then(pl.col("count")).otherwise(0))
    if among is not None:
        rows = rows.filter(among)
    found = (
        rows.group_by("t_s").agg(value=value, seconds=pl.col("seconds").max()).sort("t_s").collect(engine="in-memory")
    )
    return found["value"].to_numpy().astype(np.float64), found["seconds"].to_numpy().astype(np.float64)
