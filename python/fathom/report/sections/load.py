"""Load against throughput: where more load stops to help, and what the Universal Scalability Law makes of it."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.analysis.model import Knee, ScalabilityFit
from fathom.analysis.variants import Variant, load_name, numeric, variant_key
from fathom.analysis.variants import label as label_of
from fathom.metrics import METRICS, Metric
from fathom.metrics import metric as metric_of
from fathom.report import cells
from fathom.report.charts import load as chart
from fathom.report.context import Context
from fathom.report.document import Block, Cell, Chart, Column, Table
from fathom.report.format import plural, quantity
from fathom.report.section import Section
from fathom.report.sections.evidence import mean_of, points_of
from fathom.report.style.marks import Appearance

_LEAST_LEVELS = 4
_MOST_SERIES = 7


def build(context: Context) -> Sequence[Block]:
    """For every load factor a chart; then the tables of knees and fits."""
    blocks: list[Block] = []
    for index, factor in enumerate(_load_factors(context)):
        blocks.append(_chart(context, factor, "load" if index == 0 else f"load-{index + 1}"))
    if context.analysis.knees:
        blocks.append(_knees(context))
    if context.analysis.scalability:
        blocks.append(_fits(context))
    return blocks


def _load_factors(context: Context) -> tuple[str, ...]:
    """Those the analysis took for a load, else every factor with at least four numeric levels."""
    named = [knee.load_factor for knee in context.analysis.knees]
    named += [fit.load_factor for fit in context.analysis.scalability]
    return tuple(dict.fromkeys(named)) or tuple(f for f in context.factors if len(_levels(context, f)) >= _LEAST_LEVELS)


def _levels(context: Context, factor: str) -> set[float]:
    """The levels as numbers; none if one of them is not a number."""
    known = [numeric(variant[factor]) for variant in context.variants if factor in variant]
    return set() if None in known else {level for level in known if level is not None}


def _chart(context: Context, factor: str, name: str) -> Chart:
    groups: dict[tuple[tuple[str, str], ...], list[Variant]] = {}
    for variant in context.variants:
        if numeric(variant.get(factor, "")) is not None:
            groups.setdefault(variant_key(_without(variant, factor)), []).append(variant)
    shown = list(groups.values())[:_MOST_SERIES]
    metrics = [_throughput(context, factor)]
    if metrics[0].name != "latency_ms" and any(run.metrics.get("latency_ms") for run in context.ok_runs):
        metrics.append(METRICS["latency_ms"])
    panels = [
        chart.LoadPanel(
            metric, tuple(_series(context, factor, metric, members, place) for place, members in enumerate(shown))
        )
        for metric in metrics
    ]
    load = load_name(factor, context.campaign.study)
    caption = (
        "Marks are runs, the line joins the means, bars are their intervals. Thin lines: the bounds that service time "
        "and ceiling set; they cross at the knee. Dashed: Universal Scalability Law."
    )
    return Chart(name, caption, _alt(load, panels[0]), lambda: chart.draw(load, panels))


def _throughput(context: Context, factor: str) -> Metric:
    """The metric whose bend the analysis looked for; the study's own where it looked for none."""
    named = [knee.metric for knee in context.analysis.knees if knee.load_factor == factor]
    named += [fit.metric for fit in context.analysis.scalability if fit.load_factor == factor]
    return metric_of(named[0]) if named else context.primary


def _without(variant: Variant, factor: str) -> Variant:
    return {name: level for name, level in variant.items() if name != factor}


