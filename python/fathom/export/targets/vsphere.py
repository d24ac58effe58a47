"""vSphere: virtual disks on adapters with the queue depths of the settings, on the host and in the guest.

The host's part is PowerCLI and, for those who edit it, the keys of the .vmx file; the guest's part is a registry value
on Windows and module parameters on Linux, which hold for all PVSCSI adapters of the guest (VMware KB 2053145).
"""

from __future__ import annotations

from dataclasses import dataclass

from fathom.export.common import FAULT, MEMORY, MODEL_FIGURES, MODEL_PROPERTIES, MODELLED, NULL, REMOTE, SERVING
from fathom.export.quote import powershell, vmx
from fathom.export.rules import Elsewhere, Kind, Only, Refused, Told, Used
from fathom.export.settings import Node
from fathom.export.target import CannotSayError, File, Target, Wanted, cannot

IN_GUEST = Kind(whole=Elsewhere("made in the guest: --to systemd, lvm or storage-spaces"))
DATASTORE = Refused("virtual disks lie on a datastore, whose devices decide", "leave the key out")
LIMITS = Refused(
    "a virtual disk has a limit on I/Os per second and no other", "leave the key out, or limit it on the array"
)

RING_REQUESTS = 32
"""Requests a page of the ring holds."""

PVSCSI = {"pages": 8, "most_pages": 32, "depth": 64, "most_depth": 254, "transfer": 512 << 10}
LSI = {"adapter": 128, "depth": 32}
ADAPTERS = 4
DISKS = 15

KINDS = {
    "adapter": Kind(
        {
            "backing": Used(),
            "model": Used(),
            "per_device": Used(),
            "per_adapter": Used(),
            "shared": Used(),
            "max_transfer": Only(
                ("512KiB", "524288B", "0.5MiB"),
                Refused("PVSCSI splits above 512 KiB, whatever one wishes", 'write "512KiB"'),
            ),
            "split": Only(("sequential",), Refused("PVSCSI sends pieces one after the other", 'write "sequential"')),
        }
    ),
    "fault": FAULT,
    "file": Kind(
        {
            "path": Used(),
            "size": Used(),
            "allocation": Used(),
            "direct": Refused("the hypervisor caches nothing", "leave the key out"),
            "read_only": Only((False,), Refused("a new virtual disk is written", "leave the key out")),
        }
    ),
    "memory": MEMORY,
    "mirror": IN_GUEST,
    "model": Kind(
        {
            "size": Used(),
            "model": Told("the datastore's"),
            "iops": DATASTORE,
            "throughput": DATASTORE,
            **dict.fromkeys(MODEL_FIGURES, MODELLED),
            **dict.fromkeys(MODEL_PROPERTIES, DATASTORE),
        }
    ),
    "nbd": REMOTE,
    "null": NULL,
    "sector": Kind(whole=Refused("virtual disks have sectors of 512 bytes", "export the volume below it")),
    "stripe": IN_GUEST,
    "throttle": Kind(
        {
            "backing": Used(),
            "iops": Used(),
            **dict.fromkeys(
                ("throughput", "quantum", "merge", "iops_burst", "throughput_burst", "slack", "shared", "model"), LIMITS
            ),
        }
    ),
    "writeback": IN_GUEST,
    "exports": Kind(whole=Elsewhere("how fathomd serves; its file stays as it is")),
    "daemon": SERVING,
}


@dataclass(frozen=True)
class Disk:
    """One virtual disk: its leaf, the adapter node above it, its limit on I/Os per second."""

    leaf: Node
    adapter: Node | None
    limit: float | None

    @property
    def bus(self) -> str:
        """The adapter's name: those that are shared have one."""
        if self.adapter is None:
            return ""
        return str(self.adapter.keys.get("shared", self.adapter.name))


