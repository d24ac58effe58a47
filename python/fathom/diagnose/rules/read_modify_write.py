"""D9: the layer below reads where the guest only writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.words import number, seen
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import RATE, Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """All disks of the guests against all devices below."""
    above, below = system.disks or system.of(Layer.VIRTUAL_DISK), system.of(Layer.HOST_DEVICE)
    reads, writes = (sum(np.nan_to_num(d.mean(f"{way}_iops")) for d in above) for way in ("read", "write"))
    lower = sum(np.nan_to_num(d.mean("read_iops")) for d in below)
    # Reads that guests ask for are below as well: only what is beyond them is the storage's own.
    if writes < 50 or reads > 0.3 * writes or lower - reads < max(0.3 * writes, reads):
        return
    harm = of_storage(system)
    yield Finding(
        "D9",
        below[0].name,
        "The storage reads before it writes: guests write, and the layer below reads as well.",
        harm.severity,
        0.6,
        (
            seen(
                below[0],
                f"Guests: {number(reads)} reads/s and {number(writes)} writes/s; below: {number(lower)} reads/s.",
            ),
        ),
        harm.sentence,
        "other guests or a backup read from the same devices",
        (
            Remedy(
                "Align partitions to 1 MiB and log writes to 4 KiB (trace flag 1800); stripe units of 64 KiB or more.",
                ("fsutil fsinfo sectorinfo D:",),
                None,
                "Reads below vanish.",
            ),
        ),
    )


RULE = Rule(
    "D9",
    "read-modify-write",
    Kind.CAUSE,
    (RATE, Need((Layer.HOST_DEVICE,), ("read_iops",), "esxtop in batch mode: fathom record --print esxi")),
    examine,
)
