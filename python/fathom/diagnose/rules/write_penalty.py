"""D13: writes cost several requests below: their latency grows with their share while reads stay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.join import correlation
from fathom.diagnose.evidence.load import worked
from fathom.diagnose.evidence.words import number, seen
from fathom.diagnose.rule import LATENCY, RATE, Kind, Rule
from fathom.finding import Finding, Remedy, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """Every disk with reads and writes."""
    for disk in system.disks:
        part = disk.values("write_iops") / np.where(worked(disk), disk.values("iops"), np.nan)
        writes, reads = (correlation(part, disk.values(f"{way}_latency_s")) for way in ("write", "read"))
        if (
            writes > 0.7
            and abs(reads) < 0.3
            and disk.mean("write_latency_s") > max(0.005, 2 * disk.mean("read_latency_s"))
        ):
            yield Finding(
                "D13",
                disk.name,
                f"Writes to {disk.name} slow each other down while reads do not notice: a write penalty (mirror "
                "2, RAID-5 4, RAID-6 6 requests per write).",
                Severity.NOTE,
                0.4,
                (
                    seen(
                        disk,
                        f"Rank correlation of write latency with the share of writes {number(writes)}, of read "
                        f"latency {number(reads)}.",
                    ),
                ),
                None,
                "the array writes in full stripes or in a log",
                (
                    Remedy(
                        "Ask for the RAID level; mirrors for the log, full stripes for data.",
                        (),
                        None,
                        "Write latency no longer follows the share of writes.",
                    ),
                ),
            )


RULE = Rule("D13", "write penalty", Kind.CONTEXT, (RATE, LATENCY), examine)
