"""VMware PowerCLI: `Get-Stat ... | Export-Csv`, one line per counter, instance and moment.

Columns are the properties of a sample (PowerCLI reference, Get-Stat): MetricId, Timestamp (local time in the
computer's language), Value, Unit, Instance, Entity, EntityId, IntervalSecs. Counters are those of the vSphere API
("Virtual Disk Counters", "Datastore Counters", "Disk I/O Counters"): latencies in whole milliseconds, rates in KB of
1,024 bytes.
Get-Stat writes the newest sample first. Built from the documentation; no vCenter was at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fathom.diagnose import tables
from fathom.diagnose.facts import NOT_NEEDED
from fathom.diagnose.importer import Importer
from fathom.diagnose.metrics import Layer
from fathom.diagnose.moments import Moments
from fathom.diagnose.numbers import plain_number
from fathom.diagnose.recipes import GET_STAT
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows, Series

_NEEDED = ({"metricid", "timestamp", "value", "instance", "entity"},)
_MILLISECOND, _KILOBYTE = 1e-3, 1024.0
_RATES = {
    "numberreadaveraged": ("read_iops", 1.0), "numberwriteaveraged": ("write_iops", 1.0),
    "read": ("read_bytes_per_s", _KILOBYTE), "write": ("write_bytes_per_s", _KILOBYTE),
}  # fmt: skip
_LATENCIES = {
    "totalreadlatency": ("read_latency_s", _MILLISECOND), "totalwritelatency": ("write_latency_s", _MILLISECOND),
}  # fmt: skip
_GROUPS: dict[str, tuple[Layer, dict[str, tuple[str, float]]]] = {
    "virtualdisk": (
        Layer.VIRTUAL_DISK,
        {**_RATES, **_LATENCIES,
         "readoio": ("read_outstanding_mean", 1.0), "writeoio": ("write_outstanding_mean", 1.0)},
    ),
    "datastore": (Layer.HOST_DEVICE, {**_RATES, **_LATENCIES}),
    "disk": (
        Layer.HOST_DEVICE,
        {
            **_RATES, **_LATENCIES, "totallatency": ("latency_s", _MILLISECOND),
            "devicelatency": ("device_latency_s", _MILLISECOND), "kernellatency": ("kernel_latency_s", _MILLISECOND),
            "queuelatency": ("queue_latency_s", _MILLISECOND),
        },
    ),
}  # fmt: skip
"""By group of counters: the layer, and by counter the metric and its unit."""


def recognise(head: Head) -> float:
    """A table with the columns of a sample."""
    return 0.9 if tables.head_of(head, _NEEDED) else 0.0


def read(source: Source) -> Iterator[Block]:
    """Disks of virtual machines, datastores and devices, oldest first."""
    moments = Moments(source)
    found: list[tuple[int, float | None, Series, float]] = []
    column = None
    for row in tables.rows(source, _NEEDED, GET_STAT):
        cells = row.cells
        known = _series(cells)
        if known is None:
            source.notes.skip("counters", NOT_NEEDED, 1, f"{cells['metricid']} of {cells['instance'] or 'all'}"[:80])
            continue
        column = column or tables.time_column(source, cells, GET_STAT, row.line)
        series, unit = known
        value = plain_number(cells["value"])
        if value is None:
            source.notes.skip("values", "no numbers, taken as missing", 1, f"line {row.line}: {cells['value'][:40]}")
            continue
        found.append(
            (moments.time(row.line, cells[column]), plain_number(cells.get("intervalsecs", "")), series, value * unit)
        )
    rows = Rows()
    for time, seconds, series, value in sorted(found, key=lambda each: each[0]):
        rows.add(time, seconds, series, value)
    if found:
        source.notes.fact("note", "PowerCLI's latencies are whole milliseconds: 0 is less than 0.5 ms, or nothing done")
    yield from rows.take()


def _series(cells: Mapping[str, str]) -> tuple[Series, float] | None:
    """What a sample is of, and its unit; None for what no rule asks for, and for sums over all instances."""
    group, _, counter = cells["metricid"].casefold().partition(".")
    layer, metrics = _GROUPS.get(group, (None, {}))
    known = metrics.get(counter.partition(".")[0])
    instance, owner = cells["instance"], cells["entity"]
    if layer is None or known is None or not instance:
        return None
    if layer is Layer.VIRTUAL_DISK:
        return Series(None, f"{owner}:{instance}", layer, known[0]), known[1]
    # A machine's part of a device is not the device's.
    if "virtualmachine" in cells.get("entityid", "").casefold():
        return None
    return Series(owner or None, instance, layer, known[0]), known[1]


IMPORTER = Importer("get-stat", "VMware PowerCLI Get-Stat | Export-Csv", recognise, read, GET_STAT)
