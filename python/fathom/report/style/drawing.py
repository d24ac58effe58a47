"""The surface charts draw on: matplotlib without its global state, measured in CSS pixels from the top left.

Charts place panels by hand so that panels of different charts line up on the page. Text stays text (no outlines, no
mathematics), so that a reader can select it and a `$` in a path is a `$`.
"""

from __future__ import annotations

import functools
import math
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, cast

from fathom.report.format import tick
from fathom.report.plain import one_line, shorten
from fathom.report.style.palette import light

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_Arguments = ParamSpec("_Arguments")

WIDTH = 900
"""Width of a chart in CSS pixels: the page's column."""

SMALL, NORMAL = 11.0, 12.0
"""Text sizes in CSS pixels."""

_POINT = 0.75
_SHORT = 4.0
"""A logarithmic axis shorter than this factor gets evenly spaced ticks."""
_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "fathom",
    "text.parse_math": False,
    "text.usetex": False,
    "font.family": ["DejaVu Sans"],
    "path.simplify": False,
    "axes.unicode_minus": True,
    "figure.dpi": 96,
    "lines.solid_capstyle": "round",
    "lines.scale_dashes": True,
}


@contextmanager
def settings() -> Iterator[None]:
    """Matplotlib as charts need it, and quiet about glyphs: the reader's fonts draw the text, not ours."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        # Its own type lists every key as a literal, which a table of settings cannot satisfy.
        cast("dict[str, Any]", matplotlib.rcParams).update(_SETTINGS)
        warnings.filterwarnings("ignore", message=".*[Gg]lyph")
        yield


def chart(draw: Callable[_Arguments, Drawing]) -> Callable[_Arguments, Drawing]:
    """Marks a function that draws a chart, and gives it `settings`."""

    @functools.wraps(draw)
    def drawn(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Drawing:
        with settings():
            return draw(*args, **kwargs)

    return drawn


@dataclass(frozen=True)
class Tip:
    """What the pointer brings up: a text per mark, or a line whose points can be read in `units`."""

    texts: tuple[str, ...]
    line: Line2D | None = None
    units: tuple[str, str] = ("", "")

    def axes(self) -> str | None:
        """`x0 sx y0 sy`, so that a place (u, v) in the SVG is the datum ((u - x0) / sx, (v - y0) / sy)."""
        if self.line is None or self.line.axes is None or self.line.figure is None:
            return None
        to_pixels = self.line.axes.transData.transform
        (x0, y0), (x1, y1) = to_pixels((0.0, 0.0)), to_pixels((1.0, 1.0))
        height = self.line.axes.figure.bbox.height
        places = (x0 * _POINT, (x1 - x0) * _POINT, (height - y0) * _POINT, (y0 - y1) * _POINT)
        return " ".join(f"{place:.6g}" for place in places)


class Drawing:
    """One chart: a figure of `width` × `height` CSS pixels, and what to say when the pointer is on a mark."""

    def __init__(self, height: float, width: float = WIDTH) -> None:
        from matplotlib.figure import Figure

        self.width, self.height = width, height
        self.figure: Figure = Figure(figsize=(width / 96, height / 96), dpi=96, facecolor=light("paper"))
        self.tips: dict[str, Tip] = {}

    def panel(self, left: float, top: float, width: float, height: float, *, grid: str = "y", frame: str = "b") -> Axes:
        """Axes at that place; `grid` is which grid lines to draw ("x", "y", "xy", ""), `frame` which edges ("bl")."""
        box = (left / self.width, 1 - (top + height) / self.height, width / self.width, height / self.height)
        axes = self.figure.add_axes(box, facecolor="none")
        for name, spine in axes.spines.items():
            spine.set_visible(name[0] in frame)
            spine.set(color=light("axis"), linewidth=0.8)
        axes.tick_params(
            length=0,
            pad=5,
            labelsize=SMALL * _POINT,
            labelcolor=light("muted"),
            which="both",
            labelfontfamily="DejaVu Sans",
        )
        axes.set_axisbelow(True)
        for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
            if name in grid:
                axis.grid(True, color=light("grid"), linewidth=0.8)
        return axes

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
        self.figure.text(
            x / self.width,
            1 - y / self.height,
            shown,
            fontsize=size * _POINT,
            color=light(colour),
            fontweight="bold" if bold else "normal",
            ha=align,
            va="center_baseline",
        )

    def tip(self, artist: Artist, texts: Sequence[str]) -> None:
        """What to say on each mark of an artist, in the order of its data; one text for a line as a whole."""
        name = f"tip-{len(self.tips) + 1}"
        artist.set_gid(name)
        self.tips[name] = Tip(tuple(one_line(text) for text in texts))

    def readout(self, line: Line2D, text: str, units: tuple[str, str]) -> None:
        """What to say on a line as a whole; where scripts run also the nearest point, in these units of x and y.

        The line's axes must be linear.
        """
        name = f"tip-{len(self.tips) + 1}"
        line.set_gid(name)
        self.tips[name] = Tip((one_line(text),), line, units)


def note(
    axes: Axes, x: float, y: float, text: str, *, colour: str = "muted", align: str = "left", **options: Any
) -> None:
    """Small text at a data position inside a panel."""
    axes.text(x, y, one_line(text), fontsize=SMALL * _POINT, color=light(colour), ha=align, **options)


def text_width(text: str, size: float = NORMAL) -> float:
    """About how many pixels a text takes; wide (East Asian) characters count double."""
    return 0.58 * size * sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def fit(text: str, width: float, size: float = NORMAL) -> str:
    """The text cut so that it takes about `width` pixels."""
    flat = one_line(text)
    wide = text_width(flat, size)
    return flat if wide <= width else shorten(flat, max(3, int(len(flat) * width / wide)))


def label_column(labels: Sequence[str], *, least: float = 110.0, most: float = 290.0) -> float:
    """The width a column of row labels needs, with some air to its right."""
    return min(most, max(least, max((text_width(label) for label in labels), default=0.0) + 26))


def linear_ticks(axes: Axes, which: str, *, steps: int = 4, label: Callable[[float], str] = tick) -> None:
    """About `steps` round ticks on a linear axis."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(MaxNLocator(nbins=steps, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: label(value)))


