"""Variants that did more than their volume sustains: they lived on burst credits, which a longer run would have spent.

A volume of a burst tier (gp2, st1, an instance's burst) states its sustained rate, and what credits a run left. A
result above that rate holds no longer than the credits do, so that no choice between volumes should rest on it alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fathom.analysis.model import OnCredits
from fathom.analysis.variants import Variant, of_variant, variants_of
from fathom.analysis.words import number, time
from fathom.results import Run

_ABOVE = 1.03
"""From so many times the sustained rate on a volume spends credits, and does not merely fluctuate."""

_SPENT_S = 1.0
"""Credits that last no longer are spent, s."""

_KINDS = (("iops", "io_credits", "count", 1.0, "IOPS"), ("bytes_per_s", "byte_credits", "bytes", 1e6, "MB/s"))


def all_on_credits(runs: Sequence[Run]) -> tuple[OnCredits, ...]:
    """Every variant that lived on credits, in the order in which they first ran."""
    return tuple(found for variant in variants_of(runs) if (found := on_credits(runs, [variant])) is not None)


def on_credits(runs: Sequence[Run], variants: Iterable[Variant]) -> OnCredits | None:
    """Of the variants that lived on credits, and their volumes, what ends first; None where none did."""
    found = (one for variant in variants for run in of_variant(runs, variant) if run.ok for one in _of_run(run))
    return min(found, key=lambda one: one.lasts_s, default=None)


def _of_run(run: Run) -> Iterator[OnCredits]:
    for volume, counted in run.volumes.items():
        for word, credits, what, scale, unit in _KINDS:
            sustained, left = (_number(run, f"volumes.{volume}.{name}") for name in (f"{word}_limit", credits))
            if sustained is None or left is None or not run.measured_s:
                continue
            rate = sum(counted.get(kind, {}).get(what, 0) for kind in ("read", "write")) / run.measured_s
            if rate < _ABOVE * sustained:
                continue
            lasts = left / (rate - sustained)
            done, rest = (f"{number(amount / scale)} {unit}" for amount in (rate, sustained))
            if lasts < _SPENT_S:
                words = f"spent its burst credits within the run and does {rest} without them"
            else:
                words = f"lives on burst credits: {done} for {time(lasts)} more, then {rest}"
            yield OnCredits(run.variant, lasts, words)


def _number(run: Run, fact: str) -> float | None:
    try:
        return float(run.facts[fact])
    except (KeyError, ValueError):
        return None
