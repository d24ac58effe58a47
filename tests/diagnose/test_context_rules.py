"""Rules on context and on loads that explain themselves: each finds its case, and none where the case is nearly so."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from make_pdh import START, pdh, stamps

from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import diagnose

COUNT = 120
FEW = np.random.default_rng(3).normal(1, 0.02, COUNT)
"""Noise of the same kind for all."""


def found(*paths: Path) -> set[str]:
    with reader.read(paths) as log:
        return {finding.rule for finding in diagnose(log).findings}


def perfmon(path: Path, columns: dict[str, np.ndarray | float]) -> Path:
    """A log of counters by path without the host."""
    table = np.array([np.broadcast_to(values, COUNT) for values in columns.values()]).T
    rows = [[f"{value:.9f}" for value in row] for row in table]
    names = [rf"\\SQL01\{name}" for name in columns]
    times = stamps(COUNT, START, 15)
    path.write_text(pdh(rows, names, zone="(PDH-CSV 4.0) (UTC)(0)", times=times))
    return path


def disk(name: str, reads: object, writes: object, read_s: object, write_s: object, size: object = 8192) -> dict:
    """One disk's counters."""
    rate = np.asarray(reads) + np.asarray(writes)
    load = np.asarray(reads) * np.asarray(read_s) + np.asarray(writes) * np.asarray(write_s)
    counters = {
        "Disk Reads/sec": reads, "Disk Writes/sec": writes,
        "Avg. Disk sec/Read": read_s, "Avg. Disk sec/Write": write_s,
        "Disk Bytes/sec": rate * size, "Avg. Disk Queue Length": load,
    }  # fmt: skip
    return {rf"PhysicalDisk({name})\{counter}": values for counter, values in counters.items()}


@pytest.mark.parametrize(("size", "there"), [(2560, True), (4096, False)])
def test_d8_unaligned_log_writes_of_a_trace(tmp_path: Path, size: int, *, there: bool) -> None:
    head = "IO Type,Init Time (s),IO Time (µs),Size (B),Min Offset,Disk"
    lines = [f"Write,{n * 0.01:.4f},400.0,{size},0x{n * size:016X},1" for n in range(3000)]
    (tmp_path / "trace").write_text("\n".join([head, *lines]) + "\n")
    assert ("D8" in found(tmp_path / "trace")) is there


def test_d8_whole_blocks_at_the_wrong_place_are_the_partitions(tmp_path: Path) -> None:
    """A partition that begins at sector 63: a trace flag of the database would change nothing."""
    head = "IO Type,Init Time (s),IO Time (µs),Size (B),Min Offset,Disk"
    lines = [f"Write,{n * 0.01:.4f},400.0,8192,0x{63 * 512 + n * 8192:016X},1" for n in range(3000)]
    (tmp_path / "trace").write_text("\n".join([head, *lines]) + "\n")
    with reader.read([tmp_path / "trace"]) as log:
        notes = next(finding for finding in diagnose(log).findings if finding.rule == "D8")
    assert "partition" in notes.what
    assert "1800" not in str(notes.remedies)


@pytest.mark.parametrize(("own", "below", "there"), [(2.0, 180.0, True), (60.0, 300.0, True), (60.0, 90.0, False)])
def test_d9_the_storage_reads_before_it_writes(tmp_path: Path, own: float, below: float, *, there: bool) -> None:
    guest = perfmon(tmp_path / "guest", disk("1 D:", own, 400 * FEW, 0.001, 0.002))
    device = r"Physical Disk SCSI Device(naa.1)"
    names = {"Reads/sec": below, "Writes/sec": 400 * FEW, "Commands/sec": 400 * FEW + below}
    times = {"Average Driver MilliSec/Command": 1.5, "Average Kernel MilliSec/Command": 0.1}
    host = perfmon(tmp_path / "host", {rf"{device}\{name}": values for name, values in (names | times).items()})
    assert ("D9" in found(guest, host)) is there


