"""How long a plan's runs measure, by their own settings: the least time that a campaign takes."""

from __future__ import annotations

from fathom.engine import Engine
from fathom.plan import Plan, canonical


def measured_seconds(plan: Plan, engine: Engine) -> float | None:
    """Ramps and measured phases of all runs together, seconds of the plan's clock.

    None if a variant ends when its work is done: then nobody can say before. Set-up, loading and checks are not in it.

    Raises:
        RunFailed: of the engine, for a variant whose settings are wrong.
    """
    study = plan.study
    known: dict[str, int | None] = {}
    for run in plan.runs:
        name = canonical(run.variant)
        if name not in known:
            found = engine.wanted(study.text, str(study.path), plan.settings(run), plan.clock, study.models)
            known[name] = found["lasts_ns"]
    each = [known[canonical(run.variant)] for run in plan.runs]
    return None if None in each else sum(lasts for lasts in each if lasts is not None) / 1e9
