"""Stripes that a variant stands on: whatever loses one of their members loses the volume. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fathom.analysis.variants import Variant, resolved
from fathom.analysis.words import number
from fathom.results import Level, references


def stripe_words(study: Mapping[str, Any], taken: Variant, left: Variant) -> str:
    """What the loss of a member means, for stripes that what is left does not stand on; empty without such."""
    others = set(_stripes(study, left))
    said = [one for one in dict.fromkeys(_stripes(study, taken)) if one not in others]
    return " ".join(
        f"The loss of any one of the {number(members)} members of {name} loses all of it." for name, members in said
    )


def _stripes(study: Mapping[str, Any], variant: Mapping[str, Level]) -> Iterator[tuple[str, int]]:
    """Name and members of each, from the volumes that the workload drives down to mirrors, which lose no data."""
    found = resolved(study, variant)
    volumes = found.get("settings", {}).get("volumes", {})
    seen: set[str] = set()
    below = [str(name) for name in found.get("volumes", ())]
    while below:
        name = below.pop()
        node = volumes.get(name)
        if name in seen or not isinstance(node, Mapping) or node.get("kind") == "mirror":
            continue
        seen.add(name)
        members = node.get("members") if node.get("kind") == "stripe" else None
        if isinstance(members, list) and len(members) > 1:
            yield name, len(members)
        below += [each for names in references(node, volumes).values() for each in names]
