"""Stripes that a variant stands on: whatever loses one of their members loses the volume. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fathom.analysis.copies import stands_on
from fathom.analysis.variants import Variant
from fathom.analysis.words import number
from fathom.results import Level


def stripe_words(study: Mapping[str, Any], taken: Variant, left: Variant) -> str:
    """What the loss of a member means, for stripes that what is left does not stand on; empty without such."""
    others = set(_stripes(study, left))
    said = [one for one in dict.fromkeys(_stripes(study, taken)) if one not in others]
    return " ".join(
        f"The loss of any one of the {number(members)} members of {name} loses all of it." for name, members in said
    )


def _stripes(study: Mapping[str, Any], variant: Mapping[str, Level]) -> Iterator[tuple[str, int]]:
    """Name and members of each, from the volumes that the workload drives down to mirrors, which lose no data."""
    for name, node in stands_on(study, dict(variant), down_to="mirror").items():
        members = node.get("members") if node.get("kind") == "stripe" else None
        if isinstance(members, list) and len(members) > 1:
            yield name, len(members)
