"""Runs that drive a sequence of virtual users, as HammerDB's autopilot does: every step a row, equal levels averaged.

A workload with `users = [34, 34, 34, 55, ...]` leaves a fact for each step (`sequence.N`); the first run of all is
marked as discarded. A round's value at a level is the mean of its steps at that level.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fathom.analysis.estimate import estimate_mean, estimate_ratio
from fathom.analysis.model import Estimate
from fathom.results import Run

LEVEL = 0.95
"""Of each interval by itself: these are shown, and nothing is decided by them."""

_FACT = re.compile(
    r"(?P<users>\d+) virtual users: (?P<value>\d+) (?P<title>.+?)"
    r"(, 95 % within (?P<p95>[\d.]+) ms)?(?P<discarded>, discarded)?"
)


@dataclass(frozen=True)
class Step:
    """One step of one run.

    Attributes:
        number: its place; 0 is the run that is discarded.
        users: virtual users.
        value: the workload's figure (NOPM, OPM), whose name is `title`.
        p95_ms: 95th percentile of the latency of all transactions.
        discarded: whether it counts for nothing.
    """

    number: int
    users: int
    value: float
    title: str
    p95_ms: float | None
    discarded: bool


def steps(run: Run) -> tuple[Step, ...]:
    """The steps of a run in order; empty where it has no sequence, or those of several databases."""
    found = []
    for name, text in run.facts.items():
        kind, _, number = name.partition(".")
        match = _FACT.fullmatch(text)
        if kind == "sequence" and number.isdigit() and match is not None:
            p95 = match["p95"]
            found.append(
                Step(
                    int(number),
                    int(match["users"]),
                    float(match["value"]),
                    match["title"],
                    None if p95 is None else float(p95),
                    match["discarded"] is not None,
                )
            )
    return tuple(sorted(found, key=lambda step: step.number))


@dataclass(frozen=True)
class AtUsers:
    """A variant at one number of users: (round, value) of every round, and their mean with its interval."""

    users: int
    points: tuple[tuple[int, float], ...]
    estimate: Estimate | None


def at_users(runs: Sequence[Run], *, seed: int) -> tuple[AtUsers, ...]:
    """The workload's figure at each level of the sequence, levels ascending, over a variant's finished runs."""
    means = {run.round: _means(run) for run in runs if run.ok}
    found = []
    for users in sorted({users for levels in means.values() for users in levels}):
        points = tuple((number, levels[users]) for number, levels in sorted(means.items()) if users in levels)
        values = np.array([value for _, value in points], dtype=np.float64)
        found.append(AtUsers(users, points, estimate_mean(values, level=LEVEL, seed=seed, virtual=False)))
    return tuple(found)


def improvement(
    runs: Sequence[Run], baseline: Sequence[Run], *, seed: int
) -> tuple[tuple[AtUsers, ...], AtUsers | None]:
    """The ratio to the baseline at each level, round by round; and the mean of a round's ratios over the levels (Cpi).

    A round counts for the mean if it has every level on both sides. The mean has 0 users.
    """
    ours, theirs = ({run.round: _means(run) for run in side if run.ok} for side in (runs, baseline))
    rounds = sorted(set(ours) & set(theirs))
    levels = sorted({users for number in rounds for users in set(ours[number]) & set(theirs[number])})
    ratios = {
        number: {
            users: ours[number][users] / theirs[number][users]
            for users in levels
            if ours[number].get(users, 0.0) > 0 and theirs[number].get(users, 0.0) > 0
        }
        for number in rounds
    }
    found = [_ratio(users, [(n, ratios[n][users]) for n in rounds if users in ratios[n]], seed) for users in levels]
    whole = [(n, float(np.mean(list(ratios[n].values())))) for n in rounds if levels and len(ratios[n]) == len(levels)]
    return tuple(found), _ratio(0, whole, seed) if whole else None


def _ratio(users: int, points: list[tuple[int, float]], seed: int) -> AtUsers:
    logs = np.array([math.log(value) for _, value in points], dtype=np.float64)
    return AtUsers(users, tuple(points), estimate_ratio(logs, level=LEVEL, seed=seed, virtual=False))


def _means(run: Run) -> dict[int, float]:
    """Mean of the steps at each level of one run, without what is discarded."""
    values: dict[int, list[float]] = {}
    for step in steps(run):
        if not step.discarded:
            values.setdefault(step.users, []).append(step.value)
    return {users: sum(found) / len(found) for users, found in values.items()}
