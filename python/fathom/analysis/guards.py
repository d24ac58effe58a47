"""What a better result may not pay with: errors, refused arrivals, the tail of every latency, a standstill, lost data.

A verdict is about one metric. Its guards are the others that a person would look at before acting on it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fathom.analysis import samplesize
from fathom.analysis.copies import is_alone, of_the_only_copy
from fathom.analysis.guard import Guard, Request
from fathom.analysis.interval import Floats, is_constant, t_interval
from fathom.analysis.lag import as_measured
from fathom.analysis.pairing import Pairing, values_by_round
from fathom.analysis.rules import Rules
from fathom.analysis.variants import Key, Variant, of_variant, resolved, variant_key, without
from fathom.metrics import metric as metric_facts
from fathom.results import Run
from fathom.tail import few
from fathom.unanswered import LONG_MS, STANDSTILL, LeftOut, worst

COUNTS = ("errors", "refused")
_HARMLESS = {STANDSTILL: LONG_MS}
"""Below it a guard is not told apart: shorter standstills are a matter of percentiles."""
LEVEL = 0.95
"""Of the interval that leaves no change out where a guard is worse."""
_HELD_LEVEL = 0.90
"""Of the interval whose upper end lies within the margin where a guard held: a one-sided test at 5 %."""

_TAIL = re.compile(r"(\w+_)?latency_p(95|99|999)_ms")
_FAR = re.compile(r"(\w+_)?latency_p999_ms")
_FAR_BEYOND_DOUBT = 2.0
"""From so many times on a p99.9 is worse although too few rounds tell how much it scatters."""
_FLUSH, _RATE = "flush_latency_ms", "iops"
_NOTHING = ("nothing", "not known")
_CERTAIN_OF_SET = 3
"""From so many rounds on the scatter between them decides; with fewer the point does, to be on the safe side."""


def usual(runs: Sequence[Run], compared: str) -> tuple[str, ...]:
    """The guards where none is named: errors, refused arrivals, p95, p99 and p99.9 of each kind of request, flushes,
    standstills; beside a latency the rate, as what a caller waits for between two requests is in no latency of them.

    A p99.9 is one where ten requests lie beyond it in every run.
    """
    values = [(name, value) for run in runs if run.ok for name, value in run.metrics.items() if value is not None]
    measured = dict.fromkeys(name for name, _ in values)
    tails = [
        name
        for name in measured
        if _TAIL.fullmatch(name) and not (_FAR.fullmatch(name) and any(few(name, [run]) for run in runs if run.ok))
    ]
    flushes = [_FLUSH] if any(name == _FLUSH and value for name, value in values) else []
    rate = [_RATE] if "latency" in compared else []
    return tuple(
        name for name in (*COUNTS, *tails, *flushes, *rate, STANDSTILL) if name in measured and name != compared
    )


def judge(runs: Sequence[Run], pairing: Pairing, rules: Rules, study: Mapping[str, Any]) -> tuple[Guard, ...]:
    """Every guard of a comparison, what got worse first; where ratios are averaged, the worst level counts.

    A latency is judged where a request is the same work on both sides. One that the study names itself always is.
    """
    names = usual(runs, rules.metric) if rules.guards is None else rules.guards
    found: list[Guard] = []
    for name in names:
        guards = []
        for part in pairing.parts:
            guard = _judge(runs, part, name, rules.guard_margin, told=STANDSTILL in names)
            if guard is not None and rules.guards is None:
                guard = _of_other_work(guard, part, study)
            guards += [guard] if guard is not None else []
        if guards:
            found.append(max(guards, key=lambda one: one.harm))
    if rules.guards is None:
        found = [guard for guard in found if not _FAR.fullmatch(guard.metric) or _adds(guard, found, pairing)]
    return tuple(sorted(found, key=lambda one: one.harm, reverse=True))


def _adds(far: Guard, found: Sequence[Guard], pairing: Pairing) -> bool:
    """Whether a p99.9 says what the p99 does not. Ten requests scatter: it is told for certain, or not at all."""
    if far.unclear or far.requests is not None:
        return False
    near = far.metric.replace("_p999_", "_p99_")
    few_rounds = len(pairing.rounds) < _CERTAIN_OF_SET and far.change is not None and far.change < _FAR_BEYOND_DOUBT
    return not far.worse or not (few_rounds or any(guard.metric == near and guard.worse for guard in found))


def requests(study: Mapping[str, Any], variant: Variant) -> dict[str, Request]:
    """What one request of a variant is, by the words before `latency` in its metrics; empty if all are alike."""
    found = resolved(study, variant).get("requests", {})
    return {
        what: Request(one["words"], one["unit"], math.inf if one["size"] is None else one["size"])
        for what, one in found.items()
    }


def losses(runs: Sequence[Run], variant: Variant) -> tuple[str, ...]:
    """What a crash or a failure may take of a variant's acknowledged work, as its databases and layers declare it."""
    mine = (run.facts for run in of_variant(runs, variant) if run.ok)
    return tuple(dict.fromkeys(words for facts in mine for words in _declared(facts)))


