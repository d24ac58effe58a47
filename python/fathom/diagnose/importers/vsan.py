"""vSAN's performance service: entities with lines of values, as `VsanPerfQueryPerf` returns them, saved as JSON.

An entity is `{"entityRefId": "virtual-disk:...", "sampleInfo": "times", "value": [{"metricId": {"label":
"latencyAvgRead", "metricsCollectInterval": 300}, "values": "1,2,3"}]}`; times are UTC. Units are those of VMware Cloud
Foundation Operations, which shows the same metrics: IOPS and bytes per second, latencies in microseconds. Congestion is
a state, 0 to 255. Built against this interface; no public sample was found and no cluster was at hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fathom.diagnose.documents import items, number, parsed
from fathom.diagnose.facts import NOT_NEEDED
from fathom.diagnose.importer import Importer
from fathom.diagnose.metrics import Layer
from fathom.diagnose.moments import Moments
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows, Series

_REMEDY = "save the answer of VsanPerfQueryPerf as JSON, one object per entity"
_LAYERS = {
    "virtual-disk": Layer.VIRTUAL_DISK, "vscsi": Layer.VIRTUAL_DISK, "virtual-machine": Layer.VIRTUAL_DISK,
    "cluster-domclient": Layer.HOST_KERNEL, "host-domclient": Layer.HOST_KERNEL, "host-domowner": Layer.HOST_KERNEL,
    "cluster-domcompmgr": Layer.HOST_KERNEL, "host-domcompmgr": Layer.HOST_KERNEL, "disk-group": Layer.ADAPTER,
    "cache-disk": Layer.HOST_DEVICE, "capacity-disk": Layer.HOST_DEVICE,
}  # fmt: skip
_LABELS: dict[str, tuple[str, float]] = {
    "iopsRead": ("read_iops", 1), "iopsWrite": ("write_iops", 1),
    "throughputRead": ("read_bytes_per_s", 1), "throughputWrite": ("write_bytes_per_s", 1),
    "latencyAvgRead": ("read_latency_s", 1e-6), "latencyAvgWrite": ("write_latency_s", 1e-6),
    "latencyRead": ("read_latency_s", 1e-6), "latencyWrite": ("write_latency_s", 1e-6),
    "latencyDevRead": ("read_latency_s", 1e-6), "latencyDevWrite": ("write_latency_s", 1e-6),
    "oio": ("outstanding", 1), "congestion": ("congestion", 1), "wbFreePct": ("write_buffer_free_percent", 1),
    "iopsResyncRead": ("resync_read_iops", 1), "iopsRecWrite": ("resync_write_iops", 1),
}  # fmt: skip
"""Label: metric and unit."""


def recognise(head: Head) -> float:
    """The keys of an entity."""
    return 0.9 if '"entityRefId"' in head.text and '"sampleInfo"' in head.text else 0.0


def read(source: Source) -> Iterator[Block]:
    """Virtual disks, hosts, disk groups and disks."""
    document = parsed(source, _REMEDY)
    entities = [entry for entry in document if isinstance(entry, dict)] if isinstance(document, list) else [document]
    rows = Rows()
    for place, entity in enumerate(entities, 1):
        if not isinstance(entity, dict) or not isinstance(entity.get("entityRefId"), str):
            raise source.error("no entityRefId", _REMEDY, entry=str(place))
        kind, _, name = entity["entityRefId"].partition(":")
        layer = _LAYERS.get(kind)
        if layer is None:
            source.notes.skip("entities", "of a kind that is not in the table", 1, kind)
            continue
        _entity(source, rows, f"{kind}:{name}", layer, entity)
        yield from rows.take_if()
    yield from rows.take()


def _entity(source: Source, rows: Rows, name: str, layer: Layer, entity: dict[str, Any]) -> None:
    stamps = [text for text in str(entity.get("sampleInfo") or "").split(",") if text.strip()]
    moments = Moments(source, utc=True)
    times = moments.times([(1, stamp) for stamp in stamps])
    for line in items(entity, "value"):
        metric_id = line.get("metricId")
        metric_id = metric_id if isinstance(metric_id, dict) else {}
        known = _LABELS.get(str(metric_id.get("label")))
        if known is None:
            source.notes.skip("metrics", NOT_NEEDED, 1, f"{name} {metric_id.get('label')}"[:80])
            continue
        values = [number(text) for text in str(line.get("values") or "").split(",")]
        if len(values) != len(times):
            raise source.error(f"{len(values)} values at {len(times)} times", _REMEDY, entry=name)
        interval = number(metric_id.get("metricsCollectInterval")) or None
        metric, scale = known
        for time, value in zip(times, values, strict=True):
            found = None if value is None else value * scale
            rows.add(time, interval or moments.seconds(time), Series(None, name, layer, metric), found)


IMPORTER = Importer("vsan", "VMware vSAN performance service, JSON", recognise, read)
