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

import numpy as np

from fathom.analysis import student
from fathom.analysis.interval import Floats
from fathom.analysis.model import Comparison, Sensitivity, Verdict
from fathom.analysis.pairing import averaged, pair
from fathom.analysis.variants import Variant, of_variant
from fathom.analysis.verdict import log_margin
from fathom.analysis.words import listed
from fathom.results import Run, facts_of

_RANGE = re.compile(r".+ \((?P<low>.+) to (?P<high>.+)\)")

Place = tuple[str, str] | None
"""A model and the end of its range, "low" or "high"; None where every model is as assumed."""

_ALPHA = 0.05
"""One-sided chance that an end is said to turn a verdict that it leaves as it is."""

_PAIR, _FEWEST = 2, 3
"""Rounds that have a scatter, and rounds whose own scatter tells enough."""

_NAMED = 4
"""As many volumes of a model are named; of more it is told how many there are."""

WORDS = {
    "assumed_read": "read latency",
    "assumed_write": "write latency",
    "assumed_shape": "distribution",
    "assumed_slack": "slack",
}


def assumptions(runs: Sequence[Run]) -> tuple[str, ...]:
    """Each assumed figure with its plausible range: `ebs: read latency 1 ms (500 us to 3 ms)`; each model once."""
    said: dict[tuple[str, str], dict[str, None]] = {}
    for run in runs:
        figures = assumed_of(run)
        for model, volumes in models_of(run).items():
            for volume in volumes:
                said.setdefault((model, _joined(figures[volume])), {})[volume] = None
    return tuple(dict.fromkeys(f"{named(model, tuple(of))}: {words}" for (model, words), of in said.items()))


def assumed_of(run: Run) -> dict[str, dict[str, str]]:
    """Volume to what its model assumes, by fact; empty where nothing was assumed."""
    return facts_of(run, WORDS)


def models_of(run: Run) -> dict[str, tuple[str, ...]]:
    """Model to its volumes, of models that assume something: what is guessed of a model is the same for all of them.

    A volume that does not tell its model is taken for the only one of it.
    """
    told = facts_of(run, ("model",))
    found: dict[str, list[str]] = {}
    for volume in assumed_of(run):
        found.setdefault(told.get(volume, {}).get("model") or volume, []).append(volume)
    return {model: tuple(volumes) for model, volumes in found.items()}


def figures_of(run: Run, model: str) -> dict[str, str]:
    """What a model assumes in a run, by fact; empty where the run has no volume of it."""
    volumes = models_of(run).get(model)
    return assumed_of(run)[volumes[0]] if volumes else {}


def named(model: str, volumes: Sequence[str], *, both: bool = False) -> str:
    """A model by its volumes: `ebs`, `ebs (aws/gp3)` if `both` are asked for, `aws/gp3 (a, b and c)`."""
    if len(volumes) == 1:
        return f"{volumes[0]} ({model})" if both and model != volumes[0] else volumes[0]
    return f"{model} ({listed(sorted(volumes)) if len(volumes) <= _NAMED else f'{len(volumes)} volumes'})"


@dataclass(frozen=True)
class _Side:
    """One side of a comparison as it was assumed and at every end that was tried of one of its models.

    Attributes:
        variants: the side at every level that ratios are averaged over.
        models: every model that assumes something, and its volumes.
    """

    variants: Sequence[Variant]
    models: Mapping[str, tuple[str, ...]]
    tried: Sequence[Run]
    own: Sequence[Run]

    @staticmethod
    def of(variants: Sequence[Variant], tried: Sequence[Run], own: Sequence[Run]) -> _Side:
        """The side of those variants."""
        its, mine = ([run for variant in variants for run in of_variant(runs, variant)] for runs in (tried, own))
        its, mine = ([run for run in runs if run.ok] for runs in (its, mine))
        return _Side(variants, volumes_by_model(mine), its, mine)

    @property
    def places(self) -> list[Place]:
        """As assumed, then every end that was tried."""
        return [None, *dict.fromkeys(run.assumed for run in self.tried if run.assumed is not None)]

    def at(self, place: Place) -> list[Run]:
        """Its runs there; a variant without the model is the same at both ends."""
        if place is None:
            return list(self.own)
        return [
            *(run for run in self.tried if run.assumed == place),
            *(run for run in self.own if place[0] not in models_of(run)),
        ]


