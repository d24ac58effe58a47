"""What the logs say of the system they come from, so that advice names nothing that it has not.

A log seldom says what a system has not: something is ruled out only where the logs show what excludes it. A kernel that
a cloud built excludes other clouds and ESXi; a host with Linux and no counter of SQL Server has no SQL Server.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.limits import KERNELS
from fathom.diagnose.metrics import Layer

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.system import System
    from fathom.finding import Finding

AWS, AZURE, GCP, VMWARE = "AWS", "Azure", "Google Cloud", "VMware"
LINUX, WINDOWS = "Linux", "Windows"
SQL_SERVER, POSTGRESQL, MARIADB = "SQL Server", "PostgreSQL", "MariaDB"

CLOUDS = {"aws": AWS, "azure": AZURE, "gcp": GCP}
"""The clouds that sell volumes by their rates, by the names that tables of limits have for them."""
PLATFORMS = (*CLOUDS.values(), VMWARE)
_SYSTEMS = (LINUX, WINDOWS)
CONTROLLER = "a controller of its own"
"""What a machine that is rented has not: its disks' controllers, and the drives themselves, are the cloud's."""
_DATABASES = (SQL_SERVER, POSTGRESQL, MARIADB)

_FORMATS = {
    AWS: {"aws-volumes", "cloudwatch", "cloudwatch-csv"},
    AZURE: {"azure", "azure-csv"},
    GCP: {"gcp"},
    VMWARE: {"esxtop", "get-stat", "vsan", "vscsi"},
    LINUX: {"blktrace", "diskstats", "iostat", "iostat-json", "nfsiostat", "record", "sadf", "sar"},
    WINDOWS: {"blg", "get-counter", "perfmon", "windows-volumes", "wpa"},
    SQL_SERVER: {"sql-server"},
    POSTGRESQL: {"pgbench", "postgresql"},
}
"""Formats of logs that only one system writes."""

_COMMANDS = (
    (AWS, r"aws |fathom record --print aws"),
    (AZURE, r"az |fathom record --print azure"),
    (GCP, r"gcloud |fathom record --print gcp"),
    (VMWARE, r"VMware:|esxcli |esxtop |fathom record --print esxi|.*pvscsi"),
    (WINDOWS, r"REG |Get-|New-|fsutil |fltmc |Windows:"),
    (LINUX, r"Linux:|lvcreate |lsblk|dmesg|cat /sys|nfsiostat "),
    (CONTROLLER, r"storcli64 |ssacli |Linux: smartctl "),
    (SQL_SERVER, r"perfmon SQLServer:"),
    (SQL_SERVER, r"SQL Server|SELECT .*sys\.dm_|ALTER DATABASE|BACKUP DATABASE|DBCC|EXEC sp_"),
    (SQL_SERVER, r"Windows: startup parameter -T|Linux: /opt/mssql/"),
    (POSTGRESQL, r"PostgreSQL:"),
    (MARIADB, r"MariaDB:"),
)
"""How the commands of a system begin. One may belong to two: a registry key of VMware's driver."""

_STACKED = re.compile(r"(?:md[_\d]|dm-\d|bcache\d|drbd\d)")
"""Linux's names of block devices that pass requests on to disks."""

_OF_VMWARE = re.compile(r"VMware|Virtual disk$")
"""Models of disks that ESXi gives its machines; those of Hyper-V are "Virtual Disk"."""

_POSTGRESQL_WAIT = re.compile(r"(?:Activity|BufferPin|Client|Extension|IO|IPC|LWLock|Lock|Timeout):")


def is_stacked(device: str | None) -> bool:
    """Whether a device of Linux stands on others: its software RAID, the device mapper, a cache, a replica."""
    return _STACKED.match(device or "") is not None


def is_behind(device: str | None) -> bool:
    """Whether a part of vSAN does the copies of what its clients ask for: nobody waits for it alone."""
    return re.match(r"(?:cluster|host)-dom(?:compmgr|owner):", device or "") is not None


def is_loop(device: str | None) -> bool:
    """Whether a device of Linux stands on a file, which lies on another one."""
    return re.match(r"loop\d", device or "") is not None


def ruled_out(system: System) -> frozenset[str]:
    """What the system is not, or has not."""
    seen = _seen(system)
    out: set[str] = set()
    for group in (PLATFORMS, _SYSTEMS, _DATABASES):
        there = seen.intersection(group)
        out.update(set(group) - there if there else ())
    if seen & set(CLOUDS.values()):
        out.add(CONTROLLER)
    if LINUX in seen and WINDOWS not in seen and SQL_SERVER not in seen:
        out.add(SQL_SERVER)
    guest = [device.device for device in system.of(Layer.GUEST_DISK)]
    if guest and all(is_virtio(name) for name in guest):
        out.add(VMWARE)
    if not seen & {LINUX, WINDOWS} and {fact.value for fact in system.facts if fact.name == "cloud_service"} == {"RDS"}:
        # Its operating system cannot be reached.
        out.update((LINUX, WINDOWS))
    return frozenset(out)


def is_vmware(system: System) -> bool:
    """Whether something in the logs says that the system is, or runs under, ESXi."""
    return VMWARE in _seen(system)


def fitting(finding: Finding, out: frozenset[str]) -> Finding:
    """The finding without the commands of systems that are ruled out."""
    remedies = (
        replace(each, commands=tuple(command for command in each.commands if fits(command, out)))
        for each in finding.remedies
    )
    return replace(finding, remedies=tuple(remedies))


def fits(command: str, out: frozenset[str]) -> bool:
    """Whether a command, or the name of a tool, belongs to no system that is ruled out."""
    return not any(re.match(pattern, command, re.DOTALL) for name, pattern in _COMMANDS if name in out)


def is_nvme(name: str | None) -> bool:
    """Whether a disk's name is that of an NVMe namespace: no SCSI adapter is above it."""
    return re.match(r"(?:/dev/)?nvme\d+n\d+", name or "") is not None


def is_virtio(name: str | None) -> bool:
    """Whether a disk's name is that of a virtio block device, which KVM gives its machines: no SCSI, and no ESXi."""
    return re.match(r"(?:/dev/)?vd[a-z]+\d*$", name or "") is not None


def is_mount(device: Device) -> bool:
    """Whether a volume is a mount of a network file system: of those alone the client's queue is told."""
    return device.layer is Layer.GUEST_VOLUME and "queued_mean" in device.measured


def _seen(system: System) -> set[str]:
    formats = {notes.format for notes in system.notes}
    found = {name for name, theirs in _FORMATS.items() if formats & theirs}
    systems = [fact.value for fact in system.facts if fact.name == "os"]
    found |= {name for name in _SYSTEMS if any(name in each for each in systems)}
    marks = {cloud for mark, cloud in KERNELS.items() if any(mark in each for each in systems)}
    found |= {CLOUDS[cloud] for cloud in marks}
    if any(fact.name == "model" and _OF_VMWARE.match(fact.value) for fact in system.facts):
        found.add(VMWARE)
    waits = [(device.device or "").rpartition("/")[2] for device in system.of(Layer.DATABASE_WAIT)]
    if any(_POSTGRESQL_WAIT.match(wait) for wait in waits):
        found.add(POSTGRESQL)
    if any(wait.isupper() and wait != "CPU" for wait in waits) or (WINDOWS in found and system.databases):
        found.add(SQL_SERVER)
    elif "record" in formats and system.databases:
        found.add(POSTGRESQL)
    return found
