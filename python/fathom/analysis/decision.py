"""The one decision of a campaign: which variant is told of first, and which is advised. Pure.

Headline, first card and advice read it, so that they cannot name different variants. Where a load varies, what is
compared is judged over all loads together: a load is nothing to choose.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fathom.analysis.factors import same_load
from fathom.analysis.goals import all_tried, goal_answer, goal_flips
from fathom.analysis.levels import amount
from fathom.analysis.model import Analysis, Comparison, Decision, Estimate, GoalAnswer, Group, Overload, Verdict
from fathom.analysis.pairing import Pairing, joined, pair, ratio_of
from fathom.analysis.rules import Rules
from fathom.analysis.variants import Variant, of_variant, variant_key, without
from fathom.goals import Outcome
from fathom.metrics import metric as metric_facts
from fathom.results import Run

_EQUIVALENCE = 0.90
"""Level of the interval that two one-sided tests at 5 % use."""
_ALPHA = 0.05
"""Chance that a variant is called worse than the best although it is not."""


def decide(
    analysis: Analysis,
    outcomes: Sequence[Outcome],
    runs: Sequence[Run],
    *,
    tried: Sequence[Run],
    study: Mapping[str, Any],
    rules: Rules | None,
    virtual: bool,
    seed: int,
) -> Decision:
    """What the comparisons and the goals ask for.

    Args:
        analysis: complete but for decision, headline and findings.
        outcomes: every goal in every variant; none for a study without goals.
        runs: all runs, for variants that are compared with each other.
        tried: runs at the ends of what models assume.
        study: as resolved.
        rules: of the comparison; None for a study that compares nothing.
        virtual: the campaign ran in virtual time.
        seed: for the bootstrap.
    """
    comparisons, loads = analysis.comparisons, analysis.loads
    goals = goal_answer(outcomes, study, loads, analysis.overloads, analysis.reserves, analysis.repeated)
    if goals is not None:
        goals = replace(goals, flips=goal_flips(outcomes, tried, study, loads), tried=all_tried(runs, tried))
    if not comparisons:
        return Decision(goals=goals)
    swept = not all(same_load(c, loads) for c in comparisons)
    groups = _groups(comparisons, analysis.overloads, () if swept else loads)
    alike = _Alike(runs, comparisons[0].margin, virtual, seed)
    directed = metric_facts(comparisons[0].metric).higher_is_better is not None
    choice = directed and not swept and (rules is None or rules.choice)
    told = _told(groups, study, choice=choice, alike=alike)
    if goals is not None and goals.nearest is not None and choice:
        return _by_goals(groups, told, goals, study, alike)
    if told is None or not choice:
        return Decision(groups, told, goals=goals)
    as_good = _larger_alike(told, groups, study, alike) if told.ahead else _like_baseline(told, groups)
    taken = told.variant if told.clear else None if told.ahead or told.unknown or told.split else told.baseline
    if not told.admissible:
        return Decision(groups, told, taken, as_good, goals=goals)
    rivals = _rivals(told, groups, as_good, alike)
    dearer = max((g for g in groups if g.ahead and not g.behind and not g.admissible), key=_gain, default=None)
    dearer = dearer if dearer is not None and _gain(dearer) > _gain(told) else None
    return Decision(groups, told, taken, as_good, rivals, dearer, goals)


def _by_goals(
    groups: tuple[Group, ...], told: Group | None, goals: GoalAnswer, study: Mapping[str, Any], alike: _Alike
) -> Decision:
    """Goals come before what is fastest: only a variant that meets them is chosen, and that is the one told of."""
    if goals.chosen is None and goals.candidates:
        keys = [variant_key(standing.variant) for standing in goals.free]
        able = [group for group in groups if variant_key(group.variant) in keys]
        best = _told(able, study, choice=True, alike=alike)
        if best is not None and best.clear:
            return Decision(groups, best, best.variant, goals=goals)
        base = next((group.baseline for group in groups if variant_key(group.baseline) in keys), None)
        return Decision(groups, best or told, base or goals.free[0].variant, goals=goals)
    assert goals.nearest is not None
    mine = next(iter(of_variant(groups, goals.nearest)), None)
    leads = mine is not None and (mine.decided or mine.relieved or mine.alike or told is None or not told.decided)
    return Decision(groups, mine if leads else told, goals.chosen, goals=goals)


class _Alike:
    """Whether two variants that were not compared with each other are equivalent."""

    def __init__(self, runs: Sequence[Run], margin: float, virtual: bool, seed: int) -> None:
        self._runs, self._margin, self._virtual, self._seed = runs, margin, virtual, seed

    def __call__(self, one: Group, other: Group) -> bool:
        """Whether they are equivalent at every load at which either has a verdict."""
        if len(one.comparisons) != len(other.comparisons):
            return False
        pairs = zip(one.comparisons, other.comparisons, strict=True)
        return all((_fails(a, one) and _fails(b, other)) or self._equal(a, b) for a, b in pairs)

    def apart(self, one: Group, other: Group, level: float) -> bool:
        """Whether one is certainly better than the other on the mean over their loads, or carries another number."""
        if len(one.relieved) != len(other.relieved) or len(one.comparisons) != len(other.comparisons):
            return True
        pairs = zip(one.comparisons, other.comparisons, strict=True)
        found = [pair(self._runs, a.variant, b.variant, a.metric) for a, b in pairs if a.ratio is not None]
        if not found:
            return True
        mean = joined(found, one.variant, other.variant)
        ratio = self._ratio(mean, level)
        return ratio is None or (ratio.has_interval and not ratio.low <= 1 <= ratio.high)

    def _equal(self, one: Comparison, other: Comparison) -> bool:
        ratio = self._ratio(pair(self._runs, one.variant, other.variant, one.metric), _EQUIVALENCE)
        return ratio is not None and ratio.has_interval and ratio.within(self._margin)

    def _ratio(self, found: Pairing, level: float) -> Estimate | None:
        return ratio_of(found, level=level, seed=self._seed, virtual=self._virtual)


def _fails(comparison: Comparison, group: Group) -> bool:
    """Whether the variant itself could not do the load."""
    return comparison.verdict is Verdict.OVERLOADED and comparison not in group.relieved


def _groups(comparisons: Sequence[Comparison], over: Sequence[Overload], loads: Sequence[str]) -> tuple[Group, ...]:
    """The comparisons of each variant at all loads."""
    found: dict[object, list[Comparison]] = {}
    for comparison in comparisons:
        found.setdefault(variant_key(without(comparison.variant, loads)), []).append(comparison)
    overloaded = {variant_key(one.variant) for one in over}
    return tuple(_group(same, loads, overloaded) for same in found.values())


def _group(same: Sequence[Comparison], loads: Sequence[str], overloaded: set[Any]) -> Group:
    sides = [(c, variant_key(c.variant) in overloaded, variant_key(c.baseline) in overloaded) for c in same]
    over = [one for one in sides if one[0].verdict is Verdict.OVERLOADED]
    return Group(
        variant=without(same[0].variant, loads),
        baseline=without(same[0].baseline, loads),
        comparisons=tuple(same),
        relieved=tuple(c for c, mine, other in over if other and not mine),
        sunk=tuple(c for c, mine, other in over if mine and not other),
    )


def _told(groups: Sequence[Group], study: Mapping[str, Any], *, choice: bool, alike: _Alike) -> Group | None:
    """The variant to tell of: the best; without a better one, or where nobody can choose, the largest difference."""
    # A difference within the margin, certain as it is, must not stand before one that is felt.
    felt = [group for group in groups if not group.alike] or groups
    ahead = [group for group in felt if group.ahead and not group.behind]
    if choice and ahead:
        able = [group for group in ahead if group.admissible] or ahead
        best = max(able, key=_gain)
        smaller = [g for g in able if g is not best and _is_smaller(g, best, study) and alike(g, best)]
        sizes = [amount(study, group.variant, best.variant, requests=True) or 0.0 for group in smaller]
        return smaller[sizes.index(min(sizes))] if smaller else best
    decided = [group for group in felt if group.decided]
    if decided:
        return max(decided, key=lambda group: max(_distance(c) for c in group.decided))
    moved = [group for group in felt if group.ahead or group.behind]
    alone = len(groups) == 1
    same = bool(groups) and all(c.verdict is Verdict.EQUIVALENT for group in groups for c in group.comparisons)
    return moved[0] if moved else groups[0] if alone or same else None


def _larger_alike(told: Group, groups: Sequence[Group], study: Mapping[str, Any], alike: _Alike) -> tuple[Variant, ...]:
    """The larger variants that bring no more than the one told of."""
    return tuple(g.variant for g in groups if g is not told and _is_smaller(told, g, study) and alike(told, g))


def _rivals(told: Group, groups: Sequence[Group], as_good: Sequence[Variant], alike: _Alike) -> tuple[Variant, ...]:
    """Who may be the best as well: multiple comparisons with the best (Hsu 1984), by Bonferroni."""
    known = {variant_key(variant) for variant in as_good}
    others = [g for g in groups if g is not told and g.admissible and variant_key(g.variant) not in known]
    level = 1 - _ALPHA / max(1, len(others))
    return tuple(g.variant for g in others if not alike.apart(told, g, level))


def _like_baseline(told: Group, groups: Sequence[Group]) -> tuple[Variant, ...]:
    """The variants that bring no more than the baseline, where one that is worse is told of."""
    same = variant_key(told.baseline)
    return tuple(g.variant for g in groups if g is not told and g.alike and variant_key(g.baseline) == same)


def _is_smaller(one: Group, other: Group, study: Mapping[str, Any]) -> bool:
    sides = ((one.variant, other.variant), (other.variant, one.variant))
    mine, theirs = (amount(study, *side, requests=True) for side in sides)
    return mine is not None and theirs is not None and mine < theirs


def _gain(group: Group) -> tuple[int, float]:
    """Loads that the variant alone carries, then the mean improvement over all that both carry."""
    logs = [math.log(c.ratio.value) for c in group.comparisons if c.ratio is not None and c.ratio.value > 0]
    return len(group.relieved), sum(logs) / len(logs) if logs else 0.0


def _distance(comparison: Comparison) -> float:
    ratio = comparison.ratio
    return abs(math.log(ratio.value)) if ratio is not None and ratio.value > 0 else 0.0
