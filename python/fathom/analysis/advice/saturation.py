"""Where more load only means more waiting."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.advice.waiting import without_storage
from fathom.analysis.capacity import misses_goals
from fathom.analysis.knee import is_lowest
from fathom.analysis.model import Knee
from fathom.analysis.sweep import Shape, shape_of
from fathom.analysis.sweep_words import saturation
from fathom.analysis.variants import load_name, matches, variant_key
from fathom.analysis.words import number, quantity
from fathom.finding import Evidence, Finding, Remedy, Severity
from fathom.metrics import metric


def find(given: RuleInput) -> Iterator[Finding]:
    """One finding per load table whose saturation point is certain, or lies below all of its loads."""
    yield from _below_all(given)
    for knee in given.analysis.knees:
        word = load_name(knee.load_factor, given.study)
        at = saturation(knee)
        who = f"{given.label(knee.variant)}: " if knee.variant else ""
        unit = metric(knee.metric).unit
        last = knee.points[-1] if knee.points else None
        evidence = [
            Evidence(f"The bounds fit every load within {max(1, math.ceil(knee.misfit * 100))} % outside the bend.")
        ]
        if last is not None and math.isfinite(last[2]):
            evidence.insert(
                0,
                Evidence(
                    f"{number(last[0])} {word}: {quantity(last[1], unit)} at {quantity(last[2], 'ms')} (medians); "
                    f"below the saturation point {quantity(knee.service_floor_ms.value, 'ms')}."
                ),
            )
        limit = f"; the limit is {knee.bottleneck}" if knee.bottleneck else ""
        ceiling = quantity(knee.throughput_ceiling.value, unit)
        yield Finding(
            "saturation",
            who.rstrip(": ") or "volume",
            f"{who}it saturates at about {number(at)} {word}, with a ceiling of {ceiling}{limit}.".replace(
                "it sat", "It sat", not who
            ),
            Severity.NOTE,
            0.9,
            tuple(evidence),
            harm="Beyond it more load adds latency and no throughput.",
            remedies=(Remedy(_action(given, knee, at, word)),),
        )


def _below_all(given: RuleInput) -> Iterator[Finding]:
    known = [(knee.load_factor, variant_key(knee.variant)) for knee in given.analysis.knees]
    for table in given.tables:
        found = (table.factor, variant_key(table.variant)) in known
        if found or shape_of(table) is not Shape.FROM_START or is_lowest(float(table.levels[0])):
            continue
        word, unit = load_name(table.factor, given.study), metric(table.metric).unit
        who = f"{given.label(table.variant)}: " if table.variant else ""
        (lowest, least, _), (highest, most, _) = table.medians[0], table.medians[-1]
        text = f"{who}it is already saturated at the lowest load tried, {number(lowest)} {word}."
        rates = f"{quantity(least, unit)} with {number(lowest)} {word}, {quantity(most, unit)} with {number(highest)}"
        yield Finding(
            "saturation",
            who.rstrip(": ") or "volume",
            text if who else text.replace("it is", "It is", 1),
            Severity.NOTE,
            0.9,
            (Evidence(f"{rates} (medians): more load brings no more."),),
            harm="The saturation point is at or below it, and so is the load that waits least.",
            remedies=(
                Remedy(f"Try fewer than {number(lowest)} {word}: no load below the saturation point was tried."),
            ),
        )


def _action(given: RuleInput, knee: Knee, at: float, word: str) -> str:
    """The saturation point, or what the study's own goals allow, which may be less."""
    points = [(load, {**knee.variant, knee.load_factor: load}) for load, _, _ in knee.points]
    missed = [load for load, variant in points if misses_goals(given.analysis, variant)]
    if not missed or min(missed) > at:
        return f"Keep the load at or below about {number(at)} {word}."
    met = max((load for load, _ in points if load < min(missed)), default=None)
    if met is None:
        # A point's load is a number; the variant that ran may have it as a whole one.
        ran = (run.variant for run in given.campaign.runs if matches(run.variant, points[0][1]))
        held = next((found for variant in ran if (found := without_storage(given, variant)) is not None), None)
        if held is not None:
            return (
                f"Try a lower load: the goals are missed at every one that was tried, by {held.reasons}, not storage."
            )
        return "Try faster storage: the goals are missed at every load that was tried."
    return f"Keep the load at or below {number(met)} {word}: the goals are missed at {number(min(missed))}."


RULE = Rule("saturation", 60, find)
