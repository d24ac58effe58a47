"""Whether the user has the rights that a plan needs, checked before anything is created."""

from __future__ import annotations

import os
from collections.abc import Sequence

from fathom.errors import UsageError
from fathom.plan import Plan, PlannedRun
from fathom.provision import requirements


def on_volumes(plan: Plan, runs: Sequence[PlannedRun]) -> list[str]:
    """Names of these runs' places on volumes: they need FUSE, a loop device and a mount."""
    if plan.study.clock != "real":
        return []
    needs = (requirements.read(plan.entry(run)["wants"]) for run in runs)
    return list(dict.fromkeys(place.name for found in needs for place in found.places if place.volume is not None))


def is_root() -> bool:
    """Whether this process is root."""
    return os.geteuid() == 0


def check(plan: Plan, runs: Sequence[PlannedRun]) -> None:
    """Refuses runs that need root if this process is not root.

    Raises:
        UsageError: they do, and it is not.
    """
    places = on_volumes(plan, runs)
    if places and not is_root():
        named = ", ".join(f"places.{name}" for name in places)
        raise UsageError(
            f"{plan.study.path}: {named}: a place on a volume needs root (FUSE, a loop device, a mount)",
            'run the same command with sudo, or let the place be kind = "directory", which measures the disk as it is',
        )