def write(wanted: Wanted) -> list[File]:
    """The host's script, the same as keys of a .vmx file, and the guest's settings."""
    disks = [_above(wanted, leaf) for leaf in wanted.settings.leaves()]
    buses = list(dict.fromkeys(disk.bus for disk in disks))
    if len(buses) > ADAPTERS:
        raise CannotSayError(
            [("volumes", f"{len(buses)} adapters, a machine has {ADAPTERS}", "let disks share adapters")]
        )
    kinds = {bus: _controller([disk for disk in disks if disk.bus == bus]) for bus in buses}
    paravirtual = [disk for disk in disks if kinds[disk.bus] == "ParaVirtual" and disk.adapter is not None]
    result = [File("adapters.ps1", _powercli(disks, kinds)), File("adapters.vmx", _vmx(disks, kinds))]
    if paravirtual:
        pages, depth = _guest(paravirtual)
        result.append(File("guest-windows.ps1", _windows(pages, depth)))
        result.append(File("guest-linux.conf", f"options vmw_pvscsi ring_pages={pages} cmd_per_lun={depth}\n"))
    return result


def _above(wanted: Wanted, leaf: Node) -> Disk:
    """The layers between a leaf and whatever the guest makes of it."""
    settings = wanted.settings
    adapter: Node | None = None
    limit: float | None = None
    node = leaf
    while True:
        above = [
            one for one in settings.served() if one.kind in {"adapter", "throttle"} and one.children == (node.name,)
        ]
        if not above:
            return Disk(leaf, adapter, limit)
        node = above[0]
        if len(above) > 1 or (node.kind == "adapter" and adapter is not None):
            raise cannot(node, "a disk is on one adapter", "leave one of them out")
        if node.kind == "adapter":
            adapter = node
        elif "iops" in node.keys:
            found = node.per_second() or 0
            limit = found if limit is None else min(limit, found)


def _controller(disks: list[Disk]) -> str:
    """The type of one adapter, as PowerCLI names it."""
    if len(disks) > DISKS:
        raise cannot(disks[DISKS].leaf, f"more than {DISKS} disks on one adapter", "spread them over adapters")
    models = {str(disk.adapter.keys.get("model", "vmware/pvscsi")) for disk in disks if disk.adapter is not None}
    known = {"vmware/pvscsi": "ParaVirtual", "vmware/lsi-logic-sas": "VirtualLsiLogicSAS"}
    adapters = [disk.adapter for disk in disks if disk.adapter is not None]
    if len(models) > 1 or (models and not models <= set(known)):
        raise cannot(adapters[0], f"{' and '.join(sorted(models))} on one adapter", f"use one of {', '.join(known)}")
    kind = known[models.pop()] if models else "ParaVirtual"
    for adapter in adapters:
        for key, fixed in (("per_device", LSI["depth"]), ("per_adapter", LSI["adapter"])):
            if kind != "ParaVirtual" and adapter.keys.get(key, fixed) != fixed:
                raise cannot(
                    adapter, f"LSI Logic SAS has a {key} of {fixed} and no other", "use vmware/pvscsi, or leave it out"
                )
    return kind