def volumes_by_model(runs: Sequence[Run]) -> dict[str, tuple[str, ...]]:
    """Model to its volumes in any of the runs."""
    found: dict[str, dict[str, None]] = {}
    for run in runs:
        for model, volumes in models_of(run).items():
            found.setdefault(model, {}).update(dict.fromkeys(volumes))
    return {model: tuple(volumes) for model, volumes in found.items()}


def sensitivity_of(comparison: Comparison, tried: Sequence[Run], own: Sequence[Run]) -> tuple[Sensitivity, ...]:
    """What the ends that were tried make of a comparison, at most one model of each side at an end; single ones first.

    A model that both sides have is at the same end for both, in all its volumes. Where they have different models, what
    was guessed of one says nothing of the other: they may be wrong in opposite directions.

    Args:
        comparison: what it is about; where ratios are averaged, their mean at the ends.
        tried: runs at the ends, of the variants with that model.
        own: the campaign's.
    """
    if comparison.ratio is None:
        return ()
    levels = comparison.averaged or ({},)
    ours = _Side.of([comparison.variant | at for at in levels], tried, own)
    theirs = _Side.of([comparison.baseline | at for at in levels], tried, own)
    shared = ours.models.keys() & theirs.models.keys()
    found = []
    for our, their in sorted(product(ours.places, theirs.places), key=lambda places: len({*places} - {None})):
        ends = [place for place in dict.fromkeys((our, their)) if place is not None]
        if not ends or (our != their and any(model in shared for model, _ in ends)):
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
        beyond = _other_answer(comparison.verdict, log, log_margin(comparison.margin))
        flips = beyond and not _by_chance(comparison, pairing.logs)
        names = {place: _named_of(place[0], ours, theirs) for place in ends}
        words = [f"{name} at {_words_at(place, runs)}" for place, name in names.items()]
        of, where = listed(list(names.values())), listed(words)
        found.append(Sensitivity(of, where, math.exp(log), flips, beyond, tuple(ends), len(pairing.logs)))
    return tuple(found)


def _named_of(model: str, ours: _Side, theirs: _Side) -> str:
    """A model by its volumes on both sides, and by itself where one of them is of another model on the other side."""
    sides = (ours.models, theirs.models)
    volumes = tuple(dict.fromkeys(volume for models in sides for volume in models.get(model, ())))
    others = {volume for models in sides for other, names in models.items() if other != model for volume in names}
    return named(model, volumes, both=not others.isdisjoint(volumes))


def _words_at(place: tuple[str, str], runs: Sequence[Run]) -> str:
    """What is assumed at an end, by the runs there: `latency 500 us`."""
    model, end = place
    there = (figures_of(run, model) for run in runs if run.assumed == place)
    return end_words(next(there, {}), end)


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


def _by_chance(comparison: Comparison, logs: Floats) -> bool:
    """Whether what stands between an end and the verdict may be the scatter of rounds: random numbers make it as well.

    Three rounds at the end tell their own scatter; for fewer that of the rounds as assumed has to do. Without any there
    is nothing to compare with.
    """
    own = np.log([ratio for _, ratio in comparison.points])
    known = logs if len(logs) >= _FEWEST else own
    if len(known) < _PAIR or not len(own):
        return False
    noise = student.quantile(_ALPHA, len(known) - 1) * float(known.std(ddof=1))
    log, margin = float(logs.mean()), log_margin(comparison.margin)
    if comparison.verdict in (Verdict.FASTER, Verdict.SLOWER):
        return abs(log - float(own.mean())) <= noise * math.sqrt(1 / len(logs) + 1 / len(own))
    return abs(log) - noise / math.sqrt(len(logs)) < margin


def end_words(figures: dict[str, str], end: str) -> str:
    """What was assumed at an end of the ranges: `latency 500 us`."""
    ends = {name: _RANGE.fullmatch(text) for name, text in figures.items()}
    said = {name: found.group(end) for name, found in ends.items() if found is not None}
    return _joined(said, said.get("assumed_shape", "").replace(",", "")) or f"a {end} latency"


def _joined(figures: dict[str, str], shape: str = "the shape of its tail") -> str:
    """Figures of one volume in words; read and write are said once where they are alike."""
    read, write = figures.get("assumed_read"), figures.get("assumed_write")
    parts = [f"latency {read}"] if read and read == write else []
    if not parts:
        parts = [f"{WORDS[name]} {figures[name]}" for name in ("assumed_read", "assumed_write") if name in figures]
    if "assumed_shape" in figures:
        parts.append(shape)
    if "assumed_slack" in figures:
        parts.append(f"{WORDS['assumed_slack']} {figures['assumed_slack']}")
    return ", ".join(parts)
