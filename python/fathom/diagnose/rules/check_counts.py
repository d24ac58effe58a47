"""Q5: a mean over a handful of requests is no latency."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.load import worked
from fathom.diagnose.evidence.words import seen, share
from fathom.diagnose.rule import PATH_LATENCY, PATH_RATE, Kind, Rule
from fathom.finding import Finding, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System

FEWEST_REQUESTS = 10


def examine(system: System) -> Iterator[Finding]:
    """Volumes that were hardly used."""
    for disk in system.nearest:
        used = worked(disk)
        few = used & (disk.values("iops") * disk.seconds < FEWEST_REQUESTS)
        if used.any() and few.sum() > 0.5 * used.sum():
            yield Finding(
                "Q5",
                disk.name,
                f"{share(few.sum() / used.sum())} of the intervals have fewer than {FEWEST_REQUESTS} requests: "
                "means are weighted by requests, single intervals say little",
                Severity.NOTE,
                0.9,
                (seen(disk, "Intervals with few requests.", few),),
            )


RULE = Rule("Q5", "enough requests per interval", Kind.CHECK, (PATH_LATENCY, PATH_RATE), examine)
