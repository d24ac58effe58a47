"""@words@: say which question of the reader this section answers."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.report.context import Context
from fathom.report.document import Block, Paragraph
from fathom.report.section import Section


def build(context: Context) -> Sequence[Block]:
    """How many runs finished; replace it by what the section is for. Sections compute nothing."""
    return [Paragraph(f"{len(context.ok_runs)} runs finished.")]


SECTION = Section("@file@", "@words@", 165, ("runs",), build)