def contrasted(runs: Sequence[Run], loads: Sequence[str], study: Mapping[str, Any]) -> tuple[tuple[Variant, str], ...]:
    """What some variants may lose and others may not, each variant without its load: it is a price of those alone."""
    things: dict[Key, list[Run]] = {}
    for run in runs:
        if run.ok:
            things.setdefault(variant_key(without(run.variant, loads)), []).append(run)
    said = [(mine, dict.fromkeys(words for run in mine for words in _declared(run.facts))) for mine in things.values()]
    return tuple(
        (without(mine[0].variant, loads), as_measured(words, mine))
        for mine, lost in said
        for words in lost
        if not all(words in other or taken_alike(words, [its[0].variant], study) for its, other in said)
    )


def shared(runs: Sequence[Run]) -> tuple[str, ...]:
    """What every variant may lose: no price of one of them, but one of whatever was measured."""
    mine = [run for run in runs if run.ok]
    said = [dict.fromkeys(_declared(run.facts)) for run in mine]
    alike = [words for words in (said[0] if said else ()) if all(words in other for other in said)]
    return tuple(as_measured(words, mine) for words in alike if not of_the_only_copy(words))


def taken_alike(words: str, others: Sequence[Variant], study: Mapping[str, Any]) -> bool:
    """Whether a loss that one variant declares is that of others which declare none: that of the only copy."""
    return of_the_only_copy(words) and all(is_alone(study, other) for other in others)


def _declared(facts: Mapping[str, str]) -> list[str]:
    said = [words for name, words in facts.items() if name.rsplit(".", 1)[-1] == "may_lose"]
    return [words for words in said if is_loss(words)]


def is_loss(words: str) -> bool:
    """Whether what a volume declares that it may lose is something."""
    return not words.startswith(_NOTHING)


def _judge(runs: Sequence[Run], pairing: Pairing, name: str, margin: float, *, told: bool) -> Guard | None:
    """One guard; `told`: a standstill is a guard of its own, and no latency has to tell it."""
    values = _paired(runs, pairing, name)
    if not len(values):
        return None
    mine, other = (float(column) for column in values.mean(axis=0))
    up = metric_facts(name).higher_is_better is True
    sides = (pairing.variant, pairing.baseline)
    left_out, of_baseline = (_left_out(runs, side, name, told=told) for side in sides)
    if left_out is not None or of_baseline is not None:
        # Of completed requests alone: the side that answers fewer looks the better the fewer they are.
        share, other_share = (0.0 if one is None else one.share for one in (left_out, of_baseline))
        return Guard(name, None, mine, other, worse=share > other_share * (1 + margin), left_out=left_out)
    harmless = _HARMLESS.get(name, -np.inf)
    raised = bool((values < harmless).any())
    values = np.maximum(values, harmless)
    if (values <= 0).any():
        return _of_counts(name, values * (-1 if up else 1), margin, (mine, other))
    logs = (np.log(values[:, 1]) - np.log(values[:, 0])) * (1 if up else -1)
    mean, delta = float(logs.mean()), math.log1p(margin)
    low, high = _interval(logs, LEVEL)
    worse = mean > delta and low > 0
    # Shorter than harmless in every round is held, however few these are.
    most = -math.inf if (values[:, 0] <= harmless).all() else _interval(logs, _HELD_LEVEL)[1]
    unclear = not worse and most > delta
    return Guard(
        name,
        None if raised else math.exp(mean),
        mine,
        other,
        worse=worse,
        unclear=unclear,
        better=mean < -delta and high < 0,
        most=math.exp(most) if unclear and math.isfinite(most) else None,
        more_rounds=_more_rounds(logs, margin) if unclear else None,
    )


