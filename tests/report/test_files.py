"""The server's files and its buffer pool: a picture of each busy file, one of the ramp, none where nothing is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from fathom import record
from fathom.analysis.analyse import analyse
from fathom.report import series
from fathom.report.context import Context
from fathom.report.document import Chart
from fathom.report.sections import files
from fathom.results import Campaign, Run


@dataclass(frozen=True)
class SampledRun(Run):
    """A run whose samples are given instead of read."""

    given: pl.DataFrame | None = field(default=None, compare=False)

    def samples(self) -> pl.DataFrame | None:
        return self.given


def frame(*rows: Mapping[str, Any]) -> pl.DataFrame:
    """Samples with these columns, the others empty."""
    columns = {name: [row.get(name) for row in rows] for name in record.SAMPLES}
    return record.frame(columns, record.SAMPLES)


def row(node: str, op: str, at: float, count: int, size: int, latency: float | None) -> dict[str, Any]:
    phase = "ramp" if at < 0 else "measure"
    return {
        "t_s": at, "seconds": 1.0, "phase": phase, "node": node, "op": op, "count": count, "bytes": count * size,
        "latency_mean_ns": latency, "outstanding_mean": 0.1,
    }  # fmt: skip


def context(samples: pl.DataFrame, metrics: dict[str, float | None]) -> Context:
    runs = [
        SampledRun(f"r{n}", {}, n, n, "ok", {"nopm": 1.0, **metrics}, directory=Path("none"), given=samples)
        for n in (1, 2)
    ]
    study: dict[str, Any] = {"title": "t", "question": "q", "factors": {}, "variants": []}
    made = Campaign(None, study, "", 1, "real", tuple(runs), 2)  # type: ignore[arg-type]
    return Context(analyse(made), made)


def test_busy_files_and_the_filling_pool_are_drawn() -> None:
    rows = [row("workload", "transaction", float(at), 10, 0, 2e6) for at in range(4)]
    rows += [row("file small.ibd", "read", float(at), 2, 16384, 1e6) for at in range(4)]
    rows += [row("file ib_logfile0", "write", float(at), 100, 4096, 3e5) for at in range(4)]
    rows += [row("file ib_logfile0", "read", float(at), 0, 4096, None) for at in range(4)]
    rows += [row("buffer pool", "filled_bytes", float(at - 3), 1, 10_000_000 * at, None) for at in range(3)]
    made = context(frame(*rows), {"log_file_write_latency_ms": 0.3, "log_file_write_iops": 100.0})
    table, log, small, pool = files.build(made)
    assert all(isinstance(picture, Chart) and picture.narrow is not None for picture in (log, small, pool))
    assert table.kind == "table"
    assert [cells[0].text for cells in table.rows] == [
        "Write rate of log files, IOPS",
        "Write latency of log files, ms",
    ]
    assert log.kind == small.kind == pool.kind == "chart"
    assert log.caption.startswith("ib_logfile0, as the server counts")
    assert small.caption.startswith("small.ibd")
    assert "buffer pool filled" in pool.alt
    for chart in (log, small, pool):
        chart.draw()


def test_a_file_is_not_taken_for_the_volume_that_a_workload_drives() -> None:
    samples = frame(row("file a", "read", 0.0, 5, 8192, 1e6), row("disk", "read", 0.0, 1, 8192, 1e6))
    assert series.node_with([series.counted({"a": samples})["a"]], series.DATA, {}) == "disk"


def test_without_files_there_is_no_section() -> None:
    assert files.build(context(frame(row("workload", "transaction", 0.0, 10, 0, 2e6)), {})) == []
