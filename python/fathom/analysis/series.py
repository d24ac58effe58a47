"""What a run did over time: of the compared metric, where that has a series of its own, else its rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.analysis.interval import Floats
from fathom.analysis.model import RATE
from fathom.results import Run
from fathom.samples import Intervals, Rows, floats, having, ratio

if TYPE_CHECKING:
    import polars as pl

FEWEST_SAMPLES = 16
_SLACK_S = 1e-6
"""Rounding of the ends of intervals."""
LATENCY, VOLUME_TRAFFIC = "the latency", "the volume traffic of a transaction"


@dataclass(frozen=True)
class Series:
    """Values at equal intervals of the measured phase, `interval_s` long each; `what` names them in sentences.

    `weights` is what each counts in the run's own mean; None for all alike.
    """

    what: str
    values: Floats
    interval_s: float
    weights: Floats | None = None


def series_of(run: Run, metric: str) -> Series | None:
    """The series that tells whether `metric` was level; None without samples."""
    if "latency" in metric and (found := latency_series(run)) is not None:
        return found
    own = None
    if metric == "place_kib_per_transaction":
        what, own = VOLUME_TRAFFIC, traffic_series(run)
    if own is None:
        what, own = RATE, measured_series(run)
    return None if own is None else Series(what, *own)


def latency_series(run: Run) -> Series | None:
    """Mean latency per interval of what the user sees (ms), weighted by its requests; None without one."""
    frame = run.samples()
    if frame is None or frame.height == 0:
        return None
    counts, latencies = floats(frame, "count"), floats(frame, "latency_mean_ns")
    found = Intervals(frame, _seen(frame, _measured(frame)) & (counts > 0) & ~np.isnan(latencies))
    if len(found.starts) < FEWEST_SAMPLES:
        return None
    requests = found.total(counts)
    values = found.total(latencies * counts) / requests / 1e6
    return Series(LATENCY, values, float(np.median(found.lengths)), requests)


def measured_series(run: Run) -> tuple[Floats, float] | None:
    """Rate per interval of what the user sees in the measured phase (1/s), and the interval's length in s.

    Transactions are counted where there are any, otherwise reads and writes; the last interval is left out if it was
    cut short. An interval in which none of them happened counts as 0.
    """
    frame = run.samples()
    if frame is None or frame.height == 0:
        return None
    measured = _measured(frame)
    found = Intervals(frame, measured)
    if len(found.starts) == 0:
        return None
    counts = found.total(np.where(_seen(frame, measured), floats(frame, "count"), 0.0))
    interval_s = float(np.median(found.lengths))
    whole = found.lengths > 0.5 * interval_s
    return counts[whole] / found.lengths[whole], interval_s


def phase_series(run: Run, start: float, end: float | None) -> tuple[Floats, Floats, Floats] | None:
    """Rate (1/s), mean latency (ms) and length (s) of the intervals between two moments of the measured phase, s."""
    frame = run.samples()
    if frame is None or frame.height == 0:
        return None
    times, seconds = floats(frame, "t_s"), floats(frame, "seconds")
    inside = (times >= start - _SLACK_S) & (times + seconds <= (np.inf if end is None else end) + _SLACK_S)
    measured = _measured(frame) & inside
    found = Intervals(frame, measured)
    if len(found.starts) == 0:
        return None
    counts = np.where(_seen(frame, measured), floats(frame, "count"), 0.0)
    done = found.total(counts)
    waited = found.total(counts * np.nan_to_num(floats(frame, "latency_mean_ns")))
    return done / found.lengths, ratio(waited, done) / 1e6, found.lengths


def frozen_end(run: Run) -> tuple[float, float]:
    """How long nothing had been completed when the measured phase ended, s, and how many requests waited meanwhile."""
    frame = run.samples()
    if frame is None or frame.height == 0:
        return 0.0, 0.0
    measured = _measured(frame)
    found = Intervals(frame, measured)
    done = np.flatnonzero(found.total(np.where(measured, floats(frame, "count"), 0.0)) > 0)
    lengths = found.lengths[done[-1] + 1 :] if len(done) else found.lengths
    waiting = found.highest(floats(frame, "outstanding_mean"))[len(found.lengths) - len(lengths) :]
    seconds = float(lengths.sum())
    return seconds, float((lengths * waiting).sum()) / seconds if seconds else 0.0


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


def _measured(frame: pl.DataFrame) -> Rows:
    """The rows of the measured phase, of the workload where it has samples, else of the first node."""
    workload = having(frame, "node", "workload")
    return having(frame, "phase", "measure") & (workload if workload.any() else having(frame, "node", frame["node"][0]))


def _seen(frame: pl.DataFrame, rows: Rows) -> Rows:
    """Those of the rows that the user sees: transactions where there are any, else reads and writes."""
    transactions = rows & having(frame, "op", "transaction")
    return transactions if transactions.any() else rows & having(frame, "op", "read", "write")
