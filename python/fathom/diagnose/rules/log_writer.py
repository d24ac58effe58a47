"""D11: SQL Server's own limit on outstanding log writes, on a log volume that is fast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.harm import of_waits
from fathom.diagnose.evidence.load import middle, pinned
from fathom.diagnose.evidence.words import number, seen, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import QUEUE, Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """Volumes that are only written, of a server that writes a log."""
    for disk in system.disks:
        total = disk.mean("iops")
        plateau = pinned(disk.values("outstanding"), system.limits, "log")
        if plateau is None or not disk.mean("write_iops") >= 0.95 * total:
            continue
        latency = middle(disk.values("write_latency_s")[plateau.chosen])
        if not latency <= system.limits.target_s("flash array"):
            continue
        harm = of_waits(system.beside(disk), "log")
        yield Finding(
            "D11",
            disk.name,
            f"SQL Server's limit of {number(plateau.level)} outstanding log writes is reached; the volume itself "
            "is fast.",
            harm.severity,
            0.75,
            (
                seen(
                    disk,
                    f"{number(plateau.level)} writes outstanding at {time(latency)}: {plateau.queue.name}.",
                    plateau.chosen,
                ),
            ),
            harm.sentence,
            "the queue of the driver has the same depth",
            (
                Remedy(
                    "Divide the load over several databases, or write more per commit: faster storage does not help.",
                    (),
                    None,
                    "The log's queue stays below the limit.",
                ),
            ),
        )


RULE = Rule(
    "D11",
    "SQL Server's limit on log writes",
    Kind.CAUSE,
    (QUEUE, Need((Layer.DATABASE,), ("log_flushes_per_s",), "perfmon SQLServer:Databases(*)\\*")),
    examine,
)
