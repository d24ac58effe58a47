"""D2: the queue of an adapter is full: its disks together reach a known depth, no disk alone does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.join import adapters
from fathom.diagnose.evidence.load import middle, pinned
from fathom.diagnose.evidence.queues import deeper, whose
from fathom.diagnose.evidence.words import number, seen, share, time
from fathom.diagnose.rule import QUEUE, RATE, Kind, Rule
from fathom.finding import Finding

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """Disks grouped by the adapter that the logs name, else all disks of a host."""
    for name, disks in adapters(system):
        queues = [disk.values("outstanding") if disk.get("outstanding") is not None else disk.load for disk in disks]
        total = np.nansum(queues, axis=0)
        plateau = pinned(total, system.limits, "adapter")
        # The same depth as one disk alone is that disk's queue.
        single = any(
            pinned(queue, system.limits, "device") or np.max(np.nan_to_num(queue)) > 0.9 * np.max(total)
            for queue in queues
        )
        if plateau is None or single:
            continue
        latency = middle(np.concatenate([disk.values("latency_s")[plateau.chosen] for disk in disks]))
        if not latency > system.limits.target_s("flash array"):
            continue
        harm = of_storage(system, disks[0])
        yield Finding(
            "D2",
            name,
            f"The adapter's queue is full: {len(disks)} disks together reach {number(plateau.level)} "
            "outstanding requests.",
            harm.severity,
            0.8,
            (
                seen(
                    disks[0],
                    f"The sum of the queues of {', '.join(disk.name for disk in disks[:6])} is at its maximum "
                    f"of {number(plateau.level)} in {share(plateau.share)} of the busy moments"
                    f"{whose(system, disks, plateau.queue)}; no disk alone is at a depth.",
                    plateau.chosen,
                ),
                seen(disks[0], f"Latency is {time(latency)} then.", plateau.chosen),
            ),
            harm.sentence,
            "the disks are on several adapters, or the load has exactly as many requests to offer",
            tuple(reversed(deeper(system, disks))),
        )


RULE = Rule("D2", "full queue of an adapter", Kind.CAUSE, (RATE, QUEUE), examine)
