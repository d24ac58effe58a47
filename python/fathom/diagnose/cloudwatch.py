"""CloudWatch's metrics of EBS, EC2, RDS and FSx as metrics of the table.

A sum over a period is divided by the period; a data point's stamp is the start of its period, the table's the end. The
meaning of metrics: Amazon EBS, EC2, RDS and FSx user guides. Latency is time over operations where one log has both;
the time alone is, by Little's law, the mean number of outstanding requests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from fathom.diagnose.clock import NS
from fathom.diagnose.cloudwatch_names import Query, named
from fathom.diagnose.facts import NOT_NEEDED
from fathom.diagnose.metrics import Layer
from fathom.diagnose.table import Rows, Series

if TYPE_CHECKING:
    from fathom.diagnose.source import Source

SUM, AVERAGE = "sum", "average"


@dataclass(frozen=True)
class _Metric:
    """One of CloudWatch's: what it becomes, by which statistic, in which unit; `idle` counts seconds of none."""

    metric: str
    statistic: str
    scale: float = 1.0
    idle: bool = False


def _sum(metric: str, scale: float = 1.0) -> _Metric:
    return _Metric(metric, SUM, scale)


def _avg(metric: str, scale: float = 1.0) -> _Metric:
    return _Metric(metric, AVERAGE, scale)


