"""The report of a campaign: one HTML file, the same in the terminal, and its tables and charts as files.

Every form shows the same document, which is made once; sections place what the analysis made and compute nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.analysis.model import Analysis
from fathom.results import Campaign

if TYPE_CHECKING:
    from rich.console import Console

    from fathom.report.document import Document

__all__ = ["Report"]


class Report:
    """The report of one campaign."""

    def __init__(self, analysis: Analysis, campaign: Campaign, *, anonymise: bool = False) -> None:
        """A report that reads samples and histograms from the run directories when it is first shown.

        Args:
            analysis: what `analysis.analyse` made of the campaign.
            campaign: the campaign.
            anonymise: replace host names, users in paths, serial numbers and addresses, each by one alias throughout.
        """
        self._analysis, self._campaign, self._anonymise = analysis, campaign, anonymise

    @cached_property
    def document(self) -> Document:
        """The whole report as blocks."""
        from fathom.report.build import build

        return build(self._analysis, self._campaign, anonymise=self._anonymise)

    def page(self, out: Path) -> Path:
        """Writes one self-contained HTML file, as a whole or not at all, and gives its path.

        Raises:
            OSError: the file cannot be written.
        """
        from fathom.report.page import html
        from fathom.whole import write_whole

        return write_whole(out, html(self.document).encode())

    def export(self, directory: Path, formats: Sequence[str]) -> list[Path]:
        """Writes every table ("csv", "parquet") and every chart ("svg", "png") into a directory.

        Raises:
            ValueError: a format that is not one of these four.
            OSError: a file cannot be written.
            FathomError: a PNG on a machine without fonts.
        """
        from fathom.report.files import export_document

        return export_document(self.document, directory, formats)

    def markdown(self) -> str:
        """The verdict, the actions and the open tables as Markdown."""
        from fathom.report.markdown import markdown

        return markdown(self.document)

    def print(self, console: Console | None = None) -> None:
        """Prints the verdict, the actions and the open tables; to standard output without a console."""
        from fathom.report.terminal import print_document

        print_document(self.document, console)
