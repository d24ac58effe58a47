"""Disk I/O of Windows Performance Analyzer as CSV (`wpaexporter`, or copied from the table): one line per request.

Numbers are those of the computer's language: separators and signs are judged cell by cell. Times count from the start
of the trace; the column's name has the unit.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

import numpy as np
import polars as pl

from fathom.diagnose import tables, trace
from fathom.diagnose.clock import start_of
from fathom.diagnose.importer import Importer
from fathom.diagnose.metrics import Layer
from fathom.diagnose.numbers import floats
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block

_NEEDED = ("io type", "init time", "io time", "size")
_UNITS = {"s": 1e9, "ms": 1e6, "µs": 1e3, "μs": 1e3, "us": 1e3, "ns": 1.0}


def recognise(head: Head) -> float:
    """A head with the columns of the table."""
    found = tables.names_in(head.lines[0]) if head.lines else None
    return 0.95 if found and all(any(name.startswith(want) for name in found[1]) for want in _NEEDED) else 0.0


def read(source: Source) -> Iterator[Block]:
    """Reads and writes of every disk, in intervals of a second."""
    text = source.document()
    first, _, body = text.partition("\n")
    found = tables.names_in(first)
    if not found or not all(any(name.startswith(want) for name in found[1]) for want in _NEEDED):
        raise source.error("no columns IO Type, Init Time, IO Time and Size", "export WPA's table Disk I/O", line=1)
    separator, names = found
    frame = _frame(source, body, separator, names)
    begun = start_of(source)
    for (disk,), requests in frame.group_by("disk", maintain_order=True):
        yield from trace.intervals(
            None,
            str(disk),
            Layer.GUEST_DISK,
            trace.Requests(
                start=requests["start"].to_numpy().astype(np.int64) + begun,
                latency=requests["latency"].to_numpy(),
                size=requests["size"].to_numpy().astype(np.int64),
                offset=requests["offset"].to_numpy().astype(np.int64),
                write=requests["write"].to_numpy(),
            ),
        )


def _frame(source: Source, body: str, separator: str, names: list[str]) -> pl.DataFrame:
    def column(start: str) -> tuple[int, float] | None:
        place = next((place for place, name in enumerate(names) if name.startswith(start)), None)
        if place is None:
            return None
        unit = re.search(r"\(([^)]*)\)", names[place])
        return place, _UNITS.get(unit[1], 1.0) if unit else 1.0

    kind, begin, took, size = (column(start) for start in _NEEDED)
    disk, offset = column("disk"), column("min offset")
    if disk is not None and names[disk[0]] != "disk":
        disk = next(((place, 1.0) for place, name in enumerate(names) if name == "disk"), None)
    assert kind is not None
    assert begin is not None
    assert took is not None
    assert size is not None
    cells: dict[str, list[str]] = {name: [] for name in ("kind", "start", "latency", "size", "offset", "disk")}
    places = {"kind": kind, "start": begin, "latency": took, "size": size, "offset": offset, "disk": disk}
    table = csv.reader(tables.whole_lines(source, io.StringIO(body, newline="")), delimiter=separator)
    try:
        for row in table:
            if len(row) != len(names):
                if any(row):
                    source.notes.skip("lines", "not as many cells as the head", 1, f"line {table.line_num + 1}")
                continue
            for name, place in places.items():
                cells[name].append(row[place[0]].strip() if place else "")
    except csv.Error as problem:
        raise source.error(f"no table: {problem}", "export it again", line=table.line_num + 1) from None
    frame = pl.DataFrame(cells, schema=dict.fromkeys(cells, pl.String))
    # A size has no fraction: 16.384 is grouped.
    whole = pl.col("size").str.replace_all(r"[.,\s\u00a0\u202f']", "").cast(pl.Float64, strict=False)
    offsets = pl.col("offset").str.strip_prefix("0x").str.to_integer(base=16, strict=False).cast(pl.Float64)
    frame = frame.select(
        (floats("start") * begin[1]).alias("start"),
        (floats("latency") * took[1]).alias("latency"),
        whole.alias("size"),
        offsets.fill_null(0.0).alias("offset"),
        (pl.col("kind").str.to_lowercase() == "write").alias("write"),
        pl.when(pl.col("disk") == "").then(pl.lit("all")).otherwise(pl.col("disk")).alias("disk"),
        pl.col("kind").str.to_lowercase().is_in(["read", "write"]).alias("wanted"),
    )
    sane = (pl.col("start").is_between(0, 1e15)) & (pl.col("latency").is_between(0, 1e15))
    good = frame.filter("wanted", sane, pl.col("size").is_between(1, 1 << 40), pl.col("offset").is_between(0, 1e18))
    source.notes.skip("requests", "neither reads nor writes with time and size", frame.height - good.height)
    return good


IMPORTER = Importer("wpa", "Windows Performance Analyzer, disk I/O as CSV", recognise, read)
