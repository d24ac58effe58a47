"""The comparisons: ratio, interval, verdict, rounds and all points, with the effect plot; and the means behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fathom.analysis.headline import averaged_words
from fathom.analysis.model import Comparison, Estimate, Summary
from fathom.analysis.variants import Key, label, variant_key
from fathom.analysis.words import capital
from fathom.metrics import METRICS, metric
from fathom.report import activity, cells
from fathom.report.charts import effect
from fathom.report.context import Context
from fathom.report.document import Block, Bullets, Cell, Chart, Column, Paragraph, Table
from fathom.report.format import has_interval, level, p_value, percent, plural, ratio, ratio_interval, ratio_value
from fathom.report.section import Section
from fathom.report.verdicts import sign, tone, words

if TYPE_CHECKING:
    from fathom.report.style.drawing import Drawing

_MOST_NOTES, _MOST_NARROW = 12, 8

_COLUMNS = (
    Column("variant", "Variant"),
    Column("baseline", "Baseline"),
    Column("metric", "Metric"),
    Column("verdict", "Verdict"),
    cells.values("ratio", "Ratio"),
    Column("interval", "Interval"),
    cells.values("level", "Level"),
    cells.values("rounds", "Rounds"),
    cells.values("p", "Sign-flip p"),
    Column("points", "Every round"),
)


def build(context: Context) -> Sequence[Block]:
    """The effect plot, the table, what was said about single comparisons, and the means."""
    blocks: list[Block] = []
    if not context.ok_runs:
        # Tables of nothing: the verdict says that no run finished, and the data quality why.
        return blocks
    comparisons = context.analysis.comparisons
    if comparisons:
        blocks += _compared(context, comparisons)
    if context.analysis.summaries:
        blocks.append(_means(context))
    return blocks


def _compared(context: Context, comparisons: Sequence[Comparison]) -> list[Block]:
    baseline = context.label(context.baselines[0]) if len(context.baselines) == 1 else "its baseline"
    drawn = [
        effect.EffectRow(context.appearance(c.variant), c) for c in comparisons if c.metric == context.analysis.metric
    ]
    averaged, study = comparisons[0].averaged, context.campaign.study
    blocks: list[Block] = [
        Paragraph(
            f"Each variant against {baseline}, as a ratio of improvement: above 1 × the variant is better, whichever "
            "direction of the metric is the better one. Differences within "
            f"{percent(comparisons[0].margin)} were declared equivalent before the runs."
            + (f" Each ratio is the geometric mean over {averaged_words(comparisons[0], study)}." if averaged else "")
        )
    ]
    if drawn:
        caption = (
            "Ratio to the baseline on a logarithmic axis. Grey band: equivalence margin. Thin bar: interval of the "
            "verdict; pale bar: interval of the equivalence test; pale marks: single rounds."
        )
        alt = (
            "Ratios to the baseline. " + "; ".join(f"{r.appearance.label}: {_said(r.comparison)}" for r in drawn) + "."
        )
        blocks.append(Chart("effect", caption, alt, lambda: effect.draw(drawn, baseline), _narrow(drawn, baseline)))
    kept, rows = cells.without_empty(_COLUMNS, [_row(context, comparison) for comparison in comparisons])
    left_out = set()
    if len({comparison.metric for comparison in comparisons}) == 1:
        left_out.add("metric")
    bases = {label(one.baseline, study, apart_from=one.variant) for one in comparisons}
    if len(bases) == 1:
        left_out.add("baseline")
    places = [index for index, column in enumerate(kept) if column.key not in left_out]
    table = Table(
        "comparisons",
        f"Comparison with {bases.pop() if len(bases) == 1 else baseline}, {context.primary.label}",
        tuple(kept[index] for index in places),
        tuple(tuple(row[index] for index in places) for row in rows),
        "Rounds, not samples, are the independent observations. Where the level is above 95 %, the interval was "
        "widened for looks or for several variants; equivalence rests on two one-sided tests, an interval of 90 %. "
        "Ratios, and values beside them, are geometric means over the rounds.",
    )
    blocks.append(table)
    notes = _notes(context, comparisons)
    return [*blocks, Bullets(notes)] if notes else blocks


def _narrow(drawn: Sequence[effect.EffectRow], baseline: str) -> Callable[[], Drawing] | None:
    """The picture for a narrow page, as long as its rows fit one."""
    return (lambda: effect.draw_narrow(drawn, baseline)) if len(drawn) <= _MOST_NARROW else None


def _notes(context: Context, comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """What was said about the comparisons, each remark once; one about a single comparison names its variant."""
    about: dict[str, list[str]] = {}
    for comparison in comparisons:
        who, study = context.label(comparison.variant), context.campaign.study
        own = f"{label(comparison.variant, study, apart_from=comparison.baseline)}: "
        for reason in comparison.reasons:
            said = f"{who}: {reason.removeprefix(own)}" if reason.startswith(own) else reason
            about.setdefault(said, []).append(who)
    named = [
        context.capital(reason)
        if len(who) > 1 or len(comparisons) == 1 or reason.lower().startswith(who[0].lower())
        else f"{context.capital(who[0])}: {reason}"
        for reason, who in about.items()
    ]
    more = len(named) - _MOST_NOTES
    return tuple(named[:_MOST_NOTES]) + ((f"{plural(more, 'further remark')} in analysis.json.gz",) if more > 0 else ())


def _said(comparison: Comparison) -> str:
    numbers = (
        "no ratio"
        if comparison.decisive is None
        else f"{ratio_value(comparison.decisive)}, {ratio_interval(comparison.decisive)}"
    )
    return f"{words(comparison)}, {numbers}"


def _row(context: Context, comparison: Comparison) -> tuple[Cell, ...]:
    estimate = comparison.decisive
    return (
        cells.text(context.label(comparison.variant)),
        cells.text(label(comparison.baseline, context.campaign.study, apart_from=comparison.variant)),
        cells.text(metric(comparison.metric).label),
        Cell(f"{sign(comparison.verdict)} {words(comparison)}", comparison.verdict.value, tone(comparison)),
        cells.text(None) if estimate is None else Cell(ratio_value(estimate), estimate.value),
        cells.ratio_interval(estimate),
        _level(estimate),
        cells.whole(len(comparison.points) if estimate is None else estimate.n),
        cells.text(None) if comparison.p_permutation is None else _p(comparison.p_permutation),
        cells.text(" ".join(ratio(value).removesuffix("\u00a0×") for _, value in comparison.points)),
    )


def _level(estimate: Estimate | None) -> Cell:
    return (
        cells.text(None)
        if estimate is None or not has_interval(estimate)
        else Cell(level(estimate.level), estimate.level)
    )


def _p(value: float) -> Cell:
    return Cell(p_value(value), value)


def _means(context: Context) -> Table:
    columns = (
        Column("variant", "Variant"),
        Column("metric", "Metric"),
        cells.values("mean", "Mean"),
        Column("interval", "Interval"),
        Column("unit", "Unit"),
        cells.values("runs", "Runs"),
        cells.values("failed", "Failed"),
        cells.values("cv", "Scatter (CV)"),
    )
    names = list(dict.fromkeys([context.analysis.metric, *METRICS, *(s.metric for s in context.analysis.summaries)]))
    ordered = sorted(context.analysis.summaries, key=lambda s: (names.index(s.metric), context.place(s.variant)))
    rows = [_mean_row(context, summary) for summary in _of_one_place(context, ordered)]
    folded = len(rows) > (12 if context.analysis.comparisons else 24)
    note = "Arithmetic means over the rounds. Values beside a ratio are geometric ones: their quotient is the ratio."
    compared = note if context.analysis.comparisons else None
    return Table("means", "Means by variant", *cells.without_empty(columns, rows), compared, collapsed=folded)


def _of_one_place(context: Context, summaries: Sequence[Summary]) -> list[Summary]:
    """Without sums over a log and data files, nobody's figures, and without places that a variant does not have."""
    every = set(activity.place_names(context, context.campaign.runs))
    if len(every) < 2:
        return list(summaries)
    lacking: dict[Key, set[str]] = {}
    for variant in context.variants:
        own = activity.place_names(context, context.runs(variant))
        several = len(own) > 1
        others = every - set(own) if several else every
        left_out = {f"{name}_{kind}" for name in others for kind in activity.AT_A_PLACE}
        lacking[variant_key(variant)] = left_out | (set(activity.AT_A_PLACE) if several else set())
    return [one for one in summaries if one.metric not in lacking[variant_key(one.variant)]]


def _mean_row(context: Context, summary: Summary) -> tuple[Cell, ...]:
    shown, mean = metric(summary.metric), summary.mean
    value = cells.quantity(None if mean is None else mean.value, shown.unit)
    return (
        cells.text(context.label(summary.variant)),
        cells.text(capital(shown.label)),
        cells.at_least(value) if context.leaves_out(summary.variant, summary.metric) else value,
        cells.interval(mean, shown.unit),
        Cell(shown.unit, shown.unit),
        cells.whole(len(summary.points)),
        cells.whole(summary.failed),
        cells.share(summary.cv),
    )


SECTION = Section(
    "comparisons",
    "Comparisons and means",
    40,
    (),
    build,
    heading=lambda context: "Comparisons and means" if context.analysis.comparisons else "Means",
)
