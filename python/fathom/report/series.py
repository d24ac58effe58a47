"""The samples and histograms of one run as lines to draw: chosen, summed over operations, thinned; no statistic.

Rates are sums of counts over the interval's length. Thinning keeps, for each column of pixels, the first, lowest,
highest and last point, so that no stall disappears (M4; Jugel et al., "M4: A Visualization-Oriented Time Series Data
Aggregation", VLDB 2014).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fathom.results import references

if TYPE_CHECKING:
    import polars as pl

Points = tuple[tuple[float, float], ...]
Counts = dict[tuple[str, str], int]
"""Operations that were counted, by node and operation."""

WORKLOAD = "workload"
"""The node that stands for what the user sees; every other node is a volume."""

_REMNANT = 0.1
"""Of the longest interval: the last one of a run is a remnant if it is shorter."""

_DATABASE = "database "
"""Begins the nodes of what a database itself counts (its log, its checkpoints), which are no volumes."""

FILE = "file "
"""Begins the nodes of what a database counts for one of its files."""

DATA = ("read", "write")
"""The operations that carry data."""


@dataclass(frozen=True)
class Panel:
    """One quantity that can be drawn over time: a column of samples, or a rate made from one.

    Attributes:
        name: slug; `title` and `unit` are for people.
        ops: the operations it adds up; none for a value that the samples hold for all operations together.
        column: the column of the samples; `scale` turns it into the unit; `per_second` divides by the interval.
        per: another column that it is divided by: bytes per request.
    """

    name: str
    title: str
    unit: str
    ops: tuple[str, ...]
    column: str
    scale: float
    per_second: bool = False
    per: str | None = None


PANELS = (
    Panel("transactions", "Transactions", "1/s", ("transaction",), "count", 1.0, per_second=True),
    Panel("transaction_latency", "Transaction latency", "ms", ("transaction",), "latency_mean_ns", 1e-6),
    Panel("mb_per_s", "Throughput", "MB/s", DATA, "bytes", 1e-6, per_second=True),
    Panel("iops", "I/O rate", "IOPS", DATA, "count", 1.0, per_second=True),
    Panel("read_latency", "Read latency", "ms", ("read",), "latency_mean_ns", 1e-6),
    Panel("write_latency", "Write latency", "ms", ("write",), "latency_mean_ns", 1e-6),
    Panel("read_size", "Read size", "KiB", ("read",), "bytes", 1 / 1024, per="count"),
    Panel("write_size", "Write size", "KiB", ("write",), "bytes", 1 / 1024, per="count"),
    Panel("flush_latency", "Flush latency", "ms", ("flush",), "latency_mean_ns", 1e-6),
    Panel("outstanding", "Outstanding I/O", "", (), "outstanding_mean", 1.0),
    Panel("dirty", "Dirty data in cache", "GB", ("dirty_bytes",), "bytes", 1e-9),
)
"""What the before/after picture shows, top to bottom. Interval means, which is what samples hold."""


def renamed(frame: pl.DataFrame, change: Callable[[str], str]) -> pl.DataFrame:
    """The frame with `change` applied to the names in it."""
    named = [name for name in ("node", "name", "instance", "measure") if name in frame.columns]
    for name in named:
        # Few names in many rows, and nearly always names that stay.
        changed = {text: new for text in frame[name].unique().to_list() if (new := change(text)) != text}
        if changed:
            frame = frame.with_columns(frame[name].replace(changed))
    return frame


def top_volumes(study: dict[str, Any]) -> tuple[str, ...]:
    """The volumes of a study that no other volume stands on: what a workload can be given."""
    volumes = study.get("volumes")
    if not isinstance(volumes, dict):
        return ()
    below = {each for node in volumes.values() for names in references(node, volumes).values() for each in names}
    return tuple(name for name in volumes if name not in below)


def driven(study: dict[str, Any]) -> tuple[str, ...]:
    """The volumes that the study gives its workload."""
    workload = study.get("workload")
    given = workload.get("volumes") if isinstance(workload, dict) else None
    return tuple(str(name) for name in given) if isinstance(given, list) else ()


def counted(frames: Mapping[str, pl.DataFrame]) -> dict[str, Counts]:
    """How many operations each node saw, by run; without what a database itself counts."""
    import polars as pl

    found: dict[str, Counts] = {run: {} for run in frames}
    if not frames:
        return found
    # One query for all runs: each costs most of a millisecond whatever it does.
    parts = [frame.lazy().select(pl.lit(run).alias("run"), "node", "op", "count") for run, frame in frames.items()]
    sums = pl.concat(parts).group_by("run", "node", "op", maintain_order=True).agg(pl.col("count").sum())
    for run, node, op, count in sums.collect(engine="in-memory").iter_rows():
        if not node.startswith((_DATABASE, FILE)):
            found[run][node, op] = count
    return found


def node_with(runs: Sequence[Counts], ops: Sequence[str], study: dict[str, Any]) -> str | None:
    """The one node to show these operations of (any at all if none are named), the same for all runs.

    That is the workload if it saw any, else the busiest of the volumes that no other stands on: what lies below sees
    the same I/O again. None if no node saw any.
    """
    counts: dict[str, int] = {}
    for run in runs:
        for (node, op), count in run.items():
            if not ops or op in ops:
                counts[node] = counts.get(node, 0) + count
    seen = {node: count for node, count in counts.items() if count > 0}
    if WORKLOAD in seen:
        return WORKLOAD
    tops = {node: count for node, count in seen.items() if node in top_volumes(study)}
    return max(tops or seen, key=lambda node: seen[node], default=None)


def activity(
    frame: pl.DataFrame,
    kind: str,
    measure: str,
    scale: float,
    *,
    name: str | None = None,
    after: bool = False,
    per: str | None = None,
) -> Points:
    """(middle of the interval in s, value) of a measure, summed over all of a kind ("place", "database").

    With a name, of that one alone. With `per`, divided by that measure: a gap where it is 0. With `after`, up to the
    run's end; otherwise to the end of the measured phase.
    """
    import polars as pl

    of = (pl.col("kind") == kind) & (True if name is None else pl.col("name") == name)
    rows = frame.filter(of & ((pl.col("phase") != "after") | after))

    def total(measure: str) -> pl.Expr:
        return pl.when(pl.col("measure") == measure).then(pl.col("value")).sum()

    value = total(measure) * scale
    if per is not None:
        value = pl.when(total(per) > 0).then(value / total(per)).otherwise(math.nan)
    sums = (
        rows.filter(pl.col("measure").is_in([measure] if per is None else [measure, per]))
        .group_by("t_s", maintain_order=True)
        .agg(value=value, seconds=pl.col("seconds").max())
        .sort("t_s")
    )
    return tuple((t + seconds / 2, value) for t, value, seconds in sums.select("t_s", "value", "seconds").iter_rows())


def places(frame: pl.DataFrame) -> tuple[str, ...]:
    """Names of the places that a run's activity holds."""
    return tuple(sorted(frame.filter(frame["kind"] == "place")["name"].unique()))


