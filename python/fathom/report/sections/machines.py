"""What each machine got, where a load drives the disks of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fathom.analysis.machines import machines
from fathom.report import cells
from fathom.report.context import Context
from fathom.report.document import Block, Cell, Column, Table
from fathom.report.section import Section
from fathom.report.series import driven
from fathom.results import Run

_MOST_VARIANTS = 3
_COLUMNS = (
    Column("variant", "Variant"),
    Column("machine", "Machine"),
    cells.values("disks", "Disks"),
    cells.values("iops", "IOPS"),
    cells.values("mb_per_s", "MB/s"),
    cells.values("read_latency_ms", "Read latency, ms"),
    cells.values("write_latency_ms", "Write latency, ms"),
)
_NOTE = (
    "Disks named MACHINE-DISK, added up by machine, in the measured phase of the first run of each variant. Where the "
    "machines differ much, the mean over all hides it."
)


def build(context: Context) -> Sequence[Block]:
    """A row for each machine; nothing where the disks are not named after any."""
    shown = [context.runs(variant)[0] for variant in context.shown(_MOST_VARIANTS, lambda run: run.volumes or None)]
    rows = tuple(row for run in shown for row in _rows(context, run))
    if not rows:
        return []
    kept, cut = cells.without_empty(_COLUMNS, rows)
    return [Table("machines", "Each machine", kept, cut, _NOTE, collapsed=len(cut) > 20)]


def _rows(context: Context, run: Run) -> Iterator[tuple[Cell, ...]]:
    for machine in machines(driven(context.campaign.study), run.volumes, run.metrics.get("iops")):
        yield (
            cells.text(context.label(run.variant)),
            cells.text(machine.name),
            cells.whole(machine.disks),
            cells.quantity(machine.iops, "IOPS"),
            cells.quantity(machine.mb_per_s, "MB/s"),
            cells.quantity(machine.read_latency_ms, "ms"),
            cells.quantity(machine.write_latency_ms, "ms"),
        )


SECTION = Section("machines", "What each machine got", 58, ("volumes",), build)
