"""The answer in one sentence, with the word, the ratio, the interval and the rounds behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fathom.analysis.model import Comparison, Verdict
from fathom.report.context import Context
from fathom.report.document import Banner, Block, Paragraph, Tone
from fathom.report.format import level, percent, plural, ratio_interval, ratio_value
from fathom.report.plain import capital
from fathom.report.section import Section
from fathom.report.verdicts import sign, tone, words


def build(context: Context) -> Sequence[Block]:
    """One banner, and where to read what weakens it."""
    analysis = context.analysis
    leading = context.leading
    if leading is not None:
        banner = _of_comparison(context, leading)
    elif analysis.comparisons:
        alike = {comparison.verdict for comparison in analysis.comparisons}
        only = alike.pop() if len(alike) == 1 else None
        word = f"{sign(only)} {only.value}" if only is not None else "? no difference shown"
        banner = Banner(word, Tone.WARN, "", analysis.headline, _counts(analysis.comparisons))
    elif not context.ok_runs:
        failed = ("Runs", f"{plural(len(context.failed_runs), 'run')} failed, none finished")
        banner = Banner("! no result", Tone.BAD, "", analysis.headline, (failed,))
    elif analysis.predictions:
        banner = _of_predictions(context)
    else:
        facts = (("Runs", f"{len(context.ok_runs):,}"), ("Variants", f"{len(context.variants):,}"))
        banner = Banner("measured", Tone.PLAIN, "", analysis.headline, facts)
    return [banner, *_caveats(context)]


def _counts(comparisons: Sequence[Comparison]) -> tuple[tuple[str, str], ...]:
    """How many comparisons ended in which verdict."""
    counted = Counter(comparison.verdict for comparison in comparisons)
    return tuple((capital(verdict.value), f"{counted[verdict]}") for verdict in Verdict if counted[verdict])


def _of_comparison(context: Context, leading: Comparison) -> Banner:
    ratio = leading.ratio
    facts = [("Metric", context.primary.label)]
    if ratio is not None:
        facts = [
            ("Ratio", ratio_value(ratio)),
            (f"{level(ratio.level)} interval" if ratio.has_interval else "Interval", ratio_interval(ratio)),
            ("Rounds", f"{ratio.n}"),
            *facts,
        ]
    others = _counts([c for c in context.analysis.comparisons if c is not leading])
    if others:
        facts.append(("Other comparisons", ", ".join(f"{count} {name.lower()}" for name, count in others)))
    return Banner(
        word=f"{sign(leading.verdict)} {words(leading)}",
        tone=tone(leading.verdict),
        subject=f"{context.label(leading.variant)} against {context.label(leading.baseline)}",
        sentence=context.analysis.headline,
        facts=tuple(facts),
    )


def _of_predictions(context: Context) -> Banner:
    cells = context.analysis.predictions
    checked = [cell for cell in cells if cell.relative_error is not None and not cell.calibrated]
    facts = [("Cells predicted", f"{sum(cell.predicted is not None for cell in cells)}")]
    facts.append(("Checked against a publication", f"{len(checked)}"))
    if checked:
        worst = max((abs(cell.relative_error) for cell in checked if cell.relative_error is not None), default=0.0)
        facts.append(("Largest error", percent(worst)))
    facts.append(("Calibrated", f"{sum(cell.calibrated for cell in cells)}"))
    return Banner("predicted", Tone.PLAIN, "", context.analysis.headline, tuple(facts))


def _caveats(context: Context) -> list[Block]:
    """What weakens the verdict must be in sight of it."""
    said = ["tiny scale (--quick), no figure to rely on"] if context.campaign.quick else []
    if context.failed_runs:
        said.append(f"{plural(len(context.failed_runs), 'run')} failed")
    missing = context.campaign.planned - len(context.campaign.runs)
    if missing > 0:
        said.append(f"{plural(missing, 'planned run')} not done yet")
    unsteady = sum(not state.steady for state in context.analysis.steady)
    if unsteady:
        said.append(f"{plural(unsteady, 'run')} never settled")
    if context.analysis.warnings:
        said.append(plural(len(context.analysis.warnings), "warning"))
    return [Paragraph(f"Read with care: {', '.join(said)}. See “Data quality” below.", Tone.WARN)] if said else []


SECTION = Section("verdict", "Verdict", 10, (), build)
