"""Where the time of a virtual disk goes, or of the guest's disk that is on one: below its hypervisor, or between the
virtual disk and its device; and that of an NFS mount: on the network and the file server, or in the client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.in_host import ARRAY, in_kernel, is_kernel, of_lun
from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import middle
from fathom.diagnose.evidence.located import Located
from fathom.diagnose.evidence.mounts import at_server, server_of
from fathom.diagnose.evidence.slots import does_the_same, virtual_disk_of
from fathom.diagnose.evidence.surroundings import is_mount, is_virtio
from fathom.diagnose.evidence.words import beside, number, seen, time
from fathom.diagnose.metrics import Layer
from fathom.finding import Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_MOST, _LITTLE = 0.5, 0.3
"""Parts of a virtual disk's latency that a device explains, and that it does not."""
_SEEN = 0.8
"""Part of a guest's latency that its virtual disk must have for the time to be below it."""
_CARRIES = 0.8
"""Part of the virtual disk's rate that a device must do to be the one that it is on."""
_MORE = 2.0
"""How many times what the virtual disks ask a device does before something else must use it."""
_SNAPSHOT = Remedy(
    "See whether a snapshot of the machine is open or was consolidated then, and which other machines use the device.",
    ("vim-cmd vmsvc/snapshot.get VMID", "esxcli storage vmfs extent list"),
    "Consolidation reads and writes the whole snapshot: do it in a quiet time.",
    "The device does as many requests as the virtual disks above it.",
)
_LIMIT = Remedy(
    "Look for an IOPS limit of the virtual disk (its settings, or the storage policy), then at the queue of its "
    "adapter in the guest.",
    ("PowerCLI: Get-VM VM | Get-VMResourceConfiguration | Select -ExpandProperty DiskResourceConfiguration",),
    "Without a limit the machine may crowd out others.",
    "The virtual disk takes as long as its device.",
)


_OF_HOST = Remedy(
    "Record the layer below in the same time and give both logs to `fathom diagnose`.",
    ("fathom record --print esxi", "fathom record --print aws", "fathom record --print azure"),
    None,
    "The findings name the layer.",
)
_OF_SERVER = Remedy(
    "Record the disks of the server itself in the same time and give both logs to `fathom diagnose`.",
    ("fathom record --print windows", "Linux: fathom record --out host.fathom"),
    None,
    "The findings name the layer.",
)
_OF_KVM = Remedy(
    "Record the machine that hosts this one in the same time: the device or file that backs the disk.",
    ("Linux: virsh domblklist VM", "Linux: fathom record --out host.fathom"),
    None,
    "The findings name the layer.",
)
_OF_CLOUD = Remedy(
    "This is the lowest layer that the cloud shows: open a case with the provider and give it volume and times, or try "
    "another type of volume.",
    (),
    "Another type may cost more.",
    "Latency under as much load is the usual one.",
)


def to_record(disk: Device) -> Remedy:
    """How to see the layer below: of a file the server's disks, of a disk whatever hosts the server."""
    if disk.layer is Layer.DATABASE_FILE:
        return _OF_SERVER
    if disk.layer is Layer.CLOUD_VOLUME:
        return _OF_CLOUD
    return _OF_KVM if is_virtio(disk.device) else _OF_HOST


def located(system: System, disk: Device, slow: Flags) -> Located | None:
    """The layer below a virtual disk, a guest's disk or a mount in which its time is, or of a hypervisor's own device;
    None where the logs do not tell, or a queue does.
    """
    if is_mount(disk):
        return _of_mount(system, disk, slow)
    if disk.layer is Layer.HOST_DEVICE:
        return of_lun(system, disk, slow)
    return _of_virtual(system, disk, slow)


