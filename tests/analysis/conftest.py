"""Campaigns built from numbers, for tests of the analysis: nothing is run and nothing is read from disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fathom.results import Campaign, Level, Run

FACTOR = "workload.transaction"

COMPARE = {
    "margin": 0.02, "mean_over": [], "rounds": 5, "max_rounds": None, "looks": None,
    "guards": None, "guard_margin": 0.1,
}  # fmt: skip
"""`compare` of a resolved study that leaves all out but metric and baseline."""


def stated(levels: Mapping[str, Level] | None = None, **words: Any) -> dict[str, Any]:
    """What a resolved study says of a variant: an hour of one user who never pauses, unless told otherwise."""
    demand = {"users": 1, "pauses": False}
    usual = {"settings": {}, "volumes": [], "lasts_ns": 3600 * 10**9, "demand": demand, "phases": []}
    return {"levels": dict(levels or {}), **usual, **words}


@dataclass(frozen=True)
class SampledRun(Run):
    """A run whose samples are given instead of read."""

    given: pl.DataFrame | None = field(default=None, compare=False)
    observed: pl.DataFrame | None = field(default=None, compare=False)

    def samples(self) -> pl.DataFrame | None:
        return self.given

    def activity(self) -> pl.DataFrame | None:
        return self.observed


def make_run(
    variant: Mapping[str, Level],
    round_number: int,
    metrics: Mapping[str, float | None] | None,
    *,
    order: int = 1,
    reason: str = "input-output",
    environment: Mapping[str, Any] | None = None,
    samples: pl.DataFrame | None = None,
    activity: pl.DataFrame | None = None,
) -> Run:
    """A finished run, or a failed one where `metrics` is None."""
    ok = metrics is not None
    identity = "-".join(str(level) for level in variant.values())
    return SampledRun(
        id=f"{identity}-{round_number}-{order}",
        variant=dict(variant),
        round=round_number,
        order=order,
        status="ok" if ok else "failed",
        metrics=dict(metrics or {}),
        reason=None if ok else reason,
        environment=dict(environment or {}),
        given=samples,
        observed=activity,
    )


def make_campaign(
    values: Mapping[str, Sequence[float | None]],
    *,
    metric: str = "iops",
    clock: str = "real",
    compare: Mapping[str, Any] | None = None,
    study: Mapping[str, Any] | None = None,
    extra_runs: Sequence[Run] = (),
) -> Campaign:
    """A campaign with one factor: a list of values per level, one per round; None makes the run fail.

    The first level is the baseline; a margin of 2 % and as many rounds as there are values are planned.
    """
    runs = [
        make_run({FACTOR: level}, index + 1, None if value is None else {metric: value})
        for level, series in values.items()
        for index, value in enumerate(series)
    ]
    runs.sort(key=lambda run: run.round)
    runs += extra_runs
    levels = list(values)
    rules = {
        **COMPARE,
        "metric": metric,
        "baseline": {FACTOR: levels[0]},
        "rounds": max(len(series) for series in values.values()),
    }
    whole = {"title": "T", "question": "Q", "compare": {**rules, **(compare or {})}, **(study or {})}
    return Campaign(Path("nowhere"), whole, "", 7, clock, tuple(runs), len(runs))


@pytest.fixture
def run() -> Callable[..., Run]:
    return make_run


@pytest.fixture
def campaign() -> Callable[..., Campaign]:
    return make_campaign


@pytest.fixture
def factor() -> str:
    return FACTOR
