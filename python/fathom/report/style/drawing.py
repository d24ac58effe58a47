"""The surface charts draw on, measured in CSS pixels from the top left.

Charts place panels by hand so that panels of different charts line up on the page. Text stays text, so that a reader
can select it.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

from fathom.report.plain import one_line, shorten
from fathom.report.style import shapes
from fathom.report.style.palette import light
from fathom.report.style.panel import MIDDLE, NORMAL, SMALL, Panel

__all__ = ["NARROW", "NORMAL", "SMALL", "WIDTH", "Drawing", "fit", "label_column", "text_width"]

WIDTH = 900
"""Width of a chart in CSS pixels: the page's column."""

NARROW = 350
"""Its width on a page of 390 px."""

_PART = 130.0
"""The least height of a part that is printed on a sheet of its own."""


class Drawing:
    """One chart of `width` x `height` CSS pixels.

    `series` are the labels of what its key names, in its order. `cuts` are the heights, from the top down, at which a
    tall one may go on on another sheet of paper: between its rows.
    """

    def __init__(self, height: float, width: float = WIDTH) -> None:
        self.width, self.height = width, height
        self.series: list[str] = []
        self.cuts: list[float] = []
        self._panels: list[Panel] = []
        self._fragments: list[str] = []

    def cut_rows(self, top: float, row: float, count: int) -> None:
        """Lets a tall drawing be cut between rows, the first of which begins at `top`; every few where they are low."""
        every = math.ceil(_PART / row)
        self.cuts = [top + row * place for place in range(every, count, every)]

    def panel(
        self, left: float, top: float, width: float, height: float, *, grid: str = "y", frame: str = "b"
    ) -> Panel:
        """Axes at that place; `grid` is which grid lines to draw ("x", "y", "xy", ""), `frame` which edges ("bl")."""
        panel = Panel(left, top, width, height, grid=grid, frame=frame)
        self._panels.append(panel)
        return panel

    def words(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = NORMAL,
        colour: str = "ink",
        bold: bool = False,
        align: str = "left",
        width: float | None = None,
    ) -> None:
        """Text whose middle line is at y; cut to `width` pixels if one is given."""
        shown = one_line(text) if width is None else fit(text, width, size)
        base = y + MIDDLE * size
        self._fragments.append(shapes.text(x, base, shown, size=size, colour=light(colour), align=align, bold=bold))

    def time_title(self, right: float) -> None:
        """The title of a time axis at the lower edge, ending at x = `right`."""
        text = "time since the measured phase began, s"
        self.words(right, self.height - 10, text, size=SMALL, colour="muted", align="right")

    def stroke(self, x: float, y: float, length: float, colour: str, width: float, dashes: Sequence[float]) -> None:
        """A level line from (x, y) on: the sign of a line in a key."""
        look = shapes.paint(stroke=colour) + shapes.stroked(width, dashes)
        self._fragments.append(f'<path d="{shapes.route([(x, y), (x + length, y)])}"{look}/>')

    def sign(self, x: float, y: float, marker: str, size: float, colour: str) -> None:
        """A mark at (x, y): the sign of marks in a key."""
        self._fragments.append(f'<path d="{shapes.mark(marker, x, y, size)}"{shapes.paint(fill=colour)}/>')

    def body(self, prefix: str) -> str:
        """Everything as SVG, without the element around it; ids start with `prefix`."""
        panels = (panel.svg(f"{prefix}-{number}") for number, panel in enumerate(self._panels, 1))
        return "".join([*panels, *self._fragments])


def text_width(text: str, size: float = NORMAL) -> float:
    """About how many pixels a text takes; wide (East Asian) characters count double."""
    if text.isascii():
        return 0.58 * size * len(text)
    return 0.58 * size * sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def fit(text: str, width: float, size: float = NORMAL) -> str:
    """The text cut so that it takes about `width` pixels."""
    flat = one_line(text)
    wide = text_width(flat, size)
    return flat if wide <= width else shorten(flat, max(3, int(len(flat) * width / wide)))


def label_column(labels: Sequence[str], *, least: float = 110.0, most: float = 290.0) -> float:
    """The width a column of row labels needs, with some air to its right."""
    return min(most, max(least, max((text_width(label) for label in labels), default=0.0) + 26))
