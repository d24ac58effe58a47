"""How late the load generator itself began with requests of an open loop: that is this machine's, not the storage's.

Lateness is part of every latency that counts from the arrival. Goals, searches, headlines and findings ask here how
much of a latency it is. It only ever adds: a limit that was kept is kept without it, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fathom.results import Run

TOLD = 0.10
"""Share of the latency from which on it is told: below this what is compared hardly changes."""

MOST = 0.50
"""Share from which on the latency says more of this machine than of the storage."""

_IDLE_MS = 0.1
"""Up to here timers are late on an idle machine as well."""


@dataclass(frozen=True)
class Late:
    """By how much the load generator of a run was late in the mean, and the mean latency that this is part of."""

    late_ms: float
    latency_ms: float

    @property
    def share(self) -> float:
        """How much of the latency it is."""
        return self.late_ms / self.latency_ms

    @property
    def most(self) -> bool:
        """Whether it is most of the latency."""
        return self.share >= MOST


def late(run: Run) -> Late | None:
    """How late the load generator of a run was, where that is worth telling; else None."""
    late_ms, latency_ms = run.metrics.get("late_ms") or 0.0, run.metrics.get("latency_ms") or 0.0
    if not run.ok or late_ms <= _IDLE_MS or late_ms < TOLD * latency_ms or not latency_ms:
        return None
    return Late(late_ms, latency_ms)


def mostly_late(runs: Iterable[Run]) -> list[Run]:
    """The runs most of whose latency is lateness."""
    return [run for run in runs if (found := late(run)) is not None and found.most]


def worst(found: Iterable[Late]) -> Late | None:
    """The largest lateness, not the largest share: a small latency is soon lateness alone."""
    return max(found, key=lambda one: one.late_ms, default=None)


def of_all(runs: Sequence[Run]) -> Late | None:
    """The worst lateness of some runs if it is most of the latency in each of them; else None."""
    found = [one for run in runs if (one := late(run)) is not None and one.most]
    return worst(found) if len(found) == len(runs) else None
