"""The plane of outstanding I/O and I/O rate, on which Little's law draws latency as straight lines.

Both axes are logarithmic, outstanding I/O in powers of two. A mark is a run. A cap shows as a row of marks that moves
right but no longer up; horizontal lines are caps known from the settings, vertical ones known queue depths.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.report.format import count, significant, tick
from fathom.report.style.drawing import WIDTH, Drawing, chart, fixed_ticks, log_places, note
from fathom.report.style.marks import Look, key, key_height
from fathom.report.style.palette import light

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEFT, _RIGHT, _TITLE, _FOOT, _HEIGHT = 64.0, 64.0, 40.0, 48.0, 330.0
_MOST_KEYED = 16


@dataclass(frozen=True)
class PlanePoint:
    """One run or moment: outstanding I/O (mean), IOPS, mean latency in ms; `place` is that of its look in the key."""

    place: int
    name: str
    outstanding: float
    iops: float
    latency_ms: float | None


@dataclass(frozen=True)
class Limit:
    """A known limit: an I/O rate (`iops`) or a number of outstanding requests (`outstanding`), and where it stands."""

    label: str
    iops: float | None = None
    outstanding: float | None = None


@chart
def draw(looks: Sequence[Look], points: Sequence[PlanePoint], limits: Sequence[Limit]) -> Drawing:
    """All runs with positive rate and outstanding I/O; `looks` is the key, left out where it is too long."""
    keyed = looks if len(looks) <= _MOST_KEYED else []
    head = _TITLE + (8 + key_height(keyed, WIDTH - _LEFT) if keyed else 0)
    drawing = Drawing(head + _HEIGHT + _FOOT)
    key(drawing, keyed, left=_LEFT, top=2, width=WIDTH - _LEFT)
    drawing.words(0, head - 28, "I/O rate, IOPS", bold=True)
    drawing.words(
        drawing.width - _RIGHT, drawing.height - 12, "outstanding I/O, mean", colour="muted", size=11, align="right"
    )
    axes = drawing.panel(_LEFT, head, drawing.width - _LEFT - _RIGHT, _HEIGHT, grid="xy", frame="bl")
    caps = [limit.iops for limit in limits if limit.iops is not None]
    left = 2.0 ** math.floor(math.log2(min(point.outstanding for point in points)) - 0.2)
    right = 2.0 ** math.ceil(math.log2(max(point.outstanding for point in points)) + 0.2)
    if any(limit.outstanding is not None and abs(limit.outstanding / right - 1) < 0.02 for limit in limits):
        right *= 1.6  # A depth at the very edge would not be seen.
    rates = [point.iops for point in points]
    near = [cap for cap in caps if min(rates) / 3 <= cap <= max(rates) * 3]
    low, high = min([*rates, *near]) / 1.8, max([*rates, *near]) * 1.8
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    powers = range(round(math.log2(left)), round(math.log2(right)) + 1, max(1, round(math.log2(right / left) / 10)))
    fixed_ticks(axes, "x", [2.0**power for power in powers], [tick(2.0**power) for power in powers])
    rungs = log_places(low, high)
    fixed_ticks(axes, "y", rungs, [tick(rung) for rung in rungs])
    _latencies(axes, (left, right), (low, high))
    _limits(axes, limits, (left, right), (low, high))
    for place in sorted({point.place for point in points}):
        mine = [point for point in points if point.place == place]
        look = looks[place]
        (marks,) = axes.plot(
            [point.outstanding for point in mine], [point.iops for point in mine], **look.mark(9), zorder=3
        )
        drawing.tip(marks, [_said(look, point) for point in mine])
    return drawing


def _said(look: Look, point: PlanePoint) -> str:
    latency = "" if point.latency_ms is None else f", {significant(point.latency_ms)} ms"
    at = f"{count(point.iops)} IOPS at {significant(point.outstanding)} outstanding"
    return f"{look.label}, {point.name}: {at}{latency}"


def _latencies(axes: Axes, across: tuple[float, float], up: tuple[float, float]) -> None:
    """Lines of equal latency N / X, named where they leave the picture at the right or the top."""
    (left, right), (low, high) = across, up
    for latency_ms in log_places(left / high * 1e3, right / low * 1e3, 8):
        rate = 1e3 / latency_ms
        ends = [(n, n * rate) for n in (max(left, low / rate), min(right, high / rate))]
        if ends[1][0] <= ends[0][0]:
            continue
        axes.plot(
            [n for n, _ in ends],
            [x for _, x in ends],
            color=light("line"),
            linewidth=0.8,
            linestyle=(0, (4, 3)),
            zorder=1,
        )
        at_top = ends[1][0] < right * 0.999
        note(axes, ends[1][0], ends[1][1], f"{tick(latency_ms)} ms", va="bottom" if at_top else "center",
             align="center" if at_top else "left", clip_on=False)  # fmt: skip


def _limits(axes: Axes, limits: Sequence[Limit], across: tuple[float, float], up: tuple[float, float]) -> None:
    (left, right), (low, high) = across, up
    ground = {"facecolor": light("paper"), "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
    for limit in limits:
        if limit.iops is not None and low < limit.iops < high:
            axes.axhline(limit.iops, color=light("ink"), linewidth=1.1, zorder=2)
            note(
                axes,
                left * 1.05,
                limit.iops * 1.03,
                f"{limit.label}: {count(limit.iops)} IOPS",
                colour="ink",
                va="bottom",
                bbox=ground,
            )
        if limit.outstanding is not None and left < limit.outstanding < right:
            axes.axvline(limit.outstanding, color=light("ink"), linewidth=1.1, zorder=2)
            note(axes, limit.outstanding * 1.03, low * 1.06, f"{limit.label}: {count(limit.outstanding)}", colour="ink",
                 va="bottom", bbox=ground)  # fmt: skip
