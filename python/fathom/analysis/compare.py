"""Every variant against its baseline: ratio, interval, equivalence, verdict, and what speaks against it.

One log ratio per round, since the two runs of a round share its conditions. Several variants are judged by Holm, more
looks than one by the level of `looks`. The chain is: pairs, levels, estimates, verdict, threats.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fathom.analysis import guards, samplesize, student
from fathom.analysis.arrivals import arrivals_fix
from fathom.analysis.comparability import Threat, fluctuations, threats
from fathom.analysis.estimate import CONSTANT, DETERMINISTIC, ROUNDED
from fathom.analysis.holm import step_down_levels
from fathom.analysis.interval import Floats, is_constant, mean_interval
from fathom.analysis.lag import as_measured
from fathom.analysis.looks import false_alarms, nominal_alpha, schedule, taken
from fathom.analysis.missing import WORTH
from fathom.analysis.model import Comparison, Estimate, Overload, SteadyState, Verdict
from fathom.analysis.pairing import Pairing, averaged, baseline_of, pair, ratio_of, values_by_round
from fathom.analysis.permutation import sign_flip_p
from fathom.analysis.reserves import Reserves, reserve_of
from fathom.analysis.rules import Rules
from fathom.analysis.variants import Variant, every_variant, label, of_variant, place, variant_key, variants_of, without
from fathom.analysis.verdict import classify, log_margin
from fathom.analysis.words import percent, rounds
from fathom.results import Run, complete_rounds

ALPHA = 0.05
"""Chance of a false "faster" or "slower" in the whole campaign, all looks and variants together."""

EQUIVALENCE_ALPHA = 0.05
"""Level of each of the two one-sided tests; the interval has level 1 - 2 x this."""

_WORST_PERMUTATION_ROUNDS = 5
_TOO_FEW_TO_BALANCE = 2

_STRENGTHENS = {Verdict.FASTER: 1, Verdict.FASTER_SMALL: 1, Verdict.SLOWER: -1, Verdict.SLOWER_SMALL: -1}
"""The direction of a hidden shift that makes a verdict only more so."""


@dataclass(frozen=True)
class _Judged:
    """A pairing with its levels: `alpha` two-sided for the ratio, `equal_alpha` one-sided for each equivalence test.

    `looks` are those paid for now and `later` those that one more look makes of them, after as many rounds again.
    `reserves` are what the runs of all pairings lived on.
    """

    pairing: Pairing
    alpha: float
    equal_alpha: float
    looks: tuple[int, ...]
    later: tuple[int, ...]
    virtual: bool
    seed: int
    reserves: Reserves

    @property
    def ratio(self) -> Estimate | None:
        return ratio_of(self.pairing, level=1 - self.alpha, seed=self.seed, virtual=self.virtual)

    @property
    def equivalence(self) -> Estimate | None:
        return ratio_of(self.pairing, level=1 - 2 * self.equal_alpha, seed=self.seed, virtual=self.virtual)


def compare_all(  # noqa: PLR0913 - each by its name
    runs: Sequence[Run],
    rules: Rules,
    *,
    study: Mapping[str, Any],
    steady: Mapping[str, SteadyState],
    overloaded: Sequence[Overload],
    loads: Sequence[str],
    reserves: Reserves,
    seen: Sequence[int],
    virtual: bool,
    seed: int,
) -> tuple[Comparison, ...]:
    """Comparisons of all variants with their baselines, in the order of the study.

    Args:
        runs: all runs of the campaign, failed ones included.
        rules: what the study fixed before the run.
        study: the whole study, for the words it gives to levels.
        steady: by run id, for runs where that could be judged.
        overloaded: variants that could not do their load; no ratio is made of them.
        loads: factors that are a load: what a higher one does to latency is no price of a choice.
        reserves: what each run lived on.
        seen: complete rounds after which somebody saw a verdict.
        virtual: the campaign ran in virtual time, where rounds may agree exactly.
        seed: for the bootstrap and for permutations beyond what can be counted.
    """
    pairings = sorted(pairings_of(runs, rules, study), key=lambda pairing: place(pairing.variant, study))
    looks = looks_of(runs, rules, seen)
    hidden = [p.hidden for p in pairings]
    levels = family_levels([p.logs for p in pairings], nominal_alpha(looks, ALPHA), seed, hidden)
    equal_alpha = nominal_alpha(looks, 2 * EQUIVALENCE_ALPHA) / 2
    done = complete_rounds(runs)
    later = looks_of(runs, rules, (*seen, done), after=2 * done)
    pooled = pooled_sd([pairing.logs for pairing in pairings])
    return tuple(
        _compare(
            _Judged(pairing, alpha, equal_alpha, looks, later, virtual, seed, reserves),
            runs,
            rules,
            study,
            steady,
            overloaded,
            loads,
            pooled,
        )
        for pairing, alpha in zip(pairings, levels, strict=True)
    )


def pairings_of(runs: Sequence[Run], rules: Rules, study: Mapping[str, Any]) -> list[Pairing]:
    """One pairing per variant that is not itself a baseline, or per mean over such.

    Also of a variant without a run, once others can be compared: what is not known of it must not be left out.
    """
    ran = any(variant_key(one) != variant_key(baseline_of(one, rules.baseline)) for one in variants_of(runs))
    variants = every_variant(runs, study) if ran else []
    pairs = ((variant, baseline_of(variant, rules.baseline)) for variant in variants)
    found = [pair(runs, v, base, rules.metric) for v, base in pairs if variant_key(v) != variant_key(base)]
    return averaged(found, rules.mean_over) if rules.mean_over else found


def looks_of(runs: Sequence[Run], rules: Rules, seen: Sequence[int], after: int | None = None) -> tuple[int, ...]:
    """The looks to pay for: those declared, those taken, and the one now or `after` more rounds."""
    done = complete_rounds(runs) if after is None else after
    return schedule(planned=rules.rounds, max_rounds=rules.max_rounds, looks=rules.looks, seen=seen, done=done)


def false_alarms_of(runs: Sequence[Run], rules: Rules, seen: Sequence[int]) -> float:
    """How often chance alone would have shown a difference at one of the looks so far."""
    done = complete_rounds(runs)
    judged = taken(planned=rules.rounds, max_rounds=rules.max_rounds, looks=rules.looks, seen=seen, done=done)
    return false_alarms(judged, ALPHA)


def family_levels(
    logs: Sequence[Floats], alpha: float, seed: int, hidden: Sequence[float] | None = None
) -> list[float]:
    """The level for each comparison of a family so that any false claim among them has at most probability alpha.

    `hidden` is the standard deviation that rounding may hide where the logs of a comparison all agree.
    """
    unseen = hidden or [0.0] * len(logs)

    def p_value(values: Floats, scatter: float) -> float:
        if len(values) < 2:
            return 1.0
        constant = is_constant(values)
        if constant and not scatter:
            return 0.0 if abs(float(values[0])) > 0 else 1.0
        error = (scatter if constant else values.std(ddof=1)) / np.sqrt(len(values))
        return float(2 * student.tail(abs(values.mean()) / error, len(values) - 1))

    def significant(index: int, level: float) -> bool:
        values = logs[index]
        if len(values) < 2:
            return False
        found = mean_interval(values, 1 - level, seed, unseen[index])
        return bool(found.low > 0 or found.high < 0)

    return step_down_levels([p_value(*one) for one in zip(logs, unseen, strict=True)], alpha, significant)


def pooled_sd(logs: Sequence[Floats]) -> float | None:
    """Standard deviation of log ratios between rounds, pooled over comparisons by degrees of freedom; None without."""
    usable = [values for values in logs if len(values) >= 2]
    freedom = sum(len(values) - 1 for values in usable)
    if freedom == 0:
        return None
    return math.sqrt(sum(float(((values - values.mean()) ** 2).sum()) for values in usable) / freedom)


def _compare(
    judged: _Judged,
    runs: Sequence[Run],
    rules: Rules,
    study: Mapping[str, Any],
    steady: Mapping[str, SteadyState],
    overloaded: Sequence[Overload],
    loads: Sequence[str],
    pooled: float | None,
) -> Comparison:
    pairing = judged.pairing
    ratio, equal = judged.ratio, judged.equivalence
    names = _names(pairing, (), study)
    named = [(part, _names(part, rules.mean_over, study)) for part in pairing.parts]
    too_much = _overloaded(pairing, overloaded)
    found = threats(runs, pairing, named, rules.margin, steady, virtual=judged.virtual, overloaded=bool(too_much))
    if ratio is not None and not too_much and arrivals_fix(pairing, study, rules, ratio.value, found):
        verdict, reasons = Verdict.FIXED, [threat.sentence for threat in found]
    else:
        verdict, reasons = _verdict(ratio, equal, rules, found, names)
    held = () if too_much or _is_load_step(pairing, loads) else guards.judge(runs, pairing, rules, study)
    more: int | None = None
    if verdict is Verdict.UNDECIDED and not any(guard.stood_still for guard in held):
        more, note = _more_rounds(judged, rules, pooled)
        reasons += note
    # A queue that grows is a trend as well; what is broken besides (failed runs, another machine) still comes first.
    if too_much and not any(math.isinf(threat.size) for threat in found):
        # A ratio of a queue that grows without end would say how long the run was.
        verdict, more, reasons, ratio, equal = Verdict.OVERLOADED, None, too_much, None, None
    reasons += _remarks(verdict, ratio, equal, rules)
    reasons += [] if judged.virtual else _order(runs, named)
    reasons += fluctuations(runs, named, steady)
    lost, spared = _losses(runs, pairing, study)
    averaged_levels, by_level = _averaged(judged, rules, study)
    return Comparison(
        variant=pairing.variant,
        baseline=pairing.baseline,
        metric=rules.metric,
        ratio=ratio,
        equivalence=equal,
        margin=rules.margin,
        verdict=verdict,
        points=() if too_much else tuple(zip(pairing.rounds, map(float, np.exp(pairing.logs)), strict=True)),
        p_permutation=None if too_much else sign_flip_p(pairing.logs, judged.seed),
        more_rounds=more,
        reasons=tuple(reasons),
        averaged=averaged_levels,
        by_level=by_level,
        values=_values(runs, pairing),
        guards=held,
        losses=lost,
        spared=spared,
        requests=guards.different(study, pairing.parts[0]),
        reserves=(
            reserve_of(runs, [part.variant for part in pairing.parts], judged.reserves),
            reserve_of(runs, [part.baseline for part in pairing.parts], judged.reserves),
        ),
    )


def _overloaded(pairing: Pairing, overloaded: Sequence[Overload]) -> list[str]:
    """What is said of the sides that could not do their load."""
    sides = [variant_key(side) for part in pairing.parts for side in (part.variant, part.baseline)]
    return [found.sentence for found in overloaded if variant_key(found.variant) in sides]


def _is_load_step(pairing: Pairing, loads: Sequence[str]) -> bool:
    return any(pairing.variant.get(load) != pairing.baseline.get(load) for load in loads)


def _values(runs: Sequence[Run], pairing: Pairing) -> tuple[float, float] | None:
    """Geometric means of variant and baseline over the rounds of the comparison; None where ratios are averaged.

    Their quotient is the ratio: arithmetic means beside it would contradict it where rounds scatter.
    """
    if pairing.joined or not pairing.rounds:
        return None
    sides = (values_by_round(runs, side, pairing.metric) for side in (pairing.variant, pairing.baseline))
    mine, other = (float(np.exp(np.mean([math.log(side[r] or 1.0) for r in pairing.rounds]))) for side in sides)
    return mine, other


def _losses(runs: Sequence[Run], pairing: Pairing, study: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What may be lost of the variant alone, and of the baseline alone."""
    sides = [[part.variant for part in pairing.parts], [part.baseline for part in pairing.parts]]
    mine, other = (dict.fromkeys(words for one in side for words in guards.losses(runs, one)) for side in sides)
    mine = {words: None for words in mine if not guards.taken_alike(words, sides[1], study)}
    other = {words: None for words in other if not guards.taken_alike(words, sides[0], study)}
    of_mine, of_other = ([run for one in side for run in of_variant(runs, one)] for side in sides)
    return (
        tuple(as_measured(words, of_mine) for words in mine if words not in other),
        tuple(as_measured(words, of_other) for words in other if words not in mine),
    )


