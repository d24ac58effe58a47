"""What a larger transaction costs beside what it gains: a batch is one unit of failure."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.guards import requests
from fathom.analysis.headline import request_words
from fathom.analysis.model import Comparison, Verdict
from fathom.analysis.variants import Variant, label
from fathom.analysis.words import effect, number
from fathom.finding import Evidence, Finding, Remedy, Severity

_BETTER = (Verdict.FASTER, Verdict.FASTER_SMALL)


def find(given: RuleInput) -> Iterator[Finding]:
    """One finding for the best variant whose transactions hold more rows than its baseline's."""
    found = [one for one in given.analysis.comparisons if one.verdict in _BETTER and _larger(one, given)]
    if not found:
        return
    best = max(found, key=_gain)
    who = label(best.variant, given.study, apart_from=best.baseline)
    rows = _rows(best.variant, given)
    unit = "the whole batch" if math.isinf(rows) else f"{number(rows)} rows"
    yield Finding(
        "batch",
        who,
        f"{given.capital(who)}: {unit} {'becomes' if math.isinf(rows) else 'become'} one unit of failure.",
        Severity.NOTE,
        0.95,
        (
            Evidence(
                f"An error in one row, or a crash before the commit, takes {unit}; one row per transaction loses one."
            ),
            Evidence("Until the commit its locks are held and the log it needs for a rollback cannot be reused."),
            *(Evidence(_middle(one, best, given)) for one in _below(best, found, given)),
        ),
        remedies=(
            Remedy(
                "Commit every few hundred or thousand rows, so that a rollback stays short, and let the job be able to "
                "go on where it stopped.",
                risk="Readers see a batch that is done in part.",
                verify="Stop the job in the middle and start it again: every row is there once.",
            ),
        ),
    )


def _below(best: Comparison, found: list[Comparison], given: RuleInput) -> list[Comparison]:
    """The best of the measured ways between the baseline and the best, if there is one: a rollback is shorter there."""
    rows = _rows(best.variant, given)
    smaller = [one for one in found if one.baseline == best.baseline and _rows(one.variant, given) < rows]
    return [max(smaller, key=_gain)] if smaller else []


def _middle(one: Comparison, best: Comparison, given: RuleInput) -> str:
    """`One for every 100 rows: 47 × of these 97 ×; a transaction of 100 rows takes 0.8 ms (p99), ...`."""
    assert one.ratio is not None
    assert best.ratio is not None
    gains = effect(one.ratio.value, factor=True), effect(best.ratio.value, factor=True)
    times = f"; {request_words(one)}" if one.guards else ""
    who = given.capital(label(one.variant, given.study, apart_from=one.baseline))
    return f"{who} gains {gains[0]} where this gains {gains[1]}{times}."


def _gain(comparison: Comparison) -> float:
    return comparison.ratio.value if comparison.ratio is not None else 0.0


def _larger(comparison: Comparison, given: RuleInput) -> bool:
    return _rows(comparison.variant, given) > _rows(comparison.baseline, given) > 0


def _rows(variant: Variant, given: RuleInput) -> float:
    """Rows of a transaction; 0 where the workload makes none by rows."""
    found = requests(given.study, variant).get("")
    return found.size if found is not None and found.unit == "rows" else 0.0


RULE = Rule("batch", 37, find)
