# ruff: noqa: RUF001 - names in Russian
"""PDH logs with every trap that real ones have; expected values are written out, not computed by the reader."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from make_pdh import FIRST_UTC, LATENCY, QUEUE, READS, START, THREE, pdh, stamps

from fathom.diagnose import log as reader
from fathom.diagnose.clock import Zone, iso_ns
from fathom.diagnose.diagnose import diagnose
from fathom.diagnose.evidence import limits
from fathom.diagnose.evidence.system import system_of
from fathom.diagnose.log import Log
from fathom.diagnose.source import LogError

ROWS = ((" ", " ", "3"), ("100.5", "0.004", "64"), ("0", "0", "0"), ("250", "0.010", "64"))
EXPECTED = {
    "read_iops": [None, 100.5, 0.0, 250.0],
    "read_latency_s": [None, 0.004, None, 0.010],
    "outstanding": [3.0, 64.0, 0.0, 64.0],
}


def read(path: Path, text: str | bytes, encoding: str = "utf-8", zone: str | None = None) -> Log:
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return reader.read([path], None if zone is None else Zone(zone))


def values(log: Log, column: str = "value") -> dict[str, list[float | None]]:
    table = log.samples.sort("time", maintain_order=True).collect()
    names = table["metric"].cast(pl.String).unique()
    return {name: table.filter(pl.col("metric").cast(pl.String) == name)[column].to_list() for name in names}


def iso(log: Log) -> list[str]:
    times = log.samples.select(pl.col("time").unique().sort()).collect()["time"]
    return times.dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_list()


@pytest.mark.parametrize(
    ("zone", "separator"),
    [
        ("(PDH-CSV 4.0) (Eastern Standard Time)(300)", ","),
        ("(PDH-TSV 4.0) (Eastern Standard Time)(300)", "\t"),
        ("(PDH-CSV 4.0) (Eastern Standard Time)(300)", ";"),
    ],
)
def test_values_times_and_intervals(tmp_path: Path, zone: str, separator: str) -> None:
    with read(tmp_path / "x", pdh(ROWS, zone=zone, separator=separator)) as log:
        assert values(log) == EXPECTED
        assert iso(log)[0] == FIRST_UTC
        assert values(log, "seconds")["outstanding"] == [None, 15.0, 15.0, 15.0]
        keys = log.samples.select("host", "device", "layer").unique().collect()
        assert keys.rows() == [("SQL01", "1 D:", "guest disk")]


@pytest.mark.parametrize(
    "zone", ["(PDH-CSV 4.0) (RTZ 2 (", "(PDH-CSV 4.0) (Paris, Madrid (heure d", "(PDH-CSV 4.0)", "(PDH-CSV 4.0) ("]
)
def test_a_cut_or_missing_zone_leaves_the_zone_to_the_user(tmp_path: Path, zone: str) -> None:
    with read(tmp_path / "x", pdh(ROWS, zone=zone), zone="-05:00") as log:
        assert values(log) == EXPECTED
        assert iso(log)[0] == FIRST_UTC
        assert "as given" in str(log.notes[0].value("time_zone"))
    with read(tmp_path / "x", pdh(ROWS, zone=zone)) as log:
        assert iso(log)[0] == "2026-03-02T21:59:45.123000Z"
        assert "names none" in str(log.notes[0].value("time_zone"))


def test_a_zone_east_of_greenwich_has_a_negative_bias(tmp_path: Path) -> None:
    with read(tmp_path / "x", pdh(ROWS, zone="(PDH-CSV 4.0) (India Standard Time)(-330)")) as log:
        assert iso(log)[0] == "2026-03-02T16:29:45.123000Z"


def test_decimal_commas_are_judged_cell_by_cell(tmp_path: Path) -> None:
    rows = ((" ", " ", "3"), ("100,5", "0.004", "64"), ("0", "0", "0"), ("250", "1,0E-02", "64"))
    with read(tmp_path / "x", pdh(rows, separator=";")) as log:
        assert values(log) == EXPECTED
    rows = (("1.234,5", "0,25", "3"), ("1,234.5", "0.5", "4"))
    with read(tmp_path / "x", pdh(rows, separator=";")) as log:
        assert values(log)["read_iops"] == [1234.5, 1234.5]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_encodings_of_powershell(tmp_path: Path, encoding: str) -> None:
    with read(tmp_path / "x", pdh(ROWS), encoding) as log:
        assert values(log) == EXPECTED


@pytest.mark.parametrize(
    ("encoding", "group", "counters"),
    [
        ("cp1252", "Physikalischer Datenträger",
         ("Lesevorgänge/s", "Mittlere Sek./Lesevorgänge", "Aktuelle Warteschlangenlänge")),
        ("utf-8", "Disque physique",
         ("Lectures disque/s", "Moyenne disque s/lecture", "Taille de file d'attente du disque actuelle")),
        ("cp1251", "Физический диск",
         ("Обращений чтения с диска/с", "Среднее время чтения с диска (с)", "Текущая длина очереди диска")),
    ],
)  # fmt: skip
def test_localised_names_in_their_code_pages(
    tmp_path: Path, encoding: str, group: str, counters: tuple[str, str, str]
) -> None:
    paths = [rf"\\SQL01\{group}(1 D:)\{counter}" for counter in counters]
    with read(tmp_path / "x", pdh(ROWS, paths), encoding) as log:
        assert values(log) == EXPECTED


def test_typeperf_with_a_blank_line_before_and_messages_behind(tmp_path: Path) -> None:
    text = "\r\n" + pdh(ROWS, zone="(PDH-CSV 4.0)") + "\r\nExiting, please wait...                         \r\n"
    text += "The command completed successfully.\r\n\r\n"
    with read(tmp_path / "x", text, zone="-05:00") as log:
        assert values(log) == EXPECTED
        assert [(each.what, each.count) for each in log.notes[0].skipped] == [("lines", 2)]


def test_a_log_that_is_still_written_ends_within_a_line(tmp_path: Path) -> None:
    whole = pdh(ROWS)
    for cut in range(1, 45):
        with read(tmp_path / "x", whole[:-cut]) as log:
            found = values(log)
            # The last sample is there with all its numbers, or not at all.
            assert found in (EXPECTED, {name: numbers[:3] for name, numbers in EXPECTED.items()}), cut


def test_a_line_with_other_cells_is_an_error_with_its_number(tmp_path: Path) -> None:
    lines = pdh(ROWS).splitlines(keepends=True)
    lines[2] = lines[2].replace('"0.004",', "")
    with pytest.raises(LogError, match="line 3: 3 cells where the header has 4"):
        read(tmp_path / "x", "".join(lines))
    lines = pdh(ROWS).splitlines(keepends=True)
    lines[3] = lines[3].replace("03/02/2026", "03/99/2026")
    with pytest.raises(LogError, match=r'line 4: "03/99/2026 22:00:15.123" is no time'):
        read(tmp_path / "x", "".join(lines))


def test_text_where_a_number_should_be_is_missing_and_told(tmp_path: Path) -> None:
    rows = (("#DIV/0!", "0.004", "3"), ("1", "-1.#IND", "4"))
    with read(tmp_path / "x", pdh(rows)) as log:
        assert values(log) == {"read_iops": [None, 1.0], "read_latency_s": [0.004, None], "outstanding": [3.0, 4.0]}
        assert sum(each.count for each in log.notes[0].skipped) == 2


def test_odd_cells_in_some_of_many_columns(tmp_path: Path) -> None:
    """Columns with and without odd cells, side by side: each keeps its own numbers."""
    paths = [rf"\\S\PhysicalDisk({disk} {disk}:)\Disk Reads/sec" for disk in range(60)]
    rows = [[f"{row}.{disk:02}" for disk in range(60)] for row in range(5)]
    rows[2][7], rows[3][7], rows[4][31], rows[1][40], rows[0][59] = "n/a", "4,5", "1.234.567", "inf", " "
    with read(tmp_path / "x", pdh(rows, paths)) as log:
        table = log.samples.sort("time").with_columns(pl.col("device").cast(pl.String)).collect()
        found = {str(name[0]): frame["value"].to_list() for name, frame in table.group_by("device")}
        odd = {
            7: [0.07, 1.07, None, 4.5, 4.07],
            31: [0.31, 1.31, 2.31, 3.31, 1234567.0],
            40: [0.4, None, 2.4, 3.4, 4.4],
        }
        odd[59] = [None, 1.59, 2.59, 3.59, 4.59]
        for disk in range(60):
            plain = [round(row + disk / 100, 2) for row in range(5)]
            assert found[f"{disk} {disk}:"] == odd.get(disk, plain)
        assert [(each.count, each.example) for each in log.notes[0].skipped if each.what == "values"] == [(2, '"n/a"')]


def test_a_clock_that_was_set_back_is_told(tmp_path: Path) -> None:
    times = [*stamps(3), *stamps(2, START - timedelta(minutes=5))]
    with read(tmp_path / "x", pdh([["1", "0.001", "1"]] * 5, times=times)) as log:
        notes = [(each.count, each.why, each.example) for each in log.notes[0].skipped]
        assert notes == [(1, "the clock was set back", "to 2026-03-02T21:54:45")]
        assert all(seconds is None or seconds > 0 for seconds in values(log, "seconds")["read_iops"])


def test_the_interval_is_that_of_the_stamps(tmp_path: Path) -> None:
    times = ["03/02/2026 22:00:00.000", "03/02/2026 22:00:15.076", "03/02/2026 22:00:15.076", "03/02/2026 22:01:00.000"]
    with read(tmp_path / "x", pdh(ROWS, times=times)) as log:
        assert values(log, "seconds")["outstanding"] == [None, 15.076, None, 44.924]


def test_clocks_set_back_repeat_no_hour_and_set_forward_leave_no_gap(tmp_path: Path) -> None:
    autumn = [*stamps(3, datetime(2026, 11, 1, 1, 59, 15)), *stamps(3, datetime(2026, 11, 1, 1, 0, 0))]
    rows = [("1", "0.001", "1")] * 6
    with read(tmp_path / "x", pdh(rows, times=autumn, zone="(PDH-CSV 4.0) (Eastern Daylight Time)(240)")) as log:
        assert iso(log)[0] == "2026-11-01T05:59:15.000000Z"
        assert iso(log)[-1] == "2026-11-01T06:00:30.000000Z"
        assert "set back" in str(log.notes[0].value("clock"))
    spring = [*stamps(3, datetime(2026, 3, 8, 1, 59, 15)), *stamps(3, datetime(2026, 3, 8, 3, 0, 0))]
    with read(tmp_path / "x", pdh(rows, times=spring)) as log:
        assert iso(log)[-1] == "2026-03-08T07:00:30.000000Z"
        assert values(log, "seconds")["outstanding"][1:] == [15.0] * 5
    gap = [*stamps(3, datetime(2026, 3, 8, 14, 59, 15)), *stamps(3, datetime(2026, 3, 8, 16, 0, 0))]
    with read(tmp_path / "x", pdh(rows, times=gap)) as log:
        assert iso(log)[-1] == "2026-03-08T21:00:30.000000Z"
        assert log.notes[0].value("clock") is None


def test_logs_behind_each_other_are_read_with_their_own_headers(tmp_path: Path) -> None:
    second = pdh([("7", "5")], (QUEUE, READS), times=stamps(1, datetime(2026, 3, 2, 23, 0, 0)))
    with read(tmp_path / "x", pdh(ROWS) + second) as log:
        assert values(log)["outstanding"] == [*EXPECTED["outstanding"], 7.0]
        assert values(log)["read_iops"] == [*EXPECTED["read_iops"], 5.0]


def test_parts_are_joined_without_seams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(str(number), "0.001", str(number)) for number in range(200)]
    path = r"\\SQL01\SQLServer:Databases(tpcc)\Log Growths"
    text = pdh(rows, (READS, LATENCY, path))
    monkeypatch.setattr("fathom.diagnose.pdh.CHUNK", 1000)
    with read(tmp_path / "x", text) as log:
        found = values(log)
        assert found["read_iops"] == [float(number) for number in range(200)]
        assert found["log_growths"] == [None, *[1.0] * 199]
        assert values(log, "seconds")["read_iops"] == [None, *[15.0] * 199]


def test_instances_with_every_sign(tmp_path: Path) -> None:
    names = [r"\\?\Volume{3d0d-11}", "HarddiskVolume1", "C:\\mnt\\a (b)", "2 X: Y:", "a/b#3", "=cmd|' /C calc'!A0"]
    paths = [rf"\\H\LogicalDisk({name})\Disk Reads/sec" for name in names]
    with read(tmp_path / "x", pdh([["1"] * 6], paths)) as log:
        assert set(log.samples.collect()["device"].to_list()) == set(names)


def test_unknown_counters_are_left_out_and_told(samples: Path) -> None:
    with reader.read([samples / "perfmon.csv"]) as log:
        devices = set(log.samples.collect()["device"].drop_nulls().to_list())
        assert devices == {"0 C:", "1 D:", "D:", "_Total", "tpcc", "PROD/sales", "WRITELOG"}
        assert [(each.what, each.count) for each in log.notes[0].skipped] == [("counters", 1)]
        assert "_Total" not in {disk.device for disk in system_of(log, limits.load()).devices}


def test_the_total_stands_for_disks_only_where_no_other_was_recorded(tmp_path: Path) -> None:
    paths = [path.replace("1 D:", "_Total") for path in THREE]
    with read(tmp_path / "x", pdh(ROWS, paths)) as log:
        system = system_of(log, limits.load())
        assert [disk.name for disk in system.disks] == ["all disks together"]
        assert "Q7" in {check.rule for check in diagnose(log).checks}


def test_typographic_apostrophes_of_french_names(tmp_path: Path) -> None:
    path = "\\\\H\\disque physique(0 c:)\\taille de file d\u2019attente du disque actuelle"
    with read(tmp_path / "x", pdh([["3"]], [path])) as log:
        assert values(log) == {"outstanding": [3.0]}


def test_excel_saved_it_again(tmp_path: Path) -> None:
    text = pdh(ROWS, times=[time[:16] for time in stamps(4, step_s=60)]).replace('"', "")
    with read(tmp_path / "x", text) as log:
        assert values(log) == EXPECTED
        assert iso(log)[0] == "2026-03-03T02:59:00.000000Z"


def test_a_spreadsheet_removed_the_seconds(tmp_path: Path) -> None:
    times = [time[:16] for time in stamps(10)]
    with read(tmp_path / "x", pdh([("1", "2", "3")] * 10, times=times)) as log:
        # 21:59 has one sample, 22:00 and 22:01 have four each, 22:02 begins.
        seconds = [moment[14:19] for moment in iso(log)]
        assert seconds == ["59:45", "00:00", "00:15", "00:30", "00:45", "01:00", "01:15", "01:30", "01:45", "02:00"]
        assert "no seconds" in str(log.notes[0].value("clock"))


def test_a_spreadsheet_removed_date_and_hour(tmp_path: Path) -> None:
    times = ["59:30.1", "59:45.1", "00:00.2", "00:15.1", "59:59.9", "00:00.0"]
    (tmp_path / "x").write_text(pdh([("1", "2", "3")] * 6, times=times))
    with reader.read([tmp_path / "x"], start_ns=iso_ns("2026-03-02T21:00:00Z")[0]) as log:
        assert [moment[11:21] for moment in iso(log)] == [
            "21:59:30.1", "21:59:45.1", "22:00:00.2", "22:00:15.1", "22:59:59.9", "23:00:00.0",
        ]  # fmt: skip
        assert "removed date and hour" in str(log.notes[0].value("clock"))


def test_a_header_whose_first_cell_was_changed(tmp_path: Path) -> None:
    text = pdh(ROWS[1:], zone="Time", times=["3/2/2026 9:59:45 PM", "3/2/2026 10:00:00 PM", "3/2/2026 10:00:15 PM"])
    for variant in (text, text.replace('"', "")):
        with read(tmp_path / "x", variant) as log:
            assert values(log) == {name: numbers[1:] for name, numbers in EXPECTED.items()}
            assert iso(log)[0] == "2026-03-02T21:59:45.000000Z"


def test_lines_before_the_header_are_told(tmp_path: Path) -> None:
    with read(tmp_path / "x", "sep=,\r\n" + pdh(ROWS)) as log:
        assert values(log) == EXPECTED
        assert [(each.what, each.count) for each in log.notes[0].skipped] == [("lines", 1)]


@pytest.mark.parametrize("layout", ["long", "readings"])
def test_get_counter(tmp_path: Path, layout: str) -> None:
    lines = ['"Path","InstanceName","CookedValue","Timestamp"', *(
        f'"{path.lower()}","1 d:","{value.strip()}","{time}"'
        for time, row in zip(("3/2/2026 9:59:45 PM", "3/2/2026 10:00:00 PM"), ROWS[:2], strict=True)
        for path, value in zip(THREE, row, strict=True)
    )]  # fmt: skip
    if layout == "readings":
        lines = ["#TYPE Microsoft.PowerShell.Commands.GetCounter.PerformanceCounterSampleSet", '"Timestamp","Readings"']
        for time, row in zip(("3/2/2026 9:59:45 PM", "3/2/2026 10:00:00 PM"), ROWS[:2], strict=True):
            text = "\n\n".join(f"{path.lower()} :\n{value.strip()}" for path, value in zip(THREE, row, strict=True))
            lines.append(f'"{time}","{text}\n"')
    with read(tmp_path / "x", "\r\n".join(lines) + "\r\n", "utf-16", zone="-05:00") as log:
        assert values(log) == {name: numbers[:2] for name, numbers in EXPECTED.items()}
        assert iso(log) == ["2026-03-03T02:59:45.000000Z", "2026-03-03T03:00:00.000000Z"]
        assert values(log, "seconds")["outstanding"] == [None, 15.0]


def test_esxtop_keeps_the_three_parts_of_latency(tmp_path: Path) -> None:
    device = r"\\esx1\Physical Disk SCSI Device(naa.600)"
    paths = [
        r"\\esx1\Physical Cpu(_Total)\% Util Time", r"\\esx1\Group Cpu(1:idle)\% Ready",
        rf"{device}\Average Guest MilliSec/Command", rf"{device}\Average Driver MilliSec/Command",
        rf"{device}\Average Kernel MilliSec/Command", rf"{device}\Average Queue MilliSec/Command",
        rf"{device}\Active Commands", rf"{device}\Queued Commands",
        # Both may be there: a device has its own depth, whatever its adapter takes.
        rf"{device}\Adapter Q Depth", rf"{device}\Device Q Depth",
        r"\\esx1\Virtual Disk(db:scsi0:0)\Average MilliSec/Read", r"\\esx1\Virtual Disk(db)\Average MilliSec/Read",
        r"\\esx1\Physical Disk Per-Device-Per-World(naa.600-1)\Active Commands",
    ]  # fmt: skip
    row = ["40", "1", "30", "5", "25", "24", "64", "120", "4096", "64", "0", "2", "9"]
    text = pdh([row], paths, zone="(PDH-CSV 4.0) (UTC)(0)", times=["03/02/2026 22:00:00"])
    with read(tmp_path / "x", text) as log:
        assert log.notes[0].format == "esxtop"
        assert {name: found[0] for name, found in values(log).items()} == {
            "cpu_percent": 40.0, "latency_s": 0.030, "device_latency_s": 0.005, "kernel_latency_s": 0.025,
            "queue_latency_s": 0.024, "outstanding": 64.0, "queued": 120.0, "queue_limit": 64.0, "read_latency_s": None,
        }  # fmt: skip


def test_a_drive_letter_is_a_header_of_nobody(tmp_path: Path) -> None:
    assert START.year == 2026
    with pytest.raises(LogError, match="names no counter"):
        read(tmp_path / "x", '"(PDH-CSV 4.0) (UTC)(0)"\r\n')


@pytest.mark.parametrize(
    ("times", "told"),
    [
        (["05/03/2026 22:00", "05/03/2026 22:01"], 1),
        (["05/23/2026 22:00", "05/23/2026 22:01"], 0),
        (["05/03/2026 22:00:00.000", "05/03/2026 22:01:00.000"], 0),
    ],
)
def test_a_date_that_a_spreadsheet_may_have_turned_is_told(tmp_path: Path, times: list[str], told: int) -> None:
    path = tmp_path / "log"
    path.write_text(pdh([("100", "0.004", "3")] * 2, times=times))
    with reader.read([path]) as log:
        assert sum("month first" in fact.value for fact in log.notes[0].facts) == told


def test_rows_that_are_wider_from_the_middle_on_are_no_line_to_remove(tmp_path: Path) -> None:
    lines = pdh([["10", "0.001", "1"]] * 20).splitlines()
    wider = lines[:11] + [f'{line},"1","2"' for line in lines[11:]]
    log = tmp_path / "log.csv"
    log.write_text("\r\n".join(wider) + "\r\n")
    with pytest.raises(LogError, match="line 12: 6 cells where the header has 4, as in 10 lines") as raised:
        reader.read([log])
    assert "head -n 11" in str(raised.value.remedy)
