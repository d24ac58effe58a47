"""Runs that failed and were carried out again: only what a variant did at a further attempt is in its figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fathom.analysis.variants import Variant, variant_key, variants_of, without
from fathom.results import Run

UNLESS = "if the cause was outside of the variant, that says nothing about it"
"""What the records cannot tell: whether the variant made a run fail, or a person and the machine did."""


@dataclass(frozen=True)
class Repeated:
    """How many runs of a variant failed before they were carried out again.

    Attributes:
        variant: without the load.
        failed: runs of which a failed attempt was set aside; one that failed twice counts once.
        runs: all runs of the variant.
        reasons: why, each once, from `results.REASONS`.
    """

    variant: Variant
    failed: int
    runs: int
    reasons: tuple[str, ...]

    @property
    def words(self) -> str:
        """How many and why: `3 of 5 runs failed first (lost) and were repeated`."""
        runs, were = "run" if self.runs == 1 else "runs", "was" if self.failed == 1 else "were"
        return f"{self.failed} of {self.runs} {runs} failed first ({', '.join(self.reasons)}) and {were} repeated"


def failed_first(repeated: Iterable[Repeated]) -> int:
    """How many runs of all variants failed first."""
    return sum(one.failed for one in repeated)


def repeated_runs(runs: Sequence[Run], retried: Iterable[Run], loads: Sequence[str]) -> tuple[Repeated, ...]:
    """Of every variant that has some, in the order in which the variants first ran.

    A run that a person stopped did not fail: it was only missing.
    """
    failed = [run for run in retried if run.failed]
    variants = {variant_key(one): one for one in (without(v, loads) for v in variants_of([*runs, *failed]))}
    found = []
    for key, variant in variants.items():
        first, every = (
            [run for run in some if variant_key(without(run.variant, loads)) == key] for some in (failed, runs)
        )
        if first:
            reasons = tuple(dict.fromkeys(run.reason or "unknown" for run in first))
            ids = {run.id for run in first}
            found.append(Repeated(variant, len(ids), len(ids | {run.id for run in every}), reasons))
    return tuple(found)
