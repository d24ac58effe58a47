"""Where more load only means more waiting."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.advice.waiting import without_storage
from fathom.analysis.capacity import misses_goals
from fathom.analysis.headline import saturation
from fathom.analysis.model import Knee
from fathom.analysis.variants import load_name, matches
from fathom.analysis.words import number, quantity
from fathom.finding import Evidence, Finding, Remedy, Severity
from fathom.metrics import metric


def find(given: RuleInput) -> Iterator[Finding]:
    """One finding per load table whose saturation point is certain."""
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