def fixed_ticks(axes: Axes, which: str, places: Sequence[float], labels: Sequence[str]) -> None:
    """These ticks with these labels, and no other."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator(list(places)))
    axis.set_major_formatter(FixedFormatter(list(labels)))
    axis.set_minor_locator(NullLocator())


def log_places(low: float, high: float, most: int = 7) -> list[float]:
    """Round places on a logarithmic axis: 1-2-5 in each decade, decades only where that would be too many, and evenly
    spaced ones where the axis is shorter than a factor of four.
    """
    if high / low < _SHORT:
        return _even_places(low, high, most)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    inside: list[float] = []
    for mantissas in ((1, 2, 5), (1, 3), (1,)):
        places = [m * 10.0**e for e in range(first, last + 1) for m in mantissas]
        inside = [place for place in places if low <= place * (1 + 1e-9) and place <= high * (1 + 1e-9)]
        if len(inside) <= most:
            break
    return inside[:: math.ceil(len(inside) / most)] if inside else []


def _even_places(low: float, high: float, most: int) -> list[float]:
    rough = (high - low) / most
    decade = 10.0 ** math.floor(math.log10(rough))
    step = next(m * decade for m in (1, 2, 5, 10) if m * decade >= rough)
    digits = max(0, -math.floor(math.log10(step)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(index * step, digits) for index in range(first, last + 1)]


def top_of(values: Sequence[float], room: float = 0.08) -> float:
    """The upper end of an axis that starts at 0 and has some room above the highest value."""
    highest = max((value for value in values if math.isfinite(value)), default=0.0)
    return highest * (1 + room) if highest > 0 else 1.0
