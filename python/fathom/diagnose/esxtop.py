"""esxtop's counters as metrics. Of the tens of thousands of columns only those of storage and processor are read."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from fathom.diagnose.metrics import Layer
from fathom.diagnose.table import Block, Series
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
_MEMORY = {
    "swap mbytes read/sec": "swap_in_bytes_per_s",
    "swap mbytes write/sec": "swap_out_bytes_per_s",
}
"""In MiB: memory of machines that the host reads from swap and writes to it: not theirs, and they cannot see it."""
_READY_EACH = "cpu_ready_each_percent"
_VCPU = re.compile(r"(\d+:(.+?):\d+:vmx-vcpu-\d+)(?::.*)?", re.IGNORECASE)
"""A virtual processor's world, and its machine; other worlds of a machine run no guest (Broadcom, article 382249)."""
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
    series = _of_host(path)
    if series is not None:
        return Mapped(series, MIB if series.metric in _MEMORY.values() else 1.0)
    group, counter = path.object.casefold(), path.counter.casefold()
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


def _of_host(path: Path) -> Series | None:
    """A counter of the host or of one of its machines: processor and memory."""
    group, counter, instance = path.object.casefold(), path.counter.casefold(), path.instance or ""
    if group == "memory" and counter in _MEMORY:
        return Series(path.host, None, Layer.HOST, _MEMORY[counter])
    if group == "physical cpu" and counter == "% util time" and instance and is_total(instance):
        return Series(path.host, None, Layer.HOST, "cpu_percent")
    if group == "vcpu" and counter == "% ready":
        world = _VCPU.fullmatch(instance)
        return Series(path.host, world[1], Layer.HOST, _READY_EACH) if world else None
    number, _, name = instance.partition(":")
    if group != "group cpu" or counter not in _GROUP_CPU or not (number.isdigit() and name) or name in _OWN_GROUPS:
        return None
    return Series(path.host, name, Layer.HOST, _GROUP_CPU[counter])


def by_machine(block: Block) -> Block:
    """The block with the mean of each machine's processors in place of every processor of its own."""
    machines: dict[Series, list[int]] = {}
    for place, series in enumerate(block.series):
        world = _VCPU.fullmatch(series.device or "") if series.metric == _READY_EACH else None
        machines.setdefault(series._replace(device=world[2]) if world else series, []).append(place)
    if len(machines) == len(block.series):
        return block._replace(series=tuple(machines))
    values = np.column_stack([block.values[:, places].mean(axis=1) for places in machines.values()])
    return block._replace(series=tuple(machines), values=values)
