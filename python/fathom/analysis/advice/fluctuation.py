"""Runs that were not level: what that costs, and what longer runs or more rounds would bring."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.compare import ALPHA, pooled_sd
from fathom.analysis.model import DECIDED, Comparison, Verdict
from fathom.analysis.samplesize import AFFORDABLE, FEWEST, rounds_for_half_width
from fathom.analysis.variants import variant_key
from fathom.analysis.words import capital, fluctuating, number, rounds, time
from fathom.finding import Evidence, Finding, Remedy, Severity

_WANTED = 0.10
"""Half width of an interval that is narrow enough to plan with."""

_WIDE = 1.5
"""An interval whose ends are this many times apart is worth narrowing."""

_REACHED = (*DECIDED, Verdict.EQUIVALENT)

_CYCLES = 8
"""A run should cover so many times what it covers now, where it fluctuates."""


def find(given: RuleInput) -> Iterator[Finding]:
    """One finding for all runs that fluctuated."""
    # A queue that grows as long as the run lasts is told by another rule, and no longer run brings it to rest.
    over = [variant_key(found.variant) for found in given.analysis.overloads]
    queues = {run.id for run in given.campaign.runs if variant_key(run.variant) in over}
    # Credits that ran out are no warm-up: another rule says what remains.
    states = [state for state in given.analysis.steady if state.run_id not in queues | given.spent]
    bad = [state for state in states if not state.steady]
    if not bad:
        return
    comparisons = given.analysis.comparisons
    sure = comparisons and all(c.verdict in _REACHED and _width(c) <= _WIDE for c in comparisons)
    if sure and 2 * len(bad) <= len(states):
        return  # The scatter between rounds contains the few, and the verdicts stand.
    wide = max((c for c in comparisons if c.ratio is not None), key=_width, default=None)
    narrower = _narrower(given, wide) if wide is not None and _width(wide) > _WIDE else ""
    length = max((run.seconds or 0.0 for run in given.campaign.runs), default=0.0)
    real = given.campaign.clock == "real"
    longer = f": {time(_CYCLES * length)} instead of {time(length)}" if real and length else ""
    compared = bool(comparisons)
    harmless = compared and all(c.verdict is not Verdict.NOT_COMPARABLE for c in comparisons)
    warming = 2 * sum("warmed up" in state.reasons[0] for state in bad) > len(bad)
    cycles = "let runs cover several cycles of what fluctuates"
    action = f"{cycles} (checkpoints, flushing){longer}." if not narrower else f"{cycles}{longer}."
    if warming:
        action = "lengthen the ramp: most of these runs were still warming up."
    yield Finding(
        "fluctuation",
        "runs",
        f"{capital(fluctuating(len(bad), len(states)))}: {bad[0].reasons[0]}.",
        Severity.NOTE,
        0.9,
        (Evidence("The run is the unit of replication: the scatter between rounds already contains this."),)
        if harmless
        else (),
        harm=f"The interval is wide: {number(wide.ratio.low)} to {number(wide.ratio.high)} ×."
        if wide is not None and wide.ratio is not None and narrower
        else None,
        remedies=(
            Remedy(
                capital(f"{narrower}{action}"),
                verify=f"{'The interval of the ratio' if compared else 'The scatter within a run'} gets narrower.",
            ),
        ),
    )


def _width(comparison: Comparison) -> float:
    ratio = comparison.ratio
    return ratio.high / ratio.low if ratio is not None and ratio.has_interval and ratio.low > 0 else 1.0


def _narrower(given: RuleInput, comparison: Comparison) -> str:
    """How many rounds narrow the interval to 10 %, or nothing where they cannot or would not help."""
    logs = [np.log([value for _, value in c.points]) for c in given.analysis.comparisons if c.points]
    sd = pooled_sd(logs)
    if sd is None or comparison.ratio is None or comparison.stood_still is not None:
        return ""
    wanted = rounds_for_half_width(sd, math.log1p(_WANTED), 1 - ALPHA)
    # The scatter of fewer rounds says next to nothing: another rule asks for more of them.
    if not FEWEST <= comparison.ratio.n < wanted <= AFFORDABLE:
        return ""
    each = given.analysis.round_s
    takes = f" ({time(wanted * each)})" if each else ""
    return f"about {rounds(wanted)} instead of {comparison.ratio.n} would narrow the interval to ± 10 %{takes}; or "


RULE = Rule("fluctuation", 70, find)
