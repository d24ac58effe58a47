"""What is said of a sweep of loads: where it saturates, with rate and latency on both sides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fathom.analysis.model import Knee
from fathom.analysis.variants import label, load_name, variant_key
from fathom.analysis.words import number, quantity
from fathom.metrics import metric as metric_facts

if TYPE_CHECKING:
    from fathom.analysis.load import LoadTable

_COUNTED = {"count": "databases"}
"""Loads whose key does not say what is counted."""


def of_sweeps(knees: Sequence[Knee], tables: Sequence[LoadTable], study: Mapping[str, Any]) -> Iterator[str]:
    """Where each table of loads saturates, with the latency on both sides."""
    of_table = {(knee.load_factor, variant_key(knee.variant)): knee for knee in knees}
    for table in tables:
        who = label(table.variant, study) if table.variant else ""
        found = _saturation(table, of_table.get((table.factor, variant_key(table.variant))), study)
        yield f"{who}: {found}" if who else found


def _saturation(table: LoadTable, knee: Knee | None, study: Mapping[str, Any]) -> str:
    # Reports import this module, and need no numpy.
    from fathom.analysis.knee import is_lowest
    from fathom.analysis.sweep import Shape, shape_of

    word = _counted(table.factor, study)
    unit = metric_facts(table.metric).unit
    points, labels = table.medians, study.get("labels", {}).get(table.factor, {})

    def named(load: float) -> str:
        return str(labels.get(f"{load:g}", f"{number(load)} {word}"))

    def at(load: float, rate: float, latency: float) -> str:
        slow = f" at {quantity(latency, 'ms')}" if math.isfinite(latency) else ""
        return f"{quantity(rate, unit)}{slow} with {named(load)}"

    if knee is not None:
        below = [point for point in points if point[0] <= knee.n_star.value] or [points[0]]
        limit = f" ({knee.bottleneck})" if knee.bottleneck else ""
        return f"it saturates at about {saturation_words(knee, study)}{limit}: {at(*below[-1])}, {at(*points[-1])}"
    ends = f"{at(*points[0])}, {at(*points[-1])}"
    match shape_of(table):
        case Shape.GROWS:
            return f"no saturation up to {named(points[-1][0])}: {ends}"
        case Shape.DECLINES:
            return f"more load brings less: {ends}"
        case Shape.FROM_START:
            fewer = "" if is_lowest(points[0][0]) else "; try fewer"
            return f"it is already saturated at the lowest load tried ({named(points[0][0])}): {ends}{fewer}"
    best = at(*max(points, key=lambda point: point[1]))
    most = "" if best in ends else f"most {best}, "
    return f"it levels off without a clear saturation point: {at(*points[0])}, {most}{at(*points[-1])}"


def saturation_words(knee: Knee, study: Mapping[str, Any]) -> str:
    """The saturation point with what is counted: `6 outstanding`."""
    return f"{number(saturation(knee))} {_counted(knee.load_factor, study)}"


def _counted(factor: str, study: Mapping[str, Any]) -> str:
    name = load_name(factor, study)
    return _COUNTED.get(name, name)


def saturation(knee: Knee) -> float:
    """The saturation point as it is told: two digits, and whole where loads are counted."""
    value = float(f"{knee.n_star.value:.2g}")
    return max(1.0, float(round(value))) if all(load == int(load) for load, _, _ in knee.points) else value
