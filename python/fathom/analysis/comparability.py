"""What could make a comparison meaningless: failed runs, two modes, drift, trends within runs, other machines.

What fluctuates within runs is no threat, since it is part of the scatter between rounds; it is a remark. Each threat
is a `Threat` with a size on the log scale. It forbids a verdict only where it is large enough to overturn it: modes 12
% apart say nothing about a variant that is 60 times faster, but everything about one that is 3 % faster.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fathom.analysis.drift import find_drift
from fathom.analysis.environment import differing
from fathom.analysis.model import RATE, SteadyState
from fathom.analysis.modes import find_modes
from fathom.analysis.pairing import Pairing, values_by_round
from fathom.analysis.serial import find_serial
from fathom.analysis.steady import MATERIAL
from fathom.analysis.trend import trend_between, trend_of
from fathom.analysis.variants import Variant, of_variant
from fathom.analysis.verdict import log_margin
from fathom.analysis.words import by, effect, fluctuating, left_out, number, short
from fathom.metrics import metric as metric_facts
from fathom.results import Run
from fathom.unanswered import worst


@dataclass(frozen=True)
class Threat:
    """A reason for doubt in a plain sentence.

    Attributes:
        size: the shift of the log ratio it could explain, inf for any.
        direction: 1 if what it hides raises the ratio, -1 if it lowers it, 0 if that is not known.
        only_overturns: it takes away a decision and says nothing against runs that decide nothing.
    """

    sentence: str
    size: float
    direction: int = 0
    only_overturns: bool = False


Named = tuple[Pairing, tuple[str, str]]
"""A pairing of variants that ran, with the names of variant and baseline in words."""


def threats(
    runs: Sequence[Run],
    pairing: Pairing,
    named: Sequence[Named],
    margin: float,
    steady: Mapping[str, SteadyState],
    *,
    virtual: bool,
    overloaded: bool,
) -> list[Threat]:
    """Everything that speaks against a comparison, worst kinds first; `named` are the parts of the pairing.

    Of an overloaded side it is known already that many arrivals got no answer.
    """
    found: list[Threat] = []
    for part, names in named:
        for variant, name in zip(_both(part), names, strict=True):
            found += _failures(runs, variant, name)
        found += [] if overloaded else _unanswered(runs, part, names)
    if pairing.unusable:
        rounds = ", ".join(map(str, pairing.unusable))
        found.append(
            Threat(f"{pairing.metric} is zero or missing in round {rounds}, so no ratio exists there", math.inf)
        )
    for part, _ in named:
        sentences = differing(*_sides(runs, part), virtual=virtual)
        found += [Threat(sentence, math.inf) for sentence in sentences]
    # What shifts one of n averaged ratios shifts their mean by an n-th of it.
    weight = 1 / len(named)
    for part, names in named:
        for variant, name in zip(_both(part), names, strict=True):
            found += _modes(runs, variant, pairing.metric, name, weight)
    drift = _drift(pairing, margin)
    # What drifts resembles itself from round to round; rounds in virtual time share nothing.
    found += drift or ([] if virtual else _serial(pairing))
    for part, names in named:
        found += _trends(runs, part, names, steady, weight)
    return found


def fluctuations(runs: Sequence[Run], named: Sequence[Named], steady: Mapping[str, SteadyState]) -> list[str]:
    """Which sides of a comparison were not level within their runs; each side once, with an example."""
    found: dict[str, None] = {}
    for part, names in named:
        for side, name in zip(_sides(runs, part), names, strict=True):
            states = [steady[run.id] for run in side if run.id in steady]
            bad = [state for state in states if not state.steady]
            if bad:
                found[f"{name}: {fluctuating(len(bad), len(states))} (for one: {bad[0].reasons[0]})"] = None
    return list(found)


def _both(pairing: Pairing) -> tuple[Variant, Variant]:
    return pairing.variant, pairing.baseline


def _sides(runs: Sequence[Run], pairing: Pairing) -> list[list[Run]]:
    return [[run for run in of_variant(runs, side) if run.ok] for side in _both(pairing)]


def _failures(runs: Sequence[Run], variant: Variant, name: str) -> list[Threat]:
    """Failed rounds that were not repeated: the rounds that survived are not a fair sample of the variant."""
    mine = of_variant(runs, variant)
    repaired = {run.round for run in mine if run.ok}
    failed = {r.round: r for r in mine if r.failed and r.round not in repaired}
    if not failed:
        return []
    rounds = len({run.round for run in mine})
    why = ", ".join(sorted({run.reason or "unknown reason" for run in failed.values()}))
    return [Threat(f"{name}: {len(failed)} of {rounds} runs failed ({why})", math.inf)]


def _unanswered(runs: Sequence[Run], pairing: Pairing, names: tuple[str, str]) -> list[Threat]:
    """A latency that leaves out more than it may: the side that answers less looks the better for it."""
    found = []
    for side, name, direction in zip(_sides(runs, pairing), names, (-1, 1), strict=True):
        missing = worst(pairing.metric, side)
        if missing is not None:
            text = f"{name}: {left_out(missing)}, which {short(pairing.metric)} leaves out"
            found.append(Threat(text, math.inf, direction))
    return found


def _modes(runs: Sequence[Run], variant: Variant, name: str, words: str, weight: float) -> list[Threat]:
    values = [value for value in values_by_round(runs, variant, name).values() if value is not None and value > 0]
    modes = find_modes(np.array(values))
    if modes is None:
        return []
    unit = metric_facts(name).unit
    sentence = (
        f"{words}: two modes, {modes.low_runs} runs around {number(modes.low)} and {modes.high_runs} around "
        f"{number(modes.high)} {unit}".rstrip()
        + f" ({math.expm1(modes.distance):.0%} apart); find out what differs between them before comparing"
    )
    return [Threat(sentence, modes.distance * weight)]


def _drift(pairing: Pairing, margin: float) -> list[Threat]:
    drift = find_drift(np.array(pairing.rounds, dtype=np.float64), pairing.logs)
    if drift is None or abs(drift.change) < log_margin(margin):
        return []
    way = "grows" if drift.change > 0 else "shrinks"
    return [
        Threat(
            f"the ratio drifts: it {way} by {math.expm1(abs(drift.change)):.1%} from the first round to the last "
            f"(p = {drift.p:.2g})",
            abs(drift.change),
        )
    ]


def _serial(pairing: Pairing) -> list[Threat]:
    """Rounds that follow each other and resemble each other: the interval is too narrow."""
    serial = find_serial(pairing.logs)
    if serial is None:
        return []
    text = (
        f"rounds that follow each other resemble each other (correlation {serial.correlation:.2f}, "
        f"p = {serial.p:.2g}): the interval is too narrow; spread the rounds over a longer time"
    )
    return [Threat(text, serial.widening, only_overturns=True)]


def _trends(
    runs: Sequence[Run], pairing: Pairing, names: tuple[str, str], steady: Mapping[str, SteadyState], weight: float
) -> list[Threat]:
    """A trend that one side has and the other has not, or less of: the ratio depends on how long one measures."""
    sides = [
        {run.round: steady[run.id] for run in side if run.id in steady and run.round in pairing.rounds}
        for side in _sides(runs, pairing)
    ]
    trend = trend_between(*sides)
    if trend is None or abs(trend.shift) < math.log1p(MATERIAL):
        return []
    what = next(iter(sides[0].values())).what
    # More of a rate is better; what has a series of its own says itself which way is.
    sign = -1 if what != RATE and metric_facts(pairing.metric).higher_is_better is False else 1
    own = [found.seen if (found := trend_of(list(side.values()))) else 0.0 for side in sides]
    who = names[0] if abs(own[0]) >= abs(own[1]) else names[1]
    seen = own[0] if abs(own[0]) >= abs(own[1]) else own[1]
    seen = seen or (trend.seen if who == names[0] else -trend.seen)
    way = "rises" if seen > 0 else "falls"
    size = math.expm1(seen) if seen > 0 else -math.expm1(seen)
    text = (
        f"{who}: {what} {way} {by(size)} from the first to the last third of its runs, "
        f"so that a longer run may change the ratio by {effect(math.exp(trend.shift))}"
    )
    shift = sign * trend.shift * weight
    return [Threat(text, abs(shift), 1 if shift > 0 else -1, only_overturns=True)]
