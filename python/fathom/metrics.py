"""What each metric of a run is called, its unit, and which direction is better.

A metric is one number per run (`metrics.json` of a run directory). Missing is null, never zero.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """One number a run can yield.

    Attributes:
        name: key in `metrics.json`, the unit as its last word.
        label: words for people.
        unit: unit for people; empty for pure counts.
        higher_is_better: None where neither direction is better (a description, not a result).
    """

    name: str
    label: str
    unit: str
    higher_is_better: bool | None


_METRICS = (
    Metric("iops", "I/O rate", "IOPS", True),
    Metric("read_iops", "read rate", "IOPS", True),
    Metric("write_iops", "write rate", "IOPS", True),
    Metric("mb_per_s", "throughput", "MB/s", True),
    Metric("read_mb_per_s", "read throughput", "MB/s", True),
    Metric("write_mb_per_s", "write throughput", "MB/s", True),
    Metric("latency_ms", "mean latency", "ms", False),
    Metric("read_latency_ms", "mean read latency", "ms", False),
    Metric("write_latency_ms", "mean write latency", "ms", False),
    Metric("latency_p50_ms", "median latency", "ms", False),
    Metric("latency_p95_ms", "95th percentile latency", "ms", False),
    Metric("latency_p99_ms", "99th percentile latency", "ms", False),
    Metric("latency_p999_ms", "99.9th percentile latency", "ms", False),
    Metric("read_latency_p50_ms", "median read latency", "ms", False),
    Metric("read_latency_p95_ms", "95th percentile read latency", "ms", False),
    Metric("read_latency_p99_ms", "99th percentile read latency", "ms", False),
    Metric("read_latency_p999_ms", "99.9th percentile read latency", "ms", False),
    Metric("write_latency_p50_ms", "median write latency", "ms", False),
    Metric("write_latency_p95_ms", "95th percentile write latency", "ms", False),
    Metric("write_latency_p99_ms", "99th percentile write latency", "ms", False),
    Metric("write_latency_p999_ms", "99.9th percentile write latency", "ms", False),
    Metric("flush_latency_ms", "mean flush latency", "ms", False),
    Metric("flushes_per_second", "flushes", "1/s", None),
    Metric("waiting_ms", "mean waiting time", "ms", False),
    Metric("outstanding", "outstanding I/O, mean", "", None),
    Metric("arrivals_per_second", "arrivals", "1/s", None),
    Metric("refused", "arrivals refused", "", False),
    Metric("backlog_max", "most arrivals waiting", "", False),
    Metric("backlog_end", "arrivals waiting at the end", "", False),
    Metric("errors", "failed requests", "", False),
    Metric("rows_per_second", "insert rate", "rows/s", True),
    Metric("rows", "rows inserted", "rows", True),
    Metric("elapsed_s", "elapsed time", "s", False),
    Metric("commits_per_second", "commits", "1/s", True),
    Metric("commits_per_write", "commits per log write", "", None),
    Metric("average_read_kib", "average read size", "KiB", None),
    Metric("average_write_kib", "average write size", "KiB", None),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _METRICS}


def metric(name: str) -> Metric:
    """The metric of that name; one that is not listed is taken as higher-is-better without a unit."""
    return METRICS.get(name, Metric(name, name.replace("_", " "), "", True))
