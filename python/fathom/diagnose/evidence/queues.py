"""What rules on queues share: the settings that make them deeper, and queues that are full below the counter.

Windows counts above the driver: there a full queue of 32 shows hundreds of requests outstanding. It is known by the
same disk having carried more requests and more bytes, at a fraction of the latency, with few outstanding: then neither
a limit on IOPS or bytes nor the medium explains the wait, only the number of requests let through does.

A full queue lets through its depth in the time that the device takes. So the rate of the slow part needs several slots
even at the fast part's latency. Requests that are alike should pass as fast as before: then the device itself is more
likely to have become slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.load import FEWEST, middle, worked
from fathom.diagnose.evidence.starved import starved
from fathom.diagnose.evidence.surroundings import VMWARE, WINDOWS, is_nvme, is_virtio, is_vmware
from fathom.diagnose.evidence.unexplained import may_fill_cache, same_kind
from fathom.diagnose.evidence.words import megabytes, number, seen, time
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.limits import Queue
    from fathom.diagnose.evidence.system import System

_REGISTRY = (
    r"REG ADD HKLM\SYSTEM\CurrentControlSet\services\pvscsi\Parameters\Device /v DriverParameter /t REG_SZ /d "
    '"RequestRingPages=32,MaxQueueDepth=254"'
)
_PVSCSI = Remedy(
    "On VMware, attach the disk to a PVSCSI adapter and raise its queues to 254 per disk and 1,024 per adapter.",
    (
        _REGISTRY,
        "Linux: vmw_pvscsi.cmd_per_lun=254 vmw_pvscsi.ring_pages=32 on the kernel's command line",
    ),
    "Needs a restart. The wait may move to the next queue (ESXi's per LUN, 32 to 64 by default) or to the array.",
    "Outstanding requests exceed the old depth and IOPS rise; Linux: cat /sys/block/sdX/device/queue_depth",
)
_SPREAD = Remedy(
    "Spread data, log and tempdb over up to four PVSCSI adapters.",
    ("Get-CimInstance Win32_DiskDrive | Select DeviceID, SCSIPort, SCSIBus, SCSITargetId",),
    "The virtual machine must be shut down to move disks.",
    "The disks' queue lengths no longer add up to the depth of one adapter.",
)


def deeper(system: System, disks: Sequence[Device]) -> tuple[Remedy, ...]:
    """What makes the queues of these disks deeper, on the system that they are of.

    Linux's own logs name devices: VMware's adapter is told only where something says VMware. Windows' never do.
    """
    other = VMWARE in system.ruled_out or (WINDOWS in system.ruled_out and not is_vmware(system))
    if other or any(is_nvme(disk.device) for disk in disks):
        return (_driver(disks),)
    return _PVSCSI, _SPREAD


def whose(system: System, disks: Sequence[Device], queue: Queue) -> str:
    """Whose depth it is, as the end of a clause.

    Those of the table are of SCSI, most of them of VMware's adapters: an NVMe disk has none, nor a machine of a cloud,
    and where nothing says VMware only the number is known.
    """
    if queue.source == "the log":
        return f": the depth of {queue.name}"
    if VMWARE in system.ruled_out or any(is_nvme(disk.device) for disk in disks):
        return ""
    known = is_vmware(system)
    return f": the depth of {queue.name}" if known else ", as many as the queues of many drivers and adapters take"


def _driver(disks: Sequence[Device]) -> Remedy:
    """Where Linux tells the depth that a driver gives a disk: not every driver has the file that SCSI has."""
    depth = " /sys/block/DISK/device/queue_depth /sys/class/scsi_host/host*/proc_name"
    if any(is_nvme(disk.device) for disk in disks):
        depth = " /sys/module/nvme/parameters/io_queue_depth"
    elif any(is_virtio(disk.device) for disk in disks):
        depth = ""
    return Remedy(
        "See which depth the driver gives the disk, and spread the load over more disks where it cannot be raised.",
        (f"Linux: cat /sys/block/DISK/queue/nr_requests{depth}",),
        "A deeper queue moves the wait to the next one: the cloud's limit, or the drive itself.",
        "Outstanding requests exceed the old depth and IOPS rise.",
    )


_SLOTS = 4.0
"""Requests at once that the rate of the slow part needs at the fast part's latency: fewer never fill a queue."""
_TIMES = 4.0
"""How many times as long requests must take, and as many be outstanding, in the slow part of the log."""


_SMALLER = 4.0
"""How many times as large requests of the fast part show another kind of work: a disk that reads in sequence."""
_ROTATING = 400.0
"""IOPS that one or two rotating disks may do at random."""


def above_device(system: System, disk: Device) -> Finding | None:
    """A queue that is full below the counter; None where the log does not prove it."""
    load, iops, rate, latency = disk.load, disk.values("iops"), disk.values("bytes_per_s"), disk.values("latency_s")
    known = np.isfinite(load) & np.isfinite(iops) & np.isfinite(rate) & np.isfinite(latency) & worked(disk)
    if known.sum() < 2 * FEWEST:
        return None
    many = known & (load >= 0.4 * np.percentile(load[known], 95)) & (load > 34)
    if many.sum() < FEWEST:
        return None
    few = known & (load * _TIMES <= middle(load[many])) & (latency * _TIMES <= middle(latency[many]))
    if few.sum() < FEWEST:
        return None
    # Steady means of both parts: single moments of the fast part could be luck.
    more = middle(iops[few]) >= 1.1 * middle(iops[many]) and middle(rate[few]) >= 1.1 * middle(rate[many])
    flat = np.nanpercentile(iops[many], 90) <= 1.15 * middle(iops[many])
    if not (more and flat):
        return None
    if middle(iops[many]) * middle(latency[few]) < _SLOTS or starved(system, disk, many) is not None:
        return None
    sure = 0.5 if same_kind(disk, many, few) else 0.7
    size = disk.values("size_bytes")
    rotates = middle(size[few]) >= _SMALLER * middle(size[many]) and middle(iops[many]) <= _ROTATING
    if rotates or may_fill_cache(disk, many, few):
        # The device itself may need the time: a rotating disk that no longer reads in sequence, or a full write cache.
        sure = 0.4
    harm = of_storage(system, disk)
    waits = middle(load[many])
    evidence = (
        seen(disk, f"With {number(waits)} requests outstanding it completes {number(middle(iops[many]))} IOPS and "
             f"{megabytes(middle(rate[many]))}, at {time(middle(latency[many]))}.", many),
        seen(disk, f"With {number(middle(load[few]))} outstanding the same disk completes "
             f"{number(middle(iops[few]))} IOPS and {megabytes(middle(rate[few]))}, at {time(middle(latency[few]))}: "
             "no limit on IOPS or throughput, and no slow path.", few),
    )  # fmt: skip
    return Finding(
        "D1", disk.name,
        f"A full adapter or disk queue below {disk.name} holds requests back: {number(waits)} wait, few get through.",
        harm.severity, sure, evidence, harm.sentence,
        "the slow part reads at random from rotating disks, or has filled a write cache, so that the device itself "
        "needs the time: esxtop's DAVG would be as high as the latency here",
        deeper(system, [disk]),
    )  # fmt: skip
