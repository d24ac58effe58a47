"""Writes what `results.py` reads: files that are either whole and on disk, or not there at all.

A run directory is filled under a name that starts with a dot, synced, and renamed; a crash at any moment leaves either
no run or a whole one. Small files are replaced in the same way. docs/RESULTS.md describes every file and column.
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.errors import CampaignError
from fathom.locking import sync_directory

if TYPE_CHECKING:
    import polars as pl

SAMPLES = {
    "t_s": "Float64",
    "seconds": "Float64",
    "phase": "String",
    "node": "String",
    "op": "String",
    "count": "UInt64",
    "bytes": "UInt64",
    "latency_mean_ns": "Float64",
    "latency_p50_ns": "Float64",
    "latency_p99_ns": "Float64",
    "latency_p999_ns": "Float64",
    "latency_p9999_ns": "Float64",
    "latency_max_ns": "Float64",
    "waiting_mean_ns": "Float64",
    "outstanding_mean": "Float64",
}
"""Columns of `samples.parquet` and their polars types."""

HISTOGRAMS = {
    "node": "String",
    "op": "String",
    "measure": "String",
    "low": "UInt64",
    "high": "UInt64",
    "count": "UInt64",
}
"""Columns of `histograms.parquet` and their polars types."""


ACTIVITY = {
    "t_s": "Float64",
    "seconds": "Float64",
    "phase": "String",
    "kind": "String",
    "name": "String",
    "instance": "String",
    "measure": "String",
    "unit": "String",
    "gauge": "Boolean",
    "value": "Float64",
}
"""Columns of `activity.parquet` and their polars types."""


def write_run(
    runs: Path,
    name: str,
    *,
    documents: Mapping[str, Mapping[str, Any]],
    samples: Mapping[str, list[Any]] | None = None,
    histograms: Mapping[str, list[Any]] | None = None,
    activity: Mapping[str, list[Any]] | None = None,
) -> Path:
    """One run directory, whole; its `run.json` lists the files beside it.

    Args:
        runs: the directory of runs.
        name: the run directory's name.
        documents: JSON file name to content, `run.json` among them.
        samples: columns of `SAMPLES`; None or empty for none.
        histograms: columns of `HISTOGRAMS`; None or empty for none.
        activity: columns of `ACTIVITY`; None or empty for none.

    Returns:
        The run's directory.

    Raises:
        CampaignError: it cannot be written (a full disk, a lost mount); nothing is left of it.
    """
    place = runs / name
    unfinished = runs / f".{name}"
    tables = {
        file: (columns, types)
        for file, columns, types in (
            ("samples.parquet", samples, SAMPLES),
            ("histograms.parquet", histograms, HISTOGRAMS),
            ("activity.parquet", activity, ACTIVITY),
        )
        if columns and columns[next(iter(types))]
    }
    files = [file for file in (*documents, *tables) if file != "run.json"]
    with writing(runs):
        try:
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            for file, content in {**documents, "run.json": {**documents["run.json"], "files": files}}.items():
                _write_synced(unfinished / file, to_json(content))
            for file, (columns, types) in tables.items():
                _write_synced(unfinished / file, _parquet(frame(columns, types)))
            sync_directory(unfinished)
            unfinished.rename(place)
            sync_directory(runs)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
    return place


def replace(path: Path, content: Mapping[str, Any] | str) -> None:
    """Writes a small file whole: JSON of a mapping, or text as it is.

    Raises:
        CampaignError: it cannot be written; the file is as it was.
    """
    unfinished = path.with_name(f".{path.name}")
    with writing(path.parent):
        try:
            _write_synced(unfinished, content if isinstance(content, str) else to_json(content))
            unfinished.rename(path)
            sync_directory(path.parent)
        except BaseException:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
            raise


def remove_unfinished(runs: Path) -> None:
    """Removes what a killed process left half-written."""
    for place in runs.glob(".*"):
        shutil.rmtree(place, ignore_errors=True)


def frame(columns: Mapping[str, list[Any]], types: Mapping[str, str]) -> pl.DataFrame:
    """Columns as a frame of the stated types, in the stated order.

    Raises:
        KeyError: a column is missing.
    """
    import polars as pl

    return pl.DataFrame([pl.Series(name, columns[name], dtype=getattr(pl, kind)) for name, kind in types.items()])


def to_json(content: Mapping[str, Any]) -> str:
    """Indented JSON; a number that JSON cannot hold (infinite, not a number) is missing: null."""
    return json.dumps(_plain(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Turns failures of the operating system into an error with a remedy."""
    try:
        yield
    except OSError as problem:
        remedy = (
            "free some space and run the same command again: finished runs are kept"
            if problem.errno in {errno.ENOSPC, errno.EDQUOT}
            else "check that the directory exists and is writable, then run the same command again"
        )
        raise CampaignError(f"{place}: cannot write: {problem.strerror or problem}", remedy) from None


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _parquet(table: pl.DataFrame) -> bytes:
    """The table as a Parquet file; in memory, so that a full disk is met by our own write and told as what it is."""
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _write_synced(path: Path, content: str | bytes) -> None:
    with path.open("wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())
