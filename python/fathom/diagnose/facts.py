"""Notes on a log: machines, volumes, zones, and what was not read, and why."""

from __future__ import annotations

from dataclasses import dataclass, field

FACTS = {
    "os": "operating system and version of a host",
    "cpus": "processors of a host",
    "memory_bytes": "memory of a host",
    "hypervisor": "what the host runs under",
    "cloud_service": "service of AWS whose figures these are; the subject is volume, instance or database",
    "resource_group": "Azure's resource group of a machine or a disk",
    "instance_type": "the cloud's name of the instance's type",
    "volume_type": "the cloud's name of the volume's type",
    "volume_bytes": "size of a volume or disk",
    "provisioned_iops": "IOPS that were bought for a volume",
    "provisioned_bytes_per_s": "throughput that was bought for a volume",
    "throttle_reason": "why a cloud held requests back, in its words",
    "logical_sector_bytes": "smallest unit a disk accepts",
    "allocation_unit_bytes": "allocation unit (cluster size) of a file system",
    "physical_sector_bytes": "unit in which a disk's medium is written",
    "queue_depth": "commands a device takes at once, as its driver says",
    "queue_requests": "requests the operating system's queue of a device holds",
    "scheduler": "I/O scheduler of a device",
    "driver": "driver of a device",
    "model": "model of a device",
    "rotational": "yes or no, as the kernel says; hypervisors and RAID controllers say yes of flash, too",
    "tier": "kind of storage that the user says a device is; without a subject all devices",
    "mount": "where a device is mounted",
    "export": "server and path that a mount of a network file system is of",
    "connections": "connections to its server that a mount of a network file system has",
    "members": "devices below a device, joined by commas",
    "stands_on": "volumes below one that are not alike, such as a cache and what it caches, joined by commas",
    "adapter": "the adapter a disk is attached to",
    "database_version": "version of a database server",
    "database": "database that a file belongs to",
    "logical_name": "name of a file within its database",
    "file_bytes": "size of a file at the end of the log",
    "setting": "a setting of a server; the subject is its name",
    "benchmark": "load generator and its parameters",
    "time_zone": "what local times were taken for, and why",
    "clock": "jumps of the log's clock and how they were understood",
    "log_name": "the name the log gives itself",
    "interval_s": "the interval the log says it was recorded at",
    "long_requests": "requests to a file that took over 15 s, and when the server reported them",
    "unread_device": "a device of which no line could be read; the value says how many there are",
    "note": "anything else that a reader should know",
}
"""Every name of a fact with what it is: closed, so that a rule can rely on it."""


NOT_NEEDED = "not in the table"
"""Why a counter or column was skipped that no rule asks for."""


@dataclass(frozen=True)
class Fact:
    """One thing a log says that is no series.

    Attributes:
        name: one of `FACTS`.
        value: as text; numbers in the unit the name ends in.
        subject: host, device or setting it is about; None for the log.
    """

    name: str
    value: str
    subject: str | None = None

    def __post_init__(self) -> None:
        if self.name not in FACTS:
            raise ValueError(f"{self.name} is no fact; the names are in facts.py")


@dataclass
class Skipped:
    """Something in a log that is not in the table.

    Attributes:
        what: counters, lines, rows.
        why: one sentence.
        count: how many.
        example: the first one, as in the log or with its line.
    """

    what: str
    why: str
    count: int = 0
    example: str | None = None


@dataclass
class LogNotes:
    """Notes on one log: its facts, and what was skipped.

    Attributes:
        path: the log as it was named.
        format: name of the importer.
        title: what the format is, for people.
        facts: in the order they were found, each once.
        skipped: by what and why.
        counted: whether times count from a beginning that the log does not name.
    """

    path: str
    format: str
    title: str
    facts: list[Fact] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    counted: bool = False

    def fact(self, name: str, value: object, subject: str | None = None) -> None:
        """Adds a fact, unless it is known or there is no value."""
        if value is None or value == "":
            return
        fact = Fact(name, str(value), subject)
        if fact not in self.facts:
            self.facts.append(fact)

    def skip(self, what: str, why: str, count: int = 1, example: str | None = None) -> None:
        """Counts something that was not read; the first example is kept."""
        if count < 1:
            return
        for known in self.skipped:
            if (known.what, known.why) == (what, why):
                known.count += count
                return
        self.skipped.append(Skipped(what, why, count, example))

    def value(self, name: str, subject: str | None = None) -> str | None:
        """The first fact of a name and subject."""
        return next((fact.value for fact in self.facts if (fact.name, fact.subject) == (name, subject)), None)