def measured_end(frame: pl.DataFrame) -> float:
    """When the measured phase of a run's activity ended, s since it began."""
    rows = frame.filter(frame["phase"] == "measure")
    return max((start + length for start, length in rows.select("t_s", "seconds").iter_rows()), default=0.0)


def timeline(frame: pl.DataFrame, panel: Panel, node: str) -> Points:
    """(middle of the interval in s, value) at a node; an interval without a measurement is a gap (NaN).

    A remnant after the last whole interval in which nothing happened is left out: it is no fall to 0.
    """
    from fathom.samples import Intervals, floats, having, ratio

    rows = having(frame, "node", node)
    if panel.ops:
        rows &= having(frame, "op", *panel.ops)
    values = floats(frame, panel.column) * panel.scale
    if panel.per_second:
        values = values / floats(frame, "seconds")
    if panel.per is not None:
        # Only one kind of request is ever shown this way, so that a ratio for each row is the ratio of the sums.
        values = ratio(values, floats(frame, panel.per))
    found = Intervals(frame, rows)
    shown = found.total(values) if panel.ops else found.highest(values)
    count = len(shown)
    if count > 1 and shown[-1] == 0 and found.lengths[-1] < _REMNANT * found.lengths.max():
        count -= 1
    return _with_gaps(found.starts[:count].tolist(), found.lengths[:count].tolist(), shown[:count].tolist())


