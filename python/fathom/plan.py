"""The plan of a campaign: a pure function of study and seed. Every run spelled out, before anything runs.

A *round* holds every variant once, in random order; every second round reverses the one before it, so that each variant
runs as often before another as after it. The order of a round follows from the seed and the round's number alone, so a
campaign that is extended by more rounds keeps the plan it had. A run's id hashes what is run (settings,
variant, round, seed, clock), not how it is judged: words, margins and published figures may be mended without making
finished runs worthless.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fathom.errors import UsageError
from fathom.results import FORMAT_VERSION, Level
from fathom.study import Study

Variant = dict[str, Level]

Entry = dict[str, Any]
"""All that one run needs, as JSON: it is carried out by any process with this build (docs/RESULTS.md)."""


@dataclass(frozen=True)
class PlannedRun:
    """One run to come: `round` and `order` count from 1, `seed` is what the run draws its randomness from.

    All variants of a round share one seed: differences between them are not differences of luck.
    """

    id: str
    round: int
    order: int
    variant: Variant
    seed: int

    def as_dict(self) -> dict[str, Any]:
        """As written to `plan.json`."""
        return {"id": self.id, "round": self.round, "order": self.order, "variant": self.variant, "seed": self.seed}


@dataclass(frozen=True)
class Plan:
    """Every run of a campaign in the order of execution."""

    study: Study
    seed: int
    rounds: int
    runs: tuple[PlannedRun, ...]

    @cached_property
    def _variants(self) -> dict[str, Mapping[str, Any]]:
        return {canonical(variant["levels"]): variant for variant in self.study.resolved["variants"]}

    @cached_property
    def measured_s(self) -> float | None:
        """Ramps and measured phases of all runs together, seconds of the plan's clock.

        Set-up, loading and checks are not in it. None if a variant ends when its work is done: not known before.
        """
        each = [self._variants[canonical(run.variant)]["lasts_ns"] for run in self.runs]
        return None if None in each else sum(each) / 1e9

    def entry(self, run: PlannedRun) -> Entry:
        """A run with all it needs."""
        return {
            **run.as_dict(),
            "clock": self.study.clock,
            "file": self.study.path.name,
            "text": self.study.text,
            "models": self.study.models,
            "set": {**self.study.resolved["overrides"], **run.variant},
            "wants": self._variants[canonical(run.variant)]["wants"],
        }

    def in_order_of(self, begun: Iterable[Mapping[str, Any]]) -> Plan:
        """The plan with rounds in the order that a campaign was begun in: an older Fathom had another rule for it."""
        places = {run["id"]: place for place, run in enumerate(begun)}
        runs = sorted(self.runs, key=lambda run: (run.round, places.get(run.id, len(places))))
        return replace(self, runs=tuple(replace(run, order=place) for place, run in enumerate(runs, 1)))

    def as_dict(self) -> dict[str, Any]:
        """As printed by `fathom plan --json` and written to `plan.json`."""
        return {
            "format_version": FORMAT_VERSION,
            "seed": self.seed,
            "rounds": self.rounds,
            "measured_s": self.measured_s,
            "fixed": self.study.fixed,
            "models": self.study.models,
            "study": self.study.resolved,
            "runs": [run.as_dict() for run in self.runs],
        }


MOST_ROUNDS = 10_000
"""As many as a study's `rounds` may be: more are a slip of the finger."""


def plan(study: Study, *, seed: int | None = None, rounds: int | None = None) -> Plan:
    """Every run of a study.

    Args:
        study: a checked study.
        seed: of the order and of every run's randomness; what the study says if None.
        rounds: how many; what the study says if None.

    Raises:
        UsageError: rounds below 1 or above what a study may ask for, or a negative seed.
    """
    seed = study.resolved["seed"] if seed is None else seed
    rounds = study.resolved["rounds"] if rounds is None else rounds
    if not 1 <= rounds <= MOST_ROUNDS:
        raise UsageError(f"{rounds:,} rounds cannot be run", f"ask for 1 to {MOST_ROUNDS:,}")
    if not 0 <= seed < 2**63:
        raise UsageError(f"seed {seed} is out of range", "write a whole number from 0 to 2^63 - 1")
    texts = [text for _, text in study.models]
    variants = [(v["levels"], digest(v["settings"], study.clock, *texts)) for v in study.resolved["variants"]]
    runs: list[PlannedRun] = []
    for number in range(1, rounds + 1):
        run_seed = int(digest("run", seed, number), 16) % 2**63
        for levels, what in _order(variants, seed, number):
            runs.append(PlannedRun(digest(what, levels, number, run_seed), number, len(runs) + 1, levels, run_seed))
    return Plan(study, seed, rounds, tuple(runs))


def _order(variants: Sequence[tuple[Variant, str]], seed: int, number: int) -> list[tuple[Variant, str]]:
    """The variants in the order of a round."""
    reverse = number % 2 == 0
    drawn = number - 1 if reverse else number
    found = sorted(variants, key=lambda one: digest("order", seed, drawn, one[0]))
    return found[::-1] if reverse else found


def canonical(value: Any) -> str:
    """JSON with sorted keys and no white space: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(*parts: Any) -> str:
    """BLAKE2b of the canonical JSON of the parts: 20 hexadecimal digits."""
    return hashlib.blake2b(canonical(list(parts)).encode(), digest_size=10).hexdigest()