def _of_virtual(system: System, disk: Device, slow: Flags) -> Located | None:
    virtual = disk if disk.layer is Layer.VIRTUAL_DISK else virtual_disk_of(system, disk, slow)
    lun = None if virtual is None else _device_of(system, disk, virtual, slow)
    if virtual is None or lun is None:
        return None
    whole = middle(disk.values("latency_s")[slow])
    # What a guest's disk waits for above its virtual disk is no time of the host's.
    if not middle(onto(disk, virtual, "latency_s")[slow]) >= _SEEN * whole:
        return None
    device, kernel = (middle(onto(disk, lun, metric)[slow]) for metric in ("device_latency_s", "kernel_latency_s"))
    queued = middle(onto(disk, lun, "queued")[slow])
    if is_kernel(kernel, whole):
        return in_kernel(system, disk, lun, slow)
    if not kernel <= _LITTLE * whole or queued > 0:
        return None
    said = beside(disk, lun, f"{lun.name}: DAVG {time(device)}, KAVG {time(kernel)}, nothing queued.", slow)
    if device <= _LITTLE * whole:
        words = (
            f"its device takes {time(device)}, so the time is in the host between the two: an IOPS limit of the "
            "virtual disk, or the queue of its adapter"
        )
        return Located(words, (said,), (_LIMIT,))
    if device < _MOST * whole:
        return None
    done, asked = middle(onto(disk, lun, "iops")[slow]), _asked(system, disk, virtual.host, slow)
    if not done >= _MORE * asked:
        return Located(f"{time(device)} of it is below the host, in the array or the fabric", (said,), (ARRAY,))
    words = (
        f"{time(device)} of it is below the host, where the device does {number(done / asked)} times what the virtual "
        "disks ask: a snapshot is read through or consolidated, or others use it"
    )
    rates = f"{lun.name} does {number(done)} IOPS, all virtual disks of the log {number(asked)}."
    return Located(words, (said, beside(disk, lun, rates, slow)), (_SNAPSHOT, ARRAY))


def _of_mount(system: System, disk: Device, slow: Flags) -> Located | None:
    """The network or the file server, where most of a mount's time is spent there."""
    whole, trip = (middle(disk.values(metric)[slow]) for metric in ("latency_s", "device_latency_s"))
    if not trip >= _MOST * whole:
        return None
    said = f"The round trip takes {time(trip)}, with {number(middle(at_server(disk)[slow]))} requests on their way."
    remedy = Remedy(
        "Measure the network alone; then look at the file server in the same time: its limits on throughput and IOPS, "
        "its processors and its disks.",
        (
            f"Linux: ping -c 20 {server_of(system, disk)}",
            "Linux: nfsstat -m",
            "aws cloudwatch list-metrics --namespace AWS/FSx",
            "az monitor metrics list-definitions --resource ID_OF_THE_VOLUME",
        ),
        None,
        "`avg RTT` in nfsiostat is the usual one.",
    )
    return Located(f"{time(trip)} of it is in the network or on the file server", (seen(disk, said, slow),), (remedy,))


def _asked(system: System, disk: Device, host: str | None, slow: Flags) -> float:
    """What the virtual disks of the host ask together at these moments of a disk."""
    disks = [each for each in system.of(Layer.VIRTUAL_DISK) if each.host == host]
    return float(np.nansum([middle(onto(disk, each, "iops")[slow]) for each in disks]))


def _device_of(system: System, disk: Device, virtual: Device, slow: Flags) -> Device | None:
    """The only device of the host that does as much as the virtual disk. Of several, the only one that follows its rate
    and takes most of its time; None where that is not one either.
    """
    own = middle(disk.values("iops")[slow])
    found = [
        lun for lun in system.of(Layer.HOST_DEVICE)
        if lun.host == virtual.host and lun.has("device_latency_s")
        and middle(onto(disk, lun, "iops")[slow]) >= _CARRIES * own
    ]  # fmt: skip
    if len(found) > 1:
        least = _MOST * middle(disk.values("latency_s")[slow])
        takes = [lun for lun in found if middle(onto(disk, lun, "device_latency_s")[slow]) >= least]
        found = [lun for lun in takes if does_the_same(disk, lun, slow)]
    return found[0] if len(found) == 1 else None
