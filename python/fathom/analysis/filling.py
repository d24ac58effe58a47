"""Write-back caches that still filled at the end of a run: more came than went in place, which a longer run would feel.

What is dirty rises at the start of every run: destaging waits on purpose, so that what is rewritten goes in place once,
and hurries the more the higher the level. A level that rises where destaging has all its hurry is that of a load that
the volumes behind the cache do not take; below that it tells nothing, but that the run was too short.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fathom.analysis.interval import Floats
from fathom.analysis.model import Reserve, Source
from fathom.analysis.variants import resolved
from fathom.analysis.words import number, time
from fathom.results import Run
from fathom.samples import Intervals, floats, having

_FEWEST = 9
"""Samples that are needed: three for each third."""

_RISES = 0.03
"""From so large a share of what is written on, what stays in the cache is more than a fluctuation."""

_SLOWS = 0.25
"""A level that rises by less than this share of what it rose before has levelled off."""

_HURRIES = 0.55
"""From this part of the limit on a group destages as fast as it can (crates/layers/src/writeback/pace.rs)."""


@dataclass(frozen=True)
class _Cache:
    """What samples tell of one write-back cache.

    Attributes:
        limit: bytes that may be dirty.
        times: the ends of the measured intervals, s; `lengths` of each, s; `dirty` bytes at the end of each.
        written: bytes written in all of them.
        begin: dirty bytes when the measured time began, after `ramp_s`.
    """

    limit: float
    times: Floats
    lengths: Floats
    dirty: Floats
    written: float
    begin: float
    ramp_s: float

    @property
    def end(self) -> float:
        """Dirty bytes at their highest in the last third, which batches that go in place at once do not hide."""
        return float(np.array_split(self.dirty, 3)[-1].max())

    @property
    def is_near_full(self) -> bool:
        """Whether its group destages as fast as it can."""
        return self.end >= _HURRIES * self.limit


def filling_of(run: Run, study: Mapping[str, Any]) -> Iterator[Reserve]:
    """What a finished run put into caches that cannot keep up with it, by volume."""
    for cache, rises in _rising(run, study):
        if not cache.is_near_full:
            continue
        lasts = max(0.0, cache.limit - cache.end) / rises
        more = f"{number(rises / 1e6)} MB/s more than it puts in place, full in {time(lasts)}"
        words = f"was still filling its cache: {more}"
        yield Reserve(run.variant, Source.CACHE, lasts, words, more, cache.ramp_s + float(cache.times[-1]) + lasts)


def too_short(run: Run, study: Mapping[str, Any]) -> bool:
    """Whether a run ended while a cache filled that may well keep up: it does not tell what a longer one does."""
    return any(not cache.is_near_full for cache, _ in _rising(run, study))


def _rising(run: Run, study: Mapping[str, Any]) -> Iterator[tuple[_Cache, float]]:
    """Caches whose dirty level rose throughout the measured time, with the bytes per second of its last two thirds.

    A load with phases is meant to come and go, and a fixed amount of work ends: neither has to go on for ever.
    """
    found = resolved(study, run.variant)
    if found.get("phases") or found.get("lasts_ns", 0) is None:
        return
    for cache in _caches(run):
        rises = _rises(cache.times, cache.dirty)
        if rises is None or rises * cache.lengths.sum() < _RISES * cache.written:
            continue
        yield cache, rises


def stays(run: Run) -> float:
    """The part of what a run wrote to a cache that its volumes did not take while it was measured; 0 of a chance."""
    parts = [(cache.end - cache.begin) / cache.written for cache in _caches(run) if cache.written]
    return max((part for part in parts if part >= _RISES), default=0.0)


def _caches(run: Run) -> Iterator[_Cache]:
    limits = {
        name.removeprefix("volumes.").removesuffix(".dirty_limit_bytes"): float(value)
        for name, value in run.facts.items()
        if name.endswith(".dirty_limit_bytes")
    }
    frame = run.samples() if limits else None
    if frame is None or not frame.height:
        return
    for volume, limit in limits.items():
        mine = having(frame, "node", volume)
        levels = mine & having(frame, "op", "dirty_bytes")
        if not levels.any():
            continue
        spans = Intervals(frame, mine)
        dirty = spans.highest(np.where(levels, floats(frame, "bytes"), np.nan))
        written = spans.total(np.where(having(frame, "op", "write"), floats(frame, "bytes"), 0.0))
        known = (spans.starts >= 0) & ~np.isnan(dirty)
        before = dirty[(spans.starts < 0) & ~np.isnan(dirty)]
        if known.any():
            times, begin = (spans.starts + spans.lengths)[known], float(before[-1]) if len(before) else 0.0
            ramp_s = max(0.0, -float(spans.starts[0]))
            yield _Cache(limit, times, spans.lengths[known], dirty[known], float(written[known].sum()), begin, ramp_s)


def _rises(times: Floats, levels: Floats) -> float | None:
    """Per second in the last two thirds; None for a level that does not rise throughout."""
    if len(times) < _FEWEST:
        return None
    first, middle, last = np.array_split(levels, 3)
    if last.min() <= first.max():
        return None
    begun, since = float(middle.mean() - first.mean()), float(last.mean() - middle.mean())
    if since <= 0 or since < _SLOWS * begun:
        return None
    _, half, end = np.array_split(times, 3)
    return since / float(end.mean() - half.mean())
