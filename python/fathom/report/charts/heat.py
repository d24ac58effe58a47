"""Latency over time as a heat map: a row per run, a column per stretch of time, darker where latency is higher.

The scale is logarithmic and the same for all rows, so that a stall, a slow start or a run unlike its siblings is seen
at a glance. The words at the scale say what the shades mean; the tables give the numbers.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from fathom.report.format import significant
from fathom.report.style.drawing import SMALL, Drawing, label_column
from fathom.report.style.marks import Appearance
from fathom.report.style.palette import HEAT_STEPS, light

_HEAD, _FOOT, _ROW, _RIGHT = 44.0, 44.0, 18.0, 8.0
_BOX = 34.0
# Seven shades over less than this would differ by less than their labels show.
_LEAST_RATIO = 2.0


@dataclass(frozen=True)
class HeatRow:
    """One run: latency in ms in each of equally long stretches of time; None where nothing was measured."""

    appearance: Appearance
    round: int
    cells: tuple[float | None, ...]

    @property
    def name(self) -> str:
        """What the row is called."""
        return f"{self.appearance.label}, round {self.round}"


def draw(rows: Sequence[HeatRow], span: tuple[float, float], title: str) -> Drawing:
    """All rows over the same time, `span` in s since the measured phase began."""
    first, last = span
    drawing = Drawing(_HEAD + _ROW * len(rows) + _FOOT)
    drawing.cut_rows(_HEAD, _ROW, len(rows))
    left = label_column([row.name for row in rows])
    width = drawing.width - left - _RIGHT
    edges = steps([cell for row in rows for cell in row.cells if cell is not None])
    _scale(drawing, edges, title)
    panel = drawing.panel(left, _HEAD, width, _ROW * len(rows), grid="")
    panel.limits("x", first, last)
    panel.limits("y", len(rows) - 0.5, -0.5)
    panel.linear_ticks("x", 6)
    for place, row in enumerate(rows):
        drawing.words(0, _HEAD + _ROW * (place + 0.5), row.name, size=SMALL, width=left - 12)
        pace = (last - first) / max(1, len(row.cells))
        runs = list(_runs(row.cells, edges))
        for step in range(HEAT_STEPS):
            stretches = [
                (first + pace * at, first + pace * (at + length)) for at, length, found in runs if found == step
            ]
            panel.boxes(stretches, (place - 0.44, place + 0.44), light(f"heat{step + 1}"))
    if first < 0 < last:
        panel.rule("x", 0, light("ink"), 1.3)
    drawing.time_title(left + width)
    return drawing


def steps(values: Sequence[float]) -> tuple[float, ...]:
    """The upper edges of all shades but the last, at equal ratios; none if all values are about the same."""
    positive = [value for value in values if value > 0]
    if not positive:
        return ()
    low, high = min(positive), max(positive)
    if high / low < _LEAST_RATIO:
        return ()
    ratio = math.log(high / low) / HEAT_STEPS
    return tuple(low * math.exp(ratio * step) for step in range(1, HEAT_STEPS))


def _runs(cells: Sequence[float | None], edges: Sequence[float]) -> Iterator[tuple[int, int, int | None]]:
    """Neighbours of one shade together: first column, columns, shade."""
    at = 0
    for shade, members in groupby(cells, lambda cell: None if cell is None else bisect_left(edges, cell)):
        length = len(list(members))
        yield at, length, shade
        at += length


def _scale(drawing: Drawing, edges: Sequence[float], title: str) -> None:
    """The shades in a row with the latencies between them."""
    drawing.words(0, 14, title, bold=True)
    if not edges:
        return
    unit, factor = ("µs", 1e3) if edges[-1] < 0.1 else ("ms", 1.0)
    start = drawing.width - _RIGHT - _BOX * HEAT_STEPS - 20
    panel = drawing.panel(start, 8, _BOX * HEAT_STEPS, 12, grid="", frame="")
    panel.limits("x", 0, HEAT_STEPS)
    panel.ticks("x", list(range(1, HEAT_STEPS)), [significant(edge * factor, 2) for edge in edges])
    for step in range(HEAT_STEPS):
        panel.boxes([(step, step + 1)], (0, 1), light(f"heat{step + 1}"))
    drawing.words(start - 10, 14, unit, size=SMALL, colour="muted", align="right")
