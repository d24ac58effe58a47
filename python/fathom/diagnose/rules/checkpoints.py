"""D18: checkpoints write in bursts; no session waits for these writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.join import above, onto
from fathom.diagnose.evidence.words import number, seen, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import LATENCY, Kind, Need, Rule
from fathom.finding import Finding, Remedy, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """Disks whose writes follow the database's checkpoints."""
    servers = [d for d in system.databases if d.has("checkpoint_pages_per_s")]
    if not servers or of_storage(system).sentence:
        return
    for disk in system.disks:
        pages = onto(disk, servers[0], "checkpoint_pages_per_s")
        burst, calm = pages >= 1, pages < 1
        latency, writes = disk.values("write_latency_s"), disk.values("write_iops")
        # A rank correlation would miss bursts that are rare.
        alike = above(writes[burst], writes[calm])
        rises = (
            np.nanmean(latency[burst]) / np.nanmean(latency[calm])
            if np.isfinite(latency[calm]).any() and np.isfinite(latency[burst]).any()
            else 0
        )
        if alike > 0.6 and rises > 1.5:
            yield Finding(
                "D18",
                disk.name,
                f"Writes to {disk.name} come in bursts of checkpoints; sessions do not wait for them, so their "
                "latency is not the users'.",
                Severity.NOTE,
                0.7,
                (
                    seen(
                        disk,
                        f"{number(float(np.nanmean(writes[burst])))} writes/s while checkpoint pages are written, "
                        f"{number(float(np.nanmean(writes[calm])))} between; write latency "
                        f"{time(float(np.nanmean(latency[burst])))} and {time(float(np.nanmean(latency[calm])))}.",
                        burst,
                    ),
                ),
                None,
                "sessions wait for reads or log writes during the bursts",
                (
                    Remedy(
                        "Spread checkpoints over time.",
                        (
                            "ALTER DATABASE x SET TARGET_RECOVERY_TIME = 60 SECONDS",
                            "PostgreSQL: checkpoint_completion_target = 0.9, larger max_wal_size",
                        ),
                        "Recovery after a crash may take longer.",
                        "Checkpoint pages/sec is even.",
                    ),
                ),
            )


RULE = Rule(
    "D18",
    "checkpoint bursts",
    Kind.LOAD,
    (
        LATENCY,
        Need((Layer.DATABASE,), ("checkpoint_pages_per_s",), "perfmon SQLServer:Buffer Manager\\Checkpoint pages/sec"),
    ),
    examine,
)
