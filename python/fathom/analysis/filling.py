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
class _Level:
    """The dirty level of one volume over the measured time.

    Attributes:
        rises: bytes per second by which it rose in the last two thirds.
        end: bytes at its highest in the last third, which batches that go in place at once do not hide.
        limit: bytes that may be dirty.
        measured_s, ramp_s: how long the run took.
    """

    rises: float
    end: float
    limit: float
    measured_s: float
    ramp_s: float


def filling_of(run: Run, study: Mapping[str, Any]) -> Iterator[Reserve]:
    """What a finished run put into caches that cannot keep up with it, by volume."""
    for level in _rising(run, study):
        if level.end < _HURRIES * level.limit:
            continue
        lasts = max(0.0, level.limit - level.end) / level.rises
        more = f"{number(level.rises / 1e6)} MB/s more than it puts in place, full in {time(lasts)}"
        words = f"was still filling its cache: {more}"
        yield Reserve(run.variant, Source.CACHE, lasts, words, more, level.ramp_s + level.measured_s + lasts)


def too_short(run: Run, study: Mapping[str, Any]) -> bool:
    """Whether a run ended while a cache filled that may well keep up: it does not tell what a longer one does."""
    return any(level.end < _HURRIES * level.limit for level in _rising(run, study))


def _rising(run: Run, study: Mapping[str, Any]) -> Iterator[_Level]:
    """Volumes whose dirty level rose throughout the measured time.

    A load with phases is meant to come and go, and a fixed amount of work ends: neither has to go on for ever.
    """
    found = resolved(study, run.variant)
    limits = {
        name.removeprefix("volumes.").removesuffix(".dirty_limit_bytes"): float(value)
        for name, value in run.facts.items()
        if name.endswith(".dirty_limit_bytes")
    }
    if not limits or found.get("phases") or found.get("lasts_ns", 0) is None:
        return
    frame = run.samples()
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
        times = (spans.starts + spans.lengths)[known]
        rises = _rises(times, dirty[known])
        if rises is None or rises * spans.lengths[known].sum() < _RISES * written[known].sum():
            continue
        end = float(np.array_split(dirty[known], 3)[-1].max())
        yield _Level(rises, end, limit, float(times[-1]), max(0.0, -float(spans.starts[0])))


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
