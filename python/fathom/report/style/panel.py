"""One pair of axes in a drawing: data places to pixels, lines and marks, grid and ticks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal

from fathom.report.format import tick
from fathom.report.plain import one_line
from fathom.report.style import shapes
from fathom.report.style.palette import light
from fathom.report.style.ticks import linear_places

Which = Literal["x", "y"]

SMALL, NORMAL = 11.0, 12.0
"""Text sizes in CSS pixels."""

MIDDLE = 0.36
"""How far below the middle of a text its base line lies, in sizes: half of a capital's height."""

_HAIR = 1.0
_PAD = 7.0


@dataclass
class Axis:
    """From data to pixels: `low` lies at `start`, `high` at `end`."""

    start: float
    end: float
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    ticks: list[tuple[float, str]] = field(default_factory=list)
    labelled: bool = True

    def place(self, value: float) -> float:
        """Where a value lies, in pixels; not a number where a logarithmic axis has no such place."""
        if self.log:
            if not value > 0:
                return math.nan
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


@dataclass(frozen=True)
class Item:
    """A fragment of SVG, how far up it lies, and whether it ends at the panel's edge."""

    order: float
    svg: str
    clipped: bool = False


class Panel:
    """Axes at a place in a drawing; what is put on it is in data units, sizes are in CSS pixels.

    Lower `order` lies below: bands 1, lines 2, marks 3, text 4.
    """

    def __init__(self, left: float, top: float, width: float, height: float, *, grid: str = "y", frame: str = "b"):
        """`grid` is which grid lines to draw ("x", "y", "xy", ""), `frame` which edges ("b", "bl")."""
        self.left, self.top, self.width, self.height = left, top, width, height
        self.x, self.y = Axis(left, left + width), Axis(top + height, top)
        self._grid, self._frame = grid, frame
        self._items: list[Item] = []

    # --- axes ---------------------------------------------------------------------------------------------------

    def axis(self, which: Which) -> Axis:
        """One of the two axes."""
        return self.x if which == "x" else self.y

    def limits(self, which: Which, low: float, high: float, *, log: bool = False) -> None:
        """What an axis spans, from its left or lower end to the other; `low` may be the larger one."""
        axis = self.axis(which)
        axis.low, axis.high, axis.log = low, high if high != low else low + 1.0, log

    def ticks(self, which: Which, places: Sequence[float], labels: Sequence[str]) -> None:
        """These ticks with these labels."""
        self.axis(which).ticks = list(zip(places, labels, strict=True))

    def linear_ticks(self, which: Which, steps: int = 4, label: Callable[[float], str] = tick) -> None:
        """About `steps` round ticks on a linear axis; its limits are set before."""
        axis = self.axis(which)
        axis.ticks = [(place, label(place)) for place in linear_places(axis.low, axis.high, steps)]

    def unlabelled(self, which: Which) -> None:
        """Leaves the tick labels of an axis to a neighbour."""
        self.axis(which).labelled = False

    # --- what is drawn ------------------------------------------------------------------------------------------

    def line(  # noqa: PLR0913 - one option per visible property
        self,
        points: Iterable[tuple[float, float]],
        colour: str,
        width: float = 1.3,
        *,
        dashes: Sequence[float] = (),
        alpha: float = 1.0,
        butt: bool = False,
        order: float = 2,
        series: str = "",
        tip: str = "",
        units: tuple[str, str] | None = None,
    ) -> None:
        """A line through the points; one that is not a number is a gap.

        Args:
            points: in data units.
            colour: a light colour of the palette.
            width: in CSS pixels.
            dashes: lengths in multiples of the width.
            alpha: how opaque.
            butt: ends are flat instead of round.
            order: what lies below what.
            series: the label of the look it belongs to, by which a reader can hide it.
            tip: what the pointer brings up.
            units: of x and y; where scripts run, the pointer then reads the nearest point. Both axes must be linear.
        """
        d = shapes.route((self.x.place(x), self.y.place(y)) for x, y in points)
        if not d:
            return
        look = shapes.paint(stroke=colour) + shapes.stroked(width, dashes, butt=butt) + shapes.opacity(alpha)
        said = shapes.titled(one_line(tip)) if tip else ""
        self._add(order, f'<path d="{d}"{look}{_of(series)}{self._readout(units)}>{said}</path>', clipped=True)

    def dots(self, points: Sequence[tuple[float, float]], colour: str, size: float, *, series: str = "") -> None:
        """Many round marks that say nothing, as one path."""
        d = shapes.dots((self.x.place(x), self.y.place(y)) for x, y in points)
        if d:
            self._add(
                2, f'<path d="{d}"{shapes.paint(stroke=colour)}{shapes.stroked(size)}{_of(series)}/>', clipped=True
            )

    def marks(  # noqa: PLR0913 - one option per visible property
        self,
        points: Sequence[tuple[float, float]],
        tips: Sequence[str],
        *,
        marker: str,
        size: float,
        colour: str | None,
        edge: str | None = None,
        edge_width: float = 0.7,
        alpha: float = 1.0,
        order: float = 3,
        series: str = "",
    ) -> None:
        """Separate marks and what the pointer brings up on each; `colour` None leaves them hollow."""
        look = shapes.paint(fill=colour, stroke=edge) + shapes.opacity(alpha)
        ring = f' stroke-width="{edge_width:g}"' if edge else ""
        drawn = []
        for (x, y), tip in zip(points, tips, strict=True):
            u, v = self.x.place(x), self.y.place(y)
            if math.isfinite(u) and math.isfinite(v):
                d = shapes.mark(marker, u, v, size)
                drawn.append(f'<path d="{d}">{shapes.titled(one_line(tip))}</path>')
        if drawn:
            self._add(order, f"<g{look}{ring}{_of(series)}>{''.join(drawn)}</g>")

    def box(
        self,
        across: tuple[float, float] | None,
        up: tuple[float, float] | None,
        colour: str,
        *,
        alpha: float = 1.0,
        order: float = 1,
    ) -> None:
        """A filled rectangle; None spans the whole axis."""
        self.boxes([across or (self.x.low, self.x.high)], up, colour, alpha=alpha, order=order)

    def boxes(
        self,
        across: Sequence[tuple[float, float]],
        up: tuple[float, float] | None,
        colour: str,
        *,
        alpha: float = 1.0,
        order: float = 1,
    ) -> None:
        """Filled rectangles of one height."""
        top, bottom = sorted(self.y.place(end) for end in up or (self.y.low, self.y.high))
        sides = [sorted(self.x.place(end) for end in ends) for ends in across]
        d = "".join(shapes.rectangle(left, top, right - left, bottom - top) for left, right in sides)
        if d:
            self._add(order, f'<path d="{d}"{shapes.paint(fill=colour)}{shapes.opacity(alpha)}/>', clipped=True)

    def rule(
        self,
        which: Which,
        at: float,
        colour: str,
        width: float = 1.1,
        *,
        dashes: Sequence[float] = (),
        order: float = 2,
    ) -> None:
        """A straight line across the panel at a place of an axis."""
        ends = [(at, self.y.low), (at, self.y.high)] if which == "x" else [(self.x.low, at), (self.x.high, at)]
        self.line(ends, colour, width, dashes=dashes, butt=True, order=order)

    def note(  # noqa: PLR0913 - one option per visible property
        self,
        x: float,
        y: float,
        said: str,
        *,
        colour: str = "muted",
        align: str = "left",
        rise: Literal["middle", "above", "line"] = "line",
        across: bool = False,
        up: bool = False,
        bold: bool = False,
        ground: bool = False,
    ) -> None:
        """Small text at a place.

        Args:
            x: in data units, or a share of the width with `across`.
            y: in data units, or a share of the height from the bottom with `up`.
            said: the text.
            colour: a token of the palette.
            align: which end of the text is at x.
            rise: "line" puts its base line at y, "middle" its middle, "above" all of it a little higher.
            across: x is a share.
            up: y is a share.
            bold: in bold.
            ground: the page's colour behind it, so that lines stay away from it; it lies below marks then.
        """
        u = self.left + x * self.width if across else self.x.place(x)
        v = self.top + (1 - y) * self.height if up else self.y.place(y)
        v += {"middle": MIDDLE * SMALL, "above": -0.25 * SMALL, "line": 0.0}[rise]
        shown = one_line(said)
        if ground:
            wide = 0.58 * SMALL * len(shown)
            begin = u - wide * {"left": 0.0, "center": 0.5, "right": 1.0}[align]
            d = shapes.rectangle(begin - 1.5, v - SMALL, wide + 3, 1.3 * SMALL)
            self._add(2.8, f'<path d="{d}"{shapes.paint(fill=light("paper"))}{shapes.opacity(0.85)}/>')
        self._add(
            2.9 if ground else 4, shapes.text(u, v, shown, size=SMALL, colour=light(colour), align=align, bold=bold)
        )

    # --- rendering ----------------------------------------------------------------------------------------------

    def svg(self, clip: str) -> str:
        """The panel; `clip` is an id of its own for what ends at its edge."""
        parts: list[str] = []
        for clipped, group in _stretches(sorted([*self._frame_items(), *self._items], key=lambda item: item.order)):
            inside = "".join(item.svg for item in group)
            parts.append(f'<g clip-path="url(#{escape(clip)})">{inside}</g>' if clipped else inside)
        edge = shapes.rectangle(self.left, self.top, self.width, self.height)
        needed = any(item.clipped for item in self._items)
        return (f'<clipPath id="{escape(clip)}"><path d="{edge}"/></clipPath>' if needed else "") + "".join(parts)

    def _frame_items(self) -> list[Item]:
        right, bottom = self.left + self.width, self.top + self.height
        grid = [f"M{shapes.number(u)} {shapes.number(self.top)}V{shapes.number(bottom)}" for u in self._at("x")]
        grid += [f"M{shapes.number(self.left)} {shapes.number(v)}H{shapes.number(right)}" for v in self._at("y")]
        edges = [f"M{shapes.number(self.left)} {shapes.number(bottom)}H{shapes.number(right)}"] * ("b" in self._frame)
        edges += [f"M{shapes.number(self.left)} {shapes.number(self.top)}V{shapes.number(bottom)}"] * (
            "l" in self._frame
        )
        items = [
            Item(
                order,
                f'<path d="{"".join(lines)}"{shapes.paint(stroke=light(colour))}{shapes.stroked(_HAIR, butt=True)}/>',
            )
            for order, colour, lines in ((0.0, "grid", grid), (2.5, "axis", edges))
            if lines
        ]
        if self.x.labelled:
            below = bottom + _PAD + SMALL * 0.8
            items += [self._label(self.x.place(at), below, said, "center") for at, said in self.x.ticks if said]
        if self.y.labelled:
            beside = self.left - _PAD
            items += [
                self._label(beside, self.y.place(at) + MIDDLE * SMALL, said, "right")
                for at, said in self.y.ticks
                if said
            ]
        return items

    @staticmethod
    def _label(u: float, v: float, said: str, align: str) -> Item:
        return Item(4, shapes.text(u, v, said, size=SMALL, colour=light("muted"), align=align))

    def _at(self, which: Which) -> list[float]:
        """Where grid lines of an axis lie."""
        axis = self.axis(which)
        return [axis.place(at) for at, _ in axis.ticks] if which in self._grid else []

    def _add(self, order: float, svg: str, *, clipped: bool = False) -> None:
        self._items.append(Item(order, svg, clipped))

    def _readout(self, units: tuple[str, str] | None) -> str:
        """`x0 sx y0 sy`, so that a place (u, v) in the SVG is the datum ((u - x0) / sx, (v - y0) / sy)."""
        if units is None:
            return ""
        if self.x.log or self.y.log:
            raise ValueError("values can be read from linear axes only")
        scales = [axis.place(0.0) for axis in (self.x, self.y)], [axis.place(1.0) for axis in (self.x, self.y)]
        (x0, y0), (x1, y1) = scales
        return f' data-axes="{x0:.6g} {x1 - x0:.6g} {y0:.6g} {y1 - y0:.6g}" data-units="{escape("|".join(units))}"'


def _of(series: str) -> str:
    return f' data-series="{escape(one_line(series))}"' if series else ""


def _stretches(items: Sequence[Item]) -> Iterable[tuple[bool, list[Item]]]:
    """Neighbours that are clipped alike."""
    stretch: list[Item] = []
    for item in items:
        if stretch and stretch[-1].clipped != item.clipped:
            yield stretch[0].clipped, stretch
            stretch = []
        stretch.append(item)
    if stretch:
        yield stretch[0].clipped, stretch
