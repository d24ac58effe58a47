"""What a latency leaves out: requests without an answer, and standstills in which none was asked. Pure.

A latency is known of completed requests alone. On a volume that stands still these are few and were fast, so that
goals, guards and tables ask here how much a percentile leaves out. An open loop counts the arrivals that were refused
or still waited at the end. A closed loop asks nothing while it waits (coordinated omission): a request that arrived at
any moment of a standstill would have waited for the rest of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fathom.metrics import metric
from fathom.results import Run

_RATES = ("iops", "transactions_per_second", "rows_per_second")

_MEAN = 0.01
"""Share of unanswered arrivals from which a mean says nothing, as for the 99th percentile."""

STANDSTILL = "standstill_ms"
LONG_MS = 1000.0
"""A standstill from which on it counts, ms: in a short run a shorter one is a large share of the time."""

_PERCENTILE = re.compile(r"latency_p(\d{2})(\d*)_ms")

TOLD = 0.001
"""Share from which on it is told beside a table: it moves a 99th percentile to the 99.1st."""


def rate(run: Run) -> float | None:
    """What a run completed per second, whatever its workload counts."""
    return next((value for name in _RATES if (value := run.metrics.get(name)) is not None), None)


def nothing_done(run: Run) -> bool:
    """Whether a finished run completed nothing while it was measured: it has no figure, however fine it looks."""
    return run.ok and rate(run) == 0.0


@dataclass(frozen=True)
class LeftOut:
    """What a figure leaves out.

    Attributes:
        share: of the arrivals that got no answer; of a standstill, of the moments at which a request would have waited
            longer than the figure says.
        standstill_s: how long the storage stood still, s; None for arrivals without an answer.
    """

    share: float
    standstill_s: float | None = None


def share(run: Run) -> float:
    """Share of an open loop's arrivals without an answer; 0 for a closed loop."""
    done = rate(run)
    lasted = run.metrics.get("elapsed_s") or run.measured_s
    lost = (run.metrics.get("refused") or 0.0) + (run.metrics.get("backlog_end") or 0.0)
    if not lost or done is None or not lasted:
        return 0.0
    return lost / (lost + done * lasted)


def allowed(name: str) -> float | None:
    """The share that a latency may leave out: 1 % for p99, 0.1 % for p99.9; None for a metric that is no latency."""
    if "latency" not in name or metric(name).unit != "ms":
        return None
    share = quantile(name)
    return _MEAN if share is None else 1 - share


def quantile(name: str) -> float | None:
    """The quantile that a latency is: 0.99 for p99, 0.999 for p99.9; None for another metric."""
    found = _PERCENTILE.search(name)
    return float(f"{found[1]}.{found[2] or 0}") / 100 if found else None


def left_out(run: Run, latency_ms: float = 0.0) -> LeftOut | None:
    """What a latency of a run leaves out, the larger of both; None where that is nothing."""
    found = [LeftOut(missing)] if (missing := share(run)) else []
    still, lasted = run.metrics.get(STANDSTILL) or 0.0, run.measured_s or run.metrics.get("elapsed_s")
    if lasted and still >= LONG_MS and still > latency_ms:
        found.append(LeftOut((still - latency_ms) / 1e3 / lasted, still / 1e3))
    return max(found, key=lambda one: one.share, default=None)


def hidden(name: str, run: Run) -> LeftOut | None:
    """What a metric leaves out, where that is more than it may; else None."""
    most, value = allowed(name), run.metrics.get(name)
    if most is None or value is None:
        return None
    found = left_out(run, value)
    return found if found is not None and found.share > most else None


def worst(name: str, runs: Iterable[Run]) -> LeftOut | None:
    """The largest of what a metric leaves out of some runs."""
    found = (one for run in runs if (one := hidden(name, run)) is not None)
    return max(found, key=lambda one: one.share, default=None)
