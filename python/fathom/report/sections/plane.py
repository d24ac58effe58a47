"""Where the runs lie between load and rate: outstanding I/O against IOPS, lines of equal latency, known caps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fathom.analysis.variants import matches
from fathom.report.charts import plane
from fathom.report.context import Context
from fathom.report.document import Block, Chart
from fathom.report.format import count, significant
from fathom.report.section import Section
from fathom.report.style.drawing import NARROW
from fathom.results import Run

_DEPTHS = ("per_device", "per_adapter")
"""How the settings of an adapter call its queue depths."""

_SAME = 0.05
"""A ceiling this near a stated cap is that cap; one that a run exceeds by more is none."""


def build(context: Context) -> Sequence[Block]:
    """One chart; left out where no run has both numbers."""
    points = []
    things = list(dict.fromkeys(context.thing(variant) for variant in context.variants))
    for variant in context.variants:
        for run in context.runs(variant):
            outstanding, iops = run.metrics.get("outstanding"), run.metrics.get("iops")
            if outstanding and iops and outstanding > 0 and iops > 0:
                place = things.index(context.thing(variant))
                name = f"{context.label(variant)}, round {run.round}"
                points.append(plane.PlanePoint(place, name, outstanding, iops, run.metrics.get("latency_ms")))
    if not points:
        return []
    limits = _limits(context)
    caption = (
        "Dashed lines are equal latency (Little's law: latency = outstanding / rate). Marks that move right without "
        "rising have met a cap."
    )
    known = "; ".join(f"{limit.label} {count(limit.iops or limit.outstanding)}" for limit in limits)
    busiest = max(points, key=lambda point: point.iops)
    alt = (
        f"I/O rate against outstanding I/O. The highest rate is {count(busiest.iops)} IOPS at "
        f"{significant(busiest.outstanding)} outstanding ({busiest.name})."
        + (f" Known limits: {known}." if known else "")
    )
    return [
        Chart(
            "plane",
            caption,
            alt,
            lambda: plane.draw(things, points, limits),
            lambda: plane.draw(things, points, limits, NARROW),
        )
    ]


def _measured(context: Context) -> list[plane.Limit]:
    """Limits that the volumes themselves told the runs, catalogue models among them: one per volume and value."""
    found: dict[tuple[str, str, str], plane.Limit] = {}
    sizes = {_size(run) for run in context.ok_runs} - {None}
    for run in context.ok_runs:
        for name, value in run.facts.items():
            where, _, word = name.removeprefix("volumes.").rpartition(".")
            limit = _limit(where, word, value, sizes) if name.startswith("volumes.") else None
            if limit is not None:
                found.setdefault((where, word, value), limit)
    return list(found.values())


def _size(run: Run) -> int | None:
    """Bytes of a mean request, to the nearest 512: a throughput limit is a rate only where all are alike."""
    iops, mb_per_s = run.metrics.get("iops"), run.metrics.get("mb_per_s")
    return round(mb_per_s * 1e6 / iops / 512) * 512 if iops and mb_per_s else None


def _limit(where: str, word: str, value: str, sizes: set[int | None]) -> plane.Limit | None:
    try:
        number = float(value)
    except ValueError:
        return None
    if word in {"iops_limit", "iops_peak"}:
        return plane.Limit(f"{where} {'burst' if word == 'iops_peak' else 'limit'}", iops=number)
    if word == "outstanding_limit":
        return plane.Limit(f"{where} depth", outstanding=number)
    if word in {"bytes_per_s_limit", "bytes_per_s_peak"} and len(sizes) == 1 and (size := next(iter(sizes))):
        return plane.Limit(f"{where} {significant(number / 1e6)} MB/s at {size / 1024:g} KiB", iops=number / size)
    return None


def _limits(context: Context) -> list[plane.Limit]:
    """Caps and depths that the settings state as numbers and no factor changes, and ceilings the analysis named.

    A ceiling is fitted to medians: one that a run exceeds by more than 5 % is not drawn as a limit.
    """
    found: list[plane.Limit] = []
    volumes: Any = context.campaign.study.get("volumes")
    for name, node in volumes.items() if isinstance(volumes, dict) else ():
        if not isinstance(node, dict):
            continue
        for key, value in node.items():
            fixed = f"volumes.{name}.{key}" not in context.factors
            if not fixed or not isinstance(value, int | float) or isinstance(value, bool):
                continue
            if "iops" in key:
                found.append(plane.Limit(f"{name} ({node.get('kind', 'cap')})", iops=float(value)))
            elif "depth" in key or key in _DEPTHS:
                found.append(plane.Limit(f"{name} {key.replace('_', ' ')}", outstanding=float(value)))
    for limit in _measured(context):
        same = (other for other in found if other.label.split(" ")[0] == limit.label.split(" ")[0])
        if all((limit.iops, limit.outstanding) != (other.iops, other.outstanding) for other in same):
            found.append(limit)
    stated = [limit.iops for limit in found if limit.iops is not None]
    for knee in context.analysis.knees:
        ceiling = knee.throughput_ceiling.value
        fastest = max(run.metrics.get("iops") or 0.0 for run in context.ok_runs if matches(run.variant, knee.variant))
        if fastest > (1 + _SAME) * ceiling:
            continue
        whose = f"ceiling of {context.label(knee.variant)}" if knee.variant else "ceiling"
        said = f"{whose}, {knee.bottleneck}" if knee.bottleneck else whose
        if knee.metric == "iops" and not any(abs(ceiling / cap - 1) < _SAME for cap in stated):
            found.append(plane.Limit(said, iops=ceiling))
    return found


SECTION = Section("plane", "Rate, latency and outstanding I/O", 70, ("outstanding",), build)
