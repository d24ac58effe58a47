"""Numbers that each format's sample must give, worked out by hand from the sample's text."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from fathom.diagnose import log as reader
from fathom.diagnose.clock import Zone, iso_ns
from fathom.diagnose.source import LogError

VOLUME = "vol-0123456789abcdef0"
EXPECTED = [
    ("iostat.json", "db1", "vda", "write_latency_s", [4e-5] * 4),
    ("iostat.txt", "db1", "vda", "write_iops", [20418.0, 19696.0, 19841.0]),
    ("sar.txt", "db1", "vda", "latency_s", [0.00042, 0.00182, 0.00068]),
    ("sadf.csv", "db1", "vda", "latency_s", [0.00042, 0.00182, 0.00068]),
    ("sadf.json", "db1", "vda", "latency_s", [0.00042, 0.00182, 0.00068]),
    ("sql_server.csv", None, r"D:\data\tpcc.mdf", "read_latency_s", [0.01] * 3),
    ("sql_server.csv", None, "WRITELOG", "wait_s_per_s", [6.0] * 3),
    ("postgresql.csv", None, "client backend/relation/normal", "read_latency_s", [9000.5 / 3000 / 1000] * 2),
    ("postgresql.csv", None, None, "log_flush_size_bytes", [4000.0] * 2),
    ("postgresql.csv", None, "IO:WALSync", "active_sessions", [2.0, 3.0, 4.0]),
    ("cloudwatch_statistics.json", None, None, "read_iops", [1000.0, 3000.0, 3000.0]),
    ("cloudwatch_data.json", None, VOLUME, "read_latency_s", [0.001, 0.005, 0.005]),
    ("cloudwatch_data.json", None, VOLUME, "busy_percent", [50.0, 100.0, 100.0]),
    ("cloudwatch.csv", None, VOLUME, "burst_balance_percent", [54.2, 50.1, None]),
    ("azure.json", "sql1", "LUN 2", "iops_used_percent", [10.0, 98.5, 100.0]),
    ("azure.csv", "sql1", "LUN 2", "outstanding_mean", [1.5, 64.0, 63.9]),
    ("gcp.json", "8122", "data", "read_iops", [1000.0, 3000.0, 3000.0]),
    ("gcp.json", "8122", "data", "read_throttled_iops", [100.0, 1000.0]),
    ("gcp.json", "8122", "data", "latency_s", [0.00085, 0.012, 0.0125]),
    ("gcp.json", "8122", None, "cpu_percent", [25.0, 50.0, 50.0]),
    ("rds_os.jsonl", None, "shop", "latency_s", [0.0015, 0.025, 0.026]),
    ("rds_os.jsonl", None, "shop", "read_bytes_per_s", [16384000.0] * 3),
    ("rds_os.jsonl", "shop", None, "cpu_percent", [40.0, 50.0, 50.0]),
    ("vsan.json", None, "virtual-disk:db/scsi0:1", "read_latency_s", [0.0008, 0.0009, 0.012]),
    ("vsan.json", None, "virtual-disk:db/scsi0:1", "read_bytes_per_s", [819200.0, None, 2457600.0]),
    ("prometheus.json", "db1", "sda", "read_latency_s", [0.001, 0.013]),
    ("prometheus.json", "db1", None, "cpu_percent", [20.0, 20.0]),
    ("openmetrics.txt", "db1", "nvme0n1", "read_iops", [1000.0, 1000.0]),
    ("pgbench.txt", None, "pgbench", "response_s", [0.005256, 0.0251, None]),
    ("pgbench_log.txt", None, "pgbench", "response_max_s", [0.005, 0.015]),
    ("hammerdb.log", None, "HammerDB", "new_orders_per_s", [132070 / 60]),
    ("dvdstore.txt", None, "DVD Store", "transactions_per_s", [100.0, 200.0]),
    ("dvdstore.txt", None, "DVD Store", "response_s", [0.012, 0.015]),
    ("blktrace.0", None, "8:0", "read_latency_s", [0.001999] * 3),
    ("wpa.csv", None, "1", "read_size_bytes", [16384.0] * 3),
    ("vscsi.bin", None, "vSCSI trace", "write_iops", [10.0] * 3),
    ("vscsi2.bin", None, "vSCSI trace", "read_latency_s", [0.0008] * 3),
    ("vscsi2.bin", None, "vSCSI trace", "write_latency_s", [0.0025] * 3),
    ("esxtop.csv", "esx1", "naa.600", "kernel_latency_s", [0.00325] * 4),
    ("esxtop.csv", "esx1", "nfs_1", "read_latency_s", [0.004, 0.005, 0.006]),
    ("esxtop.csv", "esx1", "SQL01 (104c07ff):scsi0:1", "read_latency_s", [0.0098] * 4),
    ("get_stat.csv", None, "sqlvm01:scsi0:1", "read_latency_s", [0.001, 0.001, 0.038]),
    ("get_stat.csv", None, "sqlvm01:scsi0:1", "read_bytes_per_s", [4579328.0, 4595712.0, 4898816.0]),
    ("get_stat.csv", None, "sqlvm01:scsi0:1", "read_outstanding_mean", [0.5, 0.6, 22.0]),
    ("get_stat.csv", "esx01.corp.local", "naa.600a", "device_latency_s", [0.001, 0.001, 0.036]),
    ("get_counter.csv", "sql01", "1 d:", "read_latency_s", [0.004, 0.005, 0.006]),
    ("perfmon.blg", "SQL01", "0 C:", "read_latency_s", [0.005] * 2),
]


@pytest.mark.parametrize(
    ("name", "host", "device", "metric", "values"), EXPECTED, ids=lambda value: str(value)[:24].replace("\\", "/")
)
def test_values(
    samples: Path, name: str, host: str | None, device: str | None, metric: str, values: list[float | None]
) -> None:
    with reader.read([samples / name]) as log:
        table = log.samples.sort("time").with_columns(pl.col("host", "device", "metric").cast(pl.String)).collect()
    chosen = table.filter(
        pl.col("host").eq_missing(pl.lit(host, dtype=pl.String)),
        pl.col("device").eq_missing(pl.lit(device, dtype=pl.String)),
        pl.col("metric") == metric,
    )
    found = chosen["value"].to_list()[: len(values)]
    assert found == [None if value is None else pytest.approx(value, rel=1e-9) for value in values]


def test_local_times_are_read_in_the_zone_that_is_given(samples: Path) -> None:
    with reader.read([samples / "iostat.txt"], Zone("Europe/Berlin")) as log:
        first = log.samples.select(pl.col("time").min()).collect().item()
    assert first.isoformat().startswith("2026-11-21T18:31:19")


def test_logs_that_count_from_their_start_are_joined(samples: Path) -> None:
    start = iso_ns("2026-03-02T22:00:00Z")[0]
    with reader.read([samples / "dvdstore.txt", samples / "sql_server.csv"], start_ns=start) as log:
        times = log.samples.filter(pl.col("layer") == "benchmark").select("time").unique().sort("time").collect()
    assert [moment.isoformat() for moment in times["time"]] == [
        "2026-03-02T22:00:10+00:00",
        "2026-03-02T22:00:20+00:00",
    ]


def test_the_first_report_of_iostat_is_since_the_start_and_left_out(samples: Path) -> None:
    with reader.read([samples / "iostat.txt"]) as log:
        assert any("since the machine's start" in each.why for each in log.notes[0].skipped)


def test_descriptions_of_volumes_are_facts(samples: Path) -> None:
    with reader.read([samples / "aws_volumes.json"]) as log:
        notes = log.notes[0]
    assert notes.value("volume_type", VOLUME) == "gp3"
    assert notes.value("provisioned_bytes_per_s", VOLUME) == str(125 << 20)


def test_windows_volumes_are_facts(samples: Path) -> None:
    with reader.read([samples / "windows_volumes.txt"]) as log:
        notes = log.notes[0]
    assert (notes.value("allocation_unit_bytes", "D:"), notes.value("allocation_unit_bytes", "C:")) == ("65536", "4096")


@pytest.mark.parametrize(("name", "size", "version"), [("vscsi.bin", 32, 14), ("vscsi2.bin", 40, 2)])
def test_a_vscsi_trace_says_where_it_is_damaged(
    samples: Path, tmp_path: Path, name: str, size: int, version: int
) -> None:
    good = (samples / name).read_bytes()
    copy = tmp_path / "log"

    def notes(content: bytes) -> dict[str, str | None]:
        copy.write_bytes(content)
        with reader.read([copy]) as log:
            return {each.why: each.example for each in log.notes[0].skipped}

    assert notes(good) == {}
    assert notes(good[:-7])["the trace ends within one"] == f"byte {len(good) - size}"
    far = bytearray(good)
    far[20 * size + 24 + 7] = 0x7F  # The time of a record, beyond any trace.
    assert notes(bytes(far))["of impossible time, place or size"] == f"byte {20 * size}"
    other = bytearray(good)
    other[30 * size + version + 1] ^= 0x40
    copy.write_bytes(bytes(other))
    with pytest.raises(LogError, match=f"byte {30 * size}: no record of a vSCSI trace"):
        reader.read([copy])


def test_a_recording_of_this_project_is_read_while_it_grows(samples: Path, tmp_path: Path) -> None:
    whole = (samples / "host.fathom").read_bytes()
    growing = tmp_path / "growing"
    growing.write_bytes(whole[:-20])
    with reader.read([growing]) as log:
        assert log.notes[0].value("os") is not None
        assert [each.what for each in log.notes[0].skipped] == ["line ends", "lines"]
        assert log.samples.filter(pl.col("metric") == "cpu_percent").collect().height == 1


def test_series_that_a_query_computed_are_an_error_that_says_what_to_ask(tmp_path: Path) -> None:
    points = [[1772488800 + 15 * place, "500"] for place in range(20)]
    result = [{"metric": {"instance": "db:9100", "device": "sda"}, "values": points}]
    path = tmp_path / "log"
    path.write_text(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}))
    with pytest.raises(LogError, match="the query computed its series") as raised:
        reader.read([path])
    assert "node_disk_" in str(raised.value.remedy)


WAITS = (
    "{time},wait_type,waiting_tasks_count,wait_time_ms\n{stamps[0]},WRITELOG,100,500\n{stamps[1]},WRITELOG,200,900\n"
)


@pytest.mark.parametrize(
    ("time", "stamps", "last"),
    [
        ("ctime", ("1772488800.25", "1772488860.2511"), "2026-03-02T22:01:00.251100+00:00"),
        ("epoch", ("1772488800", "1772488860"), "2026-03-02T22:01:00+00:00"),
        ("CaptureTime", ("2026-03-02 22:00:00", "2026-03-02 22:01:00"), "2026-03-02T22:01:00+00:00"),
    ],
)
def test_columns_of_times_as_people_name_and_write_them(
    tmp_path: Path, time: str, stamps: tuple[str, str], last: str
) -> None:
    path = tmp_path / "log"
    path.write_text(WAITS.format(time=time, stamps=stamps))
    with reader.read([path]) as log:
        assert log.samples.select(pl.col("time").max()).collect().item().isoformat() == last


@pytest.mark.parametrize(
    ("stamps", "told"),
    [
        (("05/03/2026 10:00:00", "05/03/2026 10:01:00"), 1),
        (("05/13/2026 10:00:00", "05/13/2026 10:01:00"), 0),
        (("13/05/2026 10:00:00", "13/05/2026 10:01:00"), 0),
        (("2026-03-05 10:00:00", "2026-03-05 10:01:00"), 0),
    ],
)
def test_a_date_whose_day_may_come_first_is_told(tmp_path: Path, stamps: tuple[str, str], told: int) -> None:
    path = tmp_path / "log"
    path.write_text(WAITS.format(time="sample_time", stamps=stamps))
    with reader.read([path]) as log:
        assert sum("month first" in fact.value for fact in log.notes[0].facts) == told


def test_samples_of_powercli_cover_their_interval_and_leave_sums_out(samples: Path) -> None:
    with reader.read([samples / "get_stat.csv"]) as log:
        assert set(log.samples.collect()["seconds"]) == {20.0}
        (left,) = log.notes[0].skipped
    assert (left.what, left.count) == ("counters", 6)
    assert left.example == "disk.maxTotalLatency.latest of all"