def _averaged(
    judged: _Judged, rules: Rules, study: Mapping[str, Any]
) -> tuple[tuple[Variant, ...], tuple[Estimate | None, ...]]:
    """The levels whose ratios are averaged, in the order of the study, and the ratio at each."""
    joined = judged.pairing.joined
    levels = [{f: level for f, level in part.variant.items() if f in rules.mean_over} for part in joined]
    ordered = sorted(zip(levels, joined, strict=True), key=lambda one: place(one[0], study))
    ratios = (ratio_of(part, level=1 - ALPHA, seed=judged.seed, virtual=judged.virtual) for _, part in ordered)
    return tuple(at for at, _ in ordered), tuple(ratios)


def _names(pairing: Pairing, levels: Sequence[str], study: Mapping[str, Any]) -> tuple[str, str]:
    """Variant and baseline in words: what sets them apart, and their levels of some factors they share."""
    variant, baseline = pairing.variant, pairing.baseline
    return (
        label(variant, study, apart_from=without(baseline, levels)),
        label(baseline, study, apart_from=without(variant, levels)),
    )


def _verdict(
    ratio: Estimate | None, equal: Estimate | None, rules: Rules, found: Sequence[Threat], names: tuple[str, str]
) -> tuple[Verdict, list[str]]:
    """The verdict by the intervals, replaced where a threat could overturn it; with the sentences behind it."""
    sentences = [threat.sentence for threat in found]
    if ratio is None or equal is None:
        if not found:
            sentences = [
                f"no round holds a finished run of both {names[0]} and {names[1]} with {rules.metric} measured"
            ]
        return Verdict.NOT_COMPARABLE, sentences
    if ratio.method == CONSTANT:
        text = f"{rules.metric} gives exactly the same ratio in every round: too coarse, or not a measurement"
        return Verdict.NOT_COMPARABLE, [*sentences, text]
    verdict = Verdict.UNDECIDED if not ratio.has_interval else _by_intervals(ratio, equal, rules.margin)
    slack = _slack(verdict, ratio, equal, rules.margin)
    serious = [threat for threat in found if threat.size >= slack and threat.direction != _STRENGTHENS.get(verdict)]
    if verdict is Verdict.UNDECIDED and all(threat.only_overturns for threat in serious):
        return verdict, sentences
    if serious:
        return Verdict.NOT_COMPARABLE, sentences
    return verdict, [f"{sentence} (the verdict would stay)" for sentence in sentences]


