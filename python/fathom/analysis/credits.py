"""Variants that did more than their volume sustains: they lived on burst credits, which a longer run would have spent.

A volume of a burst tier (gp2, st1, an instance's burst) states its sustained rate, and samples tell what credits it had
left. A result above that rate holds no longer than the credits do, so that no choice between volumes should rest on it
alone. Each phase of a load is judged by itself: the mean over phases is a rate that nobody had.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathom.analysis.interval import Floats
from fathom.analysis.model import SPENT_S, Reserve, Source
from fathom.analysis.phases import Span, phases
from fathom.analysis.variants import resolved
from fathom.analysis.words import listed, number, time
from fathom.results import Run
from fathom.samples import Intervals, floats, having

_ABOVE = 1.03
"""From so many times the sustained rate on a volume spends credits, and does not merely fluctuate; of many requests a
smaller part is no chance."""
_CERTAIN = 4.0
"""Standard errors of a count of requests, as of a Poisson process, that may be chance."""
_MOST = 3
"""Volumes of one bucket that are told by name."""
_WHOLE = 0.05
"""A cost this near to one credit per request is one: requests pay when they begin, and are counted when they end."""


@dataclass(frozen=True)
class _Kind:
    """What a bucket counts: words of facts and samples, the column of what requests count, and how rates are told."""

    limit: str
    credits: str
    counted: str
    scale: float
    unit: str


_KINDS = (
    _Kind("iops_limit", "io_credits", "count", 1.0, "IOPS"),
    _Kind("bytes_per_s_limit", "byte_credits", "bytes", 1e6, "MB/s"),
)


@dataclass(frozen=True)
class _Bucket:
    """The credits of one volume in one run, or of all volumes that share them.

    Attributes:
        on: whose the rates are, where the load drives more or others: ` on data and log`.
        sustained: credits earned per second; `left` at the end of the run.
        assumed: how credits come back, where that is not published.
        levels: what was left at `times`, s since the measured phase began; empty in results without such samples.
        offered: what the load asks for per second, whether it is done or not; None where that follows the answers.
        counts: what requests counted between the times, the first of all before.
    """

    on: str
    sustained: float
    left: float
    assumed: str
    offered: float | None
    times: Floats
    levels: Floats
    counts: Floats


@dataclass(frozen=True)
class _Use:
    """A stretch of a run: which of the bucket's times are in it, from when on, how long, and the credits at its end."""

    phase: str
    inside: NDArray[np.bool_]
    start: float
    length_s: float
    left: float


def credits_of(run: Run, study: Mapping[str, Any]) -> Iterator[Reserve]:
    """What a finished run lived on, by the volumes of a bucket and phase."""
    if not run.measured_s:
        return
    settings = resolved(study, run.variant).get("settings", {})
    workload = settings.get("workload")
    for volumes in _sharing(run, settings.get("volumes", {})):
        for kind in _KINDS:
            sustained, left = (_number(run, f"volumes.{volumes[0]}.{name}") for name in (kind.limit, kind.credits))
            if sustained is None or left is None:
                continue
            assumed = _assumed(volumes, settings.get("volumes", {}))
            total, requests = (_total(run, volumes, column) for column in (kind.counted, "count"))
            offered = _offered(run, study, requests)
            each = None if offered is None or not requests else offered * total / requests
            empty = _Bucket(_on(run, study, volumes), sustained, left, assumed, each, *[np.empty(0)] * 3)
            bucket = _bucket(run, volumes, kind, empty)
            spans = phases(workload)
            if spans and len(bucket.times):
                found = [_of_span(run, bucket, kind, span, requests) for span in spans]
            else:
                found = [] if spans else [_of_whole(run, bucket, kind, total / run.measured_s, requests)]
            yield from (one for one in found if one is not None)


def _sharing(run: Run, settings: Mapping[str, Any]) -> list[list[str]]:
    """The volumes that did something, those that share their limits together: one bucket pays for all of them."""
    found: dict[str, list[str]] = {}
    for volume in run.volumes:
        mine = settings.get(volume, {})
        gate = mine.get("shared") or mine.get("model") if mine.get("kind") == "throttle" else None
        if _total(run, [volume], "count"):
            found.setdefault(f"shared {gate}" if gate else volume, []).append(volume)
    return list(found.values())


def _on(run: Run, study: Mapping[str, Any], volumes: Sequence[str]) -> str:
    driven = resolved(study, run.variant).get("volumes") or volumes
    if len(volumes) == 1 and list(driven) == list(volumes):
        return ""
    return f" on {listed(volumes) if len(volumes) <= _MOST else f'{len(volumes)} volumes'}"


def _total(run: Run, volumes: Sequence[str], column: str) -> float:
    return float(sum(run.volumes[name].get(op, {}).get(column, 0) for name in volumes for op in ("read", "write")))


def _offered(run: Run, study: Mapping[str, Any], requests: float) -> float | None:
    """Requests per second of an open loop, all of which go to these volumes; None for others."""
    rate = (resolved(study, run.variant).get("demand") or {}).get("rate")
    done = run.metrics.get("iops")
    if not rate or not done or abs(requests / (run.measured_s or 1.0) / done - 1) > _WHOLE:
        return None
    return float(rate)


def _assumed(volumes: Sequence[str], settings: Mapping[str, Any]) -> str:
    """Vendors say how long an instance holds its burst once a day, and not how its credits come back."""
    first = settings.get(volumes[0], {})
    instance = first.get("model") if first.get("kind") == "throttle" else None
    return f"{listed(volumes)}: burst credits that come back at the unused baseline" if instance else ""