def _paired(runs: Sequence[Run], pairing: Pairing, name: str) -> Floats:
    """Values of variant and baseline in the rounds that have both. A count that a finished run does not give is 0."""
    ours, theirs = (values_by_round(runs, side, name) for side in (pairing.variant, pairing.baseline))
    missing = 0.0 if name in COUNTS else None
    sides = (ours, theirs)
    pairs = [[missing if side[r] is None else side[r] for side in sides] for r in sorted(set(ours) & set(theirs))]
    return np.array([pair for pair in pairs if None not in pair], dtype=np.float64).reshape(-1, 2)


def _of_counts(name: str, values: Floats, margin: float, means: tuple[float, float]) -> Guard:
    """A guard that is next to nothing in some round, so that no ratio can be made: its difference is judged.

    The means decide that it is worse; that it held takes the interval of the difference, or a variant without any.
    """
    grown = values[:, 0] - values[:, 1]
    limit = margin * max(abs(mean) for mean in means)
    worse = bool(grown.mean() > limit)
    held = not values[:, 0].any() or _interval(grown, _HELD_LEVEL)[1] <= limit
    return Guard(name, None, *means, worse=worse, unclear=not worse and not held)


def _interval(values: Floats, level: float) -> tuple[float, float]:
    """Of the mean. Too few rounds tell no scatter: worse is what the point says, held what no round denies."""
    mean = float(values.mean())
    if is_constant(values) and len(values) > 1:
        return mean, mean
    if len(values) < _CERTAIN_OF_SET:
        return (mean, mean) if level == LEVEL or float(values.max()) <= 0 else (mean, math.inf)
    found = t_interval(values, level)
    return float(found.low), float(found.high)


def _more_rounds(logs: Floats, margin: float) -> int | None:
    """About how many rounds more would tell whether the guard held, if its mean stays where it is."""
    if len(logs) < _CERTAIN_OF_SET:
        return samplesize.LOOK_AGAIN - len(logs)
    mean, sd = float(logs.mean()), float(logs.std(ddof=1))
    wanted = samplesize.rounds_to_bound(mean, sd, have=len(logs), margin=margin, level=LEVEL, held_level=_HELD_LEVEL)
    return wanted - len(logs) if wanted <= samplesize.AFFORDABLE else None


def _left_out(runs: Sequence[Run], variant: Variant, name: str, *, told: bool) -> LeftOut | None:
    found = worst(name, (run for run in of_variant(runs, variant) if run.ok))
    return None if found is not None and found.standstill_s is not None and told else found


def different(study: Mapping[str, Any], part: Pairing, what: str = "") -> tuple[Request, Request] | None:
    """What a request is for variant and baseline, where that is not the same work."""
    mine, other = (requests(study, side).get(what) for side in (part.variant, part.baseline))
    return None if mine is None or other is None or mine == other else (mine, other)


def _of_other_work(guard: Guard, part: Pairing, study: Mapping[str, Any]) -> Guard:
    """The guard, not judged where its latency is that of other work in the variant than in the baseline."""
    tail = _TAIL.fullmatch(guard.metric)
    if tail is None:
        return guard
    both = different(study, part, (tail.group(1) or "").removesuffix("_"))
    return guard if both is None else replace(guard, worse=False, unclear=False, better=False, requests=both)
