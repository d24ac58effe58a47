"""Arrivals of an open loop that got no answer: refused, or still waiting for a free user at the end of a run. Pure.

A latency is known of completed requests alone. On a volume that stands still these are few and were fast, so that
goals, guards and tables ask here how much a percentile leaves out.
"""

from __future__ import annotations

import re

from fathom.metrics import metric
from fathom.results import Run

_RATES = ("iops", "transactions_per_second", "rows_per_second")

_MEAN = 0.01
"""Share of unanswered arrivals from which a mean says nothing, as for the 99th percentile."""

_PERCENTILE = re.compile(r"latency_p(\d{2})(\d*)_ms")

TOLD = 0.001
"""Share from which on it is told beside a table: it moves a 99th percentile to the 99.1st."""


def rate(run: Run) -> float | None:
    """What a run completed per second, whatever its workload counts."""
    return next((value for name in _RATES if (value := run.metrics.get(name)) is not None), None)


def share(run: Run) -> float:
    """Share of a run's arrivals without an answer; 0 for a closed loop."""
    done = rate(run)
    lasted = run.metrics.get("elapsed_s")
    lost = (run.metrics.get("refused") or 0.0) + (run.metrics.get("backlog_end") or 0.0)
    if not lost or done is None or not lasted:
        return 0.0
    return lost / (lost + done * lasted)


def allowed(name: str) -> float | None:
    """The share that a latency may leave out: 1 % for p99, 0.1 % for p99.9; None for a metric that is no latency."""
    if "latency" not in name or metric(name).unit != "ms":
        return None
    found = _PERCENTILE.search(name)
    return 1 - float(f"{found[1]}.{found[2] or 0}") / 100 if found else _MEAN


def hidden(name: str, run: Run) -> float:
    """The share of unanswered arrivals where a metric leaves out more of them than it may; else 0."""
    most = allowed(name)
    return missing if most is not None and (missing := share(run)) > most else 0.0
