"""Q9: a disk of which intervals are missing is not cleared: cut lines and blank cells may be the slow time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from make_iostat import disk, iostat
from make_pdh import pdh
from test_surroundings import diagnosed

from fathom.diagnose.diagnose import Diagnosis, Outcome
from fathom.finding import Severity

COUNT = 120


def told(found: Diagnosis) -> list[str]:
    return [each.what for each in found.checks if each.rule == "Q9"]


def cut(path: Path, lost: set[int]) -> Path:
    """Two disks; of sdb the rows of some reports are cut, as those with wide numbers are in a window."""
    rates, latency = np.full(COUNT, 2000.0), np.full(COUNT, 0.5)
    iostat(path, {"sda": disk(rates / 40, latency), "sdb": disk(rates, latency)})
    lines, at = [], -1
    for line in path.read_text().splitlines():
        at += line.startswith("sdb")
        lines.append(line[:-14] if line.startswith("sdb") and at in lost else line)
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("lost", [set(range(30, 58)), set(range(0, COUNT, 2)), set(range(COUNT - 4, COUNT))])
def test_rows_that_were_cut_are_missing_samples(tmp_path: Path, lost: set[int]) -> None:
    found = diagnosed(cut(tmp_path / "log", lost))
    assert found.verdict.outcome is Outcome.UNKNOWN, found.verdict
    assert f"sdb: {len(lost)} of {COUNT} intervals have no sample" in found.verdict.sentence
    assert told(found) == [
        f"{len(lost)} of 120 intervals have no sample ({round(len(lost) / 1.2)} %), and may be the slow ones"
    ]
    check = next(each for each in found.checks if each.rule == "Q9")
    assert check.severity is Severity.WARNING
    start, end = check.evidence[0].start_ns, check.evidence[0].end_ns
    assert start is not None
    assert end is not None
    assert (end - start) / 5e9 == max(lost) - min(lost) + 1


def test_two_rows_that_were_cut_hide_nothing(tmp_path: Path) -> None:
    found = diagnosed(cut(tmp_path / "log", {5, 70}))
    assert found.verdict.rule == "D25", found.verdict
    assert not told(found)


def test_rows_of_sar_that_were_cut_are_missing_samples(tmp_path: Path) -> None:
    rows = ["Linux 6.1.0-18-amd64 (db1) \t03/02/26 \t_x86_64_\t(8 CPU)\n"]
    for at in range(COUNT):
        if at % 20 == 0:
            rows.append("\n22:00:00          DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     %util")
        time = f"22:{at * 5 // 60:02}:{at * 5 % 60:02}"
        row = f"{time}     sdb   2000.00  16000.00      0.00      8.00      1.00      0.50     60.00"
        rows.append(row[:60] if at % 4 == 3 else row)
    (tmp_path / "log").write_text("\n".join(rows) + "\n")
    found = diagnosed(tmp_path / "log")
    assert found.verdict.outcome is Outcome.UNKNOWN, found.verdict
    assert told(found) == ["30 of 120 intervals have no sample (25 %), and may be the slow ones"]


@pytest.mark.parametrize(("blank", "outcome"), [(40, Outcome.UNKNOWN), (2, Outcome.HEALTHY)])
def test_blank_cells_of_perfmon_are_missing_samples(tmp_path: Path, blank: int, outcome: Outcome) -> None:
    """The disk of the log does little, and commits wait for it."""
    names = ("Disk Reads/sec", "Disk Writes/sec", "Avg. Disk sec/Read", "Avg. Disk sec/Write",
             "Current Disk Queue Length")  # fmt: skip
    paths = [rf"\\SQL01\PhysicalDisk({disk})\{name}" for disk in ("1 E:", "2 L:") for name in names]
    rows = []
    for at in range(COUNT):
        log = ["0", "60", "0.001", "0.001", "0"] if not 50 <= at < 50 + blank else [" "] * len(names)
        rows.append(["900", "100", "0.002", "0.002", "2", *log])
    (tmp_path / "log").write_text(pdh(rows, paths))
    found = diagnosed(tmp_path / "log")
    assert found.verdict.outcome is outcome, found.verdict
    assert bool(told(found)) is (outcome is Outcome.UNKNOWN)


def test_full_processors_are_less_sure_beside_missing_samples(tmp_path: Path) -> None:
    head = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n 90.00 0.00 7.00 0.00 0.00 3.00\n\nDevice r/s"
    for lost, confidence in ((set[int](), 0.9), (set(range(30, 58)), 0.6)):
        log = cut(tmp_path / "log", lost)
        log.write_text(log.read_text().replace("Device r/s", head))
        found = diagnosed(log)
        assert (found.verdict.rule, found.verdict.confidence) == ("D25", confidence), found.verdict
