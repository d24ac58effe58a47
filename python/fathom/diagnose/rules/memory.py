"""D21: too little memory: the database reads much, and the storage performs normally."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.memory import MAX_SERVER_MEMORY, is_short, is_starved
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import number, seen, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import LATENCY, Kind, Need, Rule
from fathom.finding import Finding, Remedy, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """Servers under memory pressure on disks that keep their latency."""
    disks = [disk for disk in system.disks if disk.mean("iops") > 1]
    fine = disks and all(not disk.mean("latency_s") > tier_of(system, disk).target_s for disk in disks)
    for server in system.databases if fine else []:
        reads, lazy, stalls = (
            server.mean(m) for m in ("page_reads_per_s", "lazy_writes_per_s", "free_list_stalls_per_s")
        )
        life = server.values("page_life_s")
        short = np.isfinite(life).any() and is_short(life, float(np.nanmin(life)))
        grants = server.mean("memory_grants_pending")
        if is_starved(reads, lazy, stalls) and (short or not np.isfinite(life).any()):
            slowest = max(disks, key=lambda disk: disk.mean("latency_s"))
            yield Finding(
                "D21",
                server.name,
                "Storage is not your bottleneck: the database has too little memory and reads the same pages again.",
                Severity.GOOD,
                0.92,
                (
                    seen(
                        server,
                        f"{number(reads)} page reads/s, {number(lazy)} lazy writes/s"
                        + (f", {number(grants)} memory grants pending." if grants > 0 else "."),
                    ),
                    seen(slowest, f"The slowest disk takes {time(slowest.mean('latency_s'))}."),
                ),
                None,
                "reads are of pages never read before (a larger working set, scans)",
                (
                    Remedy(
                        "Look for missing indexes first, then give SQL Server more memory.",
                        (MAX_SERVER_MEMORY,),
                        "Leave memory to the operating system.",
                        "Page life expectancy is steady, page reads fall.",
                    ),
                ),
            )


RULE = Rule(
    "D21",
    "too little memory",
    Kind.ELSEWHERE,
    (LATENCY, Need((Layer.DATABASE,), ("page_reads_per_s",), "perfmon SQLServer:Buffer Manager\\*")),
    examine,
)
