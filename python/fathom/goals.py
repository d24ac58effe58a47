"""Goals of a study: limits that metrics have to keep, and whether the runs kept them. Pure.

The engine has checked `[goals]` by the time a study is read (crates/study/src/goals.rs); here the limits are converted
into the units of their metrics and held against the runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fathom.errors import UsageError
from fathom.metrics import metric
from fathom.results import Campaign, Level, Run

_LIMIT = re.compile(r"\s*(<=|>=|<|>)\s*([0-9.]+)\s*(\S*)\s*")

_UNITS = {
    "mb_per_s": {"MB/s": 1.0, "MiB/s": 1.048576, "GB/s": 1e3},
    "_ms": {"us": 1e-3, "ms": 1.0, "s": 1e3},
    "_s": {"ms": 1e-3, "s": 1.0, "min": 60.0},
}
"""By the end of a metric's name, the first that fits: what one of a unit is in the metric's own."""


@dataclass(frozen=True)
class Goal:
    """A limit: `comparison` is "<", "<=", ">" or ">="; `limit` is in the metric's own unit; `text` is as written."""

    metric: str
    comparison: str
    limit: float
    text: str

    def met(self, value: float) -> bool:
        """Whether a value keeps the limit."""
        match self.comparison:
            case "<":
                return value < self.limit
            case "<=":
                return value <= self.limit
            case ">":
                return value > self.limit
            case _:
                return value >= self.limit

    def worst(self, values: Iterable[float]) -> float:
        """The value nearest to missing the goal, or furthest beyond."""
        return max(values) if self.comparison.startswith("<") else min(values)

    @property
    def words(self) -> str:
        """The goal as people say it: "99th percentile latency < 5ms"."""
        return f"{metric(self.metric).label} {self.text}"


@dataclass(frozen=True)
class Outcome:
    """What became of a goal in one variant.

    Attributes:
        worst: of all runs that measured it; None if none did.
        runs: how many runs there are, `met` how many of them kept the limit; a failed run did not.
    """

    goal: Goal
    variant: dict[str, Level]
    worst: float | None
    runs: int
    met: int

    @property
    def passed(self) -> bool:
        """Whether every run kept the limit."""
        return self.met == self.runs > 0


def goals(study: dict[str, Any]) -> tuple[Goal, ...]:
    """The goals of a checked study, in the order written."""
    return tuple(_goal(name, str(text)) for name, text in study.get("goals", {}).items())


def outcomes(campaign: Campaign) -> tuple[Outcome, ...]:
    """Every goal in every variant that ran, variants in the order in which they first ran."""
    runs: dict[str, list[Run]] = {}
    for run in campaign.runs:
        runs.setdefault(repr(sorted(run.variant.items())), []).append(run)
    return tuple(_outcome(goal, same) for same in runs.values() for goal in goals(campaign.study))


def split(text: str) -> tuple[str, str]:
    """A goal on one line, `METRIC LIMIT`, as the two halves that a study has.

    Raises:
        UsageError: there is no comparison in it.
    """
    found = re.fullmatch(r"\s*([A-Za-z0-9_]+)\s*([<>].*)", text)
    if found is None:
        raise UsageError(f'"{text}" is no goal', 'write a metric and its limit: "latency_p99_ms < 5ms"')
    return found[1], found[2].strip()


def _goal(name: str, text: str) -> Goal:
    found = _LIMIT.fullmatch(text)
    if found is None:
        raise UsageError(f'goals.{name}: "{text}" is no limit', 'write a comparison and a number: "< 5ms"')
    factors: dict[str, float] = next((units for end, units in _UNITS.items() if name.endswith(end)), {})
    return Goal(name, found[1], float(found[2]) * factors.get(found[3], 1.0), text.strip())


def _outcome(goal: Goal, runs: list[Run]) -> Outcome:
    values = [value for run in runs if run.ok and (value := run.metrics.get(goal.metric)) is not None]
    met = sum(goal.met(value) for value in values)
    return Outcome(goal, dict(runs[0].variant), goal.worst(values) if values else None, len(runs), met)
