"""Q9: intervals of a device that are not in the log, although it was recorded then: nothing clears it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.load import in_a_row
from fathom.diagnose.evidence.missing import cut_off, may_hide, unread
from fathom.diagnose.evidence.words import length, seen, share
from fathom.diagnose.rule import PATH_RATE_OR_QUEUE, Kind, Rule
from fathom.finding import Evidence, Finding, Remedy, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_WHOLE = Remedy(
    "Record again, into a file: what is copied from a window, or sent by mail, may be cut. See in the system's own log "
    "whether the disk was there in these times.",
    ("Linux: iostat -xty 5 > iostat.txt",),
    None,
    "Every interval has a sample of every disk.",
)


_AGAIN = Remedy("Fetch the whole answer again.", (), None, "The document ends with the bracket that it begins with.")


def examine(system: System) -> Iterator[Finding]:
    """Every device that takes requests, and those of which nothing could be read."""
    for name, lines in unread(system):
        what = f"none of its {lines} lines could be read, so nothing is known of it"
        yield Finding("Q9", name, what, Severity.WARNING, 0.95, (), None, "it is no device", (_WHOLE,))
    for name, place in cut_off(system):
        end = "" if place is None else f" at {place}"
        what = f"it is cut off{end}, so that metrics and whole devices may be missing"
        yield Finding("Q9", name, what, Severity.WARNING, 0.95, (), None, "what is missing is of no disk", (_AGAIN,))
    for disk in system.nearest:
        lost = may_hide(disk)
        if lost is None:
            continue
        count, every = int(lost.sum()), len(lost)
        yield Finding(
            "Q9",
            disk.name,
            f"{count:,} of {every:,} intervals have no sample ({share(count / every)}), and may be the slow ones",
            Severity.WARNING,
            0.95,
            tuple(_when(disk, lost)),
            None,
            "the device was not there in these times",
            (_WHOLE,),
        )


def _when(disk: Device, lost: Flags) -> Iterator[Evidence]:
    """From the first to the last one, and the longest stretch."""
    groups = in_a_row(lost)
    longest = np.zeros(len(lost), dtype=bool)
    longest[max(groups, key=len)] = True
    many = "1 stretch" if len(groups) == 1 else f"{len(groups):,} stretches"
    yield seen(disk, f"{many} without a sample, from the first to the last.", lost)
    if len(groups) > 1:
        yield seen(disk, f"The longest of them, of {length(float(disk.seconds[longest].sum()))}.", longest)


RULE = Rule("Q9", "no missing samples", Kind.CHECK, (PATH_RATE_OR_QUEUE,), examine)
