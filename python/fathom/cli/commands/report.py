"""`fathom report`: the report of a campaign, as one HTML file, on the terminal, or exported."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.campaigns import AsJson
from fathom.cli.command import Command
from fathom.errors import UsageError

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="A campaign directory.", show_default=False)]
Html = Annotated[
    Path | None,
    typer.Option(
        "--html",
        help="Where the HTML file goes, report.html in a directory; DIR/report.html if not given.",
        show_default=False,
    ),
]
Export = Annotated[
    Path | None,
    typer.Option(
        "--export", help="Also write tables (CSV, Parquet) and charts (SVG, PNG) to this directory.", show_default=False
    ),
]
Anonymise = Annotated[bool, typer.Option("--anonymise", help="Leave out names of hosts, users and paths.")]
Format = Annotated[str, typer.Option("--format", help="What to print: terminal or markdown.")]
Open = Annotated[bool, typer.Option("--open", help="Open the report in the web browser.")]

PRINTED = ("terminal", "markdown")


def report(
    directory: Directory,
    html: Html = None,
    export: Export = None,
    anonymise: Anonymise = False,
    open_it: Open = False,
    printed: Format = "terminal",
    as_json: AsJson = False,
) -> None:
    """Write the report of a campaign.

    Measures nothing. Works on an incomplete campaign too; the look is recorded, and later verdicts are corrected
    for it.
    """
    from fathom import results
    from fathom.cli.verdict import REPORT, show
    from fathom.report.files import page_at

    if printed not in PRINTED:
        raise UsageError(f'the format "{printed}" is not known', f"choose one of {', '.join(PRINTED)}")
    found = results.read(directory)
    markdown = printed == "markdown"
    code = show(found, as_json=as_json, report=html, anonymise=anonymise, markdown=markdown, export=export)
    if open_it:
        typer.launch(page_at(html or directory, REPORT).absolute().as_uri())
    raise typer.Exit(code)


COMMAND = Command(
    "report",
    40,
    report,
    (
        "fathom report results/batch-insert-real-3f2a1c --open",
        "fathom report results/batch-insert-real-3f2a1c --export figures --anonymise",
        "fathom report results/batch-insert-real-3f2a1c --format markdown > verdict.md",
    ),
)
