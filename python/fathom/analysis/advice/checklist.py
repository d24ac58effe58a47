"""Settings of host and server that vendors advise and publications take for granted, where they are otherwise here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.finding import Evidence, Finding, Remedy, Severity
from fathom.results import Run

_EMULATED = frozenset({"e1000", "e1000e", "8139cp", "8139too", "pcnet32", "ne2k-pci", "vlance"})
"""Drivers of network adapters that a hypervisor emulates in full, byte for byte."""


_LARGE_POOL = 8 << 30
"""Bytes of buffer pool from which on pages of 4 KiB cost something."""

_NO_LIMIT = "2147483647"
"""MB of SQL Server's `max server memory` as it is installed."""


@dataclass(frozen=True)
class Point:
    """One setting that is otherwise than the publications have it: what is so, why it matters, what to do."""

    subject: str
    seen: str
    why: str
    remedy: Remedy


def find(given: RuleInput) -> Iterator[Finding]:
    """One finding with all points, in real time and where anything was seen."""
    runs = [run for run in given.campaign.runs if run.ok]
    if given.campaign.clock == "virtual" or not any(_of_database(run) for run in runs):
        return
    places = given.study.get("places") or {}
    on_volumes = any(place.get("kind") == "volume" for place in places.values())
    points = [*_host(runs[0].environment), *_pages(runs), *_servers(runs)]
    if not on_volumes and (_compared_with_others(given.study) or _misaligned(runs)):
        points += _disk(runs[0].environment)
    if not points:
        return
    many = f"{len(points)} settings are" if len(points) > 1 else "One setting is"
    beside = _compared_with_others(given.study)
    yield Finding(
        "checklist",
        "settings",
        f"{many} not as {'in published experiments' if beside else 'vendors advise for a database server'}.",
        Severity.NOTE,
        0.6,
        tuple(Evidence(f"{point.subject}: {point.seen}. {point.why}") for point in points),
        harm="Figures may not carry over to servers that are set up that way, nor theirs to here.",
        remedies=tuple(point.remedy for point in points),
    )


def _of_database(run: Run) -> bool:
    """Whether a database server was seen at work, here or elsewhere."""
    return run.metrics.get("server_cpus") is not None or any(_last(name) == "trace_flags" for name in run.facts)


def _last(name: str) -> str:
    return name.rsplit(".", 1)[-1]


def _host(environment: Mapping[str, Any]) -> Iterator[Point]:
    settings, machine = environment.get("settings") or {}, environment.get("machine") or {}
    governors = settings.get("governors")
    if governors and governors != "performance":
        yield Point(
            "power governor",
            str(governors),
            "Processors that slow down between requests answer late, and not always equally late.",
            Remedy(
                "Set it to performance for the time of the measurement.",
                ("cpupower frequency-set --governor performance",),
                risk="Power and heat.",
                verify="cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
            ),
        )
    if settings.get("transparent_huge_pages") == "always":
        yield Point(
            "transparent huge pages",
            "always",
            "The kernel joins and splits pages under a database while it works, which shows as stalls.",
            Remedy(
                "Let the database request large pages itself.",
                ("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",),
                risk="Programs that gained from it lose that; it holds until the next start.",
            ),
        )
    limit, memory = settings.get("memory_limit_bytes"), machine.get("memory_bytes")
    if isinstance(limit, int) and isinstance(memory, int) and limit < memory:
        yield Point(
            "memory limit",
            f"{limit / 1e9:.1f} of {memory / 1e9:.1f} GB",
            "The page cache of the database's files counts against it and is dropped when it is reached.",
            Remedy("State the limit with the figures, or lift it (memory.max of the cgroup)."),
        )
    if settings.get("smt") in {"off", "forceoff"}:
        yield Point(
            "threads per core",
            "simultaneous multithreading is off",
            "The publications measured with two threads per core, and once without: figures per processor differ.",
            Remedy("Say so beside the figures, or switch it on.", verify="lscpu --extended"),
        )
    emulated = sorted(_EMULATED & set(str(settings.get("network_drivers") or "").split(", ")))
    if emulated:
        yield Point(
            "network adapter",
            ", ".join(emulated),
            "It is emulated: every packet costs the processor several exits, which shows with a server elsewhere.",
            Remedy(
                "Give the guest a paravirtual adapter: vmxnet3 on vSphere, virtio on KVM, ENA on EC2.",
                risk="A new adapter gets a new name and loses its addresses; have a console.",
            ),
        )