def _guest(disks: list[Disk]) -> tuple[int, int]:
    """Pages of the ring and depth per disk, which all PVSCSI adapters of a guest share."""
    wanted = set()
    for adapter in (disk.adapter for disk in disks if disk.adapter is not None):
        depth = int(adapter.keys.get("per_device", PVSCSI["depth"]))
        requests = int(adapter.keys.get("per_adapter", PVSCSI["pages"] * RING_REQUESTS))
        if depth > PVSCSI["most_depth"]:
            raise cannot(adapter, f"PVSCSI has at most {PVSCSI['most_depth']} per disk, not {depth}", "write less")
        if requests % RING_REQUESTS or requests // RING_REQUESTS > PVSCSI["most_pages"]:
            most = PVSCSI["most_pages"] * RING_REQUESTS
            raise cannot(
                adapter,
                f"a ring has pages of {RING_REQUESTS} requests, at most {most}; not {requests}",
                f"write a multiple of {RING_REQUESTS}",
            )
        wanted.add((requests // RING_REQUESTS, depth))
    if len(wanted) > 1:
        raise CannotSayError(
            [
                (
                    "adapter",
                    "the guest's driver has one ring size and depth for all its adapters",
                    "write the same for all",
                )
            ]
        )
    return wanted.pop()


def _gib(node: Node) -> str:
    size = node.size()
    if size is None:
        raise cannot(node, "nothing says how large the disk is", f"write {node.name}.size")
    return f"{size / (1 << 30):.6f}".rstrip("0").rstrip(".")


def _storage(node: Node) -> str:
    formats = {"sparse": "Thin", "reserved": "Thick", "written": "EagerZeroedThick"}
    return formats[str(node.keys.get("allocation", "written"))]


def _disk_lines(disk: Disk) -> str:
    path = str(disk.leaf.keys.get("path", ""))
    if path.startswith("["):
        if not path.endswith(".vmdk") or "size" in disk.leaf.keys or "allocation" in disk.leaf.keys:
            raise cannot(
                disk.leaf, f"{path} is there already", "let the path end in .vmdk and leave size and allocation out"
            )
        return f"$disk = New-HardDisk -VM $vm -DiskPath {powershell(path)}"
    if path:
        raise cannot(
            disk.leaf,
            f"{path} is no disk of a datastore",
            'write "[datastore] folder/disk.vmdk", or a model with a size',
        )
    return f"$disk = New-HardDisk -VM $vm -CapacityGB {_gib(disk.leaf)} -StorageFormat {_storage(disk.leaf)}"


def _powercli(disks: list[Disk], kinds: dict[str, str]) -> str:
    lines = [
        "#Requires -Modules VMware.VimAutomation.Core",
        "param([Parameter(Mandatory)][string]$VMName)",
        "Set-StrictMode -Version 3.0",
        "$ErrorActionPreference = 'Stop'",
        "$vm = Get-VM -Name $VMName",
        "if ($vm.PowerState -ne 'PoweredOff') { throw \"$VMName must be off to change its adapters\" }",
    ]
    for bus, kind in kinds.items():
        first = True
        for disk in (disk for disk in disks if disk.bus == bus):
            lines += ["", f"# {disk.leaf.name}", _disk_lines(disk)]
            if first:
                lines.append(f"$adapter = New-ScsiController -HardDisk $disk -Type {kind}")
            else:
                lines.append("Set-HardDisk -HardDisk $disk -Controller $adapter -Confirm:$false | Out-Null")
            first = False
            if disk.limit is not None:
                lines.append(
                    "Get-VMResourceConfiguration -VM $vm | Set-VMResourceConfiguration -Disk $disk "
                    f"-DiskLimitIOPerSecond {int(disk.limit)} | Out-Null"
                )
    return "\n".join(lines) + "\n"


def _vmx(disks: list[Disk], kinds: dict[str, str]) -> str:
    # The first adapter, scsi0, usually carries the system's disk.
    lines = []
    devices = {"ParaVirtual": "pvscsi", "VirtualLsiLogicSAS": "lsisas1068"}
    for number, (bus, kind) in enumerate(kinds.items(), 1 if len(kinds) < ADAPTERS else 0):
        lines += [f"scsi{number}.present = {vmx('TRUE')}", f"scsi{number}.virtualDev = {vmx(devices[kind])}"]
        for place, disk in enumerate(disk for disk in disks if disk.bus == bus):
            # Number 7 is the adapter itself.
            unit = place if place < 7 else place + 1
            file = str(disk.leaf.keys.get("path", f"{disk.leaf.name}.vmdk"))
            lines += [
                f"scsi{number}:{unit}.present = {vmx('TRUE')}",
                f"scsi{number}:{unit}.fileName = {vmx(file)}",
            ]
            if disk.limit is not None:
                lines.append(f"sched.scsi{number}:{unit}.throughputCap = {vmx(str(int(disk.limit)))}")
    return "\n".join(lines) + "\n"


def _windows(pages: int, depth: int) -> str:
    value = powershell(f"RequestRingPages={pages},MaxQueueDepth={depth}")
    return (
        "#Requires -RunAsAdministrator\n"
        "$key = 'HKLM:\\SYSTEM\\CurrentControlSet\\Services\\pvscsi\\Parameters\\Device'\n"
        "New-Item -Path $key -Force | Out-Null\n"
        f"Set-ItemProperty -Path $key -Name 'DriverParameter' -Type String -Value {value}\n"
        "Write-Host 'restart Windows: the driver reads it when it is loaded'\n"
    )


TARGET = Target(
    name="vsphere",
    title="vSphere",
    order=50,
    differs={"": ("the queue depths of the host's devices limit as well; raise them if they are lower",)},
    kinds=KINDS,
    options=frozenset(),
    write=write,
)
