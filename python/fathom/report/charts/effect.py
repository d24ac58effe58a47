"""The effect plot: each variant's ratio to the baseline on a logarithmic axis, and the verdict in words at the right.

The grey band is the equivalence margin, the thin bar the interval of the verdict, the pale one the 90 % interval of
the two one-sided tests; the pale marks are the rounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fathom.analysis.model import Comparison
from fathom.analysis.words import tells_nothing
from fathom.report.document import Tone
from fathom.report.format import has_interval, ratio, ratio_interval, ratio_value, tick
from fathom.report.style.drawing import NARROW, SMALL, Drawing, label_column
from fathom.report.style.marks import Appearance
from fathom.report.style.palette import light
from fathom.report.style.panel import Panel
from fathom.report.style.ticks import log_places
from fathom.report.verdicts import brief, sign, tone

_NARROW_ROW, _EDGE = 100.0, 18.0
_WORDS, _HEAD, _FOOT, _ROW = 290.0, 34.0, 30.0, 48.0
_TONES = {Tone.GOOD: "good", Tone.BAD: "bad", Tone.WARN: "warn", Tone.PLAIN: "ink", Tone.MUTED: "muted"}


@dataclass(frozen=True)
class EffectRow:
    """One comparison and how its variant looks."""

    appearance: Appearance
    comparison: Comparison


def draw(rows: Sequence[EffectRow], baseline: str) -> Drawing:
    """One row per comparison; 1 × is the baseline."""
    drawing = Drawing(_HEAD + _ROW * len(rows) + _FOOT)
    left = label_column([row.appearance.label for row in rows])
    width = drawing.width - left - _WORDS
    drawing.words(0, 12, "Variant", colour="muted", size=SMALL)
    drawing.words(left, 12, f"Ratio to {baseline}; right of 1 × is better", colour="muted", size=SMALL, width=width)
    drawing.words(left + width + 24, 12, "Verdict, ratio and interval", colour="muted", size=SMALL)
    panel = drawing.panel(left, _HEAD, width, _ROW * len(rows), grid="x")
    panel.limits("y", len(rows) - 0.5, -0.5)
    low, high = _range([row.comparison for row in rows])
    panel.limits("x", low, high, log=True)
    places = log_places(low, high)
    panel.ticks("x", places, [f"{tick(place)} ×" for place in places])
    panel.rule("x", 1.0, light("axis"), 1.3)
    for place, row in enumerate(rows):
        _row(panel, place, row)
        middle = _HEAD + _ROW * (place + 0.5)
        drawing.words(0, middle, row.appearance.label, width=left - 20)
        comparison = row.comparison
        said = f"{sign(comparison.verdict)} {brief(comparison)}"
        drawing.words(
            left + width + 24, middle - 9, said, bold=True, colour=_TONES[tone(comparison)], width=_WORDS - 24
        )
        numbers = (
            "no ratio"
            if comparison.decisive is None
            else f"{ratio_value(comparison.decisive)} ({ratio_interval(comparison.decisive)})"
        )
        drawing.words(left + width + 24, middle + 9, numbers, size=SMALL, colour="muted")
    return drawing


def draw_narrow(rows: Sequence[EffectRow], baseline: str) -> Drawing:
    """The same for a narrow page: words above each row's line instead of beside it."""
    drawing = Drawing(_HEAD + _NARROW_ROW * len(rows) + _FOOT, NARROW)
    drawing.words(0, 12, f"Ratio to {baseline}; right of 1 × is better", colour="muted", size=SMALL, width=NARROW)
    low, high = _range([row.comparison for row in rows])
    places = log_places(low, high, 4)
    for place, row in enumerate(rows):
        comparison, top = row.comparison, _HEAD + _NARROW_ROW * place
        ratio = comparison.decisive
        numbers = "no ratio" if ratio is None else f"{ratio_value(ratio)} ({ratio_interval(ratio)})"
        drawing.words(0, top, row.appearance.label, width=NARROW)
        said = f"{sign(comparison.verdict)} {brief(comparison)}"
        drawing.words(0, top + 18, said, bold=True, colour=_TONES[tone(comparison)], width=NARROW)
        drawing.words(0, top + 35, numbers, size=SMALL, colour="muted", width=NARROW)
        panel = drawing.panel(_EDGE, top + 46, NARROW - 2 * _EDGE, 40, grid="x")
        panel.limits("y", 0.5, -0.5)
        panel.limits("x", low, high, log=True)
        last = place == len(rows) - 1
        panel.ticks("x", places, [f"{tick(x)} ×" if last else "" for x in places])
        panel.rule("x", 1.0, light("axis"), 1.3)
        _row(panel, 0, row)
    return drawing


def _range(comparisons: Sequence[Comparison]) -> tuple[float, float]:
    """Both ends of the axis: all points, intervals and the band, with room; the band keeps noise from looking large."""
    values = [1 + comparison.margin * 1.6 for comparison in comparisons]
    values += [1 / (1 + comparison.margin * 1.6) for comparison in comparisons]
    for comparison in comparisons:
        values += [value for _, value in comparison.points]
        for estimate in (comparison.ratio, comparison.equivalence):
            if estimate is not None:
                values += [estimate.value, *([] if _empty(comparison) else [estimate.low, estimate.high])]
    known = [value for value in values if math.isfinite(value) and value > 0]
    low, high = min(known), max(known)
    room = (high / low) ** 0.06
    return low / room, high * room


def _empty(comparison: Comparison) -> bool:
    """Whether its rounds tell nothing: an axis that holds such an interval would hide what was measured."""
    return comparison.ratio is not None and tells_nothing(comparison.ratio) is not None


def _row(panel: Panel, place: int, row: EffectRow) -> None:
    comparison, colour = row.comparison, row.appearance.colour
    band = (1 / (1 + comparison.margin), 1 + comparison.margin)
    panel.box(band, (place - 0.5, place + 0.5), light("band"), order=-1)
    panel.marks(
        [(value, place + 0.3) for _, value in comparison.points],
        [f"{row.appearance.label}, round {number}: {ratio(value)}" for number, value in comparison.points],
        **row.appearance.mark(5) | {"alpha": 0.55, "edge": None},
    )
    whole, inner = comparison.ratio, comparison.equivalence
    if inner is not None and has_interval(inner) and inner.low > 0 and not _empty(comparison):
        panel.line([(inner.low, place), (inner.high, place)], colour, 8, alpha=0.35, butt=True)
    if whole is not None and has_interval(whole) and whole.low > 0 and not _empty(comparison):
        panel.line([(whole.low, place), (whole.high, place)], colour, 2)
        for end in (whole.low, whole.high):
            panel.line([(end, place - 0.1), (end, place + 0.1)], colour, 2)
    sure = comparison.decisive
    if sure is not None and math.isfinite(sure.value):
        said = f"{row.appearance.label}: {ratio_value(sure)} ({ratio_interval(sure)})"
        panel.marks([(sure.value, place)], [said], **row.appearance.mark(8) | {"edge": None})
