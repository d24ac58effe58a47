"""Allocation units of Windows volumes: `Get-Volume | Format-List DriveLetter, AllocationUnitSize`. Facts only."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fathom.diagnose.importer import Importer
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block

_LETTER = re.compile(r"^DriveLetter\s*:\s*([A-Za-z]?)\s*$")
_UNIT = re.compile(r"^AllocationUnitSize\s*:\s*(\d+)\s*$")


def recognise(head: Head) -> float:
    """Both names, each on a line of its own."""
    lines = head.lines
    return 0.9 if any(map(_LETTER.match, lines)) and any(map(_UNIT.match, lines)) else 0.0


def read(source: Source) -> Iterator[Block]:
    """No samples; the allocation unit of every volume with a letter."""
    letter = ""
    for _, line in source.lines():
        if found := _LETTER.match(line):
            letter = found[1].upper()
        elif letter and (found := _UNIT.match(line)):
            source.notes.fact("allocation_unit_bytes", found[1], f"{letter}:")
            letter = ""
    yield from ()


IMPORTER = Importer(
    "windows-volumes",
    "volumes of Windows (Get-Volume)",
    recognise,
    read,
    "Get-Volume | Format-List DriveLetter, FileSystem, AllocationUnitSize > volumes.txt",
    facts_only=True,
)
