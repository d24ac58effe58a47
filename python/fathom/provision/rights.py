"""Whether the person may have what a plan wants provided, asked before anything is made."""

from __future__ import annotations

import os
from collections.abc import Sequence

from fathom.engine import Engine
from fathom.errors import UsageError
from fathom.plan import Plan, PlannedRun, canonical
from fathom.provision import wanted


def on_volumes(plan: Plan, runs: Sequence[PlannedRun], engine: Engine) -> list[str]:
    """Names of the places of these runs that stand on volumes: those need FUSE, a loop device and a mount."""
    study, names = plan.study, dict[str, None]()
    if plan.clock != "real":
        return []
    for run in {canonical(run.variant): run for run in runs}.values():
        try:
            found = engine.wanted(study.text, str(study.path), plan.settings(run), plan.clock, study.models)
        except engine.RunFailed:
            continue  # Wrong settings are the run's own failure.
        names |= dict.fromkeys(place.name for place in wanted.read(found).places if place.volume is not None)
    return list(names)


def check(plan: Plan, runs: Sequence[PlannedRun], engine: Engine) -> None:
    """Refuses runs that need root if it is not root who asks.

    Raises:
        UsageError: they do, and it is not.
    """
    if plan.clock != "real" or os.geteuid() == 0:
        return
    places = on_volumes(plan, runs, engine)
    if places:
        named = ", ".join(f"places.{name}" for name in places)
        raise UsageError(
            f"{plan.study.path}: {named}: a place on a volume needs root (FUSE, a loop device, a mount)",
            'run the same command with sudo, or let the place be kind = "directory", which measures the disk as it is',
        )
