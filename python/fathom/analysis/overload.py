"""Which variants could not do the load they were offered: an open loop whose arrivals queue up or are turned away.

Its latency is that of a queue which grows as long as the run lasts, so that no ratio of it means anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fathom import unanswered
from fathom.analysis.model import Overload
from fathom.analysis.series import latency_series
from fathom.analysis.variants import Variant, label, of_variant, place, resolved, variants_of, without
from fathom.analysis.words import number, subject
from fathom.results import Run
from fathom.samples import floats, having

_REFUSED = 0.001
"""Share of arrivals turned away from which on a load is too much."""

_DONE = 0.99
"""Share of the offered rate that must be done where nothing is turned away."""

_GROWTH = 1.5
"""Growth of the latency from the first to the last third of a run that a queue without end shows."""

_UNANSWERED = 0.05
"""Share of arrivals without an answer that is an overload even where those answered were fast: the storage stood."""


def overloads(runs: Sequence[Run], study: Mapping[str, Any], loads: Sequence[str]) -> tuple[Overload, ...]:
    """The overloaded variants in the order of the study; `loads` are the factors that set the load."""
    order = sorted(variants_of(runs), key=lambda variant: place(variant, study))
    found = (_overload(runs, variant, study, loads) for variant in order)
    return tuple(overload for overload in found if overload is not None)


def _overload(runs: Sequence[Run], variant: Variant, study: Mapping[str, Any], loads: Sequence[str]) -> Overload | None:
    mine = [run for run in of_variant(runs, variant) if run.ok]
    terms = [found for run in mine if (found := _terms(run, study)) is not None]
    if not terms:
        return None
    offered, done, refused, waiting = (float(column) for column in np.array(terms).mean(axis=0))
    turned_away = sum(run.metrics.get("refused") or 0.0 for run in mine)
    growths = [growth for run in mine if (growth := _growth(run)) is not None]
    growth = float(np.median(growths)) if growths else None
    stood = float(np.mean([unanswered.share(run) for run in mine])) > _UNANSWERED
    queues = done < _DONE * offered and (growth is None or growth >= _GROWTH or stood)
    if refused <= _REFUSED * offered and not queues:
        return None
    who = subject(label(without(variant, loads), study)) if set(variant) - set(loads) else _volume(study, variant)
    text = f"{who} cannot sustain {number(offered)}/s: it does {number(done)}"
    if turned_away:
        text += f"; {turned_away:,.0f} arrivals refused"
    elif waiting:
        text += f"; {waiting:,.0f} arrivals still wait at the end"
    return Overload(variant, offered, done, int(turned_away), waiting, growth, text)


def _terms(run: Run, study: Mapping[str, Any]) -> tuple[float, float, float, float] | None:
    """Offered, done and refused per second, and arrivals left at the end; None for a closed loop."""
    metrics = run.metrics
    done = unanswered.rate(run)
    demand = resolved(study, run.variant).get("demand") or {}
    offered = demand.get("rate") or metrics.get("arrivals_per_second")
    if done is None or not offered:
        return None
    refused = metrics.get("refused") or 0.0
    length = _measured_s(run)
    return offered, done, refused / length if length else 0.0, metrics.get("backlog_end") or 0.0


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
