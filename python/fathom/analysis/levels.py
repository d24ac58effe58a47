"""What stands behind a mean over load levels: the improvement at every level by itself, and over a size that varies.

The publication this follows gives the arithmetic mean of the ratios over load levels: the coefficient of performance
improvement, Cpi (AWS, "Maximizing Microsoft SQL Server Performance Using Amazon EC2 NVMe Instance Store", 2020). It
stands beside published figures and decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fathom.analysis.estimate import estimate_ratio
from fathom.analysis.model import Comparison, Estimate
from fathom.analysis.pairing import pair, ratio_of
from fathom.analysis.variants import assigned
from fathom.results import Level, Run

LEVEL = 0.95
"""Of each interval by itself: these are shown, and nothing is decided by them."""


@dataclass(frozen=True)
class AtLevel:
    """The improvement of a comparison at one of the levels that its ratio averages.

    Attributes:
        levels: of the averaged factors.
        points: (round, ratio) of every complete round.
        ratio: their geometric mean with its interval; None without rounds.
        hidden: as of the pairing.
    """

    levels: Mapping[str, Level]
    points: tuple[tuple[int, float], ...]
    ratio: Estimate | None
    hidden: float = 0.0


def at_levels(runs: Sequence[Run], comparison: Comparison, *, seed: int, virtual: bool) -> tuple[AtLevel, ...]:
    """The comparison at each of its averaged levels, in the order of the study."""
    found = []
    for levels in comparison.averaged:
        pairing = pair(runs, {**comparison.variant, **levels}, {**comparison.baseline, **levels}, comparison.metric)
        ratio = ratio_of(pairing, level=LEVEL, seed=seed, virtual=virtual)
        points = tuple((number, math.exp(log)) for number, log in zip(pairing.rounds, pairing.logs, strict=True))
        found.append(AtLevel(levels, points, ratio, pairing.hidden))
    return tuple(found)


def cpi(found: Sequence[AtLevel], *, seed: int, virtual: bool) -> AtLevel:
    """The mean of the levels' ratios, round by round, over the rounds that every level has: as it is published."""
    by_round = [dict(at.points) for at in found]
    whole = sorted(set.intersection(*(set(points) for points in by_round)))
    means = np.array([np.mean([points[number] for points in by_round]) for number in whole], dtype=np.float64)
    hidden = math.hypot(*(at.hidden for at in found)) / len(found)
    ratio = estimate_ratio(np.log(means), level=LEVEL, seed=seed, virtual=virtual, hidden=hidden)
    return AtLevel({}, tuple(zip(whole, map(float, means), strict=True)), ratio)


@dataclass(frozen=True)
class SizeAxis:
    """A factor whose levels are sizes of one volume.

    Attributes:
        factor: its name.
        path: the size that it sets.
        bytes: by level; 0 for a level that does not set it, which is there without that volume.
    """

    factor: str
    path: str
    bytes: Mapping[Level, int]


def size_axis(study: Mapping[str, Any], comparisons: Sequence[Comparison]) -> SizeAxis | None:
    """The size that a compared factor varies, if it does: set by itself, or in a set together with other values.

    Args:
        study: as resolved.
        comparisons: of the campaign; the factor is the one in which variants differ from their baselines.
    """
    differing = [
        factor for one in comparisons for factor, level in one.variant.items() if one.baseline.get(factor) != level
    ]
    for factor in dict.fromkeys(differing):
        sides = [side for one in comparisons for side in (one.variant, one.baseline)]
        levels = list(dict.fromkeys(side[factor] for side in sides if factor in side))
        values = {level: assigned(study, factor, level) for level in levels}
        for path in dict.fromkeys(path for value in values.values() for path in value if path.endswith(".size")):
            sizes = {level: _bytes(value.get(path)) for level, value in values.items()}
            if len(set(sizes.values())) >= 3:
                return SizeAxis(factor, path, sizes)
    return None


_AMOUNTS = (".size", ".iops", ".throughput")
"""Settings of a volume of which less is cheaper."""

_WHATS = (".kind", ".model")
"""Settings of a volume that say what it is."""

_REQUEST = "workload.size"
"""Of two sizes of a request that do as much, the smaller one waits less."""


def amount(
    study: Mapping[str, Any], variant: Mapping[str, Level], other: Mapping[str, Level], *, requests: bool = False
) -> float | None:
    """How much of a volume a variant takes, where that alone sets it apart from `other`; None where it does not.

    Bytes, or operations or bytes per second. A level that sets none, beside others that do, is there without that
    volume: 0. The size of `requests` is one as well, if asked for.
    """
    differing = [factor for factor, level in variant.items() if other.get(factor) != level]
    if len(differing) != 1 or differing[0] not in other:
        return None
    (factor,) = differing
    mine, theirs = (assigned(study, factor, level) for level in (variant[factor], other[factor]))
    # Of two models the one with the smaller figures may well be the dearer.
    if any(mine[path] != theirs[path] for path in mine.keys() & theirs.keys() if says_what(path)):
        return None
    paths = [p for p in dict.fromkeys([*mine, *theirs]) if _is_amount(p) or (requests and p == _REQUEST)]
    pairs = [(_quantity(mine.get(path)), _quantity(theirs.get(path))) for path in paths]
    unlike = [(one, two) for one, two in pairs if one != two]
    # More of one and less of another is neither.
    alike = len({one < two for one, two in unlike}) == 1
    return unlike[0][0] if alike else None


def says_what(path: str) -> bool:
    """Whether a path sets what a volume is: choosing its level chooses a volume."""
    return path.startswith("volumes.") and path.endswith(_WHATS)


def _is_amount(path: str) -> bool:
    return path.startswith("volumes.") and path.endswith(_AMOUNTS)


def _quantity(value: Any) -> float:
    if value is None or isinstance(value, int | float):
        return float(value or 0)
    text = str(value).removesuffix("/s")
    return float(text) if text.replace("_", "").isdigit() else float(_bytes(text))


def _bytes(size: Any) -> int:
    from fathom import _core

    return 0 if size is None else int(_core.size_bytes(str(size)))
