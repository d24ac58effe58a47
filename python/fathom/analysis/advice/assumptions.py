"""Verdicts of a simulation that rest on figures nobody published."""

from __future__ import annotations

from collections.abc import Iterator

from fathom.analysis.advice import commands
from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.factors import same_load
from fathom.analysis.model import DECIDED, Verdict
from fathom.analysis.variants import Variant, variant_key
from fathom.analysis.words import number
from fathom.finding import Evidence, Finding, Remedy, Severity

_MOST = 4


def find(given: RuleInput) -> Iterator[Finding]:
    """A verdict that turns within the plausible range of an assumption; else what was not tried yet."""
    analysis = given.analysis
    told = [
        c for c in analysis.comparisons if c.verdict in (*DECIDED, Verdict.EQUIVALENT) and same_load(c, analysis.loads)
    ]
    goals = analysis.decision.goals
    if not (told or goals) or not analysis.assumptions or given.campaign.clock != "virtual":
        return
    flips = [(c, flip) for c in told for flip in c.flipped]
    calibrate = Remedy(
        "Measure the latency of the volume where you can, and put it into your own model.",
        ("fathom probe DIRECTORY",),
        verify="Simulate again with --models; the assumption is then gone from the report.",
    )
    turning = _turning(given)
    if turning is not None:
        volume, variant, words = turning
        who = f" by {given.label(variant)}" if goals is not None and goals.nearest is not None else ""
        yield Finding(
            "assumption",
            volume,
            f"Whether the goals are met{who} turns within the plausible range of what is assumed for {volume}.",
            Severity.WARNING,
            0.9,
            (Evidence(f"{given.capital(words)}."),),
            remedies=(calibrate,),
        )
    elif flips:
        comparison, flip = flips[0]
        yield Finding(
            "assumption",
            flip.volumes,
            f"The verdict on {given.label(comparison.variant)} turns within the plausible range of what is assumed "
            f"for {flip.volumes}.",
            Severity.WARNING,
            0.9,
            tuple(Evidence(f"{found.words}: {number(found.ratio)} ×.") for _, found in flips[:_MOST]),
            remedies=(calibrate,),
        )
    elif not given.campaign.sensitivity:
        yield Finding(
            "assumption",
            "models",
            "The verdict rests on assumed latencies, and the ends of their ranges were not simulated.",
            Severity.NOTE,
            0.9,
            tuple(Evidence(f"{text}.") for text in analysis.assumptions[:_MOST]),
            remedies=(Remedy("Simulate the ends of the ranges.", commands.with_sensitivity(given.campaign)),),
        )


def _turning(given: RuleInput) -> tuple[str, Variant, str] | None:
    """The assumption on which it depends whether the variant that is taken, else any, meets the goals."""
    decision = given.analysis.decision
    if decision.goals is None or not decision.goals.flips:
        return None
    key = variant_key(decision.taken) if decision.taken is not None else None
    mine = [flip for flip in decision.goals.flips if variant_key(flip[1]) == key]
    return mine[0] if mine else decision.goals.flips[0] if key is None else None


RULE = Rule("assumption", 50, find)
