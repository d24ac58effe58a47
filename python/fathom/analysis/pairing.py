"""Runs of one variant beside the runs of its baseline, round by round: the pairs that every comparison rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from fathom.analysis.interval import Floats
from fathom.analysis.variants import Variant, variant_key
from fathom.metrics import metric as metric_facts
from fathom.results import Level, Run


@dataclass(frozen=True)
class Pairing:
    """Complete rounds of a variant and its baseline.

    Attributes:
        rounds: round numbers, ascending; `values` and `base_values` are the metric in its unit, all positive.
        logs: log of the improvement per round: above 0 the variant is better.
        unusable: rounds in which both finished but a value is zero, negative or missing.
    """

    variant: Variant
    baseline: Variant
    metric: str
    rounds: tuple[int, ...]
    values: Floats
    base_values: Floats
    unusable: tuple[int, ...]

    @property
    def logs(self) -> Floats:
        """Log of the improvement ratio, one per complete round."""
        change = np.log(self.values) - np.log(self.base_values)
        return -change if metric_facts(self.metric).higher_is_better is False else change


def values_by_round(runs: Iterable[Run], variant: Mapping[str, Level], name: str) -> dict[int, float | None]:
    """The metric of a variant's finished runs by round; None where it was not measured. A repeated run replaces."""
    key = variant_key(variant)
    found = (run for run in runs if run.ok and variant_key(run.variant) == key)
    return {run.round: run.metrics.get(name) for run in sorted(found, key=lambda run: (run.round, run.order))}


def baseline_of(variant: Mapping[str, Level], baseline: Mapping[str, Level]) -> Variant:
    """What a variant is compared with: itself with the baseline's levels.

    Factors the baseline does not name are kept, so that each level of load, say, has its own baseline.
    """
    return {**variant, **{factor: level for factor, level in baseline.items() if factor in variant}}


def pair(runs: Iterable[Run], variant: Variant, baseline: Variant, name: str) -> Pairing:
    """Pairs by round."""
    runs = tuple(runs)
    ours, theirs = values_by_round(runs, variant, name), values_by_round(runs, baseline, name)
    both = sorted(set(ours) & set(theirs))
    usable = [r for r in both if (ours[r] or 0.0) > 0 and (theirs[r] or 0.0) > 0]
    return Pairing(
        variant,
        baseline,
        name,
        tuple(usable),
        np.array([ours[r] for r in usable], dtype=np.float64),
        np.array([theirs[r] for r in usable], dtype=np.float64),
        tuple(r for r in both if r not in usable),
    )
