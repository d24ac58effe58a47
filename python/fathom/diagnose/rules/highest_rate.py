"""D26: a device is at its highest rate: whatever is outstanding, no more is completed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.azure_disks import NAMES
from fathom.diagnose.evidence.ebs import TYPE
from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.period import comes_back
from fathom.diagnose.evidence.saturation import Saturated, at_ceiling
from fathom.diagnose.evidence.slow_time import longest
from fathom.diagnose.evidence.starved import in_guest
from fathom.diagnose.evidence.surroundings import CONTROLLER, WINDOWS, is_nvme
from fathom.diagnose.evidence.words import megabytes, number, seen, share, time
from fathom.diagnose.rule import LATENCY, RATE, Kind, Rule
from fathom.finding import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.system import System

_MOSTLY = 0.8
"""Share of writes from which reading less is no help."""
_MOST_READS = (
    "SELECT TOP 10 total_physical_reads, execution_count, sql_handle FROM sys.dm_exec_query_stats "
    "ORDER BY total_physical_reads DESC"
)
_MOST_READS_POSTGRESQL = (
    "PostgreSQL: SELECT query, calls, shared_blks_read FROM pg_stat_statements ORDER BY shared_blks_read DESC LIMIT 10"
)
_FEWER = Remedy(
    "Send it fewer or smaller requests: look for statements that read most (missing indexes), then give the database "
    "more memory.",
    (
        _MOST_READS,
        _MOST_READS_POSTGRESQL,
    ),
    None,
    "The rate falls below its highest, and latency with it.",
)
_FEWER_WRITES = Remedy(
    "Write less often: more rows per commit, no index that nothing reads.",
    (),
    None,
    "The rate falls below its highest, and latency with it.",
)
_FEWER_OR_CACHED = Remedy(
    f"{_FEWER_WRITES.action} For a log, a write cache with a battery or flash takes most of the time away.",
    (),
    "A write cache without a battery loses committed transactions when the power fails.",
    "The rate falls below its highest, and latency with it.",
)
_LATER = Remedy(
    "Move jobs (backups, reports, index maintenance) out of these times, or to another device.",
    (),
    None,
    "Fewer requests are outstanding in these times.",
)
_FASTER = Remedy(
    "Put the data on faster devices or on more of them: flash instead of rotating disks, a wider stripe.",
    (),
    "Data must be moved. Where the device is a volume of an array or a cloud, ask first what limits it there.",
    "The rate rises above the old one with as many outstanding.",
)


_WIDER = Remedy(
    "Put the data on more devices, or on faster ones: a wider stripe.",
    _FASTER.commands,
    _FASTER.risk,
    _FASTER.verify,
)
_BOUGHT = Remedy(
    "See which limits were bought with the volume, and which its machine has; buy more of what is short, or stripe "
    "over more volumes.",
    (TYPE, NAMES, "gcloud compute disks describe DISK --zone ZONE"),
    "Costs more.",
    _FASTER.verify,
)


def examine(system: System) -> Iterator[Finding]:
    """Every volume."""
    for disk in system.volumes:
        found = at_ceiling(system, disk)
        # A virtual disk that is fast at the same rate tells that no device holds it.
        if found is None or in_guest(system, disk, found.chosen) is not None:
            continue
        harm, again = of_storage(system, disk), comes_back(disk, linux=WINDOWS in system.ruled_out)
        written = "write_iops" if found.metric == "iops" else "write_bytes_per_s"
        writes = disk.mean(written, found.chosen) / disk.mean(found.metric, found.chosen)
        yield Finding(
            "D26",
            disk.name,
            f"{disk.name} is at its highest rate: {_rate(found)}, {_how(found)}.",
            harm.severity,
            found.confidence,
            (*_evidence(disk, found), *(() if again is None else (again.evidence,))),
            harm.sentence,
            "the rate rises when more is outstanding; or another layer limits it: a limit that somebody set, or a full "
            "queue below this counter",
            (*(() if again is None else again.remedies), _fewer(system, writes), _LATER, _more(system, disk)),
        )


def _fewer(system: System, writes: float) -> Remedy:
    if writes < _MOSTLY:
        return _FEWER
    return _FEWER_WRITES if CONTROLLER in system.ruled_out else _FEWER_OR_CACHED


def _more(system: System, disk: Device) -> Remedy:
    """A faster device. A volume of a cloud is as fast as it was bought, and an NVMe disk is flash."""
    if CONTROLLER in system.ruled_out:
        return _BOUGHT
    return _WIDER if is_nvme(disk.device) else _FASTER


def _rate(found: Saturated) -> str:
    return f"{number(found.level)} IOPS" if found.metric == "iops" else megabytes(found.level)


def _how(found: Saturated) -> str:
    if found.knee is not None:
        return f"whatever is outstanding; from {number(max(found.knee, 1.0))} on, more load only waits"
    if found.is_constant:
        return f"one request after the other, while {number(found.load[1])} are outstanding"
    return f"whether {number(found.load[0])} or {number(found.load[1])} requests are outstanding"


def _evidence(disk: Device, found: Saturated) -> Iterator[Evidence]:
    busy = f"; it was busy {number(found.busy_percent)} % of the time" if found.busy_percent > 0 else ""
    level = f"{_rate(found)} within {share(max(found.within, 0.01))}"
    low, high = found.load
    if found.is_constant:
        words = f"{level} with {number(high)} outstanding at {time(found.latency_s[1])}{busy}."
    else:
        words = (
            f"{level} with {number(low)} to {number(high)} outstanding: latency grows in proportion, from "
            f"{time(found.latency_s[0])} to {time(found.latency_s[1])}{busy}."
        )
    yield seen(disk, words, found.chosen)
    if found.quiet.any():
        quiet = longest(found.quiet)
        rate, load, latency = (disk.mean(name, quiet) for name in (found.metric, "outstanding_mean", "latency_s"))
        beside = f" with {number(load)} outstanding" if load > 0 else ""
        usual = f"{number(rate)} IOPS" if found.metric == "iops" else megabytes(rate)
        yield seen(disk, f"In quieter times {usual} at {time(latency)}{beside}.", quiet)


RULE = Rule("D26", "device at its highest rate", Kind.CAUSE, (RATE, LATENCY), examine)
