"""Whether a variant's data have one copy only: the loss of it takes everything, whatever else the variant is. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fathom.analysis.variants import Variant, resolved
from fathom.results import standing_on

_ALL_OF_IT = "takes everything since the last backup"
"""What a mirror says of its last copy (crates/layers/src/mirror)."""


def of_the_only_copy(words: str) -> bool:
    """Whether a loss is that of the only copy, as a mirror tells it of itself while it is being copied."""
    return words.endswith(_ALL_OF_IT)


def is_alone(study: Mapping[str, Any], variant: Variant) -> bool:
    """Whether a variant stands on volumes, and on no mirror among them."""
    kinds = [node.get("kind") for node in stands_on(study, variant).values()]
    return bool(kinds) and "mirror" not in kinds


def stands_on(study: Mapping[str, Any], variant: Variant, down_to: str = "") -> dict[str, Mapping[str, Any]]:
    """Name and settings of each volume that a variant stands on, from those of its workload down to those of a kind."""
    found = resolved(study, variant)
    volumes = found.get("settings", {}).get("volumes", {})
    return {name: volumes[name] for name in standing_on(found.get("volumes", ()), volumes, down_to)}
