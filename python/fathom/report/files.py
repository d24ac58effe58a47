"""Tables and charts as files of their own: CSV and Parquet, SVG and PNG."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from fathom.report.csvfile import csv_bytes, exported
from fathom.report.document import Chart, Document, Table
from fathom.whole import write_whole

TABLE_FORMATS = ("csv", "parquet")
CHART_FORMATS = ("svg", "png")
FORMATS = TABLE_FORMATS + CHART_FORMATS


def export_document(document: Document, directory: Path, formats: Sequence[str]) -> list[Path]:
    """One file per table and chart in each format, named after it.

    Raises:
        ValueError: an unknown format.
    """
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise ValueError(f"cannot export {', '.join(unknown)}: choose from {', '.join(FORMATS)}")
    wanted = tuple(dict.fromkeys(formats))
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for table in document.tables():
        for name in (name for name in wanted if name in TABLE_FORMATS):
            content = csv_bytes(table) if name == "csv" else parquet_bytes(table)
            written.append(write_whole(directory / f"{table.name}.{name}", content))
    charts = [name for name in wanted if name in CHART_FORMATS]
    for chart in document.charts() if charts else ():
        for name, content in _pictures(chart, charts):
            written.append(write_whole(directory / f"{chart.name}.{name}", content))
    return written


def _pictures(chart: Chart, formats: Sequence[str]) -> list[tuple[str, bytes]]:
    """The chart, drawn once, in each format."""
    from fathom.report.style.svg import png_file, svg_file

    drawing = chart.draw()
    return [(name, svg_file(drawing, label=chart.alt) if name == "svg" else png_file(drawing)) for name in formats]


def parquet_bytes(table: Table) -> bytes:
    """The table with its keys as column names; numbers stay numbers, a column of mixed kinds becomes text."""
    import polars as pl

    columns = {}
    for name, values in exported(table):
        kinds = {type(value) for value in values if value is not None}
        if kinds <= {int, float} and kinds:
            series = pl.Series(name, values, dtype=pl.Int64 if kinds == {int} else pl.Float64, strict=False)
        else:
            series = pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)
        columns[name] = series
    buffer = io.BytesIO()
    pl.DataFrame(list(columns.values())).write_parquet(buffer)
    return buffer.getvalue()


def page_at(out: Path, name: str) -> Path:
    """The file of a page; in a directory it is called `name`."""
    return out / name if out.is_dir() else out
