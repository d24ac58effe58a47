"""Which of day and month comes first, where no number beyond 12 tells: by the locale that the log shows."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from fathom.diagnose import log as reader
from fathom.diagnose.report.clock import LogClock

COMMAS, POINTS = "6,00 1,50 9,25", "6.00 1.50 9.25"
MARCH, FEBRUARY = datetime(2026, 3, 2, 9, 0, 5), datetime(2026, 2, 3, 9, 0, 5)


def read(log: Path, text: str) -> tuple[datetime, str]:
    """The first sample's time, and what the notes say of the date."""
    log.write_text(text)
    with reader.read([log]) as found:
        notes = " ".join(fact.value for fact in found.notes[0].facts if fact.name == "note")
        return found.samples.collect()["time"].min().replace(tzinfo=None), notes


@pytest.mark.parametrize(
    ("stamp", "numbers", "time", "said"),
    [
        ("02/03/2026 09:00:05", COMMAS, MARCH, "day first"),
        ("02/03/26 09:00:05", COMMAS, MARCH, "day first"),
        ("02/03/2026 09:00:05", POINTS, FEBRUARY, "month first"),
        ("02/03/2026 09:00:05 AM", COMMAS, FEBRUARY, "month first"),
        ("02.03.2026 09.00.05", COMMAS, MARCH, ""),
        ("03/15/2026 09:00:05", COMMAS, datetime(2026, 3, 15, 9, 0, 5), ""),
        ("15/03/2026 09:00:05", POINTS, datetime(2026, 3, 15, 9, 0, 5), ""),
        ("03/03/2026 09:00:05", COMMAS, datetime(2026, 3, 3, 9, 0, 5), ""),
    ],
)
def test_iostat(tmp_path: Path, stamp: str, numbers: str, time: datetime, said: str) -> None:
    heading = f"Linux 5.14.0 (db1) \t{stamp[:10].strip()} \t_x86_64_\t(8 CPU)\n\n"
    found, notes = read(tmp_path / "log", f"{heading}{stamp}\nDevice r/s w/s rkB/s\nsda {numbers}\n")
    assert found == time
    assert (said in notes) if said else not notes


@pytest.mark.parametrize(("numbers", "time"), [(COMMAS, MARCH), (POINTS, FEBRUARY)])
def test_sar_has_its_date_in_the_heading(tmp_path: Path, numbers: str, time: datetime) -> None:
    heading = "Linux 5.14.0 (db1) \t02/03/2026 \t_x86_64_\t(8 CPU)\n\n"
    rows = f"09:00:00 DEV tps rkB/s wkB/s\n09:00:05 sda {numbers}\n09:00:10 sda {numbers}\n"
    assert read(tmp_path / "log", heading + rows)[0] == time


@pytest.mark.parametrize(
    ("value", "stamp", "time"),
    [
        ("0,0043", "02/03/2026 09:00:05", MARCH),
        ("0.0043", "02/03/2026 09:00:05", FEBRUARY),
        ("0,0043", "2/3/2026 9:00:05 AM", FEBRUARY),
        ("1,234", "02/03/2026 09:00:05", FEBRUARY),  # thousands of a locale with the month first
    ],
)
def test_tables_of_other_tools(tmp_path: Path, value: str, stamp: str, time: datetime) -> None:
    path = r"\\sql01\physicaldisk(1 d:)\avg. disk sec/read"
    rows = "".join(f'"{stamp}","{path}","{value}"\n' for _ in range(3))
    assert read(tmp_path / "log", f'"Timestamp","Path","CookedValue"\n{rows}')[0] == time


def test_cells_between_commas_are_no_decimals(tmp_path: Path) -> None:
    head = "sample_time,physical_name,num_of_reads,num_of_writes,io_stall_read_ms,io_stall_write_ms\n"
    rows = "".join(f"02/03/2026 09:00:{second},a,{second},12,34,56\n" for second in ("00", "05"))
    assert read(tmp_path / "log", head + rows)[0] == FEBRUARY


@pytest.mark.parametrize(("offset", "name"), [("+01:00", "UTC+01:00"), ("-03:30", "UTC-03:30"), ("+00:00", "UTC")])
def test_times_are_told_in_the_zone_that_stamps_name(tmp_path: Path, offset: str, name: str) -> None:
    rows = [f"2026-03-02 22:{at:02}:00.000000 {offset},WRITELOG,{at},{at},0" for at in range(20)]
    head = "sample_time,wait_type,waiting_tasks_count,wait_time_ms,signal_wait_time_ms"
    (tmp_path / "views").write_text("\n".join([head, *rows]))
    reports = [
        f"2026-03-02T22:{at:02}:00{offset.replace(':', '')}\nDevice r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\n"
        "sda 9.00 99.00 1.00 0.00 0.00 0.00 0.01 1.00\n"
        for at in range(20)
    ]
    (tmp_path / "iostat").write_text("\n".join(["Linux 6.1.0 (db1) \t2026-03-02 \t_x86_64_\t(8 CPU)\n", *reports]))
    for log in (tmp_path / "views", tmp_path / "iostat"):
        with reader.read([log]) as found:
            assert LogClock(found.notes).name == name
