"""Two campaigns of one study, measured at two places, as one campaign whose first factor is the place. Pure.

The runs of the two were not interleaved: whatever differs between the places and the times is part of the difference.
So the surroundings are taken off the merged runs (they must differ) and listed for the reader instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fathom.errors import NotComparableError
from fathom.results import Campaign

PLACE = "place"
"""The factor that tells the two campaigns apart."""

_MOMENTARY = ("moment.", "disk.directory", "disk.free_bytes")


def merge(first: Campaign, second: Campaign) -> Campaign:
    """One campaign with the factor `place`; the first campaign's place is the baseline.

    Raises:
        NotComparableError: different studies, clocks, scales or seeds, nothing to compare, or no finished run.
    """
    _check(first, second)
    names = place_names(first, second)
    runs = [
        replace(run, id=f"{name}-{run.id}", variant={PLACE: name, **run.variant}, environment={})
        for name, campaign in zip(names, (first, second), strict=True)
        for run in campaign.runs
    ]
    study = {
        **first.study,
        "factors": {PLACE: list(names), **first.study.get("factors", {})},
        "compare": {**first.study["compare"], "baseline": {PLACE: names[0]}},
    }
    return replace(first, study=study, runs=tuple(runs), planned=first.planned + second.planned)


def place_names(first: Campaign, second: Campaign) -> tuple[str, str]:
    """Short names for two places: the directories' names, told apart by A and B if they are equal."""
    names = (first.directory.resolve().name, second.directory.resolve().name)
    return names if names[0] != names[1] else (f"{names[0]} (A)", f"{names[1]} (B)")


def differences(first: Campaign, second: Campaign) -> list[tuple[str, str, str]]:
    """What differs between the surroundings of the two: dotted key, value there, value here; nothing momentary."""
    facts = [_flat(campaign.runs[0].environment) if campaign.runs else {} for campaign in (first, second)]
    keys = [key for key in dict.fromkeys([*facts[0], *facts[1]]) if not key.startswith(_MOMENTARY)]
    pairs = ((key, str(facts[0].get(key)), str(facts[1].get(key))) for key in keys)
    return [(key, one, other) for key, one, other in pairs if one != other]


def _check(first: Campaign, second: Campaign) -> None:
    different = [
        words
        for words, one, other in (
            ("study text", first.study_text, second.study_text),
            ("clock", first.clock, second.clock),
            ("scale (--quick)", first.quick, second.quick),
            ("seed", first.seed, second.seed),
        )
        if one != other
    ]
    if different:
        raise NotComparableError(
            f"{first.directory} and {second.directory} have another {' and another '.join(different)}",
            "run the same study file with the same options at both places",
        )
    if first.directory.resolve() == second.directory.resolve():
        raise NotComparableError(f"{first.directory} is the same campaign twice", "give two campaign directories")
    if not first.study.get("compare"):
        raise NotComparableError(
            f"{first.directory / 'study.toml'}: the study compares nothing",
            'a study for two places needs [compare] with metric = "..."',
        )
    for campaign in (first, second):
        if not any(run.ok for run in campaign.runs):
            raise NotComparableError(f"{campaign.directory}: no run has finished well", "run the study there first")


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return flat
