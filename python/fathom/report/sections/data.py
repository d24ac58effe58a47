"""The raw data inside the report, each file with its SHA-256, so that anyone can check and compute again."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import json
import math
from collections.abc import Sequence
from typing import Any

from fathom.report.context import Context
from fathom.report.csvfile import safe_field
from fathom.report.document import Attachment, Block, Paragraph, Tone
from fathom.report.format import size
from fathom.report.section import Section

_MOST_SAMPLES = 200_000
"""Bytes of compressed samples the report carries at most; it must stay below 1 MB as a whole."""

_LEAST_RATIO = 12
"""Samples this many times larger would not fit even if they compressed well, so it is not tried."""


def build(context: Context) -> Sequence[Block]:
    """The study, the runs, the analysis and, if they are small enough, the samples."""
    files = [
        Attachment("study.toml", "text/plain", context.study_bytes, "the study, as written"),
        Attachment("runs.csv", "text/csv", _runs(context), "every run with its levels, metrics, seed and digest"),
        Attachment(
            "analysis.json.gz", "application/gzip", _packed(_analysis(context)), "everything the analysis made, packed"
        ),
    ]
    blocks: list[Block] = [
        Paragraph("These files are part of the page: saving one needs no network. Compare its digest with sha256sum."),
        *files,
    ]
    samples = _samples(context)
    if not samples:
        return blocks
    packed = _packed(samples) if len(samples) <= _LEAST_RATIO * _MOST_SAMPLES else None
    if packed is not None and len(packed) <= _MOST_SAMPLES:
        return [*blocks, Attachment("samples.csv.gz", "application/gzip", packed, "every sample of every run, packed")]
    where = f"The samples ({size(len(samples))} as CSV) are too many for the page; they are in {context.directory}."
    return [*blocks, Paragraph(where, Tone.MUTED)]


def _runs(context: Context) -> bytes:
    factors = list(dict.fromkeys(factor for run in context.campaign.runs for factor in run.variant))
    metrics = list(dict.fromkeys(name for run in context.campaign.runs for name in run.metrics))
    fixed = ("id", "order", "round", "status", "reason", "message", "seed", "digest", "started", "seconds")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*fixed, *factors, *metrics])
    for run in context.campaign.runs:
        facts = [getattr(run, name) for name in fixed]
        row = [*facts, *(run.variant.get(f) for f in factors), *(run.metrics.get(m) for m in metrics)]
        writer.writerow([safe_field(value) for value in row])
    return text.getvalue().encode()


def _analysis(context: Context) -> bytes:
    return json.dumps(_finite(context.analysis), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _packed(data: bytes) -> bytes:
    """The same bytes for the same data: no time of day is in it."""
    return gzip.compress(data, compresslevel=6, mtime=0)


def _finite(value: Any) -> Any:
    """Records as objects, infinity and NaN as null: JSON has neither. Six digits are more than any measurement has."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if dataclasses.is_dataclass(value):
        return {field.name: _finite(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value


def _samples(context: Context) -> bytes:
    """All samples as CSV; empty if no run left any."""
    import polars as pl

    frames = []
    for run in context.ok_runs:
        frame = context.samples(run)
        if frame is not None:
            frames.append(frame.select(pl.lit(run.id).alias("run"), pl.all()))
    return pl.concat(frames, how="diagonal_relaxed").write_csv().encode() if frames else b""


SECTION = Section("data", "Raw data", 170, ("runs",), build, detail=True)
