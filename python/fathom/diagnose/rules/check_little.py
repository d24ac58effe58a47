"""Q1: outstanding requests must be rate × latency; where they are not, units or intervals are mixed up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.load import implied_load, middle, worked
from fathom.diagnose.evidence.unit import FEWEST
from fathom.diagnose.evidence.words import number, seen, share
from fathom.diagnose.rule import LATENCY, QUEUE, RATE, Kind, Rule
from fathom.finding import Finding, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System

TOLERANCE = 0.10


def examine(system: System) -> Iterator[Finding]:
    """Volumes whose log has all three measured."""
    for disk in system.volumes:
        if disk.leaked is not None:
            yield Finding(
                "Q1",
                disk.name,
                f"at least {number(disk.leaked)} requests are counted as outstanding for ever, also while none is: an "
                "error of the kernel's count. Queue length and busy time are wrong; the queue is taken from rate and "
                "latency",
                Severity.NOTE,
                0.9,
            )
        if (wrong := disk.rescaled) is not None:
            what = (
                f"rate × latency needs {number(wrong.needs)} outstanding, the log's own queue says {number(wrong.says)}"
            )
            why = "about 1,000 times: the latencies seem to be milliseconds where seconds belong, and are read as such"
            evidence = seen(disk, f"{what}.", wrong.chosen)
            yield Finding("Q1", disk.name, f"{what}, {why}", Severity.NOTE, 0.8, (evidence,))
            continue
        stated = disk.measured.get("outstanding_mean")
        implied = implied_load(disk)
        if stated is None:
            continue
        ended = disk.values("outstanding")
        settled = np.concatenate([[False], np.abs(np.diff(ended)) <= 1]) | np.isnan(ended)
        good = worked(disk) & settled & np.isfinite(implied) & (stated > 0.1)
        if good.sum() < FEWEST:
            continue
        error = middle(np.abs(implied[good] / stated[good] - 1))
        if error > TOLERANCE:
            yield Finding(
                "Q1",
                disk.name,
                f"rate × latency differs from the queue length by {share(error)}: figures of different "
                "intervals, a wrong unit, or a disk left out of a sum",
                Severity.NOTE,
                0.8,
                (seen(disk, f"Median difference {share(error)} over {good.sum()} intervals.", good),),
            )


RULE = Rule("Q1", "Little's law holds", Kind.CHECK, (RATE, LATENCY, QUEUE), examine)
