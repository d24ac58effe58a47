"""How old the oldest write in a write-back cache was in a run: what its loss takes, whatever the limit says. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fathom.analysis.words import time
from fathom.results import Run

_STATED = re.compile(r"up to the last ([\d.,]+) (us|ms|s|min|h|d)\b")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}


def as_measured(words: str, runs: Iterable[Run]) -> str:
    """What may be lost, in the layer's words; with the age that was measured where that is above the stated limit."""
    stated = _STATED.search(words)
    if stated is None:
        return words
    mine = [(run, name.removesuffix(".may_lose")) for run in runs for name, said in run.facts.items() if said == words]
    oldest = max((float(run.facts.get(f"{volume}.lag_most_ns", 0)) / 1e9 for run, volume in mine), default=0.0)
    if oldest <= float(stated[1].replace(",", "")) * _SECONDS[stated[2]]:
        return words
    said = f"up to the last {time(oldest)} (measured; the limit is {stated[1]} {stated[2]})"
    return words[: stated.start()] + said + words[stated.end() :]
