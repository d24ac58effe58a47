"""Goals on a percentile that one cannot tell to be met: the limit lies within the scatter of the runs' own latency.

Requests that wait in one queue are alike, so a thousand of them may tell as little as ten. The scatter is that of batch
means (Law, Simulation Modeling and Analysis, section 9.5.3): ten batches of the measured phase, each longer than what
fluctuates. A percentile scatters at least as much as the mean latency, relative to itself; so this errs to silence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fathom.analysis import student
from fathom.analysis.series import latency_series
from fathom.analysis.variants import Variant, given_names, label, of_variant
from fathom.analysis.words import capital, percent, short
from fathom.goals import Goal, Outcome
from fathom.results import Run
from fathom.unanswered import quantile

_BATCHES = 10
_ALPHA = 0.05
"""One-sided: how often a percentile at its limit would be that far below it."""

_OF_ALL = ("latency_p", "read_latency_p", "write_latency_p")
"""Percentiles of what the series of a run counts."""


def near_limits(
    outcomes: Iterable[Outcome], runs: Sequence[Run], study: Mapping[str, Any]
) -> tuple[tuple[Variant, str], ...]:
    """The variants that met a goal by no more than their runs' scatter, and that in a sentence."""
    found = []
    for outcome in outcomes:
        goal = outcome.goal
        if (
            outcome.passed
            and goal.comparison.startswith("<")
            and goal.metric.startswith(_OF_ALL)
            and quantile(goal.metric)
        ):
            finished = [run for run in of_variant(runs, outcome.variant) if run.ok]
            half = _relative_half(finished)
            if half is not None and _mean(finished, goal) * (1 + half) >= goal.limit:
                scatter = f"is within the scatter of the latency (± {percent(half)}) of its limit"
                who = f"{label(outcome.variant, study)}: " if outcome.variant else ""
                said = f"{who}{short(goal.metric)} {scatter}: run longer, or more rounds, to be certain."
                found.append((outcome.variant, capital(said, given_names(study))))
    return tuple(found)


def _mean(runs: Sequence[Run], goal: Goal) -> float:
    return float(np.mean([value for run in runs if (value := run.metrics.get(goal.metric)) is not None]))


def _relative_half(runs: Sequence[Run]) -> float | None:
    """Half the interval of the mean latency over all runs, relative to it; None where a run has no series."""
    errors = [_relative_error(run) for run in runs]
    known = [error for error in errors if error is not None]
    if not known or len(known) < len(errors):
        return None
    freedom = len(known) * (_BATCHES - 1)
    return student.quantile(_ALPHA, freedom) * math.sqrt(sum(error**2 for error in known)) / len(known)


def _relative_error(run: Run) -> float | None:
    series = latency_series(run)
    if series is None or series.weights is None:
        return None
    parts = zip(np.array_split(series.values, _BATCHES), np.array_split(series.weights, _BATCHES), strict=True)
    means = np.array([np.average(values, weights=weights) for values, weights in parts])
    return float(means.std(ddof=1) / math.sqrt(_BATCHES) / means.mean())
