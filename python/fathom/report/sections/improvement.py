"""The improvement at every load level, what its mean averages; and over the size of a cache, where that varies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fathom.analysis.model import Comparison, Estimate
from fathom.analysis.variants import Variant, numeric
from fathom.analysis.variants import label as label_of
from fathom.metrics import Metric
from fathom.report import cells
from fathom.report.charts import load as chart
from fathom.report.context import Context
from fathom.report.document import Block, Cell, Chart, Column, Table
from fathom.report.format import has_interval, ratio_interval, significant
from fathom.report.section import Section
from fathom.report.sections.evidence import mean_of, points_of
from fathom.report.style.drawing import NARROW, Drawing
from fathom.report.style.marks import Appearance

if TYPE_CHECKING:
    from fathom.analysis.levels import AtLevel, SizeAxis

_RATIO = Metric("ratio", "improvement over the baseline (Cpi)", "×", True)
_GIB = 1 << 30
_LEAST_SIZES = 3
_MOST_SERIES = 7


def build(context: Context) -> Sequence[Block]:
    """Table and charts; nothing where no comparison is a mean over levels."""
    from fathom.analysis.levels import at_levels, cpi, size_axis

    comparisons = [one for one in context.analysis.comparisons if one.averaged and one.ratio is not None]
    if not comparisons:
        return []
    virtual = context.campaign.clock == "virtual"
    levels = [at_levels(context.campaign.runs, one, seed=context.campaign.seed, virtual=virtual) for one in comparisons]
    means = [cpi(found, seed=context.campaign.seed, virtual=virtual) for found in levels]
    blocks: list[Block] = [_table(context, comparisons, levels, means)]
    factor = _load_factor(comparisons)
    if factor is not None:
        blocks += [_over_load(context, factor, comparisons, levels), _values(context, factor, comparisons)]
    axis = size_axis(context.campaign.study, comparisons)
    if axis is not None and len({axis.bytes[one.variant[axis.factor]] for one in comparisons}) >= _LEAST_SIZES - 1:
        blocks.append(_over_size(context, axis, comparisons, levels, means))
    return blocks


def _load_factor(comparisons: Sequence[Comparison]) -> str | None:
    """The one factor that is averaged over, if its levels are numbers."""
    factors = {factor for one in comparisons for levels in one.averaged for factor in levels}
    if len(factors) != 1:
        return None
    (factor,) = factors
    known = [numeric(levels[factor]) for one in comparisons for levels in one.averaged]
    return None if None in known else factor


def _name(context: Context, comparison: Comparison) -> str:
    return label_of(comparison.variant, context.campaign.study, comparison.baseline)


def _table(
    context: Context,
    comparisons: Sequence[Comparison],
    levels: Sequence[Sequence[AtLevel]],
    arithmetic: Sequence[AtLevel],
) -> Table:
    columns = [Column("level", "Load")]
    for place, one in enumerate(comparisons, 1):
        columns += [
            cells.values(f"ratio_{place}", _name(context, one)),
            Column(f"interval_{place}", "Interval"),
        ]
    rows = []
    for row, found in enumerate(levels[0]):
        values = [_pair(group[row].ratio if row < len(group) else None) for group in levels]
        head = cells.text(label_of(found.levels, context.campaign.study))
        rows.append((head, *(cell for pair in values for cell in pair)))
    means = [cell for one in comparisons for cell in _pair(one.ratio)]
    rows.append((cells.text("geometric mean"), *means))
    rows.append((cells.text("mean (Cpi)"), *(cell for at in arithmetic for cell in _pair(at.ratio))))
    note = (
        "Above 1 × the variant is better. Each level has its own 95 % interval; the geometric mean of the levels' "
        "ratios, round by round, is what the verdict rests on. Their arithmetic mean (Cpi) is what publications give."
    )
    return Table("improvement", "Improvement at each load", tuple(columns), tuple(rows), note)


def _pair(ratio: Estimate | None) -> tuple[Cell, Cell]:
    return cells.plain_number(None if ratio is None else ratio.value), cells.ratio_interval(ratio)


def _over_load(
    context: Context, factor: str, comparisons: Sequence[Comparison], levels: Sequence[Sequence[AtLevel]]
) -> Chart:
    series = []
    for place, (one, found) in enumerate(zip(comparisons, levels, strict=True)):
        if place < _MOST_SERIES:
            loads = [numeric(at.levels[factor]) or 0.0 for at in found]
            series.append(_series(Appearance(_name(context, one), place + 1), loads, found))
    load = factor.rsplit(".", 1)[-1].replace("_", " ")
    panel = chart.LoadPanel(_RATIO, tuple(series))
    caption = "Marks are rounds, the line joins the geometric means, bars are their 95 % intervals. The baseline is 1."
    if len(series) == 1:
        # One line has no key.
        caption = f"{context.capital(series[0].appearance.label)}. {caption}"
    return Chart("improvement-load", caption, _alt(load, panel), *_drawings(load, panel))


def _values(context: Context, factor: str, comparisons: Sequence[Comparison]) -> Chart:
    """The metric itself over the load, for every variant, baselines first: as publications draw it."""
    sides = [one.baseline for one in comparisons] + [one.variant for one in comparisons]
    rest = {tuple(sorted(side.items(), key=str)): side for side in sides}
    averaged = comparisons[0].averaged
    metric = context.primary
    series = []
    for place, side in enumerate(list(rest.values())[:_MOST_SERIES]):
        variants: list[Variant] = [{**side, **levels} for levels in averaged]
        at = [(numeric(variant[factor]) or 0.0, variant) for variant in variants]
        points = [(x, number, value) for x, v in at for number, value in points_of(context, v, metric.name)]
        means = [(x, mean) for x, v in at if (mean := mean_of(context, v, metric.name)) is not None]
        label = label_of(side, context.campaign.study) or metric.label
        series.append(chart.LoadSeries(Appearance(label, place), tuple(points), tuple(means)))
    load = factor.rsplit(".", 1)[-1].replace("_", " ")
    panel = chart.LoadPanel(metric, tuple(series))
    caption = "All variants over the load. Marks are runs, the lines join the means, bars are their intervals."
    return Chart("improvement-values", caption, _alt(load, panel), *_drawings(load, panel))


def _over_size(
    context: Context,
    axis: SizeAxis,
    comparisons: Sequence[Comparison],
    levels: Sequence[Sequence[AtLevel]],
    means: Sequence[AtLevel],
) -> Chart:
    """A line for the mean and one for each load level, over the size."""
    ordered = sorted(
        zip(comparisons, levels, means, strict=True), key=lambda found: axis.bytes[found[0].variant[axis.factor]]
    )
    sizes = [axis.bytes[one.variant[axis.factor]] / _GIB for one, _, _ in ordered]
    unit, scale = ("GiB", 1.0) if max(sizes) >= 1 else ("MiB", 1024.0)
    places = [size * scale for size in sizes]

    # Every line begins at the baseline, whose ratio is 1 by definition.
    begin = axis.bytes[comparisons[0].baseline[axis.factor]] / _GIB * scale
    one_to_one = (begin, Estimate(1.0, 1.0, 1.0, 0.0, 0, "the baseline"))

    def line(appearance: Appearance, found: Sequence[AtLevel]) -> chart.LoadSeries:
        made = _series(appearance, places, found)
        return replace(made, means=tuple(sorted([one_to_one, *made.means], key=lambda mean: mean[0])))

    series = [line(Appearance("mean (Cpi)", 0), [mean for _, _, mean in ordered])]
    for row in range(min(len(ordered[0][1]), _MOST_SERIES - 1)):
        label = label_of(ordered[0][1][row].levels, context.campaign.study)
        series.append(line(Appearance(label, row + 1), [found[row] for _, found, _ in ordered]))
    title = f"{axis.path.removeprefix('volumes.').replace('.', ' ')}, {unit}"
    panel = chart.LoadPanel(_RATIO, tuple(series))
    caption = "Marks are rounds, the lines join the means over the size, bars are 95 % intervals. The baseline is 1."
    return Chart("improvement-size", caption, _alt(title, panel), *_drawings(title, panel))


def _drawings(load: str, panel: chart.LoadPanel) -> tuple[Callable[[], Drawing], Callable[[], Drawing]]:
    """The picture, and the one for a narrow page."""
    return lambda: chart.draw(load, [panel]), lambda: chart.draw(load, [panel], NARROW)


def _series(appearance: Appearance, places: Sequence[float], found: Sequence[AtLevel]) -> chart.LoadSeries:
    points = tuple((x, number, value) for x, at in zip(places, found, strict=True) for number, value in at.points)
    means = tuple((x, at.ratio) for x, at in zip(places, found, strict=True) if at.ratio is not None)
    return chart.LoadSeries(appearance, points, means)


def _alt(axis: str, panel: chart.LoadPanel) -> str:
    parts = [
        f"{series.appearance.label}: " + ", ".join(f"{x:g}: {_words(mean)}" for x, mean in series.means)
        for series in panel.series
    ]
    return f"{panel.metric.label} over {axis}. " + "; ".join(parts) + "."


def _words(mean: Estimate) -> str:
    """The interval; the value alone of what has none."""
    return ratio_interval(mean) if has_interval(mean) else significant(mean.value, 3)


SECTION = Section("improvement", "Improvement by load and size", 45, ("ok_runs",), build)
