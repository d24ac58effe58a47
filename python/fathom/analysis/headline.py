"""The answer in one sentence: what a reader takes away if they read nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fathom.analysis.model import Comparison, Prediction, Summary, Verdict
from fathom.analysis.variants import label
from fathom.analysis.words import effect, evidence, percent, quantity, rounds
from fathom.metrics import metric as metric_facts

WITHIN = 0.10
"""Published cells count as met within this relative error."""


def headline(
    comparisons: Sequence[Comparison],
    predictions: Sequence[Prediction],
    summaries: Sequence[Summary],
    study: Mapping[str, Any],
) -> str:
    """One sentence about the comparisons; without any about the predictions, and else about what was measured."""
    if comparisons:
        return _of_comparisons(comparisons, study)
    if predictions:
        return _of_predictions(predictions)
    measured = [summary for summary in summaries if summary.mean is not None]
    if not measured:
        return "No run finished, so there is nothing to say yet."
    first = measured[0]
    assert first.mean is not None
    facts, mean = metric_facts(first.metric), first.mean
    value = quantity(mean.value, facts.unit)
    return _sentence(f"{label(first.variant, study)}: {facts.label} {value} ({rounds(mean.n)})")


def claim(comparison: Comparison, study: Mapping[str, Any]) -> str:
    """One comparison as a sentence: who, how much, how sure."""
    who = label(comparison.variant, study, apart_from=comparison.baseline)
    base = label(comparison.baseline, study, apart_from=comparison.variant)
    where = _shared(comparison, study)
    ratio, margin = comparison.ratio, percent(comparison.margin)
    if ratio is None or comparison.verdict is Verdict.NOT_COMPARABLE:
        why = comparison.reasons[0] if comparison.reasons else "no complete round"
        return _sentence(f"{who} and {base}{where} are not comparable: {why}")
    if comparison.verdict is Verdict.EQUIVALENT:
        return _sentence(f"{who} and {base}{where} are equivalent within {margin} ({evidence(ratio)})")
    if comparison.verdict is Verdict.UNDECIDED:
        more = comparison.more_rounds
        need = f"about {rounds(more)} more needed" if more else "no affordable number of rounds would decide"
        return _sentence(f"{who} against {base}{where}: undecided ({evidence(ratio)}), {need}")
    small = ", but that is small" if comparison.verdict in (Verdict.FASTER_SMALL, Verdict.SLOWER_SMALL) else ""
    way = _way(comparison)
    return _sentence(f"{who} is {effect(ratio.value)} {way} than {base}{where}{small} ({evidence(ratio)})")


def _way(comparison: Comparison) -> str:
    """Faster or slower; larger or smaller for a metric in which neither direction is better."""
    up = comparison.ratio is not None and comparison.ratio.value >= 1
    if metric_facts(comparison.metric).higher_is_better is None:
        return "larger" if up else "smaller"
    return "faster" if up else "slower"


def _shared(comparison: Comparison, study: Mapping[str, Any]) -> str:
    """The levels both sides have in common, where some factor is not compared."""
    same = {f: level for f, level in comparison.variant.items() if comparison.baseline.get(f) == level}
    at = f" at {label(same, study)}" if same else ""
    return f"{at} on average over {averaged_words(comparison, study)}" if comparison.averaged else at


def averaged_words(comparison: Comparison, study: Mapping[str, Any]) -> str:
    """The levels behind a mean of ratios: "users 2, users 6 and users 12"."""
    *most, last = [label(levels, study) for levels in comparison.averaged]
    return f"{', '.join(most)} and {last}" if most else last


def _of_comparisons(comparisons: Sequence[Comparison], study: Mapping[str, Any]) -> str:
    if len(comparisons) == 1:
        return claim(comparisons[0], study)
    if all(comparison.verdict is Verdict.EQUIVALENT for comparison in comparisons):
        within = percent(comparisons[0].margin)
        bases = {label(c.baseline, study, apart_from=c.variant) for c in comparisons}
        return _sentence(
            f"all {len(comparisons)} variants are equivalent to {' or '.join(sorted(bases))} within {within}"
        )
    decided = [c for c in comparisons if c.ratio is not None and c.verdict in _DECIDED]
    if not decided:
        count = {v: sum(c.verdict is v for c in comparisons) for v in dict.fromkeys(c.verdict for c in comparisons)}
        told = ", ".join(f"{number} {verdict.value}" for verdict, number in count.items())
        return _sentence(f"of {len(comparisons)} comparisons none shows a difference: {told}")
    largest = max(decided, key=lambda c: abs(math.log(c.ratio.value)) if c.ratio else 0.0)
    return f"{claim(largest, study)[:-1]}; the largest of {len(comparisons)} comparisons."


_DECIDED = (Verdict.FASTER, Verdict.SLOWER, Verdict.FASTER_SMALL, Verdict.SLOWER_SMALL)


def _of_predictions(predictions: Sequence[Prediction]) -> str:
    given = [p for p in predictions if p.relative_error is not None]
    open_cells = [p for p in predictions if p.published is None and p.predicted is not None]
    parts = []
    if given:
        met = sum(abs(p.relative_error or 0.0) <= WITHIN for p in given)
        fitted = sum(p.calibrated for p in given)
        fitted_words = f", {fitted} of them calibrated on" if fitted else ""
        parts.append(f"{met} of {len(given)} published cells are met within {percent(WITHIN)}{fitted_words}")
    if open_cells:
        parts.append(f"{len(open_cells)} unpublished {'cells are' if len(open_cells) > 1 else 'cell is'} predicted")
    missing = len(predictions) - len(given) - len(open_cells)
    if missing:
        parts.append(f"{missing} could not be predicted")
    return _sentence("; ".join(parts))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}".rstrip(".") + "."
