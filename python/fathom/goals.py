"""Goals of a study: limits that metrics have to keep, and whether the runs kept them. Pure.

The engine has read the limits (crates/study/src/goals.rs); here they are held against the runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fathom import lateness
from fathom.errors import UsageError
from fathom.lateness import Late
from fathom.metrics import metric
from fathom.results import Campaign, Level, Run
from fathom.tail import Few, few
from fathom.unanswered import LONG_MS, STANDSTILL, LeftOut, allowed, hidden
from fathom.unanswered import worst as worst_left_out


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
        left_out: what a latency left out in the run in which that was most, where it missed its limit for it.
        few: of an upper limit that all runs kept, why that shows nothing: too few requests lie beyond the percentile.
        sustained: whether the variant could do its load. What a queue that grows left of a limit ends with the run.
        repeated: how many of the runs failed first, and count by a further attempt.
        late: of an upper limit on a latency, the worst lateness of the load generator in the runs that missed it, where
            it is most of the latency in each of them: what the storage alone would have done is not known.
    """

    goal: Goal
    variant: dict[str, Level]
    worst: float | None
    runs: int
    met: int
    left_out: LeftOut | None = None
    few: Few | None = None
    sustained: bool = True
    repeated: int = 0
    late: Late | None = None

    @property
    def kept(self) -> bool:
        """Whether every run kept the limit, and that is known."""
        return self.met == self.runs > 0 and self.few is None

    @property
    def untold(self) -> bool:
        """Whether it cannot be judged."""
        return (self.few is not None or self.late is not None) and self.sustained

    @property
    def passed(self) -> bool:
        """Whether the limit is kept for longer than the runs lasted."""
        return self.kept and self.sustained


def goals(study: dict[str, Any]) -> tuple[Goal, ...]:
    """The goals of a resolved study, in the order written."""
    return tuple(Goal(**goal) for goal in study.get("goals", ()))


def outcomes(campaign: Campaign, overloaded: Iterable[Mapping[str, Level]]) -> tuple[Outcome, ...]:
    """Every goal in every variant that ran, variants in the order in which they first ran.

    Args:
        campaign: with its runs.
        overloaded: the variants that could not do their load: they miss every goal.
    """
    over = [dict(variant) for variant in overloaded]
    found = outcomes_of(campaign.runs, campaign.study)
    first = [run for run in campaign.retried if run.failed]
    return tuple(
        replace(
            outcome,
            sustained=outcome.variant not in over,
            repeated=len({run.id for run in first if run.variant == outcome.variant}),
        )
        for outcome in found
    )


def outcomes_of(runs: Iterable[Run], study: dict[str, Any]) -> tuple[Outcome, ...]:
    """Every goal of a study in every variant of some runs."""
    variants: dict[str, list[Run]] = {}
    for run in runs:
        variants.setdefault(repr(sorted(run.variant.items())), []).append(run)
    return tuple(outcome for same in variants.values() for outcome in _of_variant(goals(study), same))


def standing(stated: Iterable[Goal]) -> Goal | None:
    """The goal that one on a latency brings with it: no standstill of 1 s that is longer than any latency may be.

    A percentile holds in a run that is long enough, however long the storage stood still in it. None without a goal on
    a latency, or where the study names its own limit on standstills.
    """
    stated = tuple(stated)
    limits = [goal.limit for goal in stated if allowed(goal.metric) is not None and goal.comparison.startswith("<")]
    if not limits or any(goal.metric == STANDSTILL for goal in stated):
        return None
    most = max(LONG_MS, *limits)
    return Goal(STANDSTILL, "<", most, f"< {most / 1e3:g}s")


def _of_variant(stated: Iterable[Goal], runs: list[Run]) -> list[Outcome]:
    """The outcomes that are stated; where all are met, that of a standstill as well, if it is missed."""
    found = [_outcome(goal, runs) for goal in stated]
    still = standing(stated)
    if still is not None and all(outcome.passed for outcome in found):
        found += [one for one in (_outcome(still, runs),) if one.worst is not None and not still.met(one.worst)]
    return found


def split(text: str) -> tuple[str, str]:
    """A goal on one line, `METRIC LIMIT`, as the two halves that a study has.

    Raises:
        UsageError: there is no comparison in it.
    """
    found = re.fullmatch(r"\s*([A-Za-z0-9_]+)\s*([<>].*)", text)
    if found is None:
        raise UsageError(f'"{text}" is no goal', 'write a metric and its limit: "latency_p99_ms < 5ms"')
    return found[1], found[2].strip()


def _outcome(goal: Goal, runs: list[Run]) -> Outcome:
    values = [(run, value) for run in runs if run.ok and (value := _value(run, goal.metric)) is not None]
    worst = goal.worst(value for _, value in values) if values else None
    upper = goal.comparison.startswith("<")
    met = sum(goal.met(value) and not (upper and hidden(goal.metric, run)) for run, value in values)
    left_out = worst_left_out(goal.metric, (run for run, _ in values)) if upper else None
    untold = few(goal.metric, runs) if upper and met == len(runs) else None
    late = _late(goal, runs) if upper and met < len(runs) and left_out is None else None
    return Outcome(goal, dict(runs[0].variant), worst, len(runs), met, left_out, untold, late=late)


def _late(goal: Goal, runs: list[Run]) -> Late | None:
    """How late the load generator was in the runs that missed a limit on a latency, where that may be all of the miss.

    Of the mean it is known what remains without it.
    """
    if allowed(goal.metric) is None:
        return None
    values = [(run, _value(run, goal.metric)) for run in runs]
    if any(value is None for _, value in values):
        return None
    missed = [(run, value) for run, value in values if value is not None and not goal.met(value)]
    found = lateness.of_all([run for run, _ in missed])
    if found is None or goal.metric != "latency_ms":
        return found
    without = (value - (run.metrics.get("late_ms") or 0.0) for run, value in missed)
    return found if all(map(goal.met, without)) else None


def _value(run: Run, name: str) -> float | None:
    """A metric of a finished run; failed requests are counted from the first one on, so that none is none."""
    value = run.metrics.get(name)
    return 0.0 if value is None and name == "errors" else value
