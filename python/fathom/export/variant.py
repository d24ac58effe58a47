"""The variant of a study that is exported: its volumes as they run, and those that its workload uses."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fathom.analysis.words import listed
from fathom.errors import UsageError
from fathom.results import references


@dataclass(frozen=True)
class Chosen:
    """A variant.

    Attributes:
        volumes: all of the study, as they run in it.
        roots: the volumes that the workload uses.
        notes: the levels, a line each, and what the study's clock replaces.
    """

    volumes: Mapping[str, Any]
    roots: tuple[str, ...]
    notes: tuple[str, ...]


def chosen(study: Mapping[str, Any], levels: Mapping[str, str], path: Path) -> Chosen:
    """The variant with those levels; factors that change nothing of what is exported may be left out.

    Args:
        study: as resolved.
        levels: factor to level, as typed.
        path: for messages.

    Raises:
        UsageError: a factor or level is unknown, the levels leave open what is exported, or no volume is used.
    """
    for factor, level in levels.items():
        known = study["factors"].get(factor)
        if known is None:
            raise UsageError(
                f"--variant {factor}={level}: {path} has no such factor", _factors(study, study["factors"])
            )
        if level not in map(_written, known):
            raise UsageError(f"--variant {factor}={level}: no such level", _factors(study, [factor]))
    left = [
        variant
        for variant in study["variants"]
        if all(_written(variant["levels"][factor]) == level for factor, level in levels.items())
    ]
    if open_ := _open(left):
        more = " also" if levels else ""
        raise UsageError(f"{path}: its volumes{more} depend on {listed(open_)}", _factors(study, open_))
    variant = left[0]
    roots = _roots(variant)
    if not roots:
        raise UsageError(f"{path}: the workload uses no volume", "export the study of a workload on volumes")
    same = [factor for factor in variant["levels"] if len({repr(one["levels"][factor]) for one in left}) == 1]
    notes = [f"variant: {factor} = {_written(variant['levels'][factor])}" for factor in same]
    notes += [
        f"in {study['clock']} time: {place} = {_written(value)}"
        for place, value in study["overrides"].items()
        if place.startswith("volumes.")
    ]
    return Chosen(variant["settings"].get("volumes", {}), roots, tuple(notes))


def _roots(variant: Mapping[str, Any]) -> tuple[str, ...]:
    """What the workload drives itself, and what lies below the places of its files."""
    places = variant["wants"]["places"].values()
    return tuple(dict.fromkeys([*variant["volumes"], *(p["volume"] for p in places if p.get("volume") is not None)]))


def _open(variants: Sequence[Mapping[str, Any]]) -> list[str]:
    """The factors with which what is exported changes; none where it is the same in all variants."""
    exported = [repr(_exported(variant)) for variant in variants]
    if len(set(exported)) == 1:
        return []
    found = []
    for factor in variants[0]["levels"]:
        alike: dict[str, set[str]] = {}
        for variant, what in zip(variants, exported, strict=True):
            rest = {name: level for name, level in variant["levels"].items() if name != factor}
            alike.setdefault(repr(rest), set()).add(what)
        if any(len(several) > 1 for several in alike.values()):
            found.append(factor)
    return found


def _exported(variant: Mapping[str, Any]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The volumes that are used, and the settings of these and of all below them."""
    volumes = variant["settings"].get("volumes", {})
    found: dict[str, Any] = {}
    waiting = list(_roots(variant))
    roots = tuple(waiting)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = volumes[name]
            waiting += [below for names in references(volumes[name], volumes).values() for below in names]
    return roots, dict(sorted(found.items()))


def _factors(study: Mapping[str, Any], factors: Sequence[str] | Mapping[str, Any]) -> str:
    """Factors with their levels, a line each, quoted for a shell: `--variant storage='two stripes', or storage=io2`."""
    if not factors:
        return "the study has no factors: leave --variant out"
    lines = []
    for factor in factors:
        levels = (shlex.quote(f"{factor}={_written(level)}") for level in study["factors"][factor])
        lines.append(f"--variant {', or '.join(levels)}")
    return "\n        ".join(["choose:", *lines] if len(lines) > 1 else lines)


def _written(level: Any) -> str:
    """A level as typed on the command line."""
    return str(level).lower() if isinstance(level, bool) else str(level)
