"""`fathom compare`: the same study at two places, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.campaigns import AsJson, Quiet
from fathom.cli.command import Command

First = Annotated[Path, typer.Argument(metavar="DIR_A", help="The baseline campaign.", show_default=False)]
Second = Annotated[Path, typer.Argument(metavar="DIR_B", help="The campaign to judge against it.", show_default=False)]
Html = Annotated[Path | None, typer.Option("--html", help="Also write a report to this file.", show_default=False)]

Rounds = Annotated[
    int | None,
    typer.Option(
        "--rounds",
        "-r",
        min=1,
        help="Extend both campaigns to that many rounds first, a round of each in turn.",
        show_default=False,
    ),
]


def compare(
    first: First,
    second: Second,
    rounds: Rounds = None,
    html: Html = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare two campaigns.

    Takes one study measured twice: on another disk, another machine, another day. Refuses different studies,
    settings, models, clocks, scales or seeds. Everything else that differs is listed. Places that were not measured in
    turn, a round of each, get a verdict but no advice to choose. --rounds extends both in turn; a campaign that began
    on another machine is extended there, and nothing is run.
    """
    from fathom import record, results
    from fathom.cli.output import note, print_json
    from fathom.cli.verdict import REPORT, analysed, exit_code, note_look, summary
    from fathom.compare import merge
    from fathom.report import Report
    from fathom.report.files import page_at

    one, other = results.read(first), results.read(second)
    if rounds is not None:
        from fathom.cli.extension import extend

        merge(one, other)
        one, other = extend((one, other), rounds, quiet=quiet or as_json)
    merged = merge(one, other)
    result = analysed(merged)
    for directory in (first, second):
        note_look(directory, merged.complete_rounds)
    assert merged.places is not None
    places = merged.places
    shown = Report(result, merged)
    if html is not None:
        html = page_at(html, REPORT)
        with record.writing(html.parent):
            shown.page(html)
        note(f"report: {html}")
    if as_json:
        print_json({**summary(merged, result, html), "differences": places.differences, "in_turn": places.in_turn})
    else:
        shown.print()
    if not places.in_turn:
        note("The places were measured one after the other: a difference holds what changed between the sessions.")
    note("Besides the place itself, this differs:")
    for key, value_there, value_here in places.differences or [("nothing that is recorded", "", "")]:
        note(f"  {key}: {value_there} | {value_here}" if value_there or value_here else f"  {key}")
    raise typer.Exit(exit_code(merged, result))


COMMAND = Command(
    "compare",
    50,
    compare,
    (
        "fathom compare results/ebs results/nvme",
        "fathom compare results/ebs results/nvme --rounds 12     # extend both sides first",
        "fathom compare results/before results/after --html difference.html",
    ),
)
