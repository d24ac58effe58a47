"""What differs beside the compared metric, where that gives no verdict: the guards hold it, and nothing else tells it.

With one round there is no interval, with two hardly any: a difference is an observation then, and only a large one is
told.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from fathom.analysis.guard import Guard
from fathom.analysis.missing import WORTH
from fathom.analysis.model import Comparison, Verdict
from fathom.analysis.words import effect, left_out, listed, pair, rounds, short
from fathom.metrics import metric as metric_facts

LARGE = 2.0
"""A difference from so many times on is told without an interval, and where the compared metric is undecided."""

_FEW = {1: "in the one round that ran", 2: "in the two rounds that ran"}
_MOST = 3
_PERCENTILE = re.compile(r"_p\d+(?=_ms$)")


def guard_words(guard: Guard) -> str:
    """A guard that did not hold: `p99 latency is 2.7 × worse (32.8 against 12.1 ms)`."""
    values = pair(guard.variant, guard.baseline, metric_facts(guard.metric).unit)
    if guard.left_out is not None:
        return f"{left_out(guard.left_out)}, which its {short(guard.metric)} leaves out"
    if guard.change is None:
        return f"{short(guard.metric)}: {values}"
    return f"{short(guard.metric)} is {change_words(guard, guard.change)} worse ({values})"


def change_words(guard: Guard, change: float) -> str:
    """A change of a guard, on the scale of a headline: of a latency so many times, of all else per cent first."""
    return effect(change, factor="latency" in guard.metric)


def better_words(guard: Guard) -> str:
    """A guard in which the variant is better: `p99 latency is 10 × lower (5.00 against 50.0 ms)`."""
    return _words(guard, "is")


def doubt_words(guard: Guard) -> str:
    """A guard of which it is not certain that it held, and what would settle it."""
    seen = f" so far {_words(guard, 'is').removeprefix(short(guard.metric) + ' is ')}" if guard.change else ""
    most = f", and may be up to {change_words(guard, guard.most)} worse" if guard.most is not None else ""
    more = guard.more_rounds
    settle = (
        f"about {rounds(more)} more would tell"
        if more and more <= WORTH
        else "lengthen the runs, or find what makes it scatter"
    )
    return f"not certain: {short(guard.metric)} is{seen}{most}; {settle}"


def differing(comparison: Comparison) -> tuple[Guard, ...]:
    """The guards to be told of a comparison without a verdict, the largest difference first.

    Of each latency the highest percentile that differs.
    """
    if comparison.verdict not in (Verdict.FIXED, Verdict.UNDECIDED) or comparison.ratio is None:
        return ()
    if comparison.verdict is Verdict.UNDECIDED and comparison.stood_still is not None:
        return (comparison.stood_still,)
    sure = comparison.verdict is Verdict.FIXED and comparison.ratio.n not in _FEW
    found: dict[str, Guard] = {}
    for guard in sorted(comparison.judged, key=lambda one: one.metric):
        if (guard.worse or guard.better) and _size(guard) >= (1.0 if sure else LARGE):
            found[_PERCENTILE.sub("", guard.metric)] = guard
    return tuple(sorted(found.values(), key=_size, reverse=True))


def differing_first(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Comparisons where something got worse beside the metric, then where it got better, then the others."""
    return sorted(comparisons, key=lambda c: (not any(g.worse for g in differing(c)), not differing(c)))


def seen_beside(comparison: Comparison, most: int = _MOST) -> str:
    """What differs, in words: `in the one round that ran, read p99 latency was 13 × higher (59.8 against 4.7 ms)`."""
    when = _FEW.get(comparison.ratio.n) if comparison.ratio is not None else None
    told = differing(comparison)
    if told and told[0] is comparison.stood_still:
        return guard_words(told[0])
    said = listed([_words(guard, "is" if when is None else "was") for guard in told[:most]])
    return f"{f'{when}, ' if when else ''}{said}"


def joined_beside(comparison: Comparison, most: int = _MOST) -> str:
    """What differs, behind what was seen of an undecided metric: an objection, unless all of it points the same way."""
    told = differing(comparison)
    if not told:
        return ""
    better = comparison.ratio is not None and comparison.ratio.value > 1 and all(guard.better for guard in told[:most])
    return f", {'and' if better else 'but'} {seen_beside(comparison, most)}"


def _size(guard: Guard) -> float:
    """How many times worse or better it is; infinite where a side is next to nothing."""
    return math.inf if guard.change is None else max(guard.change, 1 / guard.change)


def _words(guard: Guard, verb: str) -> str:
    if guard.change is None:
        return guard_words(guard)
    latency = "latency" in guard.metric
    way = ("higher" if latency else "worse") if guard.change > 1 else "lower" if latency else "better"
    values = pair(guard.variant, guard.baseline, metric_facts(guard.metric).unit)
    return f"{short(guard.metric)} {verb} {change_words(guard, guard.change)} {way} ({values})"
