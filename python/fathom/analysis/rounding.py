"""Rounds that agree without being the same run: how much scatter their rounding may hide.

A simulation without chance repeats itself, event by event or at least in all its figures. Rounds that do not may still
agree in one figure, because it is coarse: the longest queue was 1 request in each of two rounds. The standard deviation
of what rounding to a step takes away is step / sqrt(12) (Sheppard's correction; Kendall and Stuart, The Advanced Theory
of Statistics 1, section 3.18).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fathom.metrics import metric as metric_facts
from fathom.results import Run

_STEP = 1e-3
"""Relative step of a latency: histograms keep three significant digits (docs/RESULTS.md)."""


def hidden_scatter(runs: Sequence[Run], name: str) -> float:
    """Relative standard deviation that the rounding of a metric may hide between runs of one variant.

    0 if the runs are repetitions of one another: exact for their model.
    """
    if len({run.digest for run in runs}) == 1 and runs[0].digest is not None:
        return 0.0
    if all(run.metrics == runs[0].metrics for run in runs):
        return 0.0
    values = [abs(value) for run in runs if (value := run.metrics.get(name))]
    facts = metric_facts(name)
    counted = not facts.unit and facts.higher_is_better is not None and all(value == int(value) for value in values)
    if not counted and len(set(values)) > 1:
        # What varies so finely and keeps its ratio scatters with the other side, from one seed.
        return 0.0
    step = max([_STEP, 1 / min(values)]) if counted and values else _STEP
    return step / math.sqrt(12)
