"""Whether a variant's data have one copy only: the loss of it takes everything, whatever else the variant is. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fathom.analysis.variants import Variant, resolved
from fathom.results import references

_ALL_OF_IT = "takes everything since the last backup"
"""What a mirror says of its last copy (crates/layers/src/mirror)."""


def of_the_only_copy(words: str) -> bool:
    """Whether a loss is that of the only copy, as a mirror tells it of itself while it is being copied."""
    return words.endswith(_ALL_OF_IT)


def is_alone(study: Mapping[str, Any], variant: Variant) -> bool:
    """Whether a variant stands on volumes, and on no mirror among them."""
    kinds = [node.get("kind") for _, node in stands_on(study, variant)]
    return bool(kinds) and "mirror" not in kinds


def stands_on(study: Mapping[str, Any], variant: Variant) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Name and settings of each volume that a variant stands on, from those of its workload down to mirrors."""
    found = resolved(study, variant)
    volumes = found.get("settings", {}).get("volumes", {})
    seen: set[str] = set()
    below = [str(name) for name in found.get("volumes", ())]
    while below:
        name = below.pop()
        node = volumes.get(name)
        if name in seen or not isinstance(node, Mapping):
            continue
        seen.add(name)
        yield name, node
        if node.get("kind") != "mirror":
            below += [each for names in references(node, volumes).values() for each in names]
