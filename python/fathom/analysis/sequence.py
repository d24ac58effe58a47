"""Runs that drive a sequence of virtual users, as if each level had been a run: the load is a factor like any other.

What such runs compare is averaged over the levels, as the publication does that this follows (coefficient of
performance improvement, Cpi: AWS, "Maximizing Microsoft SQL Server Performance Using Amazon EC2 NVMe Instance Store",
2020).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fathom import steps
from fathom.results import Campaign, Run

USERS = "workload.users"
"""The factor that a sequence becomes."""


def by_level(campaign: Campaign) -> Campaign:
    """The campaign with a run for every level of a sequence; as it is where no run has one.

    A failed run failed at every level. Histograms are of whole runs: a level has none.
    """
    known = sorted({users for run in campaign.runs for users in steps.levels(run.steps)})
    if not known or any(USERS in run.variant for run in campaign.runs):
        return campaign
    runs, retried = (
        tuple(level for run in some for level in _levels(run, known)) for some in (campaign.runs, campaign.retried)
    )
    planned = campaign.planned * len(known)
    return replace(campaign, runs=runs, retried=retried, planned=planned, study=_study(campaign.study, known))


def _levels(run: Run, known: Sequence[int]) -> list[Run]:
    found = steps.levels(run.steps)
    if run.ok and not found:
        return [run]
    seconds = None if run.seconds is None else run.seconds / len(known)
    measured_s = None if run.measured_s is None else run.measured_s / len(known)
    made = []
    for users in found if run.ok else known:
        own: dict[str, Any] = {"id": f"{run.id}@{users}", "variant": {**run.variant, USERS: users}}
        if run.ok:
            own["metrics"] = steps.mean([step.metrics for step in found[users]])
            own["steps"] = tuple(step for step in run.steps if step.users == users)
            own["of_level"] = True
        made.append(replace(run, **own, seconds=seconds, measured_s=measured_s))
    return made


def _study(study: Mapping[str, Any], known: Sequence[int]) -> dict[str, Any]:
    """The study as it would be with the users as a factor."""
    changed = {
        **study,
        "factors": {**study.get("factors", {}), USERS: list(known)},
        "assigns": {**study.get("assigns", {}), USERS: [{USERS: users} for users in known]},
        "loads": {**study.get("loads", {}), USERS: "users"},
    }
    compare = study.get("compare")
    if compare and len(known) > 1 and USERS not in compare["mean_over"] and USERS not in compare["baseline"]:
        changed["compare"] = {**compare, "mean_over": [*compare["mean_over"], USERS]}
    return changed
