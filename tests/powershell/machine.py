"""A Windows server on EC2 as the scripts' cmdlets see it: disks, pools with a write-back cache, drives, services.

Behaviour follows the documentation of the Storage module (MicrosoftDocs/windows-powershell-docs) and what the
publication says of a lost cache: a virtual disk whose cache device is gone is gone. Nothing was compared with Windows.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field

from powershell.values import PowerShellError

GB = 10**9
JOURNAL = "Journal"
USAGES = {"AutoSelect": "Auto-Select", "ManualSelect": "Manual-Select", "HotSpare": "Hot Spare"}
USAGES |= {"Retired": "Retired", "Journal": "Journal"}


@dataclass(eq=False)
class Disk:
    """A physical disk. `data` and `cache` are the bytes of virtual disks on it."""

    FriendlyName: str
    SerialNumber: str
    Size: int
    local: bool = False
    Usage: str = "Auto-Select"
    lost: bool = False
    failed: bool = False
    formatted: bool = False
    pool: Pool | None = None
    data: int = 0
    cache: int = 0

    @property
    def UniqueId(self) -> str:
        return f"eui.{self.SerialNumber}"

    @property
    def HealthStatus(self) -> str:
        return "Unhealthy" if self.lost or self.failed else "Healthy"

    @property
    def OperationalStatus(self) -> str:
        return "Lost Communication" if self.lost else "OK"

    @property
    def VirtualDiskFootprint(self) -> int:
        return self.data + self.cache

    @property
    def CanPool(self) -> bool:
        return self.pool is None and not self.lost and not self.formatted

    @property
    def CannotPoolReason(self) -> str:
        return "In a Pool" if self.pool else "Insufficient Capacity" if self.formatted else ""


@dataclass(eq=False)
class Virtual:
    """A virtual disk of a pool and the drive on it."""

    FriendlyName: str
    pool: Pool
    Size: int
    WriteCacheSize: int
    Number: int
    IsManualAttach: bool = False
    detached: str | None = None
    IsOffline: bool = False
    IsReadOnly: bool = False
    lost: bool = False
    partition: bool = False
    letter: str | None = None
    moving: bool = False

    @property
    def UniqueId(self) -> str:
        return f"space-{self.Number}"

    @property
    def HealthStatus(self) -> str:
        return "Unhealthy" if self.lost else "Warning" if self.moving else "Unknown" if self.detached else "Healthy"

    @property
    def OperationalStatus(self) -> str:
        return "Detached" if self.detached else "InService" if self.moving else "OK"

    @property
    def DetachedReason(self) -> str:
        return self.detached or "None"


@dataclass(eq=False)
class Pool:
    """A pool; the primordial one holds nothing here."""

    FriendlyName: str
    IsPrimordial: bool = False
    IsReadOnly: bool = False
    disks: list[Disk] = field(default_factory=list)
    virtuals: list[Virtual] = field(default_factory=list)

    @property
    def ReadOnlyReason(self) -> str:
        return "Incomplete" if self.IsReadOnly else "None"

    @property
    def HealthStatus(self) -> str:
        lost = any(disk.lost or disk.failed for disk in self.disks)
        return "Unhealthy" if any(one.lost for one in self.virtuals) else "Warning" if lost else "Healthy"

    @property
    def OperationalStatus(self) -> str:
        return "OK" if self.HealthStatus == "Healthy" else "Degraded"


@dataclass(eq=False)
class Job:
    """A repair: asked often enough, it is done."""

    virtual: Virtual
    Name: str = "Repair"
    JobState: str = "Running"
    PercentComplete: int = 0


@dataclass(eq=False)
class Repair:
    """The background job in which Repair-VirtualDisk waits for its storage jobs."""

    jobs: list[Job]
    error: str | None = None

    @property
    def State(self) -> str:
        return "Running" if any(job.JobState == "Running" for job in self.jobs) else "Completed"


@dataclass
class Service:
    """A Windows service."""

    Name: str
    Status: str = "Stopped"
    StartupType: str = "Automatic"


class Machine:
    """The instance and its disks, through stops and reboots."""

    def __init__(self, volumes: dict[str, int], drives: int, services: tuple[str, ...]) -> None:
        self.now = datetime.datetime(2026, 1, 1)
        self.generation = 0
        self.disks = [Disk("NVMe Amazon Elastic B", serial, size) for serial, size in volumes.items()]
        self.pools = [Pool("Primordial", IsPrimordial=True)]
        self.services = {name: Service(name) for name in services}
        self.log: list[str] = []
        self.jobs: list[Job] = []
        self.numbers = 0
        self.drives = drives
        self.directories: set[str] = set()
        self.registry: dict[str, object] = {}
        self.tasks: list[str] = []
        self.stopped = False
        self.serial_port = False
        self.repair_fails = False
        self.late: list[tuple[datetime.datetime, Disk]] = []
        self._new_drives()

    def _new_drives(self) -> None:
        self.generation += 1
        for number in range(self.drives):
            serial = f"AWS{self.generation:02}{number}"
            self.disks.append(Disk("NVMe Amazon EC2 NVMe", serial, 300 * GB, local=True))

    def end(self, *, stop: bool) -> None:
        """The instance reboots, or stops and starts on other hardware with empty local drives."""
        self.jobs.clear()
        self.stopped = False
        for service in self.services.values():
            service.Status = "Stopped"
        if not stop:
            return
        for disk in [one for one in self.disks if one.local]:
            disk.lost = True
            if disk.pool is None or all(one.local for one in disk.pool.disks):
                self.disks.remove(disk)
                self.pools = [pool for pool in self.pools if pool is not disk.pool]
            elif disk.VirtualDiskFootprint:
                for virtual in disk.pool.virtuals:
                    if virtual.WriteCacheSize:
                        virtual.lost, virtual.detached = True, "Incomplete"
        self._new_drives()

    def present(self) -> list[Disk]:
        """Disks that have been attached by now."""
        for when, disk in list(self.late):
            if self.now >= when:
                self.disks.append(disk)
                self.late.remove((when, disk))
        return self.disks

    def attach_later(self, serial: str, seconds: int) -> None:
        disk = self.disk(serial)
        self.disks.remove(disk)
        self.late.append((self.now + datetime.timedelta(seconds=seconds), disk))

    def disk(self, serial: str) -> Disk:
        return next(disk for disk in self.disks if disk.SerialNumber == serial)

    def pool(self, name: str) -> Pool | None:
        return next((pool for pool in self.pools if pool.FriendlyName == name), None)

    def virtuals(self) -> list[Virtual]:
        return [virtual for pool in self.pools for virtual in pool.virtuals]

    def letters(self) -> dict[str, Virtual]:
        """Drives that can be used."""
        usable = [one for one in self.virtuals() if one.letter and not (one.detached or one.IsOffline or one.lost)]
        return {one.letter: one for one in usable if one.letter}

    def place_cache(self, pool: Pool, size: int, copies: int) -> None:
        """Room for a cache on that many disks for journals.

        Raises:
            PowerShellError: there is not enough.
        """
        free = [disk for disk in pool.disks if disk.Usage == JOURNAL and disk.Size - disk.VirtualDiskFootprint >= size]
        if len(free) < copies:
            raise PowerShellError("there is not enough eligible capacity for the write-back cache")
        for disk in free[:copies]:
            disk.cache += size

    def repair(self, virtual: Virtual) -> Repair:
        """Begins to move what lies on retired disks."""
        if virtual.detached:
            return Repair([], "the virtual disk could not complete the operation because it is detached")
        if not any(disk.Usage == "Retired" and disk.cache for disk in virtual.pool.disks):
            return Repair([])
        virtual.moving = True
        self.jobs.append(Job(virtual))
        return Repair(self.jobs[-1:])

    def work(self) -> None:
        """A job comes a step further; at its end the cache has moved, or has not."""
        for job in self.jobs:
            if job.JobState != "Running":
                continue
            job.PercentComplete += 50
            if job.PercentComplete < 100:
                continue
            job.virtual.moving = False
            pool = job.virtual.pool
            sources = [disk for disk in pool.disks if disk.Usage == "Retired" and disk.cache]
            if self.repair_fails:
                job.JobState = "Exception"
                continue
            job.JobState = "Completed"
            for disk in sources:
                moved = min(job.virtual.WriteCacheSize, disk.cache)
                self.place_cache(pool, moved, 1)
                disk.cache -= moved
