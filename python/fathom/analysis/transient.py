"""What runs were in that no load that lasts is in: another level of their rate at first, the first copy of a mirror, a
queue that grows, or the time of a single request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fathom.analysis.figures import limit_met
from fathom.analysis.model import RATE, SteadyState
from fathom.analysis.variants import Variant, resolved, variant_key
from fathom.analysis.words import percent, time
from fathom.results import Run

_FAR = 0.25
"""A mean this far from the level after the beginning is that of no load that lasts."""
_NEAR = 0.005
"""Offered so near to a limit, a load waits in a queue that ends with the run alone (M/D/1 at a utilisation of 1)."""
_HARDLY = 0.5
"""MB/s from which on a copy is told: "copied all the time (0 MB/s)" says nothing, and such a copy slows nobody."""
_SHORT = 0.25
"""Part of the measured time that requests may take: of longer ones too few began and ended in it."""


def transients(
    runs: Sequence[Run], study: Mapping[str, Any], steady: Sequence[SteadyState]
) -> list[tuple[Variant, str]]:
    """Variants and what they were in, the rest of a sentence each, in the order in which they ran."""
    states = {state.run_id: state for state in steady}
    found: dict[tuple[Any, int], tuple[Variant, str]] = {}
    for run in (run for run in runs if run.ok):
        each = (_other_level(states.get(run.id)), _copies(run, study), _at_limit(run, study), _is_short(run, study))
        for kind, words in enumerate(each):
            if words is not None:
                found.setdefault((variant_key(run.variant), kind), (run.variant, words))
    return list(found.values())


def _other_level(state: SteadyState | None) -> str | None:
    if state is None or abs(state.warm_up_bias) < _FAR:
        return None
    after = 1 / (1 + state.warm_up_bias) - 1
    when = f"once the first {time(state.cut_s)} were over: lengthen the ramp"
    if state.what == RATE:
        return f"did {percent(abs(after))} {'more' if after > 0 else 'less'} than its mean {when}"
    much = f"{percent(abs(after))} {'higher' if after > 0 else 'lower'} than the mean"
    return f"had another level at first: {state.what} was {much} {when}"


def _copies(run: Run, study: Mapping[str, Any]) -> str | None:
    """A mirror that was not done with a copy: a new one where nobody asked for it, else how long all of it takes."""
    volumes = resolved(study, run.variant).get("settings", {}).get("volumes", {})
    for name, settings in volumes.items():
        left, done = (float(run.facts.get(f"volumes.{name}.resync_{part}bytes", 0)) for part in ("left_", ""))
        rate = run.metrics.get("resync_mb_per_s") or 0.0
        if settings.get("kind") != "mirror" or not left > 0 or rate < _HARDLY:
            continue
        if "initial" not in settings:
            return f'copied its new mirror all the time ({rate:.0f} MB/s): initial = "blank" stands for one made before'
        whole = (left + done) / 1e6
        lasts = time(whole / rate)
        return f"rebuilt its mirror all the time ({rate:,.0f} MB/s): {whole / 1e3:,.0f} GB take {lasts} so"
    return None


def _at_limit(run: Run, study: Mapping[str, Any]) -> str | None:
    rate = (resolved(study, run.variant).get("demand") or {}).get("rate")
    met = limit_met([run], {"iops": rate}, _NEAR) if rate else None
    if not rate or met is None:
        return None
    # The lower half of the same window, without the limit itself: there is a steady state, if hardly one.
    if limit_met([run], {"iops": rate / (1 - _NEAR / 2)}, _NEAR / 2):
        return f"is offered almost all that is allowed ({met}): with hardly more its queue would grow without end"
    return f"is offered all that is allowed ({met}): its queue and its latency grow as long as that lasts"


def _is_short(run: Run, study: Mapping[str, Any]) -> str | None:
    if not is_too_short(run, study):
        return None
    return (
        f"was measured for {time(run.measured_s or 0.0)} while requests took up to {time(_p99_s(run))}: measure longer"
    )


def _p99_s(run: Run) -> float:
    return (run.metrics.get("latency_p99_ms") or 0.0) / 1e3


def is_too_short(run: Run, study: Mapping[str, Any]) -> bool:
    """Whether requests took so much of the measured time that rate and latency are means of different ones.

    A fixed amount of work has no other length, and a transaction of all rows is all of it.
    """
    timed = run.metrics.get("iops") and resolved(study, run.variant).get("lasts_ns") is not None
    return bool(timed and run.measured_s and _p99_s(run) > _SHORT * run.measured_s)
