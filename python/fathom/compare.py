"""Two campaigns of one study, measured at two places, as one campaign whose first factor is the place. Pure.

Whatever differs between the places is part of the difference, and so is what changed between the two sessions unless
the rounds were run in turn. Of the surroundings the merged runs keep what changed within a campaign, which forbids a
verdict as in any campaign; what differs between the two is listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from fathom.errors import NotComparableError
from fathom.results import Campaign, Places, Run

PLACE = "place"
"""The factor that tells the two campaigns apart."""

_MOMENTARY = ("moment.", "disk.directory", "disk.free_bytes")


def merge(first: Campaign, second: Campaign) -> Campaign:
    """One campaign with the factor `place`; the first campaign's place is the baseline.

    A verdict that was shown of either counts as a look.

    Raises:
        NotComparableError: different studies, settings, models, clocks, scales or seeds, nothing to compare, or no
            finished run.
    """
    _check(first, second)
    names = place_names(first, second)
    places = Places(
        tuple(differences(first, second)), _in_turn(first, second), (measured_in(first), measured_in(second))
    )
    sides = list(zip(names, (first, second), strict=True))
    runs = [
        replace(_at(name, run), environment=kept)
        for name, campaign in sides
        for run, kept in zip(campaign.runs, _changing(campaign.runs), strict=True)
    ]
    compare = first.study["compare"]
    study = {
        **first.study,
        "factors": {PLACE: list(names), **first.study.get("factors", {})},
        "compare": {
            **compare,
            "baseline": {PLACE: names[0]},
            "choice": places.in_turn and compare.get("choice", True),
        },
    }
    return replace(
        first,
        study=study,
        runs=tuple(runs),
        retried=tuple(_at(name, run) for name, campaign in sides for run in campaign.retried),
        sensitivity=tuple(_at(name, run) for name, campaign in sides for run in campaign.sensitivity),
        planned=first.planned + second.planned,
        looks=tuple(sorted({*first.looks, *second.looks})),
        places=places,
    )


def _at(place: str, run: Run) -> Run:
    return replace(run, id=f"{place}-{run.id}", variant={PLACE: place, **run.variant})


def place_names(first: Campaign, second: Campaign) -> tuple[str, str]:
    """Short names for two places: the directories' names, told apart by A and B if they are equal."""
    names = (first.directory.resolve().name, second.directory.resolve().name)
    return names if names[0] != names[1] else (f"{names[0]} (A)", f"{names[1]} (B)")


def measured_in(campaign: Campaign) -> str:
    """The directory on the disk under test; without `--scratch` the campaign's own, where it was when it ran."""
    if campaign.scratch is not None:
        return campaign.scratch
    disks = (run.environment.get("disk") or {} for run in campaign.runs)
    # A campaign that was copied is read from another disk than it measured; a relative path leads nowhere from here.
    known = (place for disk in disks if Path(place := str(disk.get("directory") or "")).is_absolute())
    return next(known, str(campaign.directory))


def differences(first: Campaign, second: Campaign) -> list[tuple[str, str, str]]:
    """What differs between the surroundings of the two: dotted key, values there, values here; nothing momentary.

    Of every run, since a kernel or a build may change between two rounds.
    """
    facts = [_facts(campaign.runs) for campaign in (first, second)]
    pairs = ((key, *(" and ".join(side.get(key, ["None"])) for side in facts)) for key in {**facts[0], **facts[1]})
    return [(key, one, other) for key, one, other in pairs if one != other]


def _facts(runs: Sequence[Run]) -> dict[str, list[str]]:
    """Every value of every fact that is not of the moment."""
    found: dict[str, dict[str, None]] = {}
    for run in runs:
        for key, value in _flat(run.environment).items():
            if not key.startswith(_MOMENTARY):
                found.setdefault(key, {})[str(value)] = None
    return {key: list(values) for key, values in found.items()}


def _changing(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The surroundings of every run without what is the same in all of them: that is the place itself."""
    changed = {key for key, values in _facts(runs).items() if len(values) > 1}
    return [_only(run.environment, changed) for run in runs]


def _only(tree: Mapping[str, Any], keys: set[str], prefix: str = "") -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            kept |= {key: below} if (below := _only(value, keys, f"{prefix}{key}.")) else {}
        elif f"{prefix}{key}" in keys:
            kept[key] = value
    return kept


def _in_turn(first: Campaign, second: Campaign) -> bool:
    """Whether no round began at either place before the one before it had begun at both."""
    if first.clock == "virtual":
        return True
    rounds: dict[int, list[str | None]] = {}
    for run in (*first.runs, *second.runs):
        rounds.setdefault(run.round, []).append(run.started)
    last: datetime | None = None
    for _, started in sorted(rounds.items()):
        moments = [datetime.fromisoformat(moment) for moment in started if moment is not None]
        if len(moments) < len(started) or (last is not None and min(moments) < last):
            return False
        last = max(moments)
    return True


def _check(first: Campaign, second: Campaign) -> None:
    different = [
        words
        for words, one, other in (
            ("study text", first.study_text, second.study_text),
            (f"value of {_settings(first, second)}", first.fixed, second.fixed),
            ("set of models", first.models, second.models),
            ("clock", first.clock, second.clock),
            ("scale (--quick)", first.quick, second.quick),
            ("seed", first.seed, second.seed),
        )
        if one != other
    ]
    if different:
        varied = first.fixed != second.fixed or first.models != second.models
        raise NotComparableError(
            f"{first.directory} and {second.directory} have another {' and another '.join(different)}",
            "run the same study file with the same options at both places"
            + ("; what you vary on purpose is a factor of one study" if varied else ""),
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


def _settings(first: Campaign, second: Campaign) -> str:
    """The settings of which a search gave the two other values: `workload.rate (500 and 6000)`."""
    keys = [key for key in {**first.fixed, **second.fixed} if first.fixed.get(key) != second.fixed.get(key)]
    return ", ".join(f"{key} ({first.fixed.get(key, 'unset')} and {second.fixed.get(key, 'unset')})" for key in keys)


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return flat
