"""The settings a run really had: the study, the overrides of its clock and of `--quick`, the variant's levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fathom.results import Campaign, Level


def effective_study(campaign: Campaign) -> dict[str, Any]:
    """The study with the overrides in force put in place; the tables of overrides are those of `study.Study`."""
    study = dict(campaign.study)
    tables = [campaign.clock, "quick"] if campaign.quick else [campaign.clock]
    for table in tables:
        for path, value in campaign.study.get(table, {}).items():
            study = _with(study, path.split("."), value)
    return study


def setting(study: Mapping[str, Any], variant: Mapping[str, Level], path: str) -> Any:
    """The value of a dotted path as the variant ran with it: its level, else what the study says, else None."""
    if path in variant:
        return variant[path]
    node: Any = study
    for part in path.split("."):
        if not isinstance(node, Mapping) or part not in node:
            return None
        node = node[part]
    return node


def _with(tree: Mapping[str, Any], path: list[str], value: object) -> dict[str, Any]:
    """A copy of the tree with one value replaced; tables on the way are made where there are none."""
    head, *rest = path
    below = tree.get(head)
    return {**tree, head: _with(below if isinstance(below, Mapping) else {}, rest, value) if rest else value}


def is_saturating(study: Mapping[str, Any], variant: Mapping[str, Level]) -> bool:
    """Whether users of the workload never pause: a closed loop without think time and without phases."""
    return all(setting(study, variant, f"workload.{key}") is None for key in ("think", "rate", "phases"))
