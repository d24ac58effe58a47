"""Several calls of iostat in one log, as loops and cron write them: each at its own time."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from test_linux_logs import HEADING, facts

from fathom.diagnose import log as reader
from fathom.errors import UsageError

SINCE_START, RATES = 3.17, [12.0, 7.0, 31.0, 44.0]
DAY = datetime(2026, 3, 2)


def report(*writes: float) -> str:
    """Disks sda, sdb and so on."""
    rows = (
        f"sd{name} 0.00 {each:.2f} 0.00 {8 * each:.2f} 0.00 1.00 0.01 9.00\n"
        for name, each in zip("ab", writes, strict=False)
    )
    return f"Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n{''.join(rows)}\n"


ONE = report(SINCE_START) + "".join(map(report, RATES))
CALL = HEADING + ONE


def at(hour: int) -> list[tuple[str, float, float | None]]:
    """What is found of a call at this hour."""
    return [(f"02 0{hour}:00:0{second}", rate, 1.0) for second, rate in enumerate(RATES, 1)]


def found(path: Path) -> list[tuple[str, float, float | None]]:
    """Time of day, rate and seconds of each sample of the disk's writes."""
    with reader.read([path]) as log:
        table = log.samples.filter((pl.col("device") == "sda") & (pl.col("metric") == "write_iops")).collect()
    rows = table.select("time", "value", "seconds").sort("time").rows()
    return [(f"{time:%d %H:%M:%S}", value, seconds) for time, value, seconds in rows]


@pytest.mark.parametrize(
    "form",
    ["%a %b %d %H:%M:%S UTC %Y", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S+0000", "zzz ***%a %b %d %H:%M:%S UTC %Y"],
)
def test_the_time_above_a_call_is_its_time(tmp_path: Path, form: str) -> None:
    (tmp_path / "log").write_text("".join(f"{DAY + timedelta(hours=hour):{form}}\n{CALL}" for hour in (7, 8)))
    assert found(tmp_path / "log") == at(7) + at(8)


def test_oswatcher_writes_a_mark_and_no_heading(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("".join(f"zzz ***Mon Mar 2 0{hour}:00:00 UTC 2026\n{ONE}" for hour in (7, 8)))
    assert found(tmp_path / "log") == at(7) + at(8)


def test_a_call_without_a_time_follows_the_one_above(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(CALL + CALL)
    rows = found(tmp_path / "log")
    assert [value for _, value, _ in rows] == RATES * 2
    assert len({time for time, _, _ in rows}) == 2 * len(RATES)
    said = " ".join(facts(tmp_path / "log", "clock"))
    assert "from the end of the call above, as no time is between them" in said


def test_a_report_alone_below_its_heading_has_the_time_above_it(tmp_path: Path) -> None:
    calls = [f"2026-03-02 0{hour}:00:00\n{HEADING}{report(50.0 * hour)}" for hour in (7, 8, 9)]
    (tmp_path / "log").write_text("".join(calls))
    assert [time for time, _, _ in found(tmp_path / "log")] == ["02 07:00:00", "02 08:00:00", "02 09:00:00"]


def document(*rates: float) -> str:
    entries = [{"disk": [{"disk_device": "sda", "r/s": 0.0, "w/s": rate, "w_await": 1.0}]} for rate in rates]
    host = {"nodename": "db1", "date": "2026-03-02", "statistics": entries}
    return json.dumps({"sysstat": {"hosts": [host]}}) + "\n"


@pytest.mark.parametrize("times", [True, False])
def test_documents_one_after_the_other_are_several_calls(tmp_path: Path, times: bool) -> None:
    above = [f"2026-03-02 0{hour}:00:00\n" if times else "" for hour in (7, 8)]
    (tmp_path / "log").write_text("".join(time + document(SINCE_START, *RATES) for time in above))
    rows = found(tmp_path / "log")
    assert [value for _, value, _ in rows] == RATES * 2
    assert len({time for time, _, _ in rows}) == 2 * len(RATES)
    assert not times or rows == at(7) + at(8)


def test_two_logs_of_one_disk_without_times_are_refused(tmp_path: Path) -> None:
    for name in ("slow", "fast"):
        (tmp_path / name).write_text(CALL)
    with pytest.raises(UsageError, match=r"fast: its reports have no times, nor have those of .*slow"):
        reader.read([tmp_path / "slow", tmp_path / "fast"])
    (tmp_path / "fast").write_text(CALL.replace("sda", "sdb"))
    reader.read([tmp_path / "slow", tmp_path / "fast"]).close()


@pytest.mark.parametrize(("rate", "seconds"), [(94.0, 1.0), (94.37, 45.0)])
def test_after_a_gap_a_report_covers_what_its_counts_tell(tmp_path: Path, rate: float, seconds: float) -> None:
    """A recording that was begun again covers its own second; one that the host held up covers all of the gap."""
    times = [0, 1, 2, 3, 4, 49, 50]
    rates = [94.0, 71.0, 88.0, 90.0, 81.0, rate, 77.0]
    moments = [f"{DAY + timedelta(seconds=time):%Y-%m-%dT%H:%M:%S+0000}" for time in times]
    (tmp_path / "log").write_text(
        HEADING + "".join(f"{time}\n{report(each, each + 5)}" for time, each in zip(moments, rates, strict=True))
    )
    assert {time: length for time, _, length in found(tmp_path / "log")}["02 00:00:49"] == seconds


def test_colours_of_a_terminal_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(
        CALL.replace(" 12.00", "\x1b[34;1m   12.00\x1b[0m").replace(" 7.00", "\x1b[31;22m 7.00")
    )
    assert [value for _, value, _ in found(tmp_path / "log")] == RATES
