"""Did all runs of a comparison happen in the same surroundings? What differs is named, but for what always does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fathom.results import Run

_CHANGES_ANYWAY = (
    "time",
    "date",
    "load",
    "uptime",
    "free",
    "available",
    "mhz",
    "temperature",
    "pid",
    "path",
    "directory",
)
"""Words in a key that mark a value of the moment, not of the surroundings."""

_BESIDE_THE_POINT = ("moment.", "versions.")
"""Beginnings of keys that no measurement depends on: load of the moment, libraries that analyse."""

_MACHINE = frozenset({"machine", "machine_id", "host", "hostname", "kernel", "cpu", "cpus", "cores", "architecture"})
"""Parts of a key that mark the machine itself: different ones are never compared, whatever the factors are."""

_SHOWN = 3


def differing(runs: Iterable[Run], baseline_runs: Iterable[Run], *, virtual: bool) -> list[str]:
    """Sentences on facts that changed between rounds of one variant, or on machines that differ between the two.

    A fact that is the same in all rounds of each variant and differs between them may follow from the factor (another
    database has another version), so only the machine's own facts are held against it. In virtual time only the build
    of the simulator matters.
    """
    sides = [[_relevant(_facts(run.environment), virtual) for run in side] for side in (runs, baseline_runs)]
    everything = sides[0] + sides[1]
    keys = sorted({key for facts in everything for key in facts})
    changed: list[str] = []
    for key in keys:
        within = [{facts[key] for facts in side if key in facts} for side in sides]
        unsettled = any(len(values) > 1 for values in within)
        if unsettled or (_is_machine(key) and len(within[0] | within[1]) > 1):
            changed.append(f"{key} ({' and '.join(sorted(within[0] | within[1])[:_SHOWN])})")
    if not changed:
        return []
    more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    return [f"the runs did not share one environment: {', '.join(changed[:_SHOWN])}{more} changed between them"]


def _facts(value: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Leaves of the environment by dotted key, as text, without those that change anyway."""
    facts: dict[str, str] = {}
    for key, item in value.items():
        path = f"{prefix}.{key}" if prefix else str(key)
        if any(word in part for part in str(key).lower().replace("-", "_").split("_") for word in _CHANGES_ANYWAY):
            continue
        if isinstance(item, Mapping):
            facts |= _facts(item, path)
        elif item is not None:
            facts[path] = str(item)
    return facts


def _relevant(facts: dict[str, str], virtual: bool) -> dict[str, str]:
    if virtual:
        return {key: value for key, value in facts.items() if key.startswith("build.")}
    return {key: value for key, value in facts.items() if not key.startswith(_BESIDE_THE_POINT)}


def _is_machine(key: str) -> bool:
    return any(part in _MACHINE for part in key.lower().split("."))
