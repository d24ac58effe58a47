"""What to do next: at most three findings, the most useful first, each with its exact command or setting."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.report.context import Context
from fathom.report.document import Block, Findings
from fathom.report.section import Section

_MOST = 3


def build(context: Context) -> Sequence[Block]:
    """The first three that the analysis found."""
    found = context.analysis.findings[:_MOST]
    return [Findings(found)] if found else []


SECTION = Section("actions", "What to do next", 20, (), build)
