"""Exports whose figures are not what they look like: read right, or refused with what to export instead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fathom.diagnose import log as reader
from fathom.diagnose.source import LogError

MINUTES = [f"2026-03-02T22:{minute:02}:00Z" for minute in range(4)]


def statistics(path: Path, **values: object) -> Path:
    points = [{"Timestamp": time, "Unit": "Seconds", **values} for time in MINUTES]
    path.write_text(json.dumps({"Label": "ReadLatency", "Datapoints": points}))
    return path


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"Maximum": 0.03}, "maximum"),
        ({"Minimum": 0.03}, "minimum"),
        ({"SampleCount": 1.0}, "sample count"),
        ({"ExtendedStatistics": {"p99": 0.03}}, "p99"),
    ],
)
def test_other_statistics_of_cloudwatch_are_no_mean(tmp_path: Path, values: dict[str, object], name: str) -> None:
    with pytest.raises(LogError, match=f"their {name} is no use; export their average"):
        reader.read([statistics(tmp_path / "log", **values)])


def test_a_mean_is_taken_whatever_is_beside_it(tmp_path: Path) -> None:
    path = statistics(tmp_path / "log", Sum=9.0, Average=0.002, Maximum=0.03, ExtendedStatistics={"p99": 0.02})
    with reader.read([path]) as log:
        assert log.series["mean"].to_list() == [0.002]
        assert not log.notes[0].skipped


def test_maxima_of_azure_are_named(tmp_path: Path) -> None:
    name = "Data Disk Read Operations/Sec"
    data = [{"timeStamp": time, "maximum": 600.0} for time in MINUTES]
    metric = {"id": "/subscriptions/S/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/v",
              "name": {"value": name}, "timeseries": [{"data": data}]}  # fmt: skip
    path = tmp_path / "log"
    path.write_text(json.dumps({"value": [metric]}))
    with pytest.raises(LogError, match="their maximum is no use; export their average"):
        reader.read([path])


def test_values_with_units_are_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(
        '"Time","ReadIOPS shop","ReadLatency shop"\n2026-03-02 10:00:00,"1,234 io/s",21.0 ms\n'
        "2026-03-02 10:01:00,807 io/s,1.2 ms\n"
    )
    with pytest.raises(LogError, match='"1,234 io/s" has a unit') as raised:
        reader.read([path])
    assert "Formatted data off" in str(raised.value.remedy)
    assert raised.value.line == 2


def test_typeperf_writes_in_the_console_s_code_page(tmp_path: Path) -> None:
    path = tmp_path / "log"
    disk = r"\\DB1\Physikalischer Datenträger(0 C:)"
    counters = rf'"{disk}\Mittlere Sek./Lesevorgänge","{disk}\Lesevorgänge/s"'
    rows = "".join(f'"03/02/2026 22:00:0{second}.000","0.002","100"\n' for second in range(4))
    path.write_bytes(f'\n"(PDH-CSV 4.0) (Mitteleuropäische Zeit)(-60)",{counters}\n{rows}'.encode("cp850"))
    with reader.read([path]) as log:
        assert sorted(log.series["metric"].cast(str).to_list()) == ["read_iops", "read_latency_s"]
        facts = {fact.name: fact.value for fact in log.notes[0].facts}
    assert facts["note"] == "names were read in code page cp850"
    assert "Mitteleuropäische" in facts["time_zone"]


def test_what_psql_writes_around_its_tables_is_no_lost_line(tmp_path: Path) -> None:
    looks = "".join(
        f"                Mon Mar  2 22:00:0{second} 2026 (every 1s)\n\n"
        "          now           | wal_records | wal_bytes | wal_sync \n"
        "------------------------+-------------+-----------+----------\n"
        f" 2026-03-02 22:00:0{second}+00 |          10 |     {second}000  |        {second} \n(1 row)\n\n"
        for second in range(1, 5)
    )
    path = tmp_path / "log"
    path.write_text(looks)
    with reader.read([path]) as log:
        assert log.rows
        assert not log.notes[0].skipped


def test_wrapped_tables_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(
        "sample_time  database_name\n   num_of_reads\n-----------  -------------\n   ------------\n"
        "2026-03-02 22:00:00  shop\n   900\n\n"
        "sample_time         wait_type   waiting_tasks_count  wait_time_ms\n"
        "------------------- ----------- -------------------- ------------\n"
        "2026-03-02 22:00:00 WRITELOG    9                    9\n"
    )
    with pytest.raises(LogError, match="the lines of this table are wrapped") as raised:
        reader.read([path])
    assert "-W -w 65535" in str(raised.value.remedy)


@pytest.mark.parametrize("stamps", [("Mar 05 2026 10:00AM", "Mar 05 2026 10:01AM"),
                                    ("Mar  5 2026  1:00PM", "Mar  5 2026  1:01PM")])  # fmt: skip
def test_sql_server_s_own_text_of_a_time_is_read(tmp_path: Path, stamps: tuple[str, str]) -> None:
    path = tmp_path / "log"
    rows = "".join(f"{stamp},WRITELOG,{at},{at}000,0\n" for at, stamp in enumerate(stamps, 1))
    path.write_text(f"sample_time,wait_type,waiting_tasks_count,wait_time_ms,signal_wait_time_ms\n{rows}")
    with reader.read([path]) as log:
        times = log.samples.collect()["time"].unique().to_list()
    assert [(time.month, time.day, time.minute) for time in times] == [(3, 5, 1)]


def test_enhanced_monitoring_out_of_cloudwatch_logs(tmp_path: Path, samples: Path) -> None:
    lines = (samples / "rds_os.jsonl").read_text().splitlines()
    path = tmp_path / "log"
    path.write_text(json.dumps({"events": [{"timestamp": 1, "message": line} for line in lines]}, indent=1))
    with reader.read([path]) as log, reader.read([samples / "rds_os.jsonl"]) as plain:
        assert log.series.equals(plain.series)