def _with_gaps(starts: list[float], lengths: list[float], values: list[float]) -> Points:
    """Points in time order, with a NaN where intervals are missing."""
    points: list[tuple[float, float]] = []
    expected: float | None = None
    for start, length, value in zip(starts, lengths, values, strict=True):
        if expected is not None and start > expected + 0.5 * length:
            points.append((expected, math.nan))
        points.append((start + length / 2, value))
        expected = start + length
    return tuple(points)


def has_ramp(frame: pl.DataFrame) -> bool:
    """Whether the samples begin with a ramp; the measured phase begins at 0 s."""
    return bool((frame["phase"] == "ramp").any())


def worst(points: Points, first: float, last: float, columns: int) -> tuple[float | None, ...]:
    """The highest value of each of `columns` equal parts of the time from `first` to `last`; None where nothing is.

    What a column of pixels can show of several intervals without losing a stall.
    """
    found: list[float | None] = [None] * columns
    for x, y in points:
        if not math.isnan(y) and first <= x <= last:
            place = min(columns - 1, int((x - first) / (last - first) * columns)) if last > first else 0
            before = found[place]
            found[place] = y if before is None else max(before, y)
    return tuple(found)


def thin(points: Points, columns: int) -> Points:
    """The points that a picture `columns` pixels wide can show: first, lowest, highest, last of each column."""
    if len(points) <= 4 * columns:
        return points
    start, span = points[0][0], (points[-1][0] - points[0][0]) or 1.0
    kept: dict[int, list[int]] = {}
    gaps: list[int] = []
    for index, (x, y) in enumerate(points):
        if math.isnan(y):
            gaps.append(index)
            continue
        column = int((x - start) / span * (columns - 1))
        kept.setdefault(column, []).append(index)
    chosen = set(gaps)
    for members in kept.values():
        chosen |= {members[0], members[-1]}
        chosen |= {min(members, key=lambda i: points[i][1]), max(members, key=lambda i: points[i][1])}
    return tuple(points[index] for index in sorted(chosen))


def percentile_curve(frame: pl.DataFrame, node: str, op: str, gap: float = 0.015) -> tuple[Points, float]:
    """One run's latency percentiles as (log10(1/(1-p)), latency in ms), and from which x on they are thin.

    Latency is a bucket's upper edge. A bucket wider than twice `gap` in x is a step, narrower ones are joined, and
    points nearer to each other than `gap` are left out. The curve ends at the slowest request; beyond the second value
    lie fewer than ten requests, so that it means little there.
    """
    from fathom.samples import floats, having

    rows = having(frame, "node", node) & having(frame, "op", op) & having(frame, "measure", "latency")
    highs, counts = floats(frame, "high")[rows], frame["count"].to_numpy()[rows]
    order = highs.argsort(kind="stable")
    buckets = list(zip(highs[order].tolist(), counts[order].tolist(), strict=True))
    total = sum(count for _, count in buckets)
    points: list[tuple[float, float]] = []
    below, before = 0, 0.0
    for high, count in buckets:
        below += count
        after, latency_ms = math.log10(total / max(total - below, 1)), high * 1e-6
        if high > 0 and after - before >= 2 * gap:
            points += [(before, latency_ms), (after, latency_ms)]
        elif high > 0 and (not points or after - points[-1][0] >= gap or below == total):
            points.append((after, latency_ms))
        before = after
    return tuple(points), math.log10(max(total, 10) / 10)


def operations(counts: Counts, node: str) -> tuple[str, ...]:
    """The operations a node saw, transactions and reads first."""
    seen = {op for other, op in counts if other == node}
    order = ("transaction", "read", "write", "flush", "trim", "write_zeroes")
    return tuple(op for op in order if op in seen) + tuple(sorted(seen - set(order)))


def gaps(frame: pl.DataFrame) -> int:
    """How many times intervals are missing between the first and the last sample of the measured phase."""
    from fathom.samples import Intervals, having

    found = Intervals(frame, having(frame, "phase", "measure"))
    starts, lengths = found.starts, found.lengths[:-1]
    return int(((starts[1:] > starts[:-1] + 1.5 * lengths) & (lengths > 0)).sum())
