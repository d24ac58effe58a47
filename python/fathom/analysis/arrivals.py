"""Whether the arrivals of an open loop fix what is compared: storage that keeps up does the rate that it is offered.

Such a rate is the same whatever the storage; it says that both sides keep up and nothing of which is faster.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from fathom.analysis.comparability import Threat
from fathom.analysis.figures import RATES
from fathom.analysis.pairing import Pairing
from fathom.analysis.rules import Rules
from fathom.analysis.variants import Variant, resolved
from fathom.analysis.verdict import log_margin

_FIXED = re.compile(rf"(?:read_|write_)?(?:mb_per_s|{'|'.join(RATES)})")
"""Rates of what the users ask for; those of a rebuild or a flush are the storage's own."""


def arrivals_fix(
    pairing: Pairing, study: Mapping[str, Any], rules: Rules, ratio: float, found: Sequence[Threat]
) -> bool:
    """Whether both sides were offered the same rate and did it, within the margin.

    Not where runs failed or differ in what they ran on: that is to be told first.
    """
    if _FIXED.fullmatch(rules.metric) is None or any(math.isinf(threat.size) for threat in found):
        return False
    sides = [(_offered(study, part.variant), _offered(study, part.baseline)) for part in pairing.parts]
    same = all(mine is not None and mine == other for mine, other in sides)
    return same and ratio > 0 and abs(math.log(ratio)) < log_margin(rules.margin)


def _offered(study: Mapping[str, Any], variant: Variant) -> float | None:
    """Arrivals per second of a variant; None for a closed loop, and for phases, each of which has its own."""
    return (resolved(study, variant).get("demand") or {}).get("rate")
