"""Steps of a run that drives a sequence of virtual users, as HammerDB's autopilot does.

A workload with `users = [34, 34, 34, 55, ...]` runs a step for each number. The first run of all finds cold caches and
is discarded; steps with equal numbers are one *level*, whose metrics are their means. `steps.json` of a run holds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Metrics = Mapping[str, float | None]


@dataclass(frozen=True)
class Step:
    """One step of one run.

    Attributes:
        number: its index; 0 is the one that is discarded.
        users: virtual users.
        discarded: whether it counts for nothing.
        metrics: as of a run.
        samples_s: begin and end within `samples.parquet`, s; None for a discarded one, which leaves none.
        activity_s: begin and end within `activity.parquet`, s.
    """

    number: int
    users: int
    discarded: bool
    metrics: Metrics
    samples_s: tuple[float, float] | None
    activity_s: tuple[float, float]


def read(document: Mapping[str, Any]) -> tuple[Step, ...]:
    """The steps of `steps.json`.

    Raises:
        KeyError, TypeError, ValueError: it is not what `written` makes.
    """
    return tuple(
        Step(
            int(step["number"]),
            int(step["users"]),
            bool(step["discarded"]),
            dict(step["metrics"]),
            None if step["samples_s"] is None else _span(step["samples_s"]),
            _span(step["activity_s"]),
        )
        for step in document["steps"]
    )


def written(steps: Iterable[Step]) -> dict[str, Any]:
    """`steps.json`."""
    return {"steps": [{**vars(step), "metrics": dict(step.metrics)} for step in steps]}


def levels(steps: Iterable[Step]) -> dict[int, tuple[Step, ...]]:
    """The steps that count, by their number of users, ascending."""
    found: dict[int, list[Step]] = {}
    for step in steps:
        if not step.discarded:
            found.setdefault(step.users, []).append(step)
    return {users: tuple(found[users]) for users in sorted(found)}


def mean(of: Sequence[Metrics]) -> dict[str, float | None]:
    """The mean of every metric over those that have it."""
    names = dict.fromkeys(name for metrics in of for name in metrics)
    known = {name: [value for metrics in of if (value := metrics.get(name)) is not None] for name in names}
    return {name: sum(values) / len(values) if values else None for name, values in known.items()}


def overall(steps: Iterable[Step]) -> dict[str, float | None]:
    """A run's own metrics: the mean over its levels, each of which is the mean of its steps."""
    return mean([mean([step.metrics for step in same]) for same in levels(steps).values()])


def _span(pair: Sequence[Any]) -> tuple[float, float]:
    begin, end = pair
    return float(begin), float(end)
