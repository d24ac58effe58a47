"""Where the time of ESXi's own devices goes: in the host (KAVG) or below it (DAVG), also of writes alone.

Usual thresholds are KAVG above 1 to 2 ms and DAVG above 20 to 25 ms (Duncan Epping, "esxtop"; datacenterdan.com,
"ESXTOP (Disk Adapter)"); taken are the higher ones. KAVG names where the time is and no limit; a DAVG that is not high
may be what the storage takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import middle
from fathom.diagnose.evidence.located import Located
from fathom.diagnose.evidence.luns import name_of, other_host
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import beside, megabytes, number, seen, size, time
from fathom.diagnose.metrics import Layer
from fathom.finding import Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_KERNEL_S, _DEVICE_S = 0.002, 0.025
"""KAVG and DAVG that are high."""
_MOST = 0.5
"""Part of the latency from which it is the place."""
_TIMES = 4.0
"""How many times as long as reads writes take that alone are slow."""
_FEWEST = 2
"""Other devices whose commands wait in the kernel as well from which it is the host's, or its adapter's."""
_LARGE_BYTES = 128 * 1024
"""Mean size of requests that take long for their size."""
_POSSIBLE = 0.45
"""How sure it is that a DAVG which is not high keeps users waiting."""
ARRAY = Remedy(
    "Give the storage team the times and the device; ask what else used it.",
    ("esxcli storage core device stats get", "esxcli storage core path list"),
    None,
    "DAVG in esxtop is the usual one.",
)
WRITES = Remedy(
    "Give the storage team the times and the device: reads are fast, so ask for the array's write cache (full, or off "
    "while a battery or controller failed) and for synchronous replication.",
    ARRAY.commands,
    None,
    "DAVG of writes (esxtop u, DAVG/wr) is the usual one.",
)
_JOB = Remedy(
    "Find the machine that reads or writes so much at these times (backup, replication, Storage vMotion). Move or "
    "limit it where others wait.",
    ("esxtop (v: virtual disks)",),
    "A limit makes that job take longer.",
    "DAVG is the usual one while the job does not run.",
)


def of_lun(system: System, lun: Device, slow: Flags) -> Located | None:
    """The layer of a slow device's time; None where the log does not tell it."""
    way = "write_" if writes_alone(system, lun, slow) else ""
    whole, device, kernel = (
        lun.mean(f"{way}{each}", slow) for each in ("latency_s", "device_latency_s", "kernel_latency_s")
    )
    if is_kernel(kernel, whole):
        return in_kernel(system, lun, lun, slow)
    if not device >= _MOST * whole:
        return None
    said = seen(lun, f"{'Writes: ' if way else ''}DAVG {time(device)}, KAVG {time(kernel)}.", slow)
    sure = Located.sure if device >= _DEVICE_S else _POSSIBLE
    if way:
        where = f"only its writes are: {of_both_ways(lun, slow)}, {time(device)} of it below the host"
        return Located(f"{where}, in the array or the fabric", (said,), (WRITES,), sure)
    below = f"{time(device)} of it is below the host, in the array or the fabric"
    busy = other_host(system, lun, slow)
    if busy is not None:
        return Located(f"{below}, while {busy.what}", (said, busy.evidence), (busy.remedy, ARRAY), sure)
    large = middle(lun.values("size_bytes")[slow])
    if large >= _LARGE_BYTES:
        much = f"{megabytes(lun.mean('bytes_per_s', slow))} in requests of {size(large)}"
        return Located(f"{below}, at {much}", (said,), (_JOB, ARRAY), _POSSIBLE)
    return Located(below, (said,), (ARRAY,), sure)


def writes_alone(system: System, lun: Device, slow: Flags) -> bool:
    """Whether reads are as fast as they should be and writes are not."""
    reads, writes = (lun.mean(f"{way}_latency_s", slow) for way in ("read", "write"))
    target = tier_of(system, lun).target_s
    return reads <= target < writes and writes >= _TIMES * reads


def of_both_ways(lun: Device, slow: Flags) -> str:
    """The latency of writes beside that of reads."""
    writes, reads = (time(lun.mean(f"{way}_latency_s", slow)) for way in ("write", "read"))
    return f"{writes} each and reads {reads}"


def is_kernel(kernel: float, whole: float) -> bool:
    """Whether most of a latency is the kernel's, and more than it should be."""
    return kernel >= max(_KERNEL_S, _MOST * whole)


def in_kernel(system: System, disk: Device, lun: Device, slow: Flags) -> Located:
    """Time in the kernel above a device, at the slow moments of a disk; with the host's other devices, if theirs too.

    The kernel is where ESXi's queues are, its limits on machines and Storage I/O Control, and what filters I/O.
    """
    kernel, queue, device = (
        middle(onto(disk, lun, each)[slow]) for each in ("kernel_latency_s", "queue_latency_s", "device_latency_s")
    )
    queued = middle(onto(disk, lun, "queued")[slow])
    others = [
        each for each in system.of(Layer.HOST_DEVICE)
        if each is not lun and each.host == lun.host and is_kernel(
            *(middle(onto(disk, each, metric)[slow]) for metric in ("kernel_latency_s", "latency_s"))
        )
    ]  # fmt: skip
    parts = [f"KAVG {time(kernel)}"]
    parts += [f"{time(queue)} of it in the device's queue (QAVG)"] if queue >= _MOST * kernel else []
    parts += [f"DAVG {time(device)}"] + ([f"{number(queued)} queued"] if queued > 0 else [])
    said = [beside(disk, lun, f"{lun.name}: {', '.join(parts)}.", slow)]
    where = f"{time(kernel)} of it is in the host's kernel (KAVG)"
    if len(others) < _FEWEST:
        return Located(where, tuple(said), (_queues(lun),))
    said += [
        beside(disk, each, f"{each.name}: KAVG {time(then)}.", slow) for each in system.of(Layer.ADAPTER)
        if each.host == lun.host and (then := middle(onto(disk, each, "kernel_latency_s")[slow])) >= _KERNEL_S
    ]  # fmt: skip
    where += f", as on {len(others)} other devices: the host's, or its adapters'"
    return Located(where, tuple(said), (_queues(lun),), covers=frozenset(each.name for each in others))


def _queues(lun: Device) -> Remedy:
    return Remedy(
        "Look in the host, above its devices: queues of device and adapter (QUED), `No of outstanding IOs with "
        "competing worlds`, limits of machines, Storage I/O Control, drivers, and processors that are full.",
        (
            "esxtop (d: adapters, u: devices: KAVG, QAVG, QUED)",
            f"esxcli storage core device list -d {name_of(lun)}",
            "esxcli storage core adapter list",
            "PowerCLI: Get-VM VM | Get-VMResourceConfiguration | Select -ExpandProperty DiskResourceConfiguration",
        ),
        None,
        "KAVG is below 1 ms in esxtop.",
    )
