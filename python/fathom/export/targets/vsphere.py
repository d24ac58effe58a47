"""vSphere: virtual disks on adapters with the queue depths of the settings, on the host and in the guest.

The host's part is PowerCLI and, for those who edit it, the keys of the .vmx file; the guest's part is a registry value
on Windows and module parameters on Linux, which hold for all PVSCSI adapters of the guest (VMware KB 2053145).
A mirror is a storage policy of vSAN: as many failures to tolerate as it has legs, less one.
"""

from __future__ import annotations

from fathom.export import powercli
from fathom.export.common import (
    FAULT,
    MEMORY,
    MODEL_FIGURES,
    MODEL_PROPERTIES,
    MODELLED,
    NULL,
    REMOTE,
    SERVING,
    mirror_elsewhere,
)
from fathom.export.powercli import TYPES, Disk
from fathom.export.quote import comment, powershell, vmx
from fathom.export.rules import Elsewhere, Kind, Only, Refused, Told, Used
from fathom.export.settings import Node
from fathom.export.target import CannotSayError, ExportRequest, File, Target, cannot

IN_GUEST = Kind(whole=Elsewhere("made in the guest: --to systemd, lvm or storage-spaces"))
DATASTORE = Refused("virtual disks lie on a datastore, whose devices decide", "leave the key out")
LIMITS = Refused(
    "a virtual disk has a limit on I/Os per second and no other", "leave the key out, or limit it on the array"
)

RING_REQUESTS = 32
"""Requests a page of the ring holds."""

PVSCSI = {"pages": 8, "most_pages": 32, "depth": 64, "most_depth": 254, "transfer": 512 << 10}
LSI = {"adapter": 128, "depth": 32}
COPIES = 4
"""vSAN mirrors for at most three failures to tolerate."""

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
    "mirror": Kind(
        {
            **mirror_elsewhere(),
            "read": Only(("balanced",), Refused("vSAN reads all copies", "write balanced")),
            "initial": Told("a new disk holds nothing to copy"),
        }
    ),
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
    "pool": Kind(whole=Elsewhere("made in the guest: --to systemd")),
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


def write(request: ExportRequest) -> list[File]:
    """The host's script, the same as keys of a .vmx file, and the guest's settings."""
    disks = _disks(request)
    buses = list(dict.fromkeys(disk.bus for disk in disks))
    if len(buses) > ADAPTERS:
        raise CannotSayError(
            [("volumes", f"{len(buses)} adapters, a machine has {ADAPTERS}", "let disks share adapters")]
        )
    kinds = {bus: _controller([disk for disk in disks if disk.bus == bus]) for bus in buses}
    paravirtual = [disk for disk in disks if kinds[disk.bus] == "ParaVirtual" and disk.adapter is not None]
    host = "".join(comment(line) + "\n" for line in _policies(disks)) + powercli.script(disks, kinds)
    result = [File("adapters.ps1", host)]
    if not any(disk.existing or disk.copies is not None for disk in disks):
        # Neither the path of a disk that is there nor a policy can be written into a .vmx file.
        result.append(File("adapters.vmx", _vmx(disks, kinds)))
    if paravirtual:
        pages, depth = _guest(paravirtual)
        result.append(File("guest-windows.ps1", _windows(pages, depth)))
        result.append(File("guest-linux.conf", f"options vmw_pvscsi ring_pages={pages} cmd_per_lun={depth}\n"))
    return result


def _disks(request: ExportRequest) -> list[Disk]:
    """A disk for each leaf, and one for each mirror with all its legs."""
    settings = request.settings
    mirrors = settings.of_kind("mirror")
    legs = {name for mirror in mirrors for name in mirror.children}
    disks = [_above(request, leaf, leaf, None) for leaf in settings.leaves() if leaf.name not in legs]
    for mirror in mirrors:
        members = [settings.nodes[name] for name in mirror.children]
        sizes = {member.size() for member in members}
        if any(member.children or "path" in member.keys for member in members) or len(sizes) != 1 or None in sizes:
            raise cannot(mirror, "vSAN places the copies of one disk", "let every leg be a model with the same size")
        if len(members) > COPIES:
            raise cannot(mirror, f"vSAN keeps at most {COPIES} copies, not {len(members)}", "leave legs out")
        if any(member.name in request.devices for member in members[1:]):
            raise cannot(mirror, "its legs are one disk", f"name it by the first leg: --device {members[0].name}=DISK")
        disks.append(_above(request, mirror, members[0], len(members)))
    order = [node.name for node in settings.served()]
    return sorted(disks, key=lambda disk: order.index(disk.leaf.name))


def _policies(disks: list[Disk]) -> list[str]:
    """What the storage policies ask for, and what one copy means."""
    lines = []
    for disk in disks:
        if disk.copies is None:
            continue
        failures = disk.copies - 1
        lines.append(
            f"{disk.node.name}: {failures} failures to tolerate, {2 * failures + 1} hosts at least, "
            f"{disk.copies} times its size."
        )
        if not failures:
            lines.append(
                f"{disk.node.name}: ONE COPY. When the host or the drive that holds it fails, the whole disk is lost, "
                "with all that was committed since the last backup; while the host is down nothing on it can be read. "
                "For data that can be made again (staging tables, tempdb), not for a database or its log."
            )
    return lines


def _above(request: ExportRequest, node: Node, leaf: Node, copies: int | None) -> Disk:
    """The layers between a disk and whatever the guest makes of it."""
    settings = request.settings
    adapter: Node | None = None
    limit: float | None = None
    lower = node
    while True:
        above = [
            one for one in settings.served() if one.kind in {"adapter", "throttle"} and one.children == (lower.name,)
        ]
        if not above:
            return Disk(node, leaf, adapter, limit, copies, request.devices.get(leaf.name))
        lower = above[0]
        if len(above) > 1 or (lower.kind == "adapter" and adapter is not None):
            raise cannot(lower, "a disk is on one adapter", "leave one of them out")
        if lower.kind == "adapter":
            adapter = lower
        elif "iops" in lower.keys:
            found = lower.per_second() or 0
            limit = found if limit is None else min(limit, found)


def _controller(disks: list[Disk]) -> str:
    """The type of one adapter, as PowerCLI names it."""
    if len(disks) > DISKS:
        raise cannot(disks[DISKS].node, f"more than {DISKS} disks on one adapter", "spread them over adapters")
    models = {str(disk.adapter.keys.get("model", "vmware/pvscsi")) for disk in disks if disk.adapter is not None}
    known = TYPES
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
    request = set()
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
        request.add((requests // RING_REQUESTS, depth))
    if len(request) > 1:
        raise CannotSayError(
            [
                (
                    "adapter",
                    "the guest's driver has one ring size and depth for all its adapters",
                    "write the same for all",
                )
            ]
        )
    return request.pop()


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
        "# Disks that moved to another adapter come up offline where the SAN policy says so.\n"
        "Get-Disk | Where-Object { $_.IsOffline } | Set-Disk -IsOffline $false\n"
        "Write-Host 'restart Windows: the driver reads it when it is loaded'\n"
    )


TARGET = Target(
    name="vsphere",
    title="vSphere",
    order=50,
    differs={
        "": ("the queue depths of the host's devices limit as well; raise them if they are lower",),
        "throttle": ("vSphere 8.0 U3 deprecates limits of a disk on I/Os per second, without a replacement",),
    },
    kinds=KINDS,
    options=frozenset({"devices"}),
    write=write,
)
