"""Verdicts of a simulation that rest on figures nobody published."""

from __future__ import annotations

from collections.abc import Iterator

from fathom.analysis.advice import commands
from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.headline import DECIDED
from fathom.analysis.model import Verdict
from fathom.analysis.words import number
from fathom.finding import Evidence, Finding, Remedy, Severity

_MOST = 4


def find(given: RuleInput) -> Iterator[Finding]:
    """A verdict that turns within the plausible range of an assumption; else what was not tried yet."""
    analysis = given.analysis
    told = [
        c
        for c in analysis.comparisons
        if c.verdict in (*DECIDED, Verdict.EQUIVALENT)
        and (analysis.load is None or c.variant.get(analysis.load) == c.baseline.get(analysis.load))
    ]
    if not told or not analysis.assumptions or given.campaign.clock != "virtual":
        return
    flips = [(c, flip) for c in told for flip in c.flipped]
    calibrate = Remedy(
        "Measure the latency of the volume where you can, and put it into your own model.",
        ("fathom probe DIRECTORY",),
        verify="Simulate again with --models; the assumption is then gone from the report.",
    )
    if flips:
        comparison, flip = flips[0]
        yield Finding(
            "assumption",
            flip.volume,
            f"The verdict on {given.label(comparison.variant)} turns within the plausible range of what is assumed "
            f"for {flip.volume}.",
            Severity.WARNING,
            0.9,
            tuple(
                Evidence(f"{found.volume} with {found.assumptions}: {number(found.ratio)} ×.")
                for _, found in flips[:_MOST]
            ),
            remedies=(calibrate,),
        )
    elif not any(c.sensitivity for c in told):
        yield Finding(
            "assumption",
            "models",
            "The verdict rests on assumed latencies, and the ends of their ranges were not simulated.",
            Severity.NOTE,
            0.9,
            tuple(Evidence(f"{text}.") for text in analysis.assumptions[:_MOST]),
            remedies=(Remedy("Simulate the ends of the ranges.", commands.with_sensitivity(given.campaign)),),
        )


RULE = Rule("assumption", 50, find)
