"""The table of a diagnosis as a file: Parquet for programs, CSV for spreadsheets. Written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from fathom.diagnose.log import Log
from fathom.diagnose.metrics import METRICS
from fathom.errors import FathomError, UsageError
from fathom.report.csvfile import safe_field
from fathom.report.plain import one_line, plain
from fathom.whole import whole

ENDINGS = (".parquet", ".csv")


def save(log: Log, path: Path) -> None:
    """Writes all samples; the ending of the name chooses the format.

    CSV has the unit as a further column, and names that a spreadsheet would run as formulas begin with an apostrophe.

    Raises:
        UsageError: the ending is neither .parquet nor .csv.
        FathomError: the file cannot be written; nothing is left of it, and an older file is as it was.
    """
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"--table {path}: neither {' nor '.join(ENDINGS)}", "choose one of these endings")
    try:
        with whole(path) as place:
            if path.suffix.lower() == ".parquet":
                log.samples.sink_parquet(place, compression="zstd")
            else:
                _safe(log).sink_csv(place, datetime_format="%Y-%m-%dT%H:%M:%S%.9fZ")
    except OSError as problem:
        what = problem.strerror or str(problem)
        raise FathomError(f"{path}: cannot write: {what}", "choose an existing folder with free space") from None


def _safe(log: Log) -> pl.LazyFrame:
    units = pl.col("metric").cast(pl.String).replace({name: metric.unit for name, metric in METRICS.items()})
    return log.samples.with_columns(
        *(_safe_names(log.samples, column) for column in ("host", "device")), units.alias("unit")
    )


def _safe_names(samples: pl.LazyFrame, column: str) -> pl.Expr:
    """The column's names as text that is safe to open; only names that change are replaced."""
    names = samples.select(pl.col(column).unique()).collect(engine="streaming").to_series().cast(pl.String).drop_nulls()
    safe = {name: str(safe_field(one_line(plain(name)))) for name in names}
    changed = {name: made for name, made in safe.items() if name != made}
    text = pl.col(column).cast(pl.String)
    return text.replace(changed) if changed else text
