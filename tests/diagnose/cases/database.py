"""What databases count, as snapshots: SQL Server's waits and files, PostgreSQL's checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np

from cases.world import START, Case


def views(case: Case, folder: Path) -> Iterator[Path]:
    """One file per view that the case has."""
    if case.waits:
        yield _waits(case, folder)
    if case.database_files:
        yield _files(case, folder)
    if case.checkpoint_pages is not None:
        yield _checkpointer(case, case.checkpoint_pages, folder)


def _waits(case: Case, folder: Path) -> Path:
    lines = ["sample_time,wait_type,waiting_tasks_count,wait_time_ms,max_wait_time_ms,signal_wait_time_ms"]
    totals = {name: np.cumsum(values) for name, values in case.waits.items()}
    for at in range(len(next(iter(totals.values())))):
        moment = START + timedelta(seconds=case.interval_s * at)
        lines += [
            f"{moment:%Y-%m-%d %H:%M:%S},{name},{100 * (at + 1)},{int(total[at])},500,0"
            for name, total in totals.items()
        ]
    return _written(folder / "waits.csv", lines)


def _files(case: Case, folder: Path) -> Path:
    head = (
        "sample_time,database_name,physical_name,num_of_reads,num_of_bytes_read,io_stall_read_ms,"
        "num_of_writes,num_of_bytes_written,io_stall_write_ms"
    )
    lines = [head]
    counted = []
    for file in case.database_files:
        parts = []
        for rate, size, latency in (
            (file.reads, file.read_bytes, file.read_s), (file.writes, file.write_bytes, file.write_s),
        ):  # fmt: skip
            count = np.round(rate * case.interval_s)
            parts += [np.cumsum(count), np.cumsum(count * np.round(size)), np.cumsum(count * latency * 1e3)]
        counted.append((file.name, np.array(parts)))
    for at in range(len(case.database_files[0].reads)):
        moment = START + timedelta(seconds=case.interval_s * (at + 1))
        for path, sums in counted:
            database = path.rsplit("\\", 1)[-1].split(".")[0]
            lines.append(f"{moment:%Y-%m-%dT%H:%M:%S},{database},{path},{','.join(f'{x:.0f}' for x in sums[:, at])}")
    return _written(folder / "files.csv", lines)


def _checkpointer(case: Case, pages: np.ndarray, folder: Path) -> Path:
    written = np.cumsum(np.round(pages * case.interval_s))
    begun = np.cumsum(np.diff((pages > 1).astype(int), prepend=0) > 0)
    lines = ["now,num_timed,num_requested,write_time,sync_time,buffers_written"]
    for at in range(len(pages)):
        moment = START + timedelta(seconds=case.interval_s * (at + 1))
        lines.append(f"{moment:%Y-%m-%d %H:%M:%S}+00,{begun[at]},0,0,0,{written[at]:.0f}")
    return _written(folder / "checkpointer.csv", lines)


def _written(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path
