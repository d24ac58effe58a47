"""`esxtop -b` and `resxtop -b`: one very wide CSV, of which the storage columns are read."""

from __future__ import annotations

from collections.abc import Iterator

from fathom.diagnose import esxtop, pdh
from fathom.diagnose.importer import Importer
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block


def of_esxi(head: Head) -> bool:
    """Whether any counter is of an object that only ESXi has: extracts of esxtop often lack most of them."""
    return any(esxtop.writes([name]) for name in pdh.objects(head.text))


def recognise(head: Head) -> float:
    """The mark of PDH text with counters of ESXi."""
    return 0.95 if pdh.looks_like(head.text) and of_esxi(head) else 0.0


def read(source: Source) -> Iterator[Block]:
    """Adapters, devices and virtual disks, and the host's processor."""
    yield from map(esxtop.by_machine, pdh.read(source, esxtop.mapped))


IMPORTER = Importer("esxtop", "esxtop batch mode (VMware ESXi)", recognise, read, "fathom record --print esxi")
