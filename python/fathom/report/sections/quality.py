"""How good the data are: failed runs with their reasons, warnings, gaps in the samples, metrics not measured."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.analysis.repeated import UNLESS, failed_first
from fathom.metrics import METRICS
from fathom.report import cells
from fathom.report.context import Context
from fathom.report.document import Block, Bullets, Cell, Column, Paragraph, Table, Tone
from fathom.report.format import plural
from fathom.report.section import Section
from fathom.report.series import gaps
from fathom.results import REASONS, Run

_FAILED = (
    cells.values("order", "Order"),
    cells.values("round", "Round"),
    Column("variant", "Variant"),
    Column("reason", "Reason"),
    Column("message", "Message"),
)


def build(context: Context) -> Sequence[Block]:
    """Always says something: that nothing is missing is a finding too."""
    campaign = context.campaign
    blocks: list[Block] = [Paragraph(_counted(context))]
    if context.analysis.warnings:
        blocks.append(Bullets(context.analysis.warnings, Tone.WARN))
    if context.failed_runs:
        rows = _failures(context, context.failed_runs)
        blocks.append(
            Table("failed-runs", "Failed runs", _FAILED, rows, "A failed run is a result; it enters no mean.")
        )
    if context.campaign.retried:
        rows = _failures(context, context.campaign.retried)
        note = f"The attempts that failed, before the runs were repeated; {UNLESS}."
        blocks.append(Table("repeated-runs", "Repeated runs", _FAILED, rows, note))
    holes = [(run, gaps(frame)) for run in context.ok_runs if (frame := context.samples(run)) is not None]
    holed = [
        f"{context.label(run.variant)}, round {run.round}: {plural(found, 'gap')} in the samples"
        for run, found in holes
        if found
    ]
    if holed:
        blocks.append(Bullets(tuple(holed), Tone.WARN))
    missing = _missing(context)
    if missing:
        blocks.append(
            Paragraph(
                "Not measured in every run, and therefore empty rather than zero: " + ", ".join(missing) + ".",
                Tone.MUTED,
            )
        )
    bare = sum(run.directory is None for run in campaign.runs if run.ok)
    if bare:
        blocks.append(Paragraph(f"{plural(bare, 'finished run')} left no samples.", Tone.WARN))
    return blocks


def _failures(context: Context, runs: Sequence[Run]) -> tuple[tuple[Cell, ...], ...]:
    """A row for each run. What is said once is not said again: the same cause may fail every run."""
    first: dict[tuple[str | None, str | None], Run] = {}
    return tuple(_failure(context, run, first.setdefault((run.reason, run.message), run)) for run in runs)


def _failure(context: Context, run: Run, first: Run) -> tuple[Cell, ...]:
    again = f"as of run {first.order}" if first is not run and run.message else None
    reason = run.reason or "unknown" if again else _reason(run.reason)
    return (
        cells.whole(run.order),
        cells.whole(run.round),
        cells.text(context.label(run.variant)),
        Cell(f"! {reason}", run.reason, Tone.BAD),
        cells.text(run.message) if again is None else Cell(again, run.message),
    )


def _reason(reason: str | None) -> str:
    return f"{reason}: {REASONS[reason]}" if reason in REASONS else reason or "unknown"


def _counted(context: Context) -> str:
    campaign = context.campaign
    done = f"{len(context.ok_runs):,} of {plural(campaign.planned, 'planned run')} finished"
    first = failed_first(context.analysis.repeated)
    failed = f", {len(context.failed_runs):,} failed" if context.failed_runs else "" if first else ", none failed"
    failed += f", {first:,} failed first" if first else ""
    left = campaign.planned - len(campaign.runs)
    return done + failed + (f", {left:,} not done yet." if left > 0 else ".")


def _missing(context: Context) -> list[str]:
    """Labels of metrics that some finished runs have and others lack."""
    names = dict.fromkeys(name for run in context.ok_runs for name in run.metrics)
    found = []
    for name in names:
        # A metric that a run does not list is none of its workload's: that of a further database, of another phase.
        listed = [run.metrics[name] for run in context.ok_runs if name in run.metrics]
        if 0 < listed.count(None) < len(listed):
            found.append(METRICS[name].label if name in METRICS else name)
    return found


def _nothing_failed(context: Context) -> bool:
    return not context.failed_runs and not context.campaign.retried


SECTION = Section("quality", "Data quality", 140, (), build, fold=_nothing_failed)
