"""Files of a database beside disks: another drive, or another time, says nothing of a file, and clears none."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from make_iostat import disk, iostat
from make_pdh import pdh, stamps
from test_surroundings import diagnosed

from fathom.diagnose.diagnose import Diagnosis, Outcome
from fathom.diagnose.evidence.overview import overview
from fathom.finding import Severity

COUNT = 40
START = datetime(2026, 3, 2, 22)
DATA, LOG = r"E:\Data\orders.mdf", r"F:\Log\orders.ldf"
FILE_HEAD = (
    "sample_time,physical_name,num_of_reads,num_of_bytes_read,io_stall_read_ms,num_of_writes,num_of_bytes_written,"
    "io_stall_write_ms"
)


def views(
    path: Path,
    data_ms: float = 25.0,
    log_ms: float = 0.5,
    waits: dict[str, float] | None = None,
    names: tuple[str, str] = (DATA, LOG),
    start: datetime = START,
    count: int = COUNT,
) -> list[Path]:
    """600 reads/s of the data file, 400 writes/s of the log, and mean sessions in waits, every 10 s."""
    looks = [f"{start + timedelta(seconds=10 * place):%Y-%m-%d %H:%M:%S}" for place in range(count)]
    rows = [FILE_HEAD]
    for place, look in enumerate(looks, 1):
        reads, writes = 6000 * place, 4000 * place
        rows.append(f"{look},{names[0]},{reads},{reads * 8192},{reads * data_ms:.0f},0,0,0")
        rows.append(f"{look},{names[1]},0,0,0,{writes},{writes * 8192},{writes * log_ms:.0f}")
    path.write_text("\n".join(rows))
    if waits is None:
        return [path]
    rows = ["sample_time,wait_type,waiting_tasks_count,wait_time_ms,signal_wait_time_ms"]
    for place, look in enumerate(looks, 1):
        rows += [f"{look},{name},{100 * place},{mean * 10_000 * place:.0f},0" for name, mean in waits.items()]
    path.with_suffix(".waits").write_text("\n".join(rows))
    return [path, path.with_suffix(".waits")]


def perfmon(path: Path, name: str = "0 C:", ms: float = 0.6, used: float = 20.0, start: datetime = START) -> Path:
    """A disk with 700 reads/s, every 10 s."""
    counters = [rf"\\DB1\PhysicalDisk({name})\{each}" for each in ("Disk Reads/sec", "Avg. Disk sec/Read")]
    rows = [(f"{700 + place % 7}", f"{ms / 1e3}", f"{used}") for place in range(COUNT)]
    times = stamps(COUNT, start, 10.0)
    counters.append(r"\\DB1\Processor(_Total)\% Processor Time")
    path.write_text(pdh(rows, counters, zone="(PDH-CSV 4.0) (UTC)(0)", times=times))
    return path


def subjects(found: Diagnosis, rule: str) -> list[str]:
    return [each.subject for each in found.findings if each.rule == rule]


@pytest.mark.parametrize("used", [20.0, 95.0])
def test_a_disk_that_a_file_does_not_lie_on_does_not_clear_it(tmp_path: Path, used: float) -> None:
    found = diagnosed(perfmon(tmp_path / "c", used=used), *views(tmp_path / "v"))
    assert found.verdict.outcome is Outcome.UNKNOWN, found.verdict
    assert subjects(found, "L2") == [DATA]
    assert "25.0 ms, and no log tells what its disk did then" in found.verdict.sentence
    assert ("neither clears the other" in found.verdict.sentence) == (used > 90)


def test_files_are_listed_beside_disks(tmp_path: Path) -> None:
    said = overview(diagnosed(perfmon(tmp_path / "c"), *views(tmp_path / "v")).system)
    assert [each.partition(": ")[0] for each in said] == ["0 C:", DATA, LOG]


def test_a_file_at_another_time_than_its_disk_is_judged_by_itself(tmp_path: Path) -> None:
    found = diagnosed(perfmon(tmp_path / "e", "1 E:", start=START - timedelta(hours=2)), *views(tmp_path / "v"))
    assert found.verdict.outcome is Outcome.UNKNOWN
    assert subjects(found, "L2") == [DATA]
    assert "Q6" not in {each.rule for each in found.checks}


def test_a_file_is_judged_where_its_disk_was_not_recorded_any_more(tmp_path: Path) -> None:
    found = diagnosed(perfmon(tmp_path / "e", "1 E:", ms=20.0), *views(tmp_path / "v", count=100))
    (file,) = (each for each in found.system.nearest if each.device == DATA)
    assert len(file.times_ns) == 60


@pytest.mark.parametrize(("ms", "outcome"), [(1.0, Outcome.HEALTHY), (25.0, Outcome.UNKNOWN)])
def test_a_few_slow_moments_behind_the_disk_s_log_are_not_cleared(tmp_path: Path, ms: float, outcome: Outcome) -> None:
    """The disk's log ends with the fast ones of the file's."""
    (log,) = views(tmp_path / "v", data_ms=1.0, count=COUNT + 6)
    head, *rows = (line.split(",") for line in log.read_text().splitlines())
    late = [[*row[:4], str(int(row[4]) + max(0, int(row[2]) - 6000 * COUNT) * (ms - 1)), *row[5:]] for row in rows]
    log.write_text("\n".join(",".join(each) for each in [head, *late]))
    assert diagnosed(perfmon(tmp_path / "e", "1 E:"), log).verdict.outcome is outcome


def test_a_file_whose_disk_is_not_known_may_lose_its_time_above_a_fast_one(tmp_path: Path) -> None:
    fast = iostat(tmp_path / "sda", {"sda": disk(np.full(2 * COUNT, 700.0), np.full(2 * COUNT, 0.6))})
    names = "/var/opt/mssql/orders.mdf", "/var/opt/mssql/orders.ldf"
    found = diagnosed(fast, *views(tmp_path / "v", names=names))
    assert found.verdict.outcome is Outcome.UNKNOWN
    assert "no disk of the logs takes more than 0.600 ms then" in found.verdict.sentence
    assert "the time is lost above them, or the file lies on another" in found.verdict.sentence


@pytest.mark.parametrize("ms", [0.6, 20.0])
def test_a_disk_that_takes_as_long_or_fast_files_leave_nothing_to_tell_of_files(tmp_path: Path, ms: float) -> None:
    slow = iostat(tmp_path / "sda", {"sda": disk(np.full(2 * COUNT, 700.0), np.full(2 * COUNT, ms))})
    names = "/var/opt/mssql/orders.mdf", "/var/opt/mssql/orders.ldf"
    found = diagnosed(slow, *views(tmp_path / "v", data_ms=ms + 1, names=names))
    assert subjects(found, "L2") == (["sda"] if ms > 5 else [])
    assert found.verdict.outcome is (Outcome.UNKNOWN if ms > 5 else Outcome.HEALTHY)


def test_fast_files_on_another_drive_are_healthy_with_it(tmp_path: Path) -> None:
    found = diagnosed(perfmon(tmp_path / "c"), *views(tmp_path / "v", data_ms=1.0))
    assert found.verdict.outcome is Outcome.HEALTHY
    assert {each.where for each in found.findings[0].evidence} == {"0 C:", DATA, LOG}


def test_time_is_lost_only_above_the_disk_that_a_file_lies_on(tmp_path: Path) -> None:
    apart = diagnosed(perfmon(tmp_path / "c"), *views(tmp_path / "v"))
    assert "Q6" not in {each.rule for each in apart.checks}
    below = diagnosed(perfmon(tmp_path / "f", "2 F:"), *views(tmp_path / "w", log_ms=4.0))
    (lost,) = (each for each in below.checks if each.rule == "Q6")
    assert (lost.subject, lost.what[:42]) == (LOG, "it takes 4.00 ms, and 2 F: below it 0.600 ")


def test_who_waits_at_another_time_is_no_harm_of_a_disk(tmp_path: Path) -> None:
    earlier = perfmon(tmp_path / "e", "1 E:", ms=30.0, start=START - timedelta(hours=2))
    found = diagnosed(earlier, *views(tmp_path / "v", data_ms=1.0, waits={"PAGEIOLATCH_SH": 4.0}))
    (slow,) = (each for each in found.findings if each.rule == "L2")
    assert (slow.subject, slow.severity, slow.harm) == ("1 E:", Severity.NOTE, None)


def test_who_waits_at_another_time_confirms_no_healthy_disk(tmp_path: Path) -> None:
    waits = {"PAGEIOLATCH_SH": 0.2, "WRITELOG": 0.2}
    earlier = perfmon(tmp_path / "c", start=START - timedelta(hours=2))
    found = diagnosed(earlier, *views(tmp_path / "v", data_ms=1.0, waits=waits))
    assert found.verdict.outcome is Outcome.HEALTHY
    assert found.verdict.confidence == 0.75
    assert not any("sessions wait" in each.sentence for each in found.findings[0].evidence)
    same = diagnosed(perfmon(tmp_path / "d"), *views(tmp_path / "w", data_ms=1.0, waits=waits))
    assert same.verdict.confidence == 0.85


@pytest.mark.parametrize("disks", [False, True])
def test_waits_for_the_log_are_those_of_its_files(tmp_path: Path, disks: bool) -> None:
    logs = views(tmp_path / "v", log_ms=25.0, waits={"WRITELOG": 20.0, "PAGEIOLATCH_SH": 3.8})
    if disks:
        logs += [perfmon(tmp_path / "e", "1 E:", ms=24.0), perfmon(tmp_path / "f", "2 F:", ms=24.0)]
    found = diagnosed(*logs)
    slow = [each for each in found.findings if each.rule == "L2"]
    assert [each.subject for each in slow] == (["2 F:", "1 E:"] if disks else [LOG, DATA])
    assert [each.severity for each in slow] == [Severity.CRITICAL, Severity.WARNING]
    assert str(slow[0].harm).startswith("20.0 sessions wait for log I/O on average: 84 %")
    assert str(slow[1].harm).startswith("3.80 sessions wait for data I/O on average: 16 %")