_VOLUME = {
    "VolumeReadOps": _sum("read_iops"), "VolumeWriteOps": _sum("write_iops"),
    "VolumeReadBytes": _sum("read_bytes_per_s"), "VolumeWriteBytes": _sum("write_bytes_per_s"),
    "VolumeTotalReadTime": _sum("read_outstanding_mean"), "VolumeTotalWriteTime": _sum("write_outstanding_mean"),
    "VolumeIdleTime": _Metric("busy_percent", SUM, idle=True),
    "VolumeQueueLength": _avg("outstanding_mean"), "BurstBalance": _avg("burst_balance_percent"),
    "VolumeThroughputPercentage": _avg("iops_used_percent"), "VolumeConsumedReadWriteOps": _sum("consumed_iops"),
    "VolumeIOPSExceededCheck": _avg("iops_exceeded"), "VolumeThroughputExceededCheck": _avg("bytes_exceeded"),
    "VolumeStalledIOCheck": _avg("stalled"), "VolumeAvgReadLatency": _avg("read_latency_s", 1e-3),
    "VolumeAvgWriteLatency": _avg("write_latency_s", 1e-3),
    "diskio_ebs_volume_performance_exceeded_iops": _sum("iops_exceeded_s_per_s", 1e-6),
    "diskio_ebs_volume_performance_exceeded_tp": _sum("bytes_exceeded_s_per_s", 1e-6),
    "ReadIOPS": _avg("read_iops"), "WriteIOPS": _avg("write_iops"), "ReadThroughput": _avg("read_bytes_per_s"),
    "WriteThroughput": _avg("write_bytes_per_s"), "ReadLatency": _avg("read_latency_s"),
    "WriteLatency": _avg("write_latency_s"), "DiskQueueDepth": _avg("outstanding_mean"),
    "FreeStorageSpace": _avg("free_bytes"),
    "DataReadOperations": _sum("read_iops"), "DataWriteOperations": _sum("write_iops"),
    "DataReadBytes": _sum("read_bytes_per_s"), "DataWriteBytes": _sum("write_bytes_per_s"),
    "DiskIopsUtilization": _avg("iops_used_percent"), "DiskThroughputUtilization": _avg("bytes_used_percent"),
    "FileServerDiskIopsBalance": _avg("iops_balance_percent"),
    "FileServerDiskThroughputBalance": _avg("bytes_balance_percent"),
}  # fmt: skip
_INSTANCE = {
    "EBSReadOps": _sum("read_iops"), "EBSWriteOps": _sum("write_iops"), "EBSReadBytes": _sum("read_bytes_per_s"),
    "EBSWriteBytes": _sum("write_bytes_per_s"), "EBSIOBalance%": _avg("iops_balance_percent"),
    "EBSByteBalance%": _avg("bytes_balance_percent"), "InstanceEBSIOPSExceededCheck": _avg("iops_exceeded"),
    "InstanceEBSThroughputExceededCheck": _avg("bytes_exceeded"),
    "diskio_ebs_ec2_instance_performance_exceeded_iops": _sum("iops_exceeded_s_per_s", 1e-6),
    "diskio_ebs_ec2_instance_performance_exceeded_tp": _sum("bytes_exceeded_s_per_s", 1e-6),
}  # fmt: skip
_HOST = {
    "CPUUtilization": _avg("cpu_percent"), "CPUCreditBalance": _avg("cpu_credits"),
    "FreeableMemory": _avg("memory_available_bytes"), "SwapUsage": _avg("swap_used_bytes"),
    "NetworkIn": _sum("network_in_bytes_per_s"), "NetworkOut": _sum("network_out_bytes_per_s"),
}  # fmt: skip
_KNOWN: dict[str, tuple[Layer, _Metric]] = {
    **{name: (Layer.CLOUD_VOLUME, metric) for name, metric in _VOLUME.items()},
    **{name: (Layer.CLOUD_INSTANCE, metric) for name, metric in _INSTANCE.items()},
    **{name: (Layer.HOST, metric) for name, metric in _HOST.items()},
}
_SERVICES = {
    "EBS": {name for name in _VOLUME if "olume" in name},
    "EC2": {name for name in _INSTANCE if "Balance" not in name},
    "RDS": {"ReadIOPS", "WriteIOPS", "ReadThroughput", "WriteThroughput", "ReadLatency", "WriteLatency",
            "DiskQueueDepth", "FreeStorageSpace"},
    "FSx": {"DataReadOperations", "DataWriteOperations", "DataReadBytes", "DataWriteBytes", "DiskIopsUtilization",
            "DiskThroughputUtilization", "FileServerDiskIopsBalance", "FileServerDiskThroughputBalance"},
}  # fmt: skip
"""Metrics that only one service has."""
_OPERATIONS = {"VolumeReadOps", "VolumeWriteOps"}
_ONE, _FEWEST = 0.01, 8
"""How near 1 operations of a period are that are their average, and the periods that show it."""
_NAME = re.compile(
    r"(?<![A-Za-z0-9_])("
    + "|".join(re.escape(name) for name in sorted(_KNOWN, key=len, reverse=True))
    + r")(?![A-Za-z0-9_])"
)
_STATISTIC = re.compile(
    r"(?<![A-Za-z])(Sum|Average|Avg|Maximum|Max|Minimum|Min|SampleCount|p\d\d(?:\.\d+)?)(?![A-Za-z])", re.I
)
_WORDS = {"avg": AVERAGE, "max": "maximum", "min": "minimum", "samplecount": "sample count"}


def known(label: str) -> bool:
    """Whether a text names a metric of the table."""
    return _NAME.search(label) is not None


@dataclass(frozen=True)
class Line:
    """One metric of one resource.

    Attributes:
        label: every text the log has about it: name, dimensions, statistic; not the query's Id.
        statistic: where the log names it apart from the label; None otherwise.
        points: start of the period in ns since 1970, and value; in any order.
        period_s: None where the log does not say: then the smallest step.
        id: of the query; empty where the log has none.
    """

    label: str
    statistic: str | None
    points: Sequence[tuple[int, float | None]]
    period_s: float | None = None
    id: str = ""


