"""`fathom compare`: the same study at two places, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.campaigns import AsJson
from fathom.cli.command import Command

First = Annotated[Path, typer.Argument(metavar="DIR_A", help="The baseline campaign.", show_default=False)]
Second = Annotated[Path, typer.Argument(metavar="DIR_B", help="The campaign to judge against it.", show_default=False)]
Html = Annotated[Path | None, typer.Option("--html", help="Also write a report to this file.", show_default=False)]


def compare(first: First, second: Second, html: Html = None, as_json: AsJson = False) -> None:
    """Compare two campaigns.

    Takes one study measured twice: on another disk, another machine, another day. Refuses different studies,
    clocks, scales or seeds. The runs of the two campaigns are not interleaved, so everything else that differs is
    listed.
    """
    from fathom import record, results
    from fathom.cli.output import note, print_json
    from fathom.cli.verdict import analysed, exit_code, summary
    from fathom.compare import differences, merge
    from fathom.report import print_terminal, render

    one, other = results.read(first), results.read(second)
    merged = merge(one, other)
    result = analysed(merged)
    differing = differences(one, other)
    if html is not None:
        with record.writing(html.parent):
            render(result, merged, html)
        note(f"report: {html}")
    if as_json:
        print_json({**summary(merged, result, html), "differences": differing})
    else:
        print_terminal(result, merged)
    note("The places were measured at different times; besides the place itself, this differs:")
    for key, value_there, value_here in differing or [("nothing that is recorded", "", "")]:
        note(f"  {key}: {value_there} | {value_here}" if value_there or value_here else f"  {key}")
    raise typer.Exit(exit_code(merged, result))


COMMAND = Command(
    "compare",
    50,
    compare,
    ("fathom compare results/ebs results/nvme", "fathom compare results/before results/after --html difference.html"),
)
