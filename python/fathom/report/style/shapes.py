"""Fragments of SVG in CSS pixels: paths, marks, rectangles and text, coloured so that one picture serves every theme.

A colour of the palette is written twice: as a presentation attribute, which a reader without style sheets sees, and as
a class, which the page's variables colour. There are no inline styles, so that the page can forbid them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from fathom.report.style.palette import COLOURS

Points = Sequence[tuple[float, float]]

_TOKENS = {pair[0]: token for token, pair in COLOURS.items()}
_DIAGONAL = math.sqrt(0.5)
_ANCHORS = {"left": "", "center": ' text-anchor="middle"', "right": ' text-anchor="end"'}


def number(value: float) -> str:
    """A length to a tenth of a pixel, as short as it goes."""
    return f"{round(value * 10) / 10:g}"


def paint(*, fill: str | None = None, stroke: str | None = None) -> str:
    """The attributes that colour a shape.

    Raises:
        KeyError: a colour that is not in the palette, which would not follow the theme.
    """
    given = [(name, value) for name, value in (("fill", fill), ("stroke", stroke)) if value is not None]
    classes = " ".join(f"{name[0]}-{_TOKENS[value]}" for name, value in given)
    unfilled = ' fill="none"' if fill is None else ""
    attributes = "".join(f' {name}="{value}"' for name, value in given)
    return f'{unfilled}{attributes} class="{classes}"' if given else unfilled


def stroked(width: float, dashes: Sequence[float] = (), *, butt: bool = False) -> str:
    """The attributes of a line: its width in pixels, dashes in multiples of it, and flat ends if asked for."""
    dashed = f' stroke-dasharray="{" ".join(f"{part * width:.3g}" for part in dashes)}"' if dashes else ""
    return f' stroke-width="{width:g}"{dashed}' + ("" if butt or dashes else ' stroke-linecap="round"')


def opacity(share: float) -> str:
    """The attribute of a pale shape."""
    return "" if share >= 1 else f' opacity="{share:g}"'


def titled(text: str) -> str:
    """What browsers show when the pointer is on a shape, without any script."""
    return f"<title>{escape(text, quote=False)}</title>"


def route(points: Iterable[tuple[float, float]]) -> str:
    """The `d` of a line through the points; one that is not a number is a gap.

    After the first point of a stretch come steps in tenths of a pixel from the point before: lines are most of a
    page's weight, and a step is half as long as a place. Steps are taken between rounded places, so they do not drift.
    """
    parts: list[str] = []
    last: tuple[int, int] | None = None
    steps = False
    for x, y in points:
        if not (math.isfinite(x) and math.isfinite(y)):
            last = None
            continue
        here = round(x * 10), round(y * 10)
        if last is None:
            parts.append(f"M{number(x)} {number(y)}")
            steps = False
        else:
            across, down = _step(here[0] - last[0]), _step(here[1] - last[1])
            pen = ("" if across.startswith("-") else " ") if steps else "l"
            parts.append(f"{pen}{across}{'' if down.startswith('-') else ' '}{down}")
            steps = True
        last = here
    return "".join(parts)


def _step(tenths: int) -> str:
    """As short as it goes: `-.3`."""
    return f"{tenths / 10:g}".replace("0.", ".", 1) if abs(tenths) < 10 else f"{tenths / 10:g}"


def dots(points: Iterable[tuple[float, float]]) -> str:
    """The `d` of round dots in one path: lines without length, whose round ends show."""
    return "".join(f"M{number(x)} {number(y)}h0" for x, y in points if math.isfinite(x) and math.isfinite(y))


def rectangle(left: float, top: float, width: float, height: float) -> str:
    """The `d` of a rectangle."""
    return f"M{number(left)} {number(top)}h{number(width)}v{number(height)}h{number(-width)}z"


def mark(kind: str, x: float, y: float, size: float) -> str:
    """The `d` of one mark of `palette.MARKERS`, `size` pixels across."""
    half = size / 2
    if kind == "o":
        return (
            f"M{number(x - half)} {number(y)}a{half:g} {half:g} 0 1 0 {size:g} 0a{half:g} {half:g} 0 1 0 {-size:g} 0z"
        )
    corners = [(x + half * u, y + half * v) for u, v in _CORNERS[kind]]
    return f"{route(corners)}z"


def text(x: float, y: float, said: str, *, size: float, colour: str, align: str = "left", bold: bool = False) -> str:
    """Text whose base line is at y."""
    weight = ' font-weight="bold"' if bold else ""
    place = f'x="{number(x)}" y="{number(y)}" font-size="{size:g}"{_ANCHORS[align]}{weight}'
    return f"<text {place}{paint(fill=colour)}>{escape(said, quote=False)}</text>"


def _cross(arm: float) -> tuple[tuple[float, float], ...]:
    """The corners of an upright cross whose arms are `arm` wide."""
    quarter = [(arm, -1.0), (arm, -arm), (1.0, -arm)]
    corners, turn = [], quarter
    for _ in range(4):
        corners += turn
        turn = [(-v, u) for u, v in turn]
    return tuple(corners)


_CORNERS: dict[str, tuple[tuple[float, float], ...]] = {
    "s": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "^": ((0, -1), (1, 1), (-1, 1)),
    "v": ((0, 1), (-1, -1), (1, -1)),
    "D": ((0, -1.2), (1.2, 0), (0, 1.2), (-1.2, 0)),
    "P": _cross(1 / 3),
    "X": tuple(((u + v) * _DIAGONAL, (v - u) * _DIAGONAL) for u, v in _cross(1 / 3)),
}
