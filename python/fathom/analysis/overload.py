"""Which variants could not do the load they were offered: an open loop whose arrivals queue up or are turned away.

Its latency is that of a queue which grows as long as the run lasts, so that no ratio of it means anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fathom import unanswered
from fathom.analysis.factors import amounts
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
"""Share of the offered rate that must be done where nothing is turned away."""

_GROWTH = 1.5
"""Growth of the latency from the first to the last third of a run that a queue without end shows."""

_UNANSWERED = 0.05
"""Share of arrivals without an answer that is an overload even where those answered were fast: the storage stood."""

_FEWEST = 3
"""Intervals of a phase that are needed to judge it."""


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
class _Terms:
    """One run or phase: offered, done and refused per second, arrivals left at the end, growth of latency."""

    offered: float
    done: float
    refused: float
    waiting: float
    growth: float | None


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
    offered, done, refused, waiting = (
        float(np.mean([getattr(each, name) for each in terms])) for name in ("offered", "done", "refused", "waiting")
    )
    turned_away = 0.0 if phase else sum(run.metrics.get("refused") or 0.0 for run in runs)
    growths = [each.growth for each in terms if each.growth is not None]
    growth = float(np.median(growths)) if growths else None
    stood = not phase and float(np.mean([unanswered.share(run) for run in runs])) > _UNANSWERED
    queues = done < _DONE * offered and (growth is None or growth >= _GROWTH or stood)
    if refused <= _REFUSED * offered and not queues:
        return None
    who = subject(label(without(variant, loads), study)) if set(variant) - set(loads) else _volume(study, variant)
    where = f" in phase {phase}" if phase else ""
    text = f"{who} cannot sustain {number(offered)}/s{where}: it does {number(done)}"
    if turned_away:
        text += f"; {turned_away:,.0f} arrivals refused"
    elif waiting:
        text += f"; {waiting:,.0f} arrivals still wait at the end"
    return Overload(variant, offered, done, int(turned_away), waiting, growth, text, phase)


def _terms(run: Run, study: Mapping[str, Any]) -> _Terms | None:
    """None for a closed loop."""
    metrics = run.metrics
    done = unanswered.rate(run)
    demand = resolved(study, run.variant).get("demand") or {}
    offered = demand.get("rate") or metrics.get("arrivals_per_second")
    if done is None or not offered:
        return None
    refused = metrics.get("refused") or 0.0
    length = _measured_s(run)
    waiting = metrics.get("backlog_end") or 0.0
    return _Terms(offered, done, refused / length if length else 0.0, waiting, _growth(run))


def _terms_of_phase(run: Run, span: Span, offered: float) -> _Terms | None:
    """Of a phase only what was done and how latency grew are known: what was refused is counted over the run."""
    series = phase_series(run, span.start, span.end)
    if series is None:
        return None
    rates, latencies, seconds = series
    if len(rates) < _FEWEST:
        return None
    first, _, last = (float(np.nanmean(part)) for part in np.array_split(latencies, 3))
    done = float((rates * seconds).sum() / seconds.sum())
    return _Terms(offered, done, 0.0, 0.0, last / first if first > 0 else None)


def _measured_s(run: Run) -> float:
    frame = run.samples()
    if frame is None or not frame.height:
        return 0.0
    ends = (floats(frame, "t_s") + floats(frame, "seconds"))[having(frame, "phase", "measure")]
    return float(ends.max()) if len(ends) else 0.0


def _growth(run: Run) -> float | None:
    series = latency_series(run)
    if series is None:
        return None
    first, _, last = (float(part.mean()) for part in np.array_split(series[0], 3))
    return last / first if first > 0 else None


def _volume(study: Mapping[str, Any], variant: Variant) -> str:
    """The volume under load by its name, where it is one."""
    volumes = resolved(study, variant).get("volumes", ())
    return str(volumes[0]) if len(volumes) == 1 else "the storage"
