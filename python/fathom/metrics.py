"""What each metric of a run is called, its unit, and which direction is better.

A metric is one number per run (`metrics.json` of a run directory). Missing is null, never zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace


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


def _latencies(*kinds: str) -> Iterator[Metric]:
    """Mean and percentiles of the latency of each kind of transaction."""
    for kind in kinds:
        latency = f"{kind.replace('_', '-')} latency"
        yield Metric(f"{kind}_latency_ms", f"mean {latency}", "ms", False)
        yield Metric(f"{kind}_latency_p50_ms", f"median {latency}", "ms", False)
        for part, percent in (("p95", "95"), ("p99", "99"), ("p999", "99.9"), ("p9999", "99.99")):
            yield Metric(f"{kind}_latency_{part}_ms", f"{percent}th percentile {latency}", "ms", False)


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
    Metric("resync_iops", "resync rate", "IOPS", True),
    Metric("resync_mb_per_s", "resync throughput", "MB/s", True),
    Metric("arrivals_per_second", "arrivals", "1/s", None),
    Metric("refused", "arrivals refused", "", False),
    Metric("backlog_max", "most arrivals waiting", "", False),
    Metric("backlog_end", "arrivals waiting at the end", "", False),
    Metric("errors", "failed requests", "", False),
    Metric("dirty_end_mb", "in the write-back cache at the end", "MB", None),
    Metric("planned_stop_s", "planned stop of the write-back cache", "s", False),
    Metric("rows_per_second", "insert rate", "rows/s", True),
    Metric("rows", "rows inserted", "rows", True),
    Metric("elapsed_s", "elapsed time", "s", False),
    Metric("commits_per_second", "commits", "1/s", True),
    Metric("commits_per_write", "commits per log write", "", None),
    Metric("background_jobs", "jobs in the background that ended", "", None),
    Metric("background_job_s", "time of a job in the background", "s", False),
    Metric("background_mb_per_s", "output of the jobs in the background", "MB/s", True),
    *(
        Metric(f"{role}_file_{way}_{figure}", f"{way} {words} of {name} files", unit, better)
        for role, name in (("data", "data"), ("log", "log"), ("temp", "temporary"))
        for way in ("read", "write")
        for figure, words, unit, better in (("iops", "rate", "IOPS", None), ("latency_ms", "latency", "ms", False))
    ),
    Metric("server_cpus", "processors the servers kept busy", "", None),
    Metric("server_cpu_percent", "share of the processors that a connected server may use", "%", None),
    Metric("driver_cpus", "processors the driver kept busy", "", None),
    Metric("driver_cpu_percent", "driver's share of its and the servers' processor time", "%", None),
    Metric("volume_cpus", "processors the volume daemon kept busy", "", None),
    Metric("log_mb_per_s", "log written by the database", "MB/s", None),
    Metric("log_flushes_per_second", "log flushes", "1/s", None),
    Metric("bytes_per_log_flush", "log per flush", "B", None),
    Metric("log_page_images_per_second", "whole pages in the log", "1/s", None),
    Metric("checkpoints", "checkpoints", "", None),
    Metric("pages_read_per_second", "pages the database read", "1/s", None),
    Metric("pages_written_per_second", "pages the database wrote back", "1/s", None),
    Metric("place_read_iops", "reads at the volume", "IOPS", None),
    Metric("place_write_iops", "writes at the volume", "IOPS", None),
    Metric("place_read_mb_per_s", "read at the volume", "MB/s", None),
    Metric("place_write_mb_per_s", "written at the volume", "MB/s", None),
    Metric("place_outstanding", "outstanding I/O at the volume, mean", "", None),
    Metric("place_read_latency_ms", "mean latency of reads at the volume", "ms", False),
    Metric("place_write_latency_ms", "mean latency of writes at the volume", "ms", False),
    Metric("place_kib_per_transaction", "read and written at the volume per transaction", "KiB", False),
    Metric("dirty_mb_max", "dirty pages of the host, at most", "MB", None),
    Metric("average_read_kib", "average read size", "KiB", None),
    Metric("average_write_kib", "average write size", "KiB", None),
    Metric("databases", "databases at the same time", "", None),
    Metric("fairness_percent", "slowest database of the fastest", "%", True),
    Metric("nopm", "new orders", "orders/min", True),
    Metric("tpm", "transactions by the server's counter", "1/min", True),
    Metric("virtual_users", "virtual users", "", None),
    Metric("transactions_per_second", "transactions", "1/s", True),
    Metric("latency_p9999_ms", "99.99th percentile latency", "ms", False),
    *_latencies("new_order", "payment", "order_status", "delivery", "stock_level"),
    Metric("opm", "orders", "orders/min", True),
    *_latencies("login", "new_customer", "new_member", "browse_category", "browse_actor", "browse_title"),
    *_latencies("search_reviews", "read_reviews", "new_review", "rate_review", "purchase"),
    Metric("conflicts", "transactions done again", "", False),
    Metric("rolled_back", "transactions rolled back as meant", "", None),
    Metric("client_cpu_ms_per_transaction", "client's processor time per transaction", "ms", False),
    Metric("log_kib_per_transaction", "log per transaction", "KiB", None),
    Metric("full_page_images_per_transaction", "full-page images per transaction", "", None),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _METRICS}


def metric(name: str) -> Metric:
    """The metric of that name. `WHOSE_NAME` is that of a phase or database; one that is not listed is taken as
    higher-is-better without a unit.
    """
    if found := METRICS.get(name):
        return found
    words = name.split("_")
    for index in range(1, len(words)):
        if of_phase := METRICS.get("_".join(words[index:])):
            phase = " ".join(words[:index])
            return replace(of_phase, name=name, label=f"{of_phase.label}, {phase}")
    return Metric(name, name.replace("_", " "), "", True)
