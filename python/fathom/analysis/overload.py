"""Which variants could not do the load they were offered: an open loop whose arrivals queue up or are turned away.

Its latency is that of a queue which grows as long as the run lasts, so that no ratio of it means anything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fathom import unanswered
from fathom.analysis.factors import amounts
from fathom.analysis.filling import stays
from fathom.analysis.interval import Floats
from fathom.analysis.model import Overload
from fathom.analysis.phases import Span, phases
from fathom.analysis.sequence import by_level
from fathom.analysis.series import latency_series, phase_series
from fathom.analysis.variants import Variant, label, of_variant, place, resolved, variants_of, without
from fathom.analysis.words import number, subject
from fathom.results import Campaign, Run
from fathom.samples import floats, having

_REFUSED = 0.001
"""Share of arrivals turned away from which on a load is too much."""

_DONE = 0.99
"""Share of what arrived that must be done where nothing is turned away."""

_GROWTH = 1.5
"""Growth of the latency from the first to the last third of a run that a queue without end shows."""

_ERRORS = 3.0
"""Standard errors that growth must exceed, and arrivals of a phase may be from its rate: twenty requests a third, of
which one is slow, grow without a queue."""

_UNANSWERED = 0.05
"""Share of arrivals without an answer that is an overload even where those answered were fast: the storage stood."""

_FEWEST = 3
"""Intervals of a phase that are needed to judge it."""

_FEWEST_OF_RUN = 6
"""Intervals that tell whether the latency of a run grew: two in each third, so that they have a scatter."""


def overloads_of(campaign: Campaign) -> tuple[Overload, ...]:
    """The overloaded variants of a campaign by themselves, where nothing else of its analysis is wanted."""
    campaign = by_level(campaign)
    return overloads(campaign.runs, campaign.study, amounts(campaign.study, campaign.runs))


def overloads(runs: Sequence[Run], study: Mapping[str, Any], loads: Sequence[str]) -> tuple[Overload, ...]:
    """The overloaded variants in the order of the study; `loads` are the factors that set the load."""
    order = sorted(variants_of(runs), key=lambda variant: place(variant, study))
    found = (_overload(runs, variant, study, loads) for variant in order)
    return tuple(overload for overload in found if overload is not None)


@dataclass(frozen=True)
class _Growth:
    """By what factor latency grew from the first to the last third, and the standard error of its logarithm."""

    factor: float
    error: float


@dataclass(frozen=True)
class _Terms:
    """One run or phase.

    Attributes:
        offered: the rate that was asked for, `arrived` what came of it, `done` and `refused` of that, per second.
        chance: how far `arrived` may be off where it is the rate that was asked for, as arrivals are random; 0 where
            they were counted.
        waiting: arrivals left at the end.
        growth: of the latency; None where it is not known.
    """

    offered: float
    arrived: float
    done: float
    refused: float
    waiting: float
    growth: _Growth | None
    chance: float = 0.0


def _overload(runs: Sequence[Run], variant: Variant, study: Mapping[str, Any], loads: Sequence[str]) -> Overload | None:
    mine = [run for run in of_variant(runs, variant) if run.ok]
    found = resolved(study, variant)
    if found.get("phases"):
        return _worst_phase(mine, variant, found, study, loads)
    terms = [each for run in mine if (each := _terms(run, study)) is not None]
    return _judged(mine, variant, terms, "", study, loads)


def _worst_phase(
    runs: Sequence[Run], variant: Variant, found: Mapping[str, Any], study: Mapping[str, Any], loads: Sequence[str]
) -> Overload | None:
    """The phase that fell short the most: the mean over phases is a load that nobody offered."""
    spans = phases(found.get("settings", {}).get("workload"))
    demands = [(phase.get("demand") or {}).get("rate") for phase in found["phases"]]
    over = []
    for span, rate in zip(spans, demands, strict=False):
        if rate:
            terms = [each for run in runs if (each := _terms_of_phase(run, span, rate)) is not None]
            over.append(_judged(runs, variant, terms, span.name, study, loads))
    return min((one for one in over if one is not None), key=lambda one: one.done / one.offered, default=None)


def _judged(
    runs: Sequence[Run],
    variant: Variant,
    terms: Sequence[_Terms],
    phase: str,
    study: Mapping[str, Any],
    loads: Sequence[str],
) -> Overload | None:
    if not terms:
        return None
    offered, arrived, done, refused, waiting = (
        float(np.mean([getattr(each, name) for each in terms]))
        for name in ("offered", "arrived", "done", "refused", "waiting")
    )
    chance = math.sqrt(sum(each.chance**2 for each in terms)) / len(terms)
    turned_away = 0.0 if phase else sum(run.metrics.get("refused") or 0.0 for run in runs)
    growths = [each.growth for each in terms if each.growth is not None]
    growth = float(np.median([one.factor for one in growths])) if growths else None
    left = float(np.mean([unanswered.share(run) for run in runs]))
    short = done < _DONE * arrived - _ERRORS * chance
    if growth is None:
        # A few requests under way at the end are no queue: where those that wait are counted, they are to be seen.
        grows = left >= 1 - _DONE or any(run.metrics.get("backlog_end") is None for run in runs)
    else:
        grows = growth >= _GROWTH and _certain(growths)
    queues = short and (grows or (not phase and left > _UNANSWERED))
    if refused <= _REFUSED * offered and not queues:
        return None
    who = subject(label(without(variant, loads), study)) if set(variant) - set(loads) else _volume(study, variant)
    where = f" in phase {phase}" if phase else ""
    # Phases come and go: a cache is there to take what one of them is too much.
    parked = 0.0 if phase else done * float(np.mean([stays(run) for run in runs]))
    text = f"{who} cannot sustain {number(offered)}/s{where}: it does {number(done)}"
    if parked:
        text += f", {number(parked)} of them to fill a cache"
    if turned_away:
        text += f"; {turned_away:,.0f} arrivals refused"
    elif waiting:
        text += f"; {waiting:,.0f} arrivals still wait at the end"
    return Overload(variant, offered, done, int(turned_away), waiting, growth, text, phase, parked)


def _terms(run: Run, study: Mapping[str, Any]) -> _Terms | None:
    """None for a closed loop."""
    metrics = run.metrics
    done = unanswered.rate(run)
    demand = resolved(study, run.variant).get("demand") or {}
    arrived = metrics.get("arrivals_per_second")
    offered = demand.get("rate") or arrived
    if done is None or not offered:
        return None
    refused = metrics.get("refused") or 0.0
    length = _measured_s(run)
    waiting = metrics.get("backlog_end") or 0.0
    turned_away = refused / length if length else 0.0
    # Without a count only their rate is known: at 10/s for 15 s, chance alone brings 134 instead of 150.
    lasted = run.measured_s or length
    chance = math.sqrt(offered / lasted) if arrived is None and lasted else 0.0
    return _Terms(offered, offered if arrived is None else arrived, done, turned_away, waiting, _growth_of(run), chance)


def _growth_of(run: Run) -> _Growth | None:
    if (series := latency_series(run)) is not None:
        return _grown(series.values)
    few = phase_series(run, 0.0, None)
    return None if few is None or len(few[1]) < _FEWEST_OF_RUN else _grown(few[1])


def _terms_of_phase(run: Run, span: Span, offered: float) -> _Terms | None:
    """Of a phase only what was done and how latency grew are known: what was refused is counted over the run."""
    series = phase_series(run, span.start, span.end)
    if series is None:
        return None
    rates, latencies, seconds = series
    if len(rates) < _FEWEST:
        return None
    lasted = float(seconds.sum())
    done = float((rates * seconds).sum()) / lasted
    return _Terms(offered, offered, done, 0.0, 0.0, _grown(latencies), math.sqrt(offered / lasted))


def _measured_s(run: Run) -> float:
    frame = run.samples()
    if frame is None or not frame.height:
        return 0.0
    ends = (floats(frame, "t_s") + floats(frame, "seconds"))[having(frame, "phase", "measure")]
    return float(ends.max()) if len(ends) else 0.0


def _grown(latencies: Floats) -> _Growth | None:
    """How the latency of equal intervals grew; None where the first third has none."""
    thirds = [part[~np.isnan(part)] for part in np.array_split(latencies, 3)]
    first, last = thirds[0], thirds[-1]
    if not len(first) or not len(last) or min(first.mean(), last.mean()) <= 0:
        return None
    errors = [float(part.std() / part.mean()) / math.sqrt(len(part)) for part in (first, last)]
    return _Growth(float(last.mean() / first.mean()), math.hypot(*errors))


def _certain(growths: Sequence[_Growth]) -> bool:
    """Whether latency grew by more than its scatter within the runs explains."""
    mean = sum(math.log(one.factor) for one in growths) / len(growths)
    return mean >= _ERRORS * math.hypot(*(one.error for one in growths)) / len(growths)


def _volume(study: Mapping[str, Any], variant: Variant) -> str:
    """The volume under load by its name, where it is one."""
    volumes = resolved(study, variant).get("volumes", ())
    return str(volumes[0]) if len(volumes) == 1 else "the storage"
