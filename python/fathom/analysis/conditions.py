"""What an answer holds under, as sentences that end the headline: a list or a script shows nothing else of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fathom.analysis.model import DECIDED, Analysis, Comparison, Verdict
from fathom.analysis.repeated import Repeated
from fathom.analysis.variants import given_names, label, variant_key
from fathom.analysis.words import capital, lateness, milliseconds
from fathom.lateness import late, mostly_late, worst
from fathom.results import Places, Run


def conditions(analysis: Analysis, places: Places | None, study: Mapping[str, Any], runs: Sequence[Run]) -> list[str]:
    """The sentences; none for an answer that holds as it stands."""
    goals = analysis.decision.goals
    said = [remark] if (remark := _of_lateness(runs, "" if goals is None else goals.sentence)) else []
    said += ["This holds only if the assumptions hold."] if _on_assumptions(analysis) else []
    said += ["The two were not measured in turn."] if apart(analysis, places) else []
    told = [one.repeated for one in goals.standings if one.met] if goals is not None else []
    return said + [repeated_sentence(one, study) for one in analysis.repeated if one not in told]


def repeated_sentence(repeated: Repeated, study: Mapping[str, Any]) -> str:
    """How many runs of a variant failed first: `V1: 1 of 5 runs failed first (lost) and was repeated.`"""
    who = f"{capital(label(repeated.variant, study), given_names(study))}: " if repeated.variant else ""
    return f"{who}{repeated.words}."


def apart(analysis: Analysis, places: Places | None) -> bool:
    """Whether a difference, or that there is none, was found between two sessions that were not measured in turn."""
    return places is not None and not places.in_turn and any(map(_answers, analysis.comparisons))


def _of_lateness(runs: Sequence[Run], told: str) -> str:
    """That latencies are this machine's more than the storage's; empty where they are not, or where that is told."""
    found = worst(one for run in runs if (one := late(run)) is not None and one.most)
    if found is None or lateness(found) in told:
        return ""
    count, of = len(mostly_late(runs)), sum(run.ok for run in runs)
    which = "the run" if of == 1 else f"{count} of {of} runs"
    by = f"{'' if count == 1 else 'up to '}{milliseconds(found.late_ms)}"
    return f"In {which} most of the latency is this machine's, not the storage's: the load generator was late by {by}."


def _on_assumptions(analysis: Analysis) -> bool:
    """Whether what is told turns within the plausible range of an assumption: a verdict, or who meets the goals."""
    decision = analysis.decision
    goals = decision.goals
    if goals is not None and goals.flips:
        taken = None if decision.taken is None else variant_key(decision.taken)
        if taken is None or any(variant_key(variant) == taken for _, variant, _ in goals.flips):
            return True
    told = decision.told.comparisons if decision.told is not None else analysis.comparisons
    return any(_answers(comparison) and comparison.flipped for comparison in told)


def _answers(comparison: Comparison) -> bool:
    return comparison.verdict in DECIDED or comparison.verdict is Verdict.EQUIVALENT
