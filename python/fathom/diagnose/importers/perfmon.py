"""Windows performance logs as text: perfmon, `logman -f csv|tsv`, `relog`, `typeperf`, `Export-Counter`."""

from __future__ import annotations

from collections.abc import Iterator

from fathom.diagnose import pdh
from fathom.diagnose.importer import Importer
from fathom.diagnose.importers.esxtop import of_esxi
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block


def recognise(head: Head) -> float:
    """The mark of PDH text with counters that are not ESXi's."""
    if not pdh.looks_like(head.text):
        return 0.0
    return 0.5 if of_esxi(head) else 0.95


def read(source: Source) -> Iterator[Block]:
    """All counters of disks, processor, memory, network and SQL Server; other ones are counted."""
    yield from pdh.read(source)


IMPORTER = Importer(
    "perfmon",
    "Windows performance log (CSV or TSV)",
    recognise,
    read,
    "fathom record --print windows",
)
