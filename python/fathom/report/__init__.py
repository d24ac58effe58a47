"""The report of a campaign: one HTML file, the same in the terminal, and its tables and charts as files.

`render`, `export` and `print_terminal` show the same document; sections place what the analysis made and compute
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.analysis.model import Analysis
from fathom.results import Campaign

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["as_markdown", "export", "print_terminal", "render"]


def render(analysis: Analysis, campaign: Campaign, out: Path, *, anonymise: bool = False) -> Path:
    """Writes the report as one self-contained HTML file and gives its path.

    Args:
        analysis: what `analysis.analyse` made of the campaign.
        campaign: the campaign; samples and histograms are read from its run directories.
        out: the file to write; its directory is made. It is replaced as a whole or not at all.
        anonymise: replace host names, users in paths, serial numbers and addresses, each by one alias throughout.

    Raises:
        OSError: the file cannot be written.
    """
    from fathom.report.build import build
    from fathom.report.files import write_whole
    from fathom.report.page import html

    return write_whole(out, html(build(analysis, campaign, anonymise=anonymise)).encode())


def export(
    analysis: Analysis, campaign: Campaign, directory: Path, formats: Sequence[str], *, anonymise: bool = False
) -> list[Path]:
    """Writes every table ("csv", "parquet") and every chart ("svg", "png") of the report into a directory.

    Raises:
        ValueError: a format that is not one of these four.
        OSError: a file cannot be written.
    """
    from fathom.report.build import build
    from fathom.report.files import export_document

    return export_document(build(analysis, campaign, anonymise=anonymise), directory, formats)


def as_markdown(analysis: Analysis, campaign: Campaign, *, anonymise: bool = False) -> str:
    """The verdict, the actions and the open tables of the report as Markdown."""
    from fathom.report.build import build
    from fathom.report.markdown import markdown

    return markdown(build(analysis, campaign, anonymise=anonymise))


def print_terminal(analysis: Analysis, campaign: Campaign, console: Console | None = None) -> None:
    """Prints the verdict, the actions and the open tables of the report; to standard output without a console."""
    from fathom.report.build import build
    from fathom.report.terminal import print_document

    print_document(build(analysis, campaign), console)