def _bucket(run: Run, volumes: Sequence[str], kind: _Kind, empty: _Bucket) -> _Bucket:
    """With what samples tell of the credits."""
    frame = run.samples()
    if frame is None or not frame.height:
        return empty
    mine = having(frame, "node", *volumes)
    levels = mine & having(frame, "op", kind.credits)
    if not levels.any():
        return empty
    found = Intervals(frame, mine)
    of_levels = np.where(levels, floats(frame, "bytes"), np.nan)
    counts = np.where(having(frame, "op", "read", "write"), floats(frame, kind.counted), 0.0)
    times = found.starts + found.lengths
    return replace(empty, times=times, levels=found.highest(of_levels), counts=found.total(counts))


def _of_whole(run: Run, bucket: _Bucket, kind: _Kind, rate: float, requests: float) -> Reserve | None:
    """Of a load without phases."""
    use = _Use("", bucket.times > 0, 0.0, run.measured_s or 0.0, bucket.left)
    return _told(run, bucket, kind, use, rate, requests)


def _of_span(run: Run, bucket: _Bucket, kind: _Kind, span: Span, requests: float) -> Reserve | None:
    """Of one phase; `requests` of all of them."""
    end = float(bucket.times[-1]) if span.end is None else span.end
    inside = (bucket.times > span.start) & (bucket.times <= end)
    if not inside.any():
        return None
    use = _Use(span.name, inside, span.start, end - span.start, float(bucket.levels[inside][-1]))
    done = float(bucket.counts[inside].sum())
    whole = float(bucket.counts.sum())
    return _told(run, bucket, kind, use, done / use.length_s, requests * done / whole if whole else 0.0)


def _told(run: Run, bucket: _Bucket, kind: _Kind, use: _Use, rate: float, requests: float) -> Reserve | None:
    falls = _falls(bucket, use, requests)
    cost = _cost(bucket, kind, use.inside)
    cost = (cost if abs(cost - 1) > _WHOLE else 1.0) if falls else min(1.0, cost)
    if rate * cost < _ABOVE * bucket.sustained:
        cost = cost if falls else 1.0
        found = _hardly_above(bucket, use, rate * falls, cost, requests)
        if found is None or use.left < SPENT_S * (found * cost - bucket.sustained):
            return None
        rate = found
    where = f" in phase {use.phase}" if use.phase else ""
    ramp = max(0.0, -float(bucket.times[0])) if len(bucket.times) else 0.0
    lasts = use.left / (rate * cost - bucket.sustained)
    keeps = min(1.0, bucket.sustained / (rate * cost))
    done, rest = (f"{number(amount / kind.scale)} {kind.unit}" for amount in (rate, bucket.sustained / cost))
    if lasts >= SPENT_S:
        more = f"{time(lasts)} more{' at the assumed refill' if bucket.assumed else ''}"
        words = f"lives on burst credits{where}: {done}{bucket.on} for {more}, then {rest}"
        brief = f"{more}{where}, then {rest}{bucket.on}"
        whole = ramp + use.length_s + lasts
        return Reserve(run.variant, Source.CREDITS, lasts, words, brief, whole, use.phase, keeps, bucket.assumed)
    empty = bucket.times[use.inside][bucket.levels[use.inside] <= SPENT_S * bucket.sustained]
    after = float(empty[0]) - use.start if len(empty) else use.length_s
    when = f" after {time(after)}{where or ' of the measured time'}" if len(empty) else where or " within the run"
    words = f"spent its burst credits{when} and does {rest}{bucket.on} without them"
    brief = f"spent{when}, then {rest}{bucket.on}"
    return Reserve(run.variant, Source.CREDITS, lasts, words, brief, ramp + after, use.phase, keeps)


def _falls(bucket: _Bucket, use: _Use, requests: float) -> bool:
    """Whether fewer credits are left by more than chance. A full bucket earns nothing, and hides what requests cost."""
    levels, counts = bucket.levels[use.inside], bucket.counts[use.inside]
    chance = _CERTAIN * counts.sum() / math.sqrt(requests) if requests else math.inf
    return len(levels) > 1 and bool(levels[0] - levels[-1] > chance)


def _hardly_above(bucket: _Bucket, use: _Use, spends: float, cost: float, requests: float) -> float | None:
    """The rate of a load by which credits end one day, although it is hardly above what is earned; None of others.

    What an open loop asks for is known; of what else is seen to spend (`spends`, 0 for nothing), the part above must be
    more than chance.
    """
    if bucket.offered is not None and not use.phase:
        return bucket.offered if bucket.offered * cost > bucket.sustained else None
    certain = 1 + _CERTAIN / math.sqrt(requests) if requests else math.inf
    return spends if spends * cost >= certain * bucket.sustained else None


def _cost(bucket: _Bucket, kind: _Kind, inside: NDArray[np.bool_]) -> float:
    """Credits that one request took: fewer than one where requests were merged, more where they are large.

    A full bucket earns nothing, and what it did not earn looks like a cost. So intervals in which it cannot have been
    full tell it, where requests came in any; else those in which credits fell, where it was full for a part at most.
    """
    times, levels, counts = (values[inside] for values in (bucket.times, bucket.levels, bucket.counts))
    if kind.counted == "bytes" or len(times) < 2:
        return 1.0
    earned = bucket.sustained * np.diff(times)
    spent, came = earned - np.diff(levels), counts[1:]
    never_full = levels[:-1] + earned < levels.max()
    sure = never_full if came[never_full].sum() else np.diff(levels) < 0
    total, requests = float(spent[sure].sum()), float(came[sure].sum())
    return total / requests if total > 0 and requests else 1.0


def _number(run: Run, fact: str) -> float | None:
    try:
        return float(run.facts[fact])
    except (KeyError, ValueError):
        return None
