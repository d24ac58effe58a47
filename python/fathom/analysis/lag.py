"""How old the oldest write in a write-back cache was in a run: what its loss takes, whatever the limit says. Pure.

While nothing is written to a cache that stays dirty, its oldest write grows older: that time is a lower bound, from the
samples. Where the layer states the largest lag of the run, or the one at its end, that counts as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from fathom.analysis.words import time
from fathom.results import Run
from fathom.samples import Intervals, floats, having

_STATED = re.compile(r"up to the last ([\d.,]+) (us|ms|s|min|h|d)\b")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_LAGS = ("lag_most_ns", "lag_ns")


def as_measured(words: str, runs: Iterable[Run]) -> str:
    """What may be lost, in the layer's words; with the age that was measured where that is above the stated limit."""
    stated = _STATED.search(words)
    if stated is None:
        return words
    mine = [(run, name) for run in runs for name, said in run.facts.items() if said == words]
    oldest = max((_oldest_s(run, name.removesuffix(".may_lose")) for run, name in mine), default=0.0)
    if oldest <= float(stated[1].replace(",", "")) * _SECONDS[stated[2]]:
        return words
    said = f"the last {time(oldest)} or more (measured; the limit is {stated[1]} {stated[2]})"
    return words[: stated.start()] + said + words[stated.end() :]


def _oldest_s(run: Run, volume: str) -> float:
    told = (run.facts.get(f"{volume}.{name}") for name in _LAGS)
    return max(_unwritten_s(run), *(float(lag) / 1e9 for lag in told if lag is not None), 0.0)


def _unwritten_s(run: Run) -> float:
    """The longest time in which caches stayed dirty and nothing was written to any of them."""
    frame = run.samples()
    if frame is None or not (dirty := having(frame, "op", "dirty_bytes")).any():
        return 0.0
    caches = having(frame, "node", *set(frame["node"].filter(dirty)))
    found = Intervals(frame, caches)
    written = found.total(np.where(dirty | having(frame, "op", "read", "flush"), 0.0, floats(frame, "count")))
    level = found.total(np.where(dirty, floats(frame, "bytes"), 0.0))
    longest = since = 0.0
    for length, waits in zip(found.lengths, (written == 0) & (level > 0), strict=True):
        since = since + float(length) if waits else 0.0
        longest = max(longest, since)
    return longest
