"""What a study fixes before the run: metric, baseline, margin, rounds and looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fathom.results import Level


@dataclass(frozen=True)
class Rules:
    """The `[compare]` table of a study, read.

    Attributes:
        metric: the metric compared; `baseline` the levels that make a variant a baseline (may name few factors only).
        margin: equivalence margin as a fraction.
        mean_over: factors over whose levels the ratios of a round are averaged; empty for none.
        rounds, max_rounds, looks: planned rounds, where an extension ends, and declared looks (see `looks.schedule`).
        guards: metrics that may not get worse; None for the usual ones (see `guards.usual`).
        guard_margin: how much worse a guard may get, as a fraction.
        choice: whether the variants are something to choose; not where they are conditions, such as a rebuild.
    """

    metric: str
    baseline: dict[str, Level]
    margin: float
    mean_over: tuple[str, ...]
    rounds: int
    max_rounds: int | None
    looks: tuple[int, ...] | None
    guards: tuple[str, ...] | None
    guard_margin: float
    choice: bool = True


def rules_of(study: Mapping[str, Any]) -> Rules | None:
    """The rules of a resolved study; None for one that compares nothing."""
    compare = study.get("compare")
    if not compare:
        return None
    lists = ("mean_over", "looks", "guards")
    read: dict[str, Any] = {
        key: tuple(value) if key in lists and value is not None else value for key, value in compare.items()
    }
    return Rules(**read)
