"""Little's law on every table: outstanding = rate × latency, or a figure is not what it is said to be."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.analysis.model import LittleAudit
from fathom.report import cells
from fathom.report.context import Context
from fathom.report.document import Block, Cell, Column, Paragraph, Table, Tone
from fathom.report.format import plural
from fathom.report.section import Section

_COLUMNS = (
    Column("where", "Where"),
    cells.values("expected", "Stated"),
    cells.values("implied", "Rate × latency"),
    cells.values("relative_error", "Difference"),
    Column("passed", "Result"),
    Column("sentence", "In words"),
)
_MOST_OPEN = 12


def build(context: Context) -> Sequence[Block]:
    """One table; failed lines first."""
    audits = sorted(context.analysis.audits, key=lambda audit: audit.passed)
    failed = sum(not audit.passed for audit in audits)
    result = f"{failed or len(audits)} of {plural(len(audits), 'line')} {'do not agree' if failed else 'agree'}."
    said = f"The number of requests outstanding must equal rate × latency, whatever the system. {result}"
    rows = tuple(_row(audit) for audit in audits)
    table = Table(
        "littles-law",
        "Outstanding I/O, stated and implied",
        _COLUMNS,
        rows,
        collapsed=not failed or len(rows) > _MOST_OPEN,
    )
    return [Paragraph(said, Tone.WARN if failed else Tone.PLAIN), table]


def _row(audit: LittleAudit) -> tuple[Cell, ...]:
    result = Cell("✓ agrees", "agrees", Tone.GOOD) if audit.passed else Cell("! disagrees", "disagrees", Tone.WARN)
    return (
        cells.text(audit.where),
        cells.plain_number(audit.expected),
        cells.plain_number(audit.implied),
        cells.share(audit.relative_error, signed=True),
        result,
        cells.text(audit.sentence),
    )


SECTION = Section(
    "littles_law",
    "Little's law",
    100,
    ("audits",),
    build,
    fold=lambda context: all(a.passed for a in context.analysis.audits),
)
