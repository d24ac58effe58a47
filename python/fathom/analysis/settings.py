"""The settings a run really had: the study, the overrides of its clock and of `--quick`, the variant's levels.

A factor or an override is either a dotted path or the name of a set, whose levels hold values for several paths.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fathom.results import Campaign, Level

_NOTHING = re.compile(r"0+(\.0+)?\s*[a-z]*")
"""A span of no length, in any unit."""


def effective_study(campaign: Campaign) -> dict[str, Any]:
    """The study with the overrides in force put in place; the tables of overrides are those of `study.Study`."""
    study = dict(campaign.study)
    tables = [campaign.clock, "quick"] if campaign.quick else [campaign.clock]
    for table in tables:
        for name, level in campaign.study.get(table, {}).items():
            for path, value in assigned(campaign.study, name, level).items():
                study = _with(study, path.split("."), value)
    return study


def setting(study: Mapping[str, Any], variant: Mapping[str, Level], path: str) -> Any:
    """The value of a dotted path as the variant ran with it: its level, else what the study says, else None."""
    for name, level in variant.items():
        values = assigned(study, name, level)
        if path in values:
            return values[path]
    node: Any = study
    for part in path.split("."):
        if not isinstance(node, Mapping) or part not in node:
            return None
        node = node[part]
    return node


def is_saturating(study: Mapping[str, Any], variant: Mapping[str, Level]) -> bool:
    """Whether users of the workload never pause: a closed loop without think time and without phases."""
    think = setting(study, variant, "workload.think")
    pauses = think is not None and not _NOTHING.fullmatch(str(think))
    return not pauses and all(setting(study, variant, f"workload.{key}") is None for key in ("rate", "phases"))


def assigned(study: Mapping[str, Any], name: str, level: object) -> Mapping[str, Any]:
    """What choosing a level sets: the level itself at the path, or all values of a set's level."""
    found = study.get("sets", {}).get(name)
    if found is None:
        return {name: level}
    values = found.get(str(level), {})
    return values if isinstance(values, Mapping) else {}


def _with(tree: Mapping[str, Any], path: list[str], value: object) -> dict[str, Any]:
    """A copy of the tree with one value replaced; tables on the way are made where there are none."""
    head, *rest = path
    below = tree.get(head)
    return {**tree, head: _with(below if isinstance(below, Mapping) else {}, rest, value) if rest else value}
