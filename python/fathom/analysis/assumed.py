"""What a simulated verdict rests on: figures that nobody published, and what the ends of their ranges say.

Runs at the ends stand apart from the campaign's own: they enter no mean and no verdict, they only tell whether another
answer is plausible.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from fathom.analysis.model import Comparison, Sensitivity, Verdict
from fathom.analysis.pairing import averaged, pair
from fathom.analysis.variants import of_variant
from fathom.analysis.verdict import log_margin
from fathom.results import Run

_RANGE = re.compile(r".+ \((?P<low>.+) to (?P<high>.+)\)")

WORDS = {"assumed_read": "read latency", "assumed_write": "write latency", "assumed_shape": "distribution"}


def assumptions(runs: Sequence[Run]) -> tuple[str, ...]:
    """Each assumed figure with its plausible range: `ebs: read latency 1 ms (500 us to 3 ms)`; each volume once."""
    said: dict[str, None] = {}
    for run in runs:
        for volume, figures in assumed_of(run).items():
            said[f"{volume}: {_joined(figures)}"] = None
    return tuple(said)


def assumed_of(run: Run) -> dict[str, dict[str, str]]:
    """Volume to what its model assumes, by fact; empty where nothing was assumed."""
    found: dict[str, dict[str, str]] = {}
    for name, value in run.facts.items():
        where, _, word = name.removeprefix("volumes.").rpartition(".")
        if name.startswith("volumes.") and word in WORDS:
            found.setdefault(where.removesuffix(".device"), {})[word] = value
    return found


def sensitivity_of(comparison: Comparison, tried: Sequence[Run], own: Sequence[Run]) -> tuple[Sensitivity, ...]:
    """What every end that was tried makes of a comparison.

    Args:
        comparison: what it is about; where ratios are averaged, their mean at the end.
        tried: runs at the ends, of the variants with that volume.
        own: the campaign's; those without the volume are the same at both its ends.
    """
    if comparison.ratio is None:
        return ()
    ends = dict.fromkeys(run.assumed for run in tried if run.assumed is not None)
    levels = comparison.averaged or ({},)
    found = []
    for volume, end in ends:
        runs = [run for run in tried if run.assumed == (volume, end)]
        both = [*runs, *(run for run in own if run.ok and volume not in assumed_of(run))]
        parts = [pair(both, comparison.variant | at, comparison.baseline | at, comparison.metric) for at in levels]
        touched = any(of_variant(runs, side) for part in parts for side in (part.variant, part.baseline))
        (pairing,) = averaged(parts, tuple(levels[0])) if comparison.averaged else parts
        if not touched or not len(pairing.logs):
            continue
        log = float(pairing.logs.mean())
        words = next((end_words(assumed_of(run)[volume], end) for run in runs if volume in assumed_of(run)), "")
        flips = _other_answer(comparison.verdict, log, log_margin(comparison.margin))
        found.append(Sensitivity(volume, end, words, math.exp(log), flips))
    return tuple(found)


def _other_answer(verdict: Verdict, log: float, margin: float) -> bool:
    """Whether a ratio would be called by another name; which side of the margin it lies on, no more."""
    match verdict:
        case Verdict.FASTER:
            return log < margin
        case Verdict.SLOWER:
            return log > -margin
        case Verdict.EQUIVALENT | Verdict.FASTER_SMALL | Verdict.SLOWER_SMALL:
            return abs(log) >= margin
        case _:
            return False


def end_words(figures: dict[str, str], end: str) -> str:
    """What was assumed at an end of the ranges: `latency 500 us`."""
    ends = {name: _RANGE.fullmatch(text) for name, text in figures.items() if name != "assumed_shape"}
    said = {name: found.group(end) for name, found in ends.items() if found is not None}
    return _joined(said) or f"a {end} latency"


def _joined(figures: dict[str, str]) -> str:
    """Figures of one volume in words; read and write are said once where they are alike."""
    read, write = figures.get("assumed_read"), figures.get("assumed_write")
    parts = [f"latency {read}"] if read and read == write else []
    if not parts:
        parts = [f"{WORDS[name]} {figures[name]}" for name in ("assumed_read", "assumed_write") if name in figures]
    if "assumed_shape" in figures:
        parts.append("the shape of its tail")
    return ", ".join(parts)
