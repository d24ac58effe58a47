"""The report of a diagnosis: one HTML page made of the same blocks, charts and style as the report of a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fathom.diagnose.diagnose import Diagnosis

__all__ = ["NAME", "render"]

NAME = "diagnosis.html"
"""The page's name where only a directory is given."""


def render(diagnosis: Diagnosis, out: Path, *, compare: Sequence[str] = (), anonymise: bool = False) -> Path:
    """Writes the page as one self-contained file and gives its path.

    Args:
        diagnosis: of a log.
        out: the file, replaced as a whole or not at all; in a directory it is called `NAME`.
        compare: two windows as `windows.parse` reads them; those that differ most if empty.
        anonymise: replace names of hosts, devices, files and databases, each by one alias throughout.

    Raises:
        UsageError: a window that cannot be read or is outside the log.
        OSError: the file cannot be written.
    """
    from fathom.diagnose.report.build import build
    from fathom.report.files import page_at
    from fathom.report.page import html
    from fathom.whole import write_whole

    place = page_at(out, NAME)
    page = html(build(diagnosis, compare=compare, anonymise=anonymise), scripted=False)
    return write_whole(place, page.encode())
