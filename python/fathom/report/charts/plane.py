"""The plane of outstanding I/O and I/O rate, on which Little's law draws latency as straight lines.

Both axes are logarithmic, outstanding I/O in powers of two. A mark is a run. A cap shows as a row of marks that moves
right but no longer up; horizontal lines are caps known from the settings, vertical ones known queue depths.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fathom.report.format import count, significant, tick
from fathom.report.style.drawing import SMALL, WIDTH, Drawing, fit, text_width
from fathom.report.style.marks import Appearance, key, key_height
from fathom.report.style.palette import light
from fathom.report.style.panel import Panel
from fathom.report.style.ticks import log_places

_LEFT, _RIGHT, _TITLE, _FOOT, _HEIGHT = 64.0, 64.0, 40.0, 48.0, 330.0
_MOST_KEYED = 16
_LABEL_ROW = 18.0
"""Pixels that a label needs up and down."""


@dataclass(frozen=True)
class PlanePoint:
    """One run or moment, by its full name: outstanding I/O (mean), IOPS, mean latency in ms; `place` in the key."""

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


def draw(
    appearances: Sequence[Appearance], points: Sequence[PlanePoint], limits: Sequence[Limit], width: float = WIDTH
) -> Drawing:
    """All runs with positive rate and outstanding I/O; `appearances` is the key, left out where it is too long."""
    keyed = appearances if len(appearances) <= _MOST_KEYED else []
    indent = _LEFT if width == WIDTH else 0.0
    head = _TITLE + (8 + key_height(keyed, width - indent) if keyed else 0)
    drawing = Drawing(head + _HEIGHT + _FOOT, width)
    key(drawing, keyed, left=indent, top=2, width=width - indent)
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
    axes.limits("x", left, right, log=True)
    axes.limits("y", low, high, log=True)
    step = max(1, round(math.log2(right / left) * WIDTH / width / 10))
    powers = range(round(math.log2(left)), math.floor(math.log2(right) + 1e-9) + 1, step)
    axes.ticks("x", [2.0**power for power in powers], [tick(2.0**power) for power in powers])
    rungs = log_places(low, high)
    axes.ticks("y", rungs, [tick(rung) for rung in rungs])
    _latencies(axes, (left, right), (low, high))
    _limits(axes, limits, (left, right), (low, high))
    # The first of the key is drawn last: the rest of a log must not hide its windows.
    for place in sorted({point.place for point in points}, reverse=True):
        mine = [point for point in points if point.place == place]
        appearance = appearances[place]
        places = [(point.outstanding, point.iops) for point in mine]
        axes.marks(places, [_said(point) for point in mine], **appearance.mark(9))
    return drawing


def _said(point: PlanePoint) -> str:
    latency = "" if point.latency_ms is None else f", {significant(point.latency_ms)} ms"
    at = f"{count(point.iops)} IOPS at {significant(point.outstanding)} outstanding"
    return f"{point.name}: {at}{latency}"


def _latencies(axes: Panel, across: tuple[float, float], up: tuple[float, float]) -> None:
    """Lines of equal latency N / X, named where they leave the picture at the right or the top."""
    (left, right), (low, high) = across, up
    for latency_ms in log_places(left / high * 1e3, right / low * 1e3, 8):
        rate = 1e3 / latency_ms
        ends = [(n, n * rate) for n in (max(left, low / rate), min(right, high / rate))]
        if ends[1][0] <= ends[0][0]:
            continue
        axes.line(ends, light("line"), dashes=(4, 3), width=1.1, order=1)
        at_top = ends[1][0] < right * 0.999
        rise: Literal["above", "middle"] = "above" if at_top else "middle"
        axes.note(*ends[1], f"{tick(latency_ms)} ms", rise=rise, align="center" if at_top else "left")


def _limits(axes: Panel, limits: Sequence[Limit], across: tuple[float, float], up: tuple[float, float]) -> None:
    """A line for every limit. Lines too near to each other for two labels share one; depths have a row each."""
    (left, right), (low, high) = across, up
    row = (high / low) ** (_LABEL_ROW / _HEIGHT)
    rates = sorted(((limit.iops, limit.label) for limit in limits if limit.iops is not None), reverse=True)
    labels: list[tuple[float, float, list[str]]] = []
    for rate, label in ((rate, label) for rate, label in rates if low < rate < high):
        axes.rule("y", rate, light("ink"), 1.5)
        said = f"{label}: {count(rate)} IOPS"
        if labels and labels[-1][1] < rate * row:
            top, _, words = labels[-1]
            labels[-1] = (top, rate, [*words, said])
        else:
            labels.append((rate, rate, [said]))
    for rate, _, words in labels:
        shown = fit("; ".join(words), axes.width, SMALL)
        axes.note(left * 1.05, rate * 1.03, shown, colour="ink", rise="above", ground=True)
    depths = sorted({(limit.outstanding, limit.label) for limit in limits if limit.outstanding is not None})
    for place, (depth, label) in enumerate((depth, label) for depth, label in depths if left < depth < right):
        axes.rule("x", depth, light("ink"), 1.5)
        said = f"{label}: {count(depth)}"
        fits = axes.x.place(depth) + text_width(said, SMALL) < axes.left + axes.width + _RIGHT
        at, align = (depth * 1.03, "left") if fits else (depth / 1.03, "right")
        axes.note(at, low * 1.06 * row**place, said, colour="ink", align=align, rise="above", ground=True)
