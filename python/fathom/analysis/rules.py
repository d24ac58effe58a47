"""What a study fixes before the run: metric, baseline, margin, rounds and looks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fathom.results import Level

DEFAULT_MARGIN = 0.02
DEFAULT_ROUNDS = 5
DEFAULT_GUARD_MARGIN = 0.10


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
    """

    metric: str
    baseline: dict[str, Level]
    margin: float
    mean_over: tuple[str, ...]
    rounds: int
    max_rounds: int | None
    looks: tuple[int, ...] | None
    guards: tuple[str, ...] | None = None
    guard_margin: float = DEFAULT_GUARD_MARGIN


def rules_of(study: Mapping[str, Any]) -> Rules | None:
    """The rules of a study; None for one that compares nothing.

    Raises:
        ValueError: a value that cannot be meant, with its key and what to write instead.
    """
    compare = study.get("compare")
    if not compare:
        return None
    if "metric" not in compare:
        raise ValueError('compare: "metric" is missing; name the metric to compare, for example metric = "iops"')
    looks = compare.get("looks")
    if looks is not None and not (isinstance(looks, list | tuple) and all(_is_count(n) for n in looks) and looks):
        raise ValueError(f"compare.looks = {looks!r}: write the rounds after which to look, for example [5, 8, 12, 20]")
    for key in ("rounds", "max_rounds"):
        if key in compare and not _is_count(compare[key]):
            raise ValueError(f"compare.{key} = {compare[key]!r}: write a whole number from 1 on")
    return Rules(
        metric=str(compare["metric"]),
        baseline=dict(compare.get("baseline", {})),
        margin=parse_margin(compare.get("equivalent_within", DEFAULT_MARGIN)),
        mean_over=tuple(compare.get("mean_over", ())),
        rounds=int(compare.get("rounds", DEFAULT_ROUNDS)),
        max_rounds=compare.get("max_rounds"),
        looks=None if looks is None else tuple(looks),
        guards=tuple(map(str, compare["guards"])) if "guards" in compare else None,
        guard_margin=parse_margin(compare.get("guard_margin", DEFAULT_GUARD_MARGIN), "guard_margin", below=10.0),
    )


def parse_margin(value: object, key: str = "equivalent_within", *, below: float = 1.0) -> float:
    """A margin as a fraction from "2%", "2 %" or 0.02.

    Raises:
        ValueError: not a number, not positive, or `below` and more.
    """
    text = str(value).strip()
    try:
        margin = float(text.removesuffix("%").strip()) / (100 if text.endswith("%") else 1)
    except ValueError:
        margin = math.nan
    if not 0 < margin < below:
        most = f"{below:.0%}".replace("%", " %")
        raise ValueError(f'compare.{key} = {value!r}: write a margin between 0 and {most}, such as "2%"')
    return margin


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