def add(source: Source, rows: Rows, lines: Sequence[Line]) -> None:
    """All metrics of a log; latencies where it has time and operations of the same volume.

    Raises:
        LogError: the log has a metric of several resources, and nothing tells which metrics belong together; or its
            counts are averages.
    """
    sums: dict[tuple[str, str, int], float] = {}
    for line, metric, name in named(source, _usable_lines(source, lines)):
        period = line.period_s or _period(line.points)
        if period is None:
            source.notes.skip("metrics", "a single point tells no period", 1, line.label[:80])
            continue
        layer, what = _KNOWN[metric]
        service = next((service for service, metrics in _SERVICES.items() if metric in metrics), None)
        source.notes.fact("cloud_service", service, name)
        series = Series(name, None, layer, what.metric)
        if layer is not Layer.HOST:
            series = Series(None, name, layer, what.metric)
        for start, value in line.points:
            time = start + round(period * NS)
            if value is not None and what.statistic == SUM:
                sums[name or "", metric, time] = value
            rows.add(time, period, series, _value(value, what, period))
    _latencies(rows, sums, {name for name, _, _ in sums})


def _usable_lines(source: Source, lines: Sequence[Line]) -> list[Query]:
    """The lines whose metric and statistic are of use: a maximum is not how it was, and no mean tells a sum.

    Raises:
        LogError: a count of operations is an average that nothing calls so.
    """
    found: list[Query] = []
    others: list[tuple[Query, str]] = []
    for line in lines:
        name = _NAME.search(line.label) or _NAME.search(line.id)
        if not name:
            source.notes.skip("metrics", NOT_NEEDED, 1, line.label[:80])
            continue
        layer, what = _KNOWN[name[1]]
        statistic = _statistic(line, name[1])
        query = Query(line, name[1], layer, _STATISTIC.sub(" ", line.label.replace(name[1], " ")))
        if statistic not in {None, what.statistic}:
            others.append((query, f"their {statistic} is no use; export their {what.statistic}"))
            continue
        if statistic is None and name[1] in _OPERATIONS and _is_average(line):
            raise source.error(
                f"{name[1]} is 1 in every period: that is the Average, which the console shows by default, and not how "
                "many operations there were",
                "export the Sum of operations, bytes and times; `fathom record --print aws` shows the commands",
                entry=line.label[:80],
            )
        found.append(query)
    exact = {query.key for query in found}
    for query, why in others:
        if query.key not in exact:
            source.notes.skip("metrics", why, 1, query.line.label[:80])
    return found


def _value(value: float | None, what: _Metric, period: float) -> float | None:
    if value is None:
        return None
    if what.idle:
        return min(100.0, max(0.0, 100.0 * (1.0 - value / period)))
    return value * what.scale / (period if what.statistic == SUM else 1.0)


def _statistic(line: Line, name: str) -> str | None:
    text = line.statistic
    if text is None:
        found = _STATISTIC.search(line.label.replace(name, " "))
        text = found[1] if found else None
    return None if text is None else _WORDS.get(text.casefold(), text.casefold())


def _is_average(line: Line) -> bool:
    """Whether a count of operations is their average: each is a sample of its own there, and counts as one."""
    values = [value for _, value in line.points if value is not None]
    return len(values) >= _FEWEST and all(abs(value - 1) <= _ONE for value in values)


def _period(points: Sequence[tuple[int, float | None]]) -> float | None:
    times = sorted({time for time, _ in points})
    steps = [after - before for before, after in pairwise(times)]
    return min(steps) / NS if steps else None


def _latencies(rows: Rows, sums: dict[tuple[str, str, int], float], volumes: set[str]) -> None:
    for metric, seconds, operations in (
        ("read_latency_s", "VolumeTotalReadTime", "VolumeReadOps"),
        ("write_latency_s", "VolumeTotalWriteTime", "VolumeWriteOps"),
    ):
        for (volume, name, time), total in sorted(sums.items()):
            count = sums.get((volume, operations, time)) if name == seconds else None
            if volume in volumes and count:
                rows.add(time, None, Series(None, volume or None, Layer.CLOUD_VOLUME, metric), total / count)
