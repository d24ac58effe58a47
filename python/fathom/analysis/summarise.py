"""Every variant's metrics over its rounds: all points, mean with interval, coefficient of variation, failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fathom.analysis.estimate import estimate_mean
from fathom.analysis.interval import Floats, is_constant
from fathom.analysis.model import Estimate, Summary
from fathom.analysis.pairing import values_by_round
from fathom.analysis.rounding import hidden_scatter
from fathom.analysis.variants import of_variant, place, variants_of
from fathom.results import Run

LEVEL = 0.95


def metrics_present(runs: Sequence[Run], first: str | None) -> list[str]:
    """Names of metrics that any finished run measured, `first` in front, the others in the order they were written."""
    named = dict.fromkeys(name for run in runs if run.ok for name, value in run.metrics.items() if value is not None)
    return [first] + [name for name in named if name != first] if first is not None else list(named)


def summarise(
    runs: Sequence[Run], study: Mapping[str, Any], first: str | None, *, virtual: bool, seed: int
) -> tuple[Summary, ...]:
    """One summary per variant and metric, by variant in the order of the study.

    The interval of a mean describes that variant alone; it is not adjusted for looks or for other variants.
    """
    summaries, names = [], metrics_present(runs, first)
    for variant in sorted(variants_of(runs), key=lambda variant: place(variant, study)):
        mine = of_variant(runs, variant)
        failed = sum(not run.ok for run in mine)
        finished = [run for run in mine if run.ok]
        for name in names:
            found = values_by_round(runs, variant, name)
            points = tuple((number, value) for number, value in found.items() if value is not None)
            values = np.array([value for _, value in points], dtype=np.float64)
            summaries.append(
                Summary(
                    variant=variant,
                    metric=name,
                    mean=mean_of(values, finished, name, virtual=virtual, seed=seed),
                    points=points,
                    cv=_cv(values),
                    failed=failed,
                )
            )
    return tuple(summaries)


def mean_of(values: Floats, finished: Sequence[Run], name: str, *, virtual: bool, seed: int) -> Estimate | None:
    """The mean of a metric's values over the finished runs of one variant."""
    equal = virtual and len(values) > 1 and bool(is_constant(values))
    hidden = hidden_scatter(finished, name) * abs(float(values[0])) if equal else 0.0
    return estimate_mean(values, level=LEVEL, seed=seed, virtual=virtual, hidden=hidden)


def _cv(values: Floats) -> float | None:
    """Sample standard deviation over mean; None below two values or at a mean of zero."""
    if len(values) < 2 or values.mean() == 0:
        return None
    return float(values.std(ddof=1) / abs(values.mean()))
