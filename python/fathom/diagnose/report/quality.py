"""The logs themselves: what was read, what was not and why, gaps, and the results of the checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.clock import NS
from fathom.report.cells import plain_number, text, whole
from fathom.report.document import Block, Cell, Claim, Column, Paragraph, Table

if TYPE_CHECKING:
    from fathom.diagnose.diagnose import Diagnosis
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.report.clock import LogClock

_GAP = 1.9
"""Times the usual interval from which on samples are missing."""
_MOST = 12


def quality(diagnosis: Diagnosis, clock: LogClock) -> list[Block]:
    """Checks first, then tables of logs, devices and what was left out."""
    blocks: list[Block] = [Claim(check) for check in diagnosis.checks]
    if not diagnosis.checks:
        blocks.append(Paragraph("No check of the logs found anything wrong."))
    system = diagnosis.system
    logs = tuple((text(each.path), text(each.title)) for each in system.notes)
    blocks.append(Table("logs", "Logs", (Column("log", "Log"), Column("format", "Read as")), logs))
    volumes = system.nearest[:_MOST]
    if volumes:
        shown = (
            Column("device", "Device"), Column("layer", "Layer"), Column("time", f"Recorded, {clock.name}"),
            Column("interval_s", "Interval, s", numeric=True), Column("samples", "Samples", numeric=True),
            Column("gaps", "Gaps", numeric=True),
        )  # fmt: skip
        rows = tuple(_device(device, clock) for device in volumes if len(device.times_ns))
        more = len(system.nearest) - _MOST
        note = f"{more} less busy devices are left out." if more > 0 else None
        blocks.append(Table("devices", "Volumes and disks, busiest first", shown, rows, note))
    facts = tuple(
        (text(fact.name.replace("_", " ")), text(fact.subject), text(fact.value))
        for each in system.notes
        for fact in each.facts
    )
    if facts:
        notes = (Column("fact", "Fact"), Column("subject", "Of"), Column("value", "Value"))
        blocks.append(Table("facts", "Facts from the logs", notes, facts, collapsed=True))
    skipped = tuple(
        (text(skip.what), whole(skip.count), text(skip.why), text(skip.example))
        for each in system.notes
        for skip in each.skipped
    )
    if skipped:
        lost = (Column("what", "What"), Column("count", "How many", numeric=True), Column("why", "Why"),
                   Column("example", "The first"))  # fmt: skip
        blocks.append(Table("not_read", "Not read", lost, skipped, collapsed=True))
    return blocks


def _device(device: Device, clock: LogClock) -> tuple[Cell, ...]:
    steps = np.diff(device.times_ns) / NS
    gaps = int((steps > _GAP * device.interval_s).sum())
    return (
        text(device.name),
        text(device.layer.value),
        text(clock.span(int(device.times_ns[0]), int(device.times_ns[-1]))),
        plain_number(device.interval_s),
        whole(len(device.times_ns)),
        whole(gaps),
    )
