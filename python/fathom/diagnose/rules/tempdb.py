"""D22: tempdb takes much of the I/O of a remote volume."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.words import seen, share
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import Kind, Need, Rule
from fathom.finding import Finding, Remedy, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System

_NAMES = ("tempdb", "templog")
"""In the names of its data files, and of its log as setup makes it."""


def examine(system: System) -> Iterator[Finding]:
    """By the files of the database."""
    rates = [(float(np.nan_to_num(file.mean("iops"))), file) for file in system.of(Layer.DATABASE_FILE)]
    total = sum(rate for rate, _ in rates)
    own = [(rate, file) for rate, file in rates if any(name in file.name.casefold() for name in _NAMES)]
    part = sum(rate for rate, _ in own) / total if total > 10 else 0.0
    if part >= 0.3:
        first = max(own, key=lambda entry: entry[0])[1]
        yield Finding(
            "D22",
            first.name,
            f"tempdb does {share(part)} of the I/O of all files.",
            Severity.NOTE,
            0.6,
            (seen(first, f"{share(part)} of all requests."),),
            None,
            "tempdb is on a local disk already",
            (
                Remedy(
                    "Put tempdb on the instance's local disk, and make its folder again at each start.",
                    ("ALTER DATABASE tempdb MODIFY FILE (NAME = tempdev, FILENAME = 'D:\\tempdb\\tempdb.mdf')",),
                    "SQL Server does not start without the folder.",
                    "The volume's IOPS fall by this share.",
                ),
            ),
        )


RULE = Rule(
    "D22",
    "tempdb on a remote volume",
    Kind.CONTEXT,
    (Need((Layer.DATABASE_FILE,), ("iops",), "sys.dm_io_virtual_file_stats: fathom record --print sqlserver"),),
    examine,
)
