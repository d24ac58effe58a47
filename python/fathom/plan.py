"""The plan of a campaign: a pure function of study and seed. Every run spelled out, before anything runs.

A *round* holds every variant once, in random order. The order of a round follows from the seed and the round's number
alone, so a campaign that is extended by more rounds keeps the plan it had. A run's id hashes what is run (settings,
variant, round, seed, clock), not how it is judged: words, margins and published figures may be mended without making
finished runs worthless.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fathom.errors import UsageError
from fathom.results import FORMAT_VERSION, Level
from fathom.study import CLOCKS, Study

_JUDGEMENT = frozenset(
    {
        "title",
        "question",
        "labels",
        "compare",
        "goals",
        "published",
        "calibrated_on",
        "factors",
        "clock",
        "seed",
        "scale",
        "quick",
        *CLOCKS,
    }
)
"""Top-level keys of a study that do not change what one run does; overrides in force are hashed as such."""

Variant = dict[str, Level]


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
    """Every run of a campaign in the order of execution.

    `overrides` (clock, quick, `fixed`) lie between the study and the variant's levels; `fixed` came beside it.
    """

    study: Study
    seed: int
    clock: str
    quick: bool
    rounds: int
    overrides: dict[str, Level]
    runs: tuple[PlannedRun, ...]
    fixed: dict[str, Level] = field(default_factory=dict)

    def settings(self, run: PlannedRun) -> str:
        """What replaces values of the study in this run: JSON object of dotted path to value."""
        return canonical(self.overrides | run.variant)

    def as_dict(self) -> dict[str, Any]:
        """As printed by `fathom plan --json` and written to `plan.json`."""
        return {
            "format_version": FORMAT_VERSION,
            "title": self.study.title,
            "seed": self.seed,
            "clock": self.clock,
            "quick": self.quick,
            "rounds": self.rounds,
            "overrides": self.overrides,
            "runs": [run.as_dict() for run in self.runs],
        }


def plan(
    study: Study,
    *,
    seed: int | None = None,
    clock: str | None = None,
    rounds: int | None = None,
    quick: bool = False,
    fixed: Mapping[str, Level] | None = None,
) -> Plan:
    """Every run of a study.

    Args:
        study: a checked study.
        seed: of the order and of every run's randomness; what the study says if None.
        clock: "real" or "virtual"; what the study says if None.
        rounds: how many; what the study says if None.
        quick: apply the study's `[quick]` overrides.
        fixed: settings that replace the study's and those of its overrides, by dotted path.

    Raises:
        UsageError: rounds below 1, a negative seed, an unknown clock, or `quick` without a `[quick]` table.
    """
    clock = clock or study.clock
    seed = study.seed if seed is None else seed
    rounds = study.rounds_of(quick=quick) if rounds is None else rounds
    if clock not in CLOCKS:
        raise UsageError(f'clock "{clock}" is not known', 'write "real" or "virtual"')
    if rounds < 1:
        raise UsageError(f"{rounds} rounds cannot be run", "ask for 1 or more")
    if not 0 <= seed < 2**63:
        raise UsageError(f"seed {seed} is out of range", "write a whole number from 0 to 2^63 - 1")
    overrides = study.overrides(clock, quick=quick) | dict(fixed or {})
    what = _content_hash(study, overrides, clock)
    choices = variants(study)
    runs: list[PlannedRun] = []
    for number in range(1, rounds + 1):
        run_seed = int(digest("run", seed, number), 16) % 2**63
        for variant in sorted(choices, key=lambda variant: digest("order", seed, number, variant)):
            name = digest(what, variant, number, run_seed)
            runs.append(PlannedRun(name, number, len(runs) + 1, variant, run_seed))
    return Plan(study, seed, clock, quick, rounds, overrides, tuple(runs), dict(fixed or {}))


def variants(study: Study) -> list[Variant]:
    """Every combination of levels, the last factor changing fastest; one empty variant for a study without factors."""
    factors = study.factors
    return [dict(zip(factors, levels, strict=True)) for levels in itertools.product(*factors.values())]


def canonical(value: Any) -> str:
    """JSON with sorted keys and no white space: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)


def digest(*parts: Any) -> str:
    """BLAKE2b of the canonical JSON of the parts: 20 hexadecimal digits."""
    return hashlib.blake2b(canonical(list(parts)).encode(), digest_size=10).hexdigest()


def _content_hash(study: Study, overrides: dict[str, Level], clock: str) -> str:
    settings = {key: value for key, value in study.tree.items() if key not in _JUDGEMENT}
    models = [model.read_text(encoding="utf-8") for model in study.models]
    return digest(FORMAT_VERSION, settings, overrides, clock, *models)
