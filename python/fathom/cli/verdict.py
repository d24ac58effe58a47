"""The end of a campaign on screen: analysis, verdict, report file, exit code. Shared by the commands that show one."""

from __future__ import annotations

from pathlib import Path

import typer

from fathom import campaign, record
from fathom.analysis.analyse import analyse
from fathom.analysis.model import Analysis, Verdict
from fathom.cli import codes
from fathom.cli.output import note, plain, print_json
from fathom.errors import CampaignError, UsageError
from fathom.goals import Outcome, outcomes
from fathom.results import Campaign, Run
from fathom.unanswered import nothing_done

REPORT = "report.html"


def analysed(found: Campaign) -> Analysis:
    """The analysis of a campaign.

    Raises:
        UsageError: nothing has finished yet, or a setting of the study cannot be meant.
    """
    if not found.runs:
        raise UsageError(f"{found.directory}: no run has finished yet", "run the study first")
    try:
        return analyse(found)
    except ValueError as problem:
        raise UsageError(f"{found.directory / 'study.toml'}: {problem}") from None


def show(
    found: Campaign,
    *,
    as_json: bool,
    report: Path | None,
    anonymise: bool = False,
    markdown: bool = False,
    export: Path | None = None,
) -> int:
    """Writes the report, prints the verdict, and notes that somebody has now seen it.

    Args:
        found: the campaign.
        as_json: print data instead of tables.
        report: where the HTML goes; None for the campaign's own directory.
        anonymise: leave out names of hosts, users and paths.
        markdown: print Markdown instead of tables.
        export: a directory for every table and chart as a file of its own; None for none.

    Returns:
        The exit code.
    """
    from fathom.report import Report
    from fathom.report.files import FORMATS, page_at

    result = analysed(found)
    shown = Report(result, found, anonymise=anonymise)
    place = page_at(report or found.directory, REPORT)
    with record.writing(place.parent):
        shown.page(place)
    note_look(found.directory, found.complete_rounds)
    if as_json:
        print_json(summary(found, result, place))
    elif markdown:
        typer.echo(shown.markdown(), nl=False)
    else:
        shown.print()
    if export is not None:
        with record.writing(export):
            for written in shown.export(export, FORMATS):
                note(f"written: {written}")
    left = found.planned - len(found.runs)
    if left > 0:
        note(f"{left} of {found.planned} runs are still to come")
    note(f"report: {place}")
    return exit_code(found, result)


def summary(found: Campaign, result: Analysis, report: Path | None) -> dict[str, object]:
    """A campaign's outcome as data."""
    return {
        "directory": str(found.directory),
        "report": None if report is None else str(report),
        "clock": found.clock,
        "seed": found.seed,
        "quick": found.quick,
        "planned": found.planned,
        "finished": len(found.runs),
        "failed": [_failure(run) for run in found.runs if not run.ok],
        "retried": [_failure(run) for run in found.retried],
        "goals": [plain(outcome) | {"passed": outcome.passed} for outcome in _outcomes(found, result)],
        "analysis": plain(result),
    }


def _failure(run: Run) -> dict[str, object]:
    return {"id": run.id, "variant": run.variant, "round": run.round, "reason": run.reason, "message": run.message}


def _outcomes(found: Campaign, result: Analysis) -> tuple[Outcome, ...]:
    return outcomes(found, (over.variant for over in result.overloads))


def exit_code(found: Campaign, result: Analysis) -> int:
    """Runs that failed or did nothing come first, then a missed goal, then comparisons none of which can be made."""
    if any(not run.ok or nothing_done(run) for run in found.runs):
        return codes.RUN_FAILED
    if not all(outcome.passed for outcome in _outcomes(found, result)):
        return codes.GOAL_MISSED
    verdicts = {comparison.verdict for comparison in result.comparisons}
    return codes.NOT_COMPARABLE if verdicts == {Verdict.NOT_COMPARABLE} else codes.OK


def note_look(directory: Path, rounds: int) -> None:
    """Notes that somebody saw a verdict after so many complete rounds; on screen where that cannot be recorded."""
    try:
        campaign.note_look(directory, rounds)
    except CampaignError as problem:
        # A read-only copy of results may be looked at; it cannot be extended anyway.
        note(f"this look is not recorded: {problem.what}")
