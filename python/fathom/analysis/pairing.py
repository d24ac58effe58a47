"""Runs of one variant beside the runs of its baseline, round by round: the pairs that every comparison rests on.

Where a study compares means over the levels of a factor (`compare.mean_over`, usually the load), the pairings of the
levels are joined into one whose variant leaves that factor out: per round the geometric mean of the levels' ratios. An
arithmetic mean of ratios depends on which side is the baseline (twice at one level and half at another would be 25 %
faster either way) and lies above 1 by chance alone (Fleming and Wallace, CACM 29, 1986).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fathom.analysis.estimate import estimate_ratio
from fathom.analysis.interval import Floats, is_constant
from fathom.analysis.model import Estimate
from fathom.analysis.rounding import hidden_scatter
from fathom.analysis.variants import Key, Variant, of_variant, variant_key, without
from fathom.metrics import metric as metric_facts
from fathom.results import Level, Run

_SAME = 1e-12
"""Relative difference up to which two values are one."""


@dataclass(frozen=True)
class Pairing:
    """Complete rounds of a variant and its baseline.

    Attributes:
        rounds: round numbers, ascending.
        logs: log of the improvement per round: above 0 the variant is better.
        unusable: rounds in which both finished but a value is zero, negative or missing.
        hidden: standard deviation of logs that all agree, as far as rounding may hide it; 0 where it hides none.
        parts: the pairings whose logs are averaged; itself alone if none are.
    """

    variant: Variant
    baseline: Variant
    metric: str
    rounds: tuple[int, ...]
    logs: Floats
    unusable: tuple[int, ...]
    joined: tuple[Pairing, ...] = ()
    hidden: float = 0.0

    @property
    def parts(self) -> tuple[Pairing, ...]:
        """What stands behind it, each a variant that ran."""
        return self.joined or (self,)


def values_by_round(runs: Iterable[Run], variant: Mapping[str, Level], name: str) -> dict[int, float | None]:
    """The metric of a variant's finished runs by round; None where it was not measured. A repeated run replaces."""
    found = [run for run in of_variant(runs, variant) if run.ok]
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
    change = [_change(ours[r] or 0.0, theirs[r] or 0.0) for r in usable]
    sign = -1 if metric_facts(name).higher_is_better is False else 1
    logs = sign * np.array(change, dtype=np.float64)
    unusable = tuple(r for r in both if r not in usable)
    hidden = 0.0
    if len(usable) > 1 and is_constant(logs):
        sides = (
            [run for run in of_variant(runs, side) if run.ok and run.round in usable] for side in (variant, baseline)
        )
        hidden = math.hypot(*(hidden_scatter(side, name) for side in sides))
    return Pairing(variant, baseline, name, tuple(usable), logs, unusable, hidden=hidden)


def ratio_of(pairing: Pairing, *, level: float, seed: int, virtual: bool) -> Estimate | None:
    """The geometric mean of a pairing's ratios with its interval."""
    return estimate_ratio(pairing.logs, level=level, seed=seed, virtual=virtual, hidden=pairing.hidden)


def _change(ours: float, theirs: float) -> float:
    """The difference of logarithms; the same values summed in another order differ in the last digits alone."""
    return 0.0 if math.isclose(ours, theirs, rel_tol=_SAME) else math.log(ours) - math.log(theirs)


def averaged(pairings: Sequence[Pairing], over: Sequence[str]) -> list[Pairing]:
    """Pairings that differ in nothing but the factors of `over`, joined: per round the mean of their logs.

    A round counts if every one of them has it.
    """
    groups: dict[Key, list[Pairing]] = {}
    for pairing in pairings:
        groups.setdefault(variant_key(without(pairing.variant, over)), []).append(pairing)
    return [
        joined(parts, without(parts[0].variant, over), without(parts[0].baseline, over)) for parts in groups.values()
    ]


def joined(parts: Sequence[Pairing], variant: Variant, baseline: Variant) -> Pairing:
    """One pairing of two variants from those at several levels: per round the mean of the logs, where all have it."""
    rounds = sorted(set.intersection(*(set(part.rounds) for part in parts)))
    found = [[float(part.logs[part.rounds.index(number)]) for part in parts] for number in rounds]
    logs = np.array(found, dtype=np.float64).reshape(len(rounds), len(parts)).mean(axis=1)
    unusable = tuple(sorted({number for part in parts for number in part.unusable}))
    hidden = math.hypot(*(part.hidden for part in parts)) / len(parts)
    return Pairing(variant, baseline, parts[0].metric, tuple(rounds), logs, unusable, tuple(parts), hidden)
