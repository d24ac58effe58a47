"""What to do next: at most three actions, the most useful first, each with its exact command or setting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from fathom.analysis.model import Verdict
from fathom.report import commands
from fathom.report.context import Context
from fathom.report.document import Action, Actions, Block
from fathom.report.format import percent, plural, ratio_interval, ratio_value, significant
from fathom.report.plain import capital
from fathom.report.section import Section

_MOST = 3
_MOST_REPEATED = 8


def build(context: Context) -> Sequence[Block]:
    """The first three that apply."""
    actions = tuple(islice(_candidates(context), _MOST))
    return [Actions(actions)] if actions else []


def _candidates(context: Context) -> Iterator[Action]:
    yield from _failures(context)
    yield from _unfinished(context)
    yield from _verdict(context)
    yield from _undecided(context)
    yield from _unsteady(context)
    yield from _knees(context)
    yield from _audits(context)
    yield from _predictions(context)


def _failures(context: Context) -> Iterator[Action]:
    reasons = list(dict.fromkeys(run.reason or "unknown" for run in context.failed_runs))
    if reasons:
        first = context.failed_runs[0]
        failed = plural(len(context.failed_runs), "run")
        yield Action(
            claim=f"Remove the cause that made {failed} fail ({', '.join(reasons)}), then repeat them.",
            why=f"{capital(context.label(first.variant))}, round {first.round}: {first.message or 'no message left'}",
            command=commands.repeat_failed(context) if len(context.failed_runs) <= _MOST_REPEATED else None,
            risk="The records of the failed runs are deleted; this report keeps them.",
        )


def _unfinished(context: Context) -> Iterator[Action]:
    missing = context.campaign.planned - len(context.campaign.runs)
    if missing > 0 and not context.failed_runs:
        yield Action(
            claim=f"Finish the campaign: {plural(missing, 'run')} of {context.campaign.planned:,} to go.",
            why="A verdict over incomplete rounds uses only the complete ones.",
            command=commands.resume(context),
        )


def _verdict(context: Context) -> Iterator[Action]:
    """What the verdict asks for. A load is not a setting to choose: of it the knee speaks."""
    leading = context.best or context.leading
    loads = set(context.load_factors)
    if leading is None or any(leading.variant[f] != leading.baseline.get(f) for f in loads & leading.variant.keys()):
        return
    numbers = f"{ratio_value(leading.ratio)} ({ratio_interval(leading.ratio)})"
    changed = {f: v for f, v in leading.variant.items() if leading.baseline.get(f) != v}
    kept = {f: v for f, v in leading.baseline.items() if leading.variant.get(f) != v}
    small = leading.verdict in (Verdict.FASTER_SMALL, Verdict.SLOWER_SMALL)
    alike = small and leading.equivalence is not None and leading.equivalence.within(leading.margin)
    if leading.verdict is Verdict.EQUIVALENT or alike:
        yield Action(
            claim="Choose by price or simplicity, not by speed.",
            why=f"{capital(context.label(leading.variant))} and {context.label(leading.baseline)} are equivalent "
            f"within {percent(leading.margin)}: {numbers}.",
        )
    elif leading.verdict in (Verdict.FASTER, Verdict.FASTER_SMALL):
        yield Action(
            claim=f"Choose {context.label(leading.variant)}" + (", if it costs nothing." if small else "."),
            why=f"Better by {numbers} in {context.primary.label}.",
            command="\n".join(_setting(factor, value) for factor, value in changed.items()) or None,
            risk="The verdict covers speed alone. Check that the setting keeps the durability you need.",
        )
    elif leading.verdict in (Verdict.SLOWER, Verdict.SLOWER_SMALL):
        yield Action(
            claim=f"Stay with {context.label(leading.baseline)}.",
            why=f"The best variant, {context.label(leading.variant)}, only reaches {numbers} of it.",
            command="\n".join(_setting(factor, value) for factor, value in kept.items()) or None,
        )
    elif leading.verdict is Verdict.NOT_COMPARABLE:
        yield Action(
            claim="Make the variants comparable before reading any ratio.",
            why=" ".join(f"{capital(reason).rstrip('.')}." for reason in leading.reasons)
            or "The rules of comparison were not met.",
        )


def _undecided(context: Context) -> Iterator[Action]:
    open_ones = [c for c in context.analysis.comparisons if c.verdict is Verdict.UNDECIDED]
    if not open_ones:
        return
    needed = [c.more_rounds for c in open_ones if c.more_rounds is not None]
    names = ", ".join(context.label(c.variant) for c in open_ones)
    if needed:
        yield Action(
            claim=f"Run about {plural(max(needed), 'more round')} to decide on {names}.",
            why="At the scatter seen so far, the interval will then be narrow enough for a verdict.",
            command=commands.with_rounds(context, context.rounds + max(needed)),
            risk="Every look at the results in between costs confidence; the report pays for it.",
        )
    else:
        yield Action(
            claim=f"Find the cause of the scatter before adding rounds for {names}.",
            why="At the scatter seen so far, no affordable number of rounds would decide.",
        )


def _unsteady(context: Context) -> Iterator[Action]:
    unsteady = [state for state in context.analysis.steady if not state.steady]
    if unsteady:
        yield Action(
            claim=f"Lengthen the runs: {len(unsteady)} of {len(context.analysis.steady)} never settled.",
            why=f"{capital(unsteady[0].reasons[0])}."
            if unsteady[0].reasons
            else "The series kept changing until the end.",
        )


def _knees(context: Context) -> Iterator[Action]:
    for knee in context.analysis.knees:
        cause = f"; the limit is {knee.bottleneck}" if knee.bottleneck else ""
        yield Action(
            claim=f"Keep the load below about {significant(knee.n_star.value, 2)} ({knee.load_factor}).",
            why=f"Beyond the knee more load adds latency and no throughput{cause}.",
        )


def _audits(context: Context) -> Iterator[Action]:
    failed = [audit for audit in context.analysis.audits if not audit.passed]
    if failed:
        yield Action(
            claim=f"Look at {failed[0].where} before trusting its figures.",
            why=failed[0].sentence,
        )


def _predictions(context: Context) -> Iterator[Action]:
    unchecked = [cell for cell in context.analysis.predictions if cell.published is None and cell.predicted is not None]
    # By the real clock the cells were measured here.
    if unchecked and context.campaign.clock == "virtual":
        yield Action(
            claim=f"Measure one of the {plural(len(unchecked), 'cell')} that nobody published before relying on any.",
            why=f"For example {unchecked[0].cell}: a prediction is a reason to test, not a result.",
        )


def _setting(factor: str, level: str | int | float | bool) -> str:
    """A setting as it is written in a study."""
    if isinstance(level, bool):
        return f"{factor} = {'true' if level else 'false'}"
    if isinstance(level, str):
        escaped = level.replace("\\", "\\\\").replace('"', '\\"')
        return f'{factor} = "{escaped}"'
    return f"{factor} = {level}"


SECTION = Section("actions", "What to do next", 20, (), build)
