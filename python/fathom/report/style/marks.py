"""How a variant looks in every chart: colour, mark and dashes by its place, and the key that says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fathom.report.plain import apart
from fathom.report.style.drawing import Drawing, fit, text_width
from fathom.report.style.palette import light, series_colour, series_dashes, series_marker

KEY_ROW = 22.0
"""Height of one row of a key in CSS pixels."""

_LINE, _BETWEEN, _SIGN = 24.0, 24.0, 16.0


@dataclass(frozen=True)
class Appearance:
    """The appearance of one variant; `place` counts from 0, the baseline."""

    label: str
    place: int

    @property
    def colour(self) -> str:
        """Colour of lines and marks."""
        return series_colour(self.place)

    def mark(self, size: float = 6.0) -> dict[str, Any]:
        """Options of `Panel.marks`, `size` in CSS pixels."""
        return {
            "marker": series_marker(self.place),
            "size": size,
            "colour": self.colour,
            "edge": light("paper"),
            "series": self.label,
        }

    def line(self, width: float = 1.6) -> dict[str, Any]:
        """Options of `Panel.line`, `width` in CSS pixels."""
        return {
            "colour": self.colour,
            "width": width,
            "dashes": series_dashes(self.place),
            "series": self.label,
        }


def key_height(appearances: Sequence[Appearance], width: float, *, lines: bool = False) -> float:
    """The height in CSS pixels that the key takes in that width."""
    return KEY_ROW * (1 + max((row for _, row, _ in _places(appearances, width, lines)), default=0))


def key(
    drawing: Drawing, appearances: Sequence[Appearance], *, left: float, top: float, width: float, lines: bool = False
) -> None:
    """The key, from `top` down: the sign of each variant and its name, in as many rows as it takes."""
    drawing.series += [appearance.label for appearance in appearances]
    for appearance, (offset, row, shown) in zip(appearances, _places(appearances, width, lines), strict=True):
        x, y = left + offset, top + KEY_ROW * (row + 0.5)
        if lines:
            drawing.stroke(x, y, _LINE, appearance.colour, 2.4, series_dashes(appearance.place))
        else:
            drawing.sign(x + 5, y, series_marker(appearance.place), 8, appearance.colour)
        drawing.words(x + (_LINE + 8 if lines else _SIGN), y, shown)


def heads(
    drawing: Drawing, appearances: Sequence[Appearance], *, lefts: Sequence[float], top: float, width: float
) -> None:
    """The keys of columns that stand side by side, one appearance each: without room only what tells them apart."""
    drawing.series += [appearance.label for appearance in appearances]
    names = [appearance.label for appearance in appearances]
    if any(text_width(name) > width - _SIGN for name in names):
        names = apart(names)
    for appearance, name, left in zip(appearances, names, lefts, strict=True):
        y = top + KEY_ROW * 0.5
        drawing.sign(left + 5, y, series_marker(appearance.place), 8, appearance.colour)
        drawing.words(left + _SIGN, y, fit(name, width - _SIGN))


def _places(appearances: Sequence[Appearance], width: float, lines: bool) -> list[tuple[float, int, str]]:
    """For each entry its distance from the left, its row and its words."""
    sign = (_LINE + 8) if lines else _SIGN
    found: list[tuple[float, int, str]] = []
    x, row = 0.0, 0
    for appearance in appearances:
        shown = fit(appearance.label, min(300.0, width - sign))
        wide = sign + text_width(shown) + _BETWEEN
        if x and x + wide - _BETWEEN > width:
            x, row = 0.0, row + 1
        found.append((x, row, shown))
        x += wide
    return found
