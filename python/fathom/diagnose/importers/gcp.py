"""Google Cloud Monitoring's time series of Compute Engine's disks: answers of `projects.timeSeries.list` as JSON.

Counts are totals of an interval (DELTA), or rates where the query aligned them (ALIGN_RATE: GAUGE, a unit "/s").
Latency and queue are means of the last minute; latency is of reads and writes together, in microseconds. A count that
is split by a label (the reason of a throttle) is added up. Metrics: Google Cloud, "Review disk metrics" and "Google
Cloud metrics: compute"; the answer's form: Cloud Monitoring API v3, `TimeSeries`. No project was at hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from fathom.diagnose.clock import NS, iso_ns
from fathom.diagnose.documents import items, mapping, number, parsed
from fathom.diagnose.facts import NOT_NEEDED
from fathom.diagnose.importer import Importer
from fathom.diagnose.metrics import Layer
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows, Series

_RECORD = "fathom record --print gcp"
_REMEDY = f"`{_RECORD}` shows the commands"
_PREFIX = "compute.googleapis.com/instance/"
_COUNTS = {
    "disk/read_ops_count": "read_iops", "disk/write_ops_count": "write_iops",
    "disk/read_bytes_count": "read_bytes_per_s", "disk/write_bytes_count": "write_bytes_per_s",
    "disk/throttled_read_ops_count": "read_throttled_iops", "disk/throttled_write_ops_count": "write_throttled_iops",
    "disk/throttled_read_bytes_count": "read_throttled_bytes_per_s",
    "disk/throttled_write_bytes_count": "write_throttled_bytes_per_s",
}  # fmt: skip
_MEANS = {
    "disk/average_io_latency": ("latency_s", 1e-6), "disk/average_io_queue_depth": ("outstanding_mean", 1.0),
    "cpu/utilization": ("cpu_percent", 100.0),
}  # fmt: skip
_BOUGHT = {
    "disk/provisioning/iops": ("provisioned_iops", ("", "1", "1/s", "{IOPS}/s")),
    "disk/provisioning/throughput": ("provisioned_bytes_per_s", ("By/s",)),
}
"""What was bought of a Hyperdisk: fact, and units of the answer in which it is read."""


_Point = tuple[int, int, float]
_Values = dict[int, tuple[float | None, float]]
"""By the end of an interval its length and the value."""


def recognise(head: Head) -> float:
    """The keys of an answer; not of Cloud SQL, whose metrics tell no latency."""
    text = head.text
    if "cloudsql.googleapis.com/" in text and _PREFIX not in text:
        return 0.0
    return 0.9 if text.lstrip()[:1] in {"{", "["} and '"timeSeries"' in text and "googleapis.com" in text else 0.0


def read(source: Source) -> Iterator[Block]:
    """All series of the answer, or of a list of answers (its pages)."""
    document = parsed(source, _REMEDY)
    answers = document if isinstance(document, list) else [document]
    found = [(str(each.get("unit") or ""), line) for each in answers if isinstance(each, dict)
             for line in items(each, "timeSeries")]  # fmt: skip
    if not found:
        raise source.error("no series in timeSeries", _REMEDY, line=1)
    totals: dict[Series, _Values] = {}
    for place, (unit, line) in enumerate(found, 1):
        _line(source, totals, f"timeSeries {place}", unit, line)
    rows = Rows()
    for series, values in totals.items():
        for time, (seconds, value) in sorted(values.items()):
            rows.add(time, seconds, series, value)
        yield from rows.take_if()
    yield from rows.take()


def _line(source: Source, totals: dict[Series, _Values], entry: str, unit: str, line: dict[str, Any]) -> None:
    metric, resource = mapping(line.get("metric")), mapping(line.get("resource"))
    labels, of_resource = mapping(metric.get("labels")), mapping(resource.get("labels"))
    name = str(metric.get("type") or "")
    what = name.removeprefix(_PREFIX)
    # Only some metrics have the instance's name as well.
    host = str(of_resource.get("instance_id") or labels.get("instance_name") or "") or None
    device = str(labels.get("device_name") or "") or None
    points = [found for point in items(line, "points") if (found := _point(source, entry, point)) is not None]
    if what in _BOUGHT:
        fact, units = _BOUGHT[what]
        if unit in units and points:
            source.notes.fact(fact, f"{points[0][2]:.0f}", device)
        return
    rate = line.get("metricKind") == "GAUGE"
    if what in _COUNTS and rate and not unit.endswith("/s"):
        source.notes.skip(
            "metrics", "means of counts, without their interval: ask for ALIGN_RATE, or for none", 1, name
        )
    elif what in _COUNTS:
        source.notes.fact("throttle_reason", labels.get("throttle_reason"), device)
        series = Series(host, device, Layer.CLOUD_VOLUME, _COUNTS[what])
        _count(source, totals.setdefault(series, {}), points, total=not rate)
    elif what in _MEANS:
        measured, scale = _MEANS[what]
        of_host = measured == "cpu_percent"
        series = Series(host, None if of_host else device, Layer.HOST if of_host else Layer.CLOUD_VOLUME, measured)
        step = _step(points)
        totals.setdefault(series, {}).update({end: (step, value * scale) for _, end, value in points})
    else:
        source.notes.skip("metrics", NOT_NEEDED, 1, name[:80])


def _count(source: Source, values: _Values, points: list[_Point], *, total: bool) -> None:
    """Adds rates, or totals over their interval, to those of the same series under another label."""
    step = _step(points)
    for start, end, value in points:
        length = (end - start) / NS if end > start else step
        if not length:
            source.notes.skip("points", "without an interval", 1)
            continue
        before = values.get(end, (length, 0.0))[1]
        values[end] = length, before + value / (length if total else 1.0)


def _step(points: list[_Point]) -> float | None:
    """The usual time from one point to the next, seconds; None for a single one."""
    ends = sorted({end for _, end, _ in points})
    return min((after - before for before, after in pairwise(ends)), default=0) / NS or None


def _point(source: Source, entry: str, point: dict[str, Any]) -> _Point | None:
    """Start, end and value; None where it has no value."""
    interval, value = mapping(point.get("interval")), mapping(point.get("value"))
    end = str(interval.get("endTime") or "")
    try:
        start_ns, end_ns = iso_ns(str(interval.get("startTime") or end))[0], iso_ns(end)[0]
    except (ValueError, OverflowError):
        raise source.error(f'"{end[:40]}" is no time', _REMEDY, entry=entry) from None
    found = number(value.get("int64Value", value.get("doubleValue")))
    return None if found is None else (start_ns, end_ns, found)


IMPORTER = Importer("gcp", "Google Cloud Monitoring, JSON of timeSeries.list", recognise, read, _RECORD)