def _by_intervals(ratio: Estimate, equal: Estimate, margin: float) -> Verdict:
    logs = (np.log(x) for x in (ratio.value, ratio.low, ratio.high, equal.low, equal.high))
    point, low, high, equal_low, equal_high = logs
    text = classify(point=point, low=low, high=high, equal_low=equal_low, equal_high=equal_high, margin=margin)
    return Verdict(str(text))


def _slack(verdict: Verdict, ratio: Estimate, equal: Estimate, margin: float) -> float:
    """How far the log ratio could shift before the verdict falls."""
    delta = log_margin(margin)
    match verdict:
        case Verdict.FASTER | Verdict.FASTER_SMALL:
            return math.log(ratio.low)
        case Verdict.SLOWER | Verdict.SLOWER_SMALL:
            return -math.log(ratio.high)
        case Verdict.EQUIVALENT:
            return delta - max(abs(math.log(equal.low)), abs(math.log(equal.high)))
        case _:
            return delta


def _more_rounds(judged: _Judged, rules: Rules, pooled: float | None) -> tuple[int | None, list[str]]:
    logs = judged.pairing.logs
    if len(logs) < 2 or pooled is None:
        return max(1, min(rules.rounds, samplesize.FEWEST) - len(logs)), []
    if len(logs) < samplesize.FEWEST:
        return samplesize.LOOK_AGAIN - len(logs), []
    wanted = samplesize.rounds_to_decide(
        float(logs.mean()),
        max(pooled, judged.pairing.hidden),
        have=len(logs),
        margin=rules.margin,
        alpha=judged.alpha * nominal_alpha(judged.later, ALPHA) / nominal_alpha(judged.looks, ALPHA),
        equal_alpha=nominal_alpha(judged.later, 2 * EQUIVALENCE_ALPHA) / 2,
    )
    more = wanted - len(logs)
    note = []
    if more > WORTH:
        note.append(f"the ratio varies by {percent(pooled)} between rounds: find the cause before adding rounds")
    if wanted > samplesize.AFFORDABLE:
        return None, note
    if rules.max_rounds is not None and wanted > rules.max_rounds:
        note.append(f"about {rounds(wanted)} are needed, more than max_rounds = {rules.max_rounds}")
    return more, note