def _series(context: Context, factor: str, metric: Metric, members: Sequence[Variant], place: int) -> chart.LoadSeries:
    rest = _without(members[0], factor)
    ordered = sorted(members, key=lambda variant: numeric(variant[factor]) or 0.0)
    points = [
        (numeric(v[factor]) or 0.0, number, value)
        for v in ordered
        for number, value in points_of(context, v, metric.name)
    ]
    means = [(numeric(v[factor]) or 0.0, mean_of(context, v, metric.name)) for v in ordered]
    known = tuple((load, mean) for load, mean in means if mean is not None)
    knee = next((k for k in context.analysis.knees if _belongs(k, factor, metric, rest)), None)
    fit = next((f for f in context.analysis.scalability if _belongs(f, factor, metric, rest)), None)
    name = label_of(rest, context.campaign.study) if rest else metric.label
    return chart.LoadSeries(Appearance(name, place), tuple(points), known, knee, fit)


def _belongs(found: Knee | ScalabilityFit, factor: str, metric: Metric, rest: Variant) -> bool:
    return (found.load_factor, found.metric, variant_key(found.variant)) == (factor, metric.name, variant_key(rest))


def _alt(load: str, panel: chart.LoadPanel) -> str:
    parts = []
    for series in panel.series:
        said = [f"{value:g}: {quantity(mean.value, panel.metric.unit)}" for value, mean in series.means]
        knee = "" if series.knee is None else f", knee at {series.knee.n_star.value:.3g}"
        parts.append(f"{series.appearance.label}, {plural(len(series.points), 'run')}, means {', '.join(said)}{knee}")
    return f"{panel.metric.label} against {load}. " + "; ".join(parts) + "."


def _knees(context: Context) -> Table:
    columns = (
        Column("load_factor", "Load"),
        Column("variant", "Variant"),
        cells.values("service_floor_ms", "Floor, ms"),
        Column("service_floor_interval", "Interval"),
        cells.values("ceiling", "Ceiling"),
        Column("ceiling_interval", "Interval"),
        cells.values("knee", "Knee at"),
        Column("knee_interval", "Interval"),
        Column("bottleneck", "Limited by"),
    )
    rows: list[tuple[Cell, ...]] = []
    for knee in context.analysis.knees:
        unit = metric_of(knee.metric).unit
        row = [_load(context, knee.load_factor), _rest(context, knee.variant)]
        for estimate, its in ((knee.service_floor_ms, "ms"), (knee.throughput_ceiling, unit), (knee.n_star, "")):
            shown = cells.quantity(estimate.value, its)
            row.append(shown if its in ("ms", "") else Cell(quantity(estimate.value, its), estimate.value))
            row.append(cells.interval(estimate, its))
        rows.append((*row, cells.text(knee.bottleneck or "not known")))
    return Table("knees", "Saturation point", *cells.without_empty(columns, rows))


def _load(context: Context, factor: str) -> Cell:
    """A load by the last word of its path; the export has all of it."""
    return Cell(load_name(factor, context.campaign.study), factor)


def _rest(context: Context, variant: Variant) -> Cell:
    """The levels of the other factors, if there are any."""
    return cells.text(label_of(variant, context.campaign.study) if variant else None)


def _fits(context: Context) -> Table:
    columns = (
        Column("load_factor", "Load"),
        Column("variant", "Variant"),
        cells.values("gamma", "Rate of one, γ"),
        cells.values("alpha", "Contention, α"),
        Column("alpha_interval", "Interval"),
        cells.values("beta", "Coherency, β"),
        Column("beta_interval", "Interval"),
        cells.values("n_max", "Peak at"),
        cells.values("r_squared", "R²"),
        Column("note", "Reading"),
    )
    rows = [
        (
            _load(context, fit.load_factor),
            _rest(context, fit.variant),
            cells.plain_number(fit.gamma.value),
            cells.plain_number(fit.alpha.value),
            cells.interval(fit.alpha, ""),
            cells.plain_number(fit.beta.value),
            cells.interval(fit.beta, ""),
            cells.plain_number(fit.n_max),
            cells.plain_number(fit.r_squared),
            cells.text(fit.note),
        )
        for fit in context.analysis.scalability
    ]
    return Table("scalability", "Universal Scalability Law", *cells.without_empty(columns, rows))


SECTION = Section("load", "Load against throughput", 80, ("ok_runs",), build)
