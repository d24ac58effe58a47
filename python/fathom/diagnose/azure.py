"""Azure Monitor's metrics of virtual machines and disks as metrics of the table; rates are means over the interval."""

from __future__ import annotations

import re

from fathom.diagnose.metrics import Layer
from fathom.diagnose.table import Series

_DISK = {
    "read operations/sec": ("read_iops", 1.0),
    "write operations/sec": ("write_iops", 1.0),
    "read bytes/sec": ("read_bytes_per_s", 1.0),
    "write bytes/sec": ("write_bytes_per_s", 1.0),
    "queue depth": ("outstanding_mean", 1.0),
    "latency": ("latency_s", 1e-3),
    "iops consumed percentage": ("iops_used_percent", 1.0),
    "bandwidth consumed percentage": ("bytes_used_percent", 1.0),
    "used burst io credits percentage": ("burst_used", 1.0),
}
_MACHINE = {
    "vm cached iops consumed percentage": "cached_iops_used_percent",
    "vm cached bandwidth consumed percentage": "cached_bytes_used_percent",
    "vm uncached iops consumed percentage": "uncached_iops_used_percent",
    "vm uncached bandwidth consumed percentage": "uncached_bytes_used_percent",
}
_HOST = {"percentage cpu": "cpu_percent", "available memory bytes": "memory_available_bytes"}
_MANAGED = {
    "composite disk read operations/sec": "read_iops", "composite disk write operations/sec": "write_iops",
    "composite disk read bytes/sec": "read_bytes_per_s", "composite disk write bytes/sec": "write_bytes_per_s",
    "disk read operations/sec": "read_iops", "disk write operations/sec": "write_iops",
}  # fmt: skip
_LUN = re.compile(r"\bLUN[\s\"':=]*(\d+)", re.I)
_NAMES = re.compile(
    r"(?:data|os|temp) disk (?:" + "|".join(re.escape(name) for name in _DISK) + r")"
    r"|" + "|".join(re.escape(name) for name in (*_MACHINE, *_HOST, *_MANAGED)),
    re.I,
)


def of_database(text: str, service: str = r"(?:DBfor\w+|Sql)") -> bool:
    """Whether a text names a database that Azure runs: such metrics tell no latency of its disks."""
    return re.search(rf"providers/Microsoft\.{service}/", text, re.I) is not None


def metric_in(text: str) -> str | None:
    """Name of a metric in a text, in lower case, without "(Preview)"; None where there is none."""
    found = _NAMES.search(text)
    return found[0].casefold() if found else None


def series(name: str, label: str, host: str | None, resource_is_disk: bool) -> tuple[Series, float, bool] | None:
    """What a metric is, in which unit, and whether 100 less it is meant; None where it is not in the table.

    Args:
        name: of `metric_in`.
        label: every text about it; holds the LUN where the metric was split by it.
        host: the resource's name.
        resource_is_disk: whether the resource is a disk: then its name is the device.
    """
    if name in _HOST:
        return Series(host, None, Layer.HOST, _HOST[name]), 1.0, False
    if name in _MACHINE:
        return Series(host, None, Layer.CLOUD_INSTANCE, _MACHINE[name]), 1.0, False
    kind, _, what = name.partition(" disk ")
    if kind in {"data", "os", "temp"} and what in _DISK:
        metric, scale = _DISK[what]
        lun = _LUN.search(label)
        device = kind if kind != "data" else f"LUN {lun[1]}" if lun else "all data disks"
        inverted = metric == "burst_used"
        return (
            Series(host, device, Layer.CLOUD_VOLUME, "burst_balance_percent" if inverted else metric),
            scale,
            inverted,
        )
    if name in _MANAGED and resource_is_disk:
        return Series(None, host, Layer.CLOUD_VOLUME, _MANAGED[name]), 1.0, False
    return None
