"""What a simulated verdict rests on: figures that nobody published, and what the ends of their ranges say.

Runs at the ends stand apart from the campaign's own: they enter no mean and no verdict, they only tell whether another
answer is plausible.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from fathom.analysis.model import Comparison, Sensitivity, Verdict
from fathom.analysis.pairing import averaged, pair
from fathom.analysis.variants import Variant, of_variant
from fathom.analysis.verdict import log_margin
from fathom.analysis.words import listed
from fathom.results import Run, facts_of

_RANGE = re.compile(r".+ \((?P<low>.+) to (?P<high>.+)\)")

Place = tuple[str, str] | None
"""A volume and the end of its range, "low" or "high"; None where every volume is as assumed."""

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
    return facts_of(run, WORDS)


@dataclass(frozen=True)
class _Side:
    """One side of a comparison as it was assumed and at every end that was tried of one of its volumes.

    Attributes:
        variants: the side at every level that ratios are averaged over.
        models: every volume with assumed figures, and what model it is of.
    """

    variants: Sequence[Variant]
    models: Mapping[str, str]
    tried: Sequence[Run]
    own: Sequence[Run]

    @staticmethod
    def of(variants: Sequence[Variant], tried: Sequence[Run], own: Sequence[Run]) -> _Side:
        """The side of those variants."""
        its, mine = ([run for variant in variants for run in of_variant(runs, variant)] for runs in (tried, own))
        its, mine = ([run for run in runs if run.ok] for runs in (its, mine))
        models = {
            name: facts_of(run, ("model",)).get(name, {}).get("model", "") for run in mine for name in assumed_of(run)
        }
        return _Side(variants, models, its, mine)

    @property
    def places(self) -> list[Place]:
        """As assumed, then every end that was tried."""
        return [None, *dict.fromkeys(run.assumed for run in self.tried if run.assumed is not None)]

    def at(self, place: Place) -> list[Run]:
        """Its runs there; a variant without the volume is the same at both ends."""
        if place is None:
            return list(self.own)
        return [
            *(run for run in self.tried if run.assumed == place),
            *(run for run in self.own if place[0] not in assumed_of(run)),
        ]

    def words(self, place: tuple[str, str], *, model: bool) -> str:
        """What is assumed there: `ebs at latency 500 us`."""
        volume, end = place
        figures = next((found for run in self.at(place) if (found := assumed_of(run).get(volume))), {})
        named = f"{volume} ({self.models[volume]})" if model and self.models.get(volume) else volume
        return f"{named} at {end_words(figures, end)}"


def sensitivity_of(comparison: Comparison, tried: Sequence[Run], own: Sequence[Run]) -> tuple[Sensitivity, ...]:
    """What the ends that were tried make of a comparison, at most one volume of each side at an end; single ones first.

    A volume that both sides have is at the same end for both. Where it is of another model on each side, what was
    guessed of one says nothing of the other: they may be wrong in opposite directions.

    Args:
        comparison: what it is about; where ratios are averaged, their mean at the ends.
        tried: runs at the ends, of the variants with that volume.
        own: the campaign's.
    """
    if comparison.ratio is None:
        return ()
    levels = comparison.averaged or ({},)
    ours = _Side.of([comparison.variant | at for at in levels], tried, own)
    theirs = _Side.of([comparison.baseline | at for at in levels], tried, own)
    common = ours.models.keys() & theirs.models.keys()
    shared = {volume for volume in common if ours.models[volume] == theirs.models[volume]}
    found = []
    for our, their in sorted(product(ours.places, theirs.places), key=lambda places: len({*places} - {None})):
        ends = [(side, place) for side, place in ((ours, our), (theirs, their)) if place is not None]
        if not ends or (our != their and any(volume in shared for _, (volume, _) in ends)):
            continue
        runs = [*ours.at(our), *theirs.at(their)]
        parts = [
            pair(runs, variant, baseline, comparison.metric)
            for variant, baseline in zip(ours.variants, theirs.variants, strict=True)
        ]
        (pairing,) = averaged(parts, tuple(levels[0])) if comparison.averaged else parts
        if not len(pairing.logs):
            continue
        log = float(pairing.logs.mean())
        flips = _other_answer(comparison.verdict, log, log_margin(comparison.margin))
        words = dict.fromkeys(side.words(place, model=place[0] in common - shared) for side, place in ends)
        volumes = dict.fromkeys(volume for _, (volume, _) in ends)
        found.append(Sensitivity(listed(list(volumes)), listed(list(words)), math.exp(log), flips))
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
