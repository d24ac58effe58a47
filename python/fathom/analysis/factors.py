"""Which factors of a study are a load, and a load in words. Pure, and without a heavy library: reports import it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fathom.analysis.model import Comparison
from fathom.analysis.variants import every_variant, label
from fathom.results import Level, Run

AMOUNTS = ("users", "rate")
"""What of the load a number sets: more of it is more load."""


def amounts(study: Mapping[str, Any], runs: Sequence[Run]) -> tuple[str, ...]:
    """The factors that set how much is asked of the variants: users, outstanding requests, a rate of arrivals."""
    return tuple(f for f in _varied(runs, study) if study.get("loads", {}).get(f) in AMOUNTS)


def load_factors(study: Mapping[str, Any], runs: Sequence[Run], base: Mapping[str, Level] | None) -> tuple[str, ...]:
    """The factors that are a load and no choice: amounts, and work that both sides of every comparison share.

    Work that the baseline names (a batch size, a log block) is what is compared. Without a baseline any may be.
    """
    loads = study.get("loads", {})
    work = [] if base is None else [factor for factor in loads if factor not in base]
    return tuple(f for f in _varied(runs, study) if loads.get(f) in AMOUNTS or f in work)


def load_words(levels: Mapping[str, Level], loads: Sequence[str], study: Mapping[str, Any]) -> str:
    """The load of a variant in words: `2,000/s`, `read 0 %, 8 users`; empty where it has none."""
    found = {factor: levels[factor] for factor in loads if factor in levels}
    return label(found, study) if found else ""


def same_load(comparison: Comparison, loads: Sequence[str]) -> bool:
    """Whether variant and baseline had the same to do; not in the steps of a sweep."""
    return all(comparison.variant.get(load) == comparison.baseline.get(load) for load in loads)


def _varied(runs: Sequence[Run], study: Mapping[str, Any]) -> list[str]:
    variants = every_variant(runs, study)
    named = dict.fromkeys(factor for variant in variants for factor in variant)
    return [f for f in named if len({repr(variant.get(f)) for variant in variants}) > 1]
