"""D17: a consistency check (DBCC CHECKDB) is the load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.maintenance import reported
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """As the database says."""
    found = reported(system, "check_bytes_per_s", "Logical scans by DBCC", "check")
    if found is not None:
        yield Finding(
            "D17",
            "consistency check",
            "The load is a consistency check: it reads all data volumes at a pace of its own.",
            found.harm.severity,
            0.8,
            found.evidence[:4],
            found.harm.sentence,
            "no DBCC ran then",
            (
                Remedy(
                    "Run it in a maintenance window, physical only if the full check runs elsewhere.",
                    (
                        "DBCC CHECKDB (x) WITH PHYSICAL_ONLY",
                        "before SQL Server 2016: -T2549 for volumes on mount points",
                    ),
                    "PHYSICAL_ONLY skips logical checks.",
                    "DBCC Logical Scan Bytes/sec is 0 outside of the window.",
                ),
            ),
        )


RULE = Rule(
    "D17",
    "consistency check",
    Kind.LOAD,
    (
        Need(
            (Layer.DATABASE, Layer.DATABASE_WAIT),
            ("check_bytes_per_s", "wait_s_per_s"),
            "perfmon SQLServer:Databases(*)\\DBCC Logical Scan Bytes/sec",
        ),
    ),
    examine,
)