@pytest.mark.parametrize("there", [True, False])
def test_d13_writes_slow_each_other_down_and_reads_do_not(tmp_path: Path, *, there: bool) -> None:
    share = 0.1 + 0.8 * np.random.default_rng(5).random(COUNT)
    write_s = 0.004 + 0.02 * share
    read_s = 0.003 * FEW if there else write_s / 4
    path = perfmon(tmp_path / "log", disk("1 D:", 500 * (1 - share), 500 * share, read_s, write_s))
    assert ("D13" in found(path)) is there


@pytest.mark.parametrize(("size", "there"), [(1 << 20, True), (256 << 10, False)])
def test_d14_large_requests_take_time_to_transfer(tmp_path: Path, size: int, *, there: bool) -> None:
    path = perfmon(tmp_path / "log", disk("1 D:", 300 * FEW, 0.0, 0.020 * FEW, 0.0, size))
    assert ("D14" in found(path)) is there


@pytest.mark.parametrize(("others", "there"), [(50.0, True), (900.0, False)])
def test_d15_one_of_like_disks_is_hot(tmp_path: Path, others: float, *, there: bool) -> None:
    columns = disk("1 D:", 1500 * FEW, 0.0, 0.004, 0.0)
    for number, letter in enumerate("EFG", 2):
        columns |= disk(f"{number} {letter}:", others * FEW, 0.0, 0.001, 0.0)
    assert ("D15" in found(perfmon(tmp_path / "log", columns))) is there


@pytest.mark.parametrize(("every", "there"), [(8, True), (30, True), (8, False)])
def test_d18_bursts_of_writes_are_checkpoints(tmp_path: Path, every: int, *, there: bool) -> None:
    burst = np.arange(COUNT) % every < 2
    pages = burst if there else np.roll(burst, 4)
    columns = disk("1 D:", 200 * FEW, np.where(burst, 2000, 20) * FEW, 0.001, np.where(burst, 0.02, 0.002))
    columns[r"SQLServer:Buffer Manager\Checkpoint pages/sec"] = np.where(pages, 2000.0, 0.0)
    assert ("D18" in found(perfmon(tmp_path / "log", columns))) is there


@pytest.mark.parametrize(("rates", "sizes", "there"), [(1, 1, True), (4, 1, False), (1, 16, False)])
def test_d19_two_modes_of_latency_at_one_rate(tmp_path: Path, rates: int, sizes: int, *, there: bool) -> None:
    slow = np.arange(COUNT) % 3 == 0
    rate, size = np.where(slow, rates * 400, 400) * FEW, np.where(slow, sizes * 8192, 8192)
    path = perfmon(tmp_path / "log", disk("1 D:", rate, 0.0, np.where(slow, 0.012, 0.001) * FEW, 0.0, size))
    assert ("D19" in found(path)) is there


@pytest.mark.parametrize(("tempdb", "there"), [(600, True), (60, False)])
def test_d22_tempdb_takes_much_of_the_requests(tmp_path: Path, tempdb: int, *, there: bool) -> None:
    names = (
        "sample_time,database_name,physical_name,num_of_reads,num_of_bytes_read,io_stall_read_ms,"
        "num_of_writes,num_of_bytes_written,io_stall_write_ms"
    )
    lines = [names]
    for look in range(12):
        moment = datetime(2026, 3, 2, 22) + timedelta(seconds=10 * look)
        for database, reads in (("shop", 1000), ("tempdb", tempdb)):
            done = reads * look * 10
            lines.append(f"{moment:%Y-%m-%dT%H:%M:%S},{database},D:\\{database}.mdf,{done},{done * 8192},{done},0,0,0")
    (tmp_path / "files").write_text("\n".join(lines) + "\n")
    assert ("D22" in found(tmp_path / "files")) is there


@pytest.mark.parametrize(("unit", "there"), [(4096, True), (65536, False)])
def test_d23_a_small_allocation_unit_is_told_as_no_cause(tmp_path: Path, unit: int, *, there: bool) -> None:
    log = perfmon(tmp_path / "log", disk("1 D:", 300 * FEW, 0.0, 0.002, 0.0))
    text = f"\r\nDriveLetter        : D\r\nFileSystem         : NTFS\r\nAllocationUnitSize : {unit}\r\n"
    (tmp_path / "volumes").write_text(text, "utf-16")
    assert ("D23" in found(log, tmp_path / "volumes")) is there