def _disk(environment: Mapping[str, Any]) -> Iterator[Point]:
    device = (environment.get("disk") or {}).get("device") or {}
    logical, physical = device.get("logical_sector"), device.get("physical_sector")
    if isinstance(logical, int) and isinstance(physical, int) and logical < physical:
        yield Point(
            "sector size",
            f"the disk takes sectors of {logical} bytes and has {physical}",
            "It reads before each write that is not a multiple of its own sector, such as a short write of a log.",
            Remedy(
                "Measure the log with both sizes, or format the drive with its own sector.",
                ("fathom probe DIRECTORY", "nvme id-ns -H DEVICE", "nvme format --lbaf N DEVICE"),
                risk="nvme format erases the drive.",
            )
            if _can_be_formatted(device)
            else Remedy("Measure the log with both sizes.", ("fathom probe DIRECTORY",)),
        )


def _compared_with_others(study: Mapping[str, Any]) -> bool:
    """Whether the study has published figures to compare its own with."""
    return any(cell["value"] is not None for cell in (study.get("published") or {}).get("cells", ()))


def _misaligned(runs: list[Run]) -> bool:
    """Whether SQL Server reports log writes that are no multiple of the disk's own sector.

    Other databases write their logs through a file system, in its blocks of 4 KiB: no such disk reads before these.
    """
    facts = ((_last(name), value) for run in runs for name, value in run.facts.items())
    return any(name == "misaligned_log_writes" and "use trace flag 1800" in value for name, value in facts)


def _can_be_formatted(device: Mapping[str, Any]) -> bool:
    """Whether it is an NVMe drive, and none that a cloud only shows as one."""
    rented = "Elastic Block Store" in str(device.get("model"))
    return str(device.get("name")).startswith("nvme") and not rented


def _pages(runs: list[Run]) -> Iterator[Point]:
    """A large buffer pool in pages of 4 KiB."""
    settings = runs[0].environment.get("settings") or {}
    facts = {_last(name): value for run in runs for name, value in run.facts.items()}
    pool = facts.get("buffer_bytes", "")
    asked = next((facts[name] for name in ("huge_pages", "large_pages") if name in facts), None)
    if asked is None or not pool.isdigit() or int(pool) < _LARGE_POOL:
        return
    none_reserved = settings.get("huge_pages") == 0
    if asked.lower() == "off" or none_reserved:
        seen = (
            "the server does not ask for them" if asked.lower() == "off" else "none are reserved (vm.nr_hugepages = 0)"
        )
        yield Point(
            "large pages",
            f"{seen}, for a buffer pool of {int(pool) / 1e9:.1f} GB",
            "Page tables of 4 KiB pages take memory and processor time with every session.",
            Remedy(
                "Reserve them and let the server ask for them: huge_pages of PostgreSQL, large_pages of MariaDB.",
                ("sysctl vm.nr_hugepages=N",),
                risk="Reserved pages are of no use to anything else.",
                verify="grep HugePages_ /proc/meminfo",
            ),
        )


def _servers(runs: list[Run]) -> Iterator[Point]:
    facts = [(_last(name), value) for run in runs for name, value in run.facts.items()]
    if any(name == "memory_model" and value == "CONVENTIONAL" for name, value in facts):
        yield Point(
            "SQL Server's memory",
            "its pages are not locked in memory",
            "Windows may swap the buffer pool out when other programs need memory.",
            Remedy(
                "Give its account the right to lock pages in memory.",
                ("secpol.msc, Local Policies, User Rights Assignment, Lock pages in memory",),
                risk="A restart. Without max server memory, Windows itself may run short.",
                verify="SELECT sql_memory_model_desc FROM sys.dm_os_sys_info",
            ),
        )
    if any(name == "max_server_memory_mb" and value == _NO_LIMIT for name, value in facts):
        yield Point(
            "SQL Server's memory",
            "max server memory is not set",
            "What the buffer pool holds, and so what reaches the storage, depends on what else runs.",
            Remedy(
                "Set it, and state it with the figures: 48 of 64 GB in the publications.",
                ("EXEC sys.sp_configure 'max server memory (MB)', 49152; RECONFIGURE",),
            ),
        )
    flagged = any(name == "trace_flags" and "1800" in value for name, value in facts)
    if _misaligned(runs) and not flagged:
        yield Point(
            "trace flag 1800",
            "not set, and SQL Server reports log writes that are not aligned to the disk's sectors",
            "Each of them makes the storage read before it writes.",
            Remedy(
                "Start SQL Server with it; DBCC TRACEON (1800, -1) has no effect.",
                (
                    "Windows: SQL Server Configuration Manager, Startup Parameters, add -T1800",
                    "mssql-conf traceflag 1800 on",
                ),
                risk="A restart; log blocks take at least 4 KiB.",
                verify="DBCC TRACESTATUS (1800)",
            ),
        )


RULE = Rule("checklist", 90, find)
