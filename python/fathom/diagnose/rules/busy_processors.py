"""L4: processors that are busy beside disks that keep requests waiting, of which neither clears the other; or beside
commits that lose most of their time above a disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.commits import found
from fathom.diagnose.evidence.elsewhere import processors
from fathom.diagnose.evidence.figures import figures
from fathom.diagnose.evidence.strained import beside_processors
from fathom.diagnose.evidence.words import number, seen, time
from fathom.diagnose.rule import PATH_LATENCY, PATH_RATE, Kind, Rule
from fathom.finding import Evidence, Finding, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_NAMED = 3
"""Disks that the evidence names, the busiest first."""


def examine(system: System) -> Iterator[Finding]:
    """One finding, or none where either is missing."""
    both = beside_processors(system)
    if both is None:
        yield from _above_log(system)
        return
    first, slow = both.disks[0]
    yield Finding(
        "L4",
        "processors",
        f"Processors are busy, and {first.name} keeps requests waiting as well ({_wait(first, slow)}): neither clears "
        "the other.",
        Severity.NOTE,
        0.6,
        (both.processors.evidence, *(_of_disk(*each) for each in both.disks[:_NAMED])),
        None,
        "the disk's requests are of no session that users wait for",
        (both.processors.remedy,),
    )


def _above_log(system: System) -> Iterator[Finding]:
    """Commits whose flushes take most of their time above the disk: the log waits for processors as well."""
    full = processors(system)
    commits = found(system) if full is not None else None
    if full is None or commits is None or commits.below is None:
        return
    disk, takes_s = commits.below
    yield Finding(
        "L4",
        "processors",
        f"Processors are busy, and commits wait for flushes of {time(commits.each_s)}, of which {disk.name} has "
        f"{time(takes_s)}: the rest is spent above it.",
        Severity.NOTE,
        0.6,
        (full.evidence, commits.evidence[-1]),
        None,
        "flushes take as long while processors are idle",
        (full.remedy,),
    )


def _wait(disk: Device, slow: Flags) -> str:
    did = figures(disk, slow)
    return f"{time(did.latency_s)} at {number(did.load)} outstanding"


def _of_disk(disk: Device, slow: Flags) -> Evidence:
    return seen(disk, f"{disk.name}: {_wait(disk, slow)}.", slow)


RULE = Rule("L4", "processors busy beside a busy disk", Kind.CONTEXT, (PATH_RATE, PATH_LATENCY), examine)