def _order(runs: Sequence[Run], named: Sequence[tuple[Pairing, tuple[str, str]]]) -> list[str]:
    """That one side always ran before the other: what the order does is then part of the difference."""
    found = []
    for part, names in named:
        sides = [{run.round: run.order for run in of_variant(runs, s) if run.ok} for s in (part.variant, part.baseline)]
        steps = [sides[0][number] - sides[1][number] for number in part.rounds]
        if len(steps) > _TOO_FEW_TO_BALANCE and (min(steps) > 0 or max(steps) < 0):
            way = "after" if steps[0] > 0 else "before"
            always = f"{names[0]} ran {way} {names[1]} in all {rounds(len(steps))}"
            found.append(f"{always}: what the order does is part of the difference")
    return found


def _remarks(verdict: Verdict, ratio: Estimate | None, equal: Estimate | None, rules: Rules) -> list[str]:
    """What a careful reader should know besides."""
    if ratio is None or equal is None or not ratio.has_interval:
        return []
    remarks = []
    if verdict in (Verdict.FASTER_SMALL, Verdict.SLOWER_SMALL) and equal.within(rules.margin):
        remarks.append(f"also equivalent within {percent(rules.margin)}")
    if ratio.method == DETERMINISTIC:
        remarks.append("all rounds of the simulation agree exactly; the interval holds no error of the model")
        if ratio.value == 1:
            remarks.append("both have it the same to the last digit: what differs between them changes nothing of it")
    if ratio.method == ROUNDED:
        remarks.append("the rounds agree in this figure alone and are not one run repeated: it is coarse, not exact")
    if (
        ratio.method != DETERMINISTIC
        and verdict in (Verdict.FASTER, Verdict.SLOWER)
        and ratio.n <= _WORST_PERMUTATION_ROUNDS
    ):
        smallest = 2 / 2**ratio.n
        remarks.append(f"with {rounds(ratio.n)} the sign-flip p cannot be below {smallest:.3g}")
    return remarks
