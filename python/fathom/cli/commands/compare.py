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
    clocks, scales or seeds. Finished runs of the two campaigns are not interleaved, so everything else that differs
    is listed. --rounds extends both; a campaign that began on another machine is extended there, and nothing is run.
    """
    from fathom import record, results
    from fathom.cli.output import note, print_json
    from fathom.cli.verdict import analysed, exit_code, summary
    from fathom.compare import differences, merge
    from fathom.report import Report

    one, other = results.read(first), results.read(second)
    if rounds is not None:
        from fathom.cli.extension import extend

        merge(one, other)
        one, other = extend((one, other), rounds, quiet=quiet or as_json)
    merged = merge(one, other)
    result = analysed(merged)
    differing = differences(one, other)
    shown = Report(result, merged)
    if html is not None:
        with record.writing(html.parent):
            shown.page(html)
        note(f"report: {html}")
    if as_json:
        print_json({**summary(merged, result, html), "differences": differing})
    else:
        shown.print()
    note("The places were measured at different times; besides the place itself, this differs:")
    for key, value_there, value_here in differing or [("nothing that is recorded", "", "")]:
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
