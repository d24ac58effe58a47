"""esxtop's counters as metrics. Of the tens of thousands of columns only those of storage and processor are read."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.diagnose.metrics import Layer
from fathom.diagnose.table import Series
from fathom.diagnose.windows import MIB, Mapped, Path, is_total

_OBJECTS = {
    "physical disk adapter": Layer.ADAPTER,
    "physical disk scsi device": Layer.HOST_DEVICE,
    "physical disk": Layer.HOST_DEVICE,
    "physical disk nfs volume": Layer.HOST_DEVICE,
    "virtual disk": Layer.VIRTUAL_DISK,
}
_OF_ESXI = {"physical cpu", "physical cpu load", "group cpu", "vcpu", "numa node", "power", "physical disk path",
            "physical disk per-device-per-world", "interrupt vector", *_OBJECTS}  # fmt: skip

_COUNTERS: dict[str, tuple[str, float]] = {
    "commands/sec": ("iops", 1),
    "reads/sec": ("read_iops", 1),
    "writes/sec": ("write_iops", 1),
    "mbytes read/sec": ("read_bytes_per_s", MIB),
    "mbytes written/sec": ("write_bytes_per_s", MIB),
    "average guest millisec/command": ("latency_s", 1e-3),
    "average guest millisec/read": ("read_latency_s", 1e-3),
    "average guest millisec/write": ("write_latency_s", 1e-3),
    "average driver millisec/command": ("device_latency_s", 1e-3),
    "average driver millisec/read": ("read_device_latency_s", 1e-3),
    "average driver millisec/write": ("write_device_latency_s", 1e-3),
    "average kernel millisec/command": ("kernel_latency_s", 1e-3),
    "average kernel millisec/read": ("read_kernel_latency_s", 1e-3),
    "average kernel millisec/write": ("write_kernel_latency_s", 1e-3),
    "average queue millisec/command": ("queue_latency_s", 1e-3),
    "average queue millisec/read": ("read_queue_latency_s", 1e-3),
    "average queue millisec/write": ("write_queue_latency_s", 1e-3),
    # Virtual Disk has no layers below it.
    "average millisec/command": ("latency_s", 1e-3),
    "average millisec/read": ("read_latency_s", 1e-3),
    "average millisec/write": ("write_latency_s", 1e-3),
    "active commands": ("outstanding", 1),
    "queued commands": ("queued", 1),
    "device q depth": ("queue_limit", 1),
    "adapter q depth": ("queue_limit", 1),
    "% used": ("queue_full_percent", 1),
    "aborts/sec": ("aborts_per_s", 1),
    "resets/sec": ("resets_per_s", 1),
    "failed commands/sec": ("failed_per_s", 1),
    "conflicts/sec": ("reservation_conflicts_per_s", 1),
}

_GROUP_CPU = {"% ready": "cpu_ready_percent", "% run": "cpu_run_percent"}
"""Of the groups of worlds, each of which is a virtual machine or the hypervisor's own."""
_OWN_GROUPS = {"idle", "system", "helper", "drivers", "ft", "vmotion"}
"""Always there; the idle ones are always ready."""


def writes(objects: Sequence[str]) -> bool:
    """Whether objects of a PDH header are esxtop's."""
    return sum(name in _OF_ESXI for name in objects) * 2 > len(objects)


def mapped(path: Path) -> Mapped | None:
    """What a counter is in the table; None if it is not in it.

    Only whole adapters, devices and virtual disks: their parts per path and per world are tens of thousands of columns.
    Virtual disks are named `VM:scsi0:0`; the VM alone is their sum.
    """
    group, counter = path.object.casefold(), path.counter.casefold()
    if group == "physical cpu":
        total = path.instance is not None and is_total(path.instance)
        if not total or counter not in {"% util time", "% processor time"}:
            return None
        return Mapped(Series(path.host, None, Layer.HOST, "cpu_percent")) if counter == "% util time" else None
    if group == "group cpu":
        number, _, name = (path.instance or "").partition(":")
        metric = _GROUP_CPU.get(counter)
        machine = number.isdigit() and name and name not in _OWN_GROUPS
        return Mapped(Series(path.host, name, Layer.HOST, metric)) if metric and machine else None
    layer = _OBJECTS.get(group)
    if layer is None or counter not in _COUNTERS or not path.instance:
        return None
    if layer is Layer.VIRTUAL_DISK and ":" not in path.instance:
        return None
    if counter == "adapter q depth" and layer is not Layer.ADAPTER:
        # A device has a depth of its own beside it, which is the one that fills.
        return None
    metric, scale = _COUNTERS[counter]
    return Mapped(Series(path.host, path.instance, layer, metric), scale)
