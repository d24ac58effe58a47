"""D25: storage is not the bottleneck: latency within what its kind should keep, no queue, or the wait is elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.elsewhere import locks, processors
from fathom.diagnose.evidence.harm import LEAST_SESSIONS, has_waits, of_storage, sessions
from fathom.diagnose.evidence.load import FEWEST, IDLE_LOAD, worked
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import number, seen, time
from fathom.diagnose.rule import PATH_RATE, Kind, Rule
from fathom.finding import Evidence, Finding, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """One finding on all disks together, or none."""
    fast, evidence = True, []
    judged = 0
    for disk in system.nearest:
        latency, at_work = disk.values("latency_s"), worked(disk)
        known = at_work & np.isfinite(latency)
        # Moments without any request count: a disk that did nothing kept nobody waiting.
        unknown = at_work.sum() > 2 * known.sum()
        if unknown or known.sum() + (disk.values("iops") == 0).sum() < FEWEST:
            continue
        judged += 1
        if not known.any():
            continue
        tier = tier_of(system, disk)
        high = _weighted_high(latency[known], disk.weights("latency_s")[known])
        mean = disk.mean("iops") * disk.mean("latency_s")
        often = float((np.nan_to_num(disk.load) >= IDLE_LOAD).mean())
        # A disk that is hardly ever used keeps nobody waiting for long, however slow it is.
        used = mean >= 0.2 or (mean >= 0.05 and often > 0.05)
        fast &= high <= tier.target_s or not used
        words = (
            f"{disk.name}: 95 % of the requests come from moments with at most {time(high)}; a {tier.name} should keep "
        )
        idle = (
            "" if used or high <= tier.target_s else f", but it is hardly used: {number(mean)} outstanding on average"
        )
        evidence.append(seen(disk, f"{words}{time(tier.target_s)}{idle}.", known))
    where = [found for found in (processors(system), locks(system)) if found is not None]
    # Where the disks are slow, only waits that are elsewhere can clear them.
    cleared = fast or (bool(where) and has_waits(system))
    if not judged or of_storage(system).sentence or not cleared:
        return
    reason = f": {where[0].what}" if where else ""
    sure = 0.9 if where else (0.85 if has_waits(system) else 0.75)
    said: list[Evidence] = [found.evidence for found in where]
    if has_waits(system):
        mean = sessions(system, "data", "log")
        limit = f"below the {LEAST_SESSIONS} from which they matter" if mean < LEAST_SESSIONS else "a small part of all"
        said.append(Evidence(f"{number(mean)} sessions wait for storage on average, {limit}."))
    yield Finding(
        "D25", "storage", f"Storage is not your bottleneck{reason}.", Severity.GOOD, sure, (*said, *evidence[:6]), None,
        "sessions that wait for reads or log writes in the time in question, or bursts shorter than the log's interval",
        tuple(found.remedy for found in where),
    )  # fmt: skip


def _weighted_high(latency: np.ndarray, weights: np.ndarray) -> float:
    """The latency that the moments of 95 % of all requests do not exceed."""
    order = np.argsort(latency)
    total = np.cumsum(weights[order])
    if not total[-1] > 0:
        return float(np.percentile(latency, 95))
    return float(latency[order][np.searchsorted(total, 0.95 * total[-1])])


RULE = Rule("D25", "storage is not the bottleneck", Kind.ELSEWHERE, (PATH_RATE,), examine)
