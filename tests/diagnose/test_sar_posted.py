"""sar's text as it is posted: without its heading, with parts left out."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from test_linux_logs import facts, values

from fathom.diagnose import log as reader
from fathom.diagnose.clock import Zone, iso_ns
from fathom.diagnose.diagnose import diagnose
from fathom.diagnose.source import LogError

DISKS = """\
12:00:01 AM       DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util
11:40:01 PM       sdb     33.00      0.00   1730.00     52.42      3.04     90.00      6.00     20.00
11:50:01 PM       sdb    320.00  12100.00   1120.00     41.31     15.30     46.00      2.50     81.00
12:00:01 AM       sdb    335.00  12170.00    890.00     38.99     14.77     44.00      2.70     90.00
"""
PROCESSORS = """\
22:00:00        CPU     %user     %nice   %system   %iowait    %steal     %idle
22:00:10        all      3.00      0.00      6.00     41.00      0.00     50.00
22:00:20        all      4.00      0.00      6.00     40.00      0.00     50.00
"""
PAGING = """\
22:00:00     pgpgin/s pgpgout/s   fault/s  majflt/s  pgfree/s pgscank/s pgscand/s pgsteal/s    %vmeff
22:00:10      3150.00   2060.00   8420.00      0.30   8360.00      0.00      0.00      0.00      0.00
22:00:20       620.00   2010.00   9070.00      0.20   9380.00      0.00      0.00      0.00      0.00
"""


def times(path: Path, start: str | None = None, zone: str | None = None) -> list[str]:
    start_ns = iso_ns(start)[0] if start else None
    with reader.read([path], Zone(zone) if zone else None, start_ns=start_ns) as log:
        found = log.samples.select(pl.col("time").unique().sort()).collect()["time"]
        return found.dt.strftime("%Y-%m-%d %H:%M:%S").to_list()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.mark.parametrize("above", ["", "```\n", "Let us see:\n\n"])
def test_blocks_without_a_heading_are_read_and_the_missing_date_is_told(log: Path, above: str) -> None:
    log.write_text(above + DISKS)
    assert values(log, "sdb", "iops") == [33.0, 320.0, 335.0]
    assert times(log) == ["1970-01-01 23:40:01", "1970-01-01 23:50:01", "1970-01-02 00:00:01"]
    assert facts(log, "clock") == [
        "the times have no date (sar without its heading): read as of 1970; --start is better"
    ]
    with reader.read([log]) as found:
        assert found.notes[0].format == "sar"
        assert found.series.filter(pl.col("metric") == "iops")["interval_s"].to_list() == [600.0]


def test_the_day_is_that_of_start(log: Path) -> None:
    log.write_text(DISKS)
    assert times(log, "2026-03-02T20:00:00Z")[0] == "2026-03-02 23:40:01"
    assert times(log, "2026-03-02T23:30:00Z", "Europe/Berlin")[0] == "2026-03-03 22:40:01", "the third there"
    assert "day of --start" in facts(log, "clock", iso_ns("2026-03-02T20:00:00Z")[0])[0]


@pytest.mark.parametrize(("text", "metric"), [(PROCESSORS, "cpu_iowait_percent"), (PAGING, "hard_faults_per_s")])
def test_blocks_of_the_whole_host_are_known_too(log: Path, text: str, metric: str) -> None:
    log.write_text("".join(f"    {line}\n" for line in text.splitlines()))
    with reader.read([log]) as found:
        assert found.series.filter(pl.col("metric") == metric)["samples"].to_list() == [2]


def test_lines_that_were_left_out_make_no_long_interval(log: Path) -> None:
    later = "04:00:01 AM       sdb    100.00   2170.00    890.00     30.60     14.77     44.00      2.70     90.00\n"
    log.write_text(f"{DISKS}...\n{later}")
    with reader.read([log]) as found:
        table = found.samples.filter(pl.col("metric") == "iops").sort("time").collect()
        assert table["seconds"].to_list() == [None, 600.0, 600.0, 600.0]
        assert [(each.what, each.example) for each in found.notes[0].skipped] == [("lines", "line 5: ...")]


def test_times_above_the_heading_are_of_its_day(log: Path) -> None:
    log.write_text(f"{PROCESSORS}Linux 6.1.0 (db1) \t03/02/26 \t_x86_64_\t(4 CPU)\n\n{PAGING}")
    assert times(log) == ["2026-03-02 22:00:10", "2026-03-02 22:00:20"]
    assert any("first times have no date" in each for each in facts(log, "clock"))
    with reader.read([log]) as found:
        assert found.series["host"].unique().cast(str).to_list() == ["db1"]


@pytest.mark.parametrize(
    "text",
    [
        "22:00:00    %usr    %sys    %wio   %idle\n22:00:10       3       6      41      50\n",
        "22:00:00      UID       PID   kB_rd/s   kB_wr/s   Command\n22:00:10        0         1      9.00      9.00\n",
    ],
    ids=["of Solaris", "pidstat"],
)
def test_blocks_of_other_programs_are_not_sar(log: Path, text: str) -> None:
    log.write_text(text * 3)
    with pytest.raises(LogError):
        reader.read([log])


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (["dev8-0", "dev8-2", "dev8-16", "dev8-17", "dev253-1"], {"dev8-0", "dev8-16", "dev253-1"}),
        (["sda", "sda2", "nvme0n1", "nvme0n1p1"], {"sda", "nvme0n1"}),
        (["dev8-1", "dev65-3", "sdb1"], {"dev8-1", "dev65-3", "sdb1"}),
    ],
)
def test_a_partition_beside_its_disk_is_no_disk(log: Path, names: list[str], kept: set[str]) -> None:
    """Without its disk it is what the log has. The names are sar's with -d, by number, and with -dp."""
    head, *_ = DISKS.splitlines()
    cells = "33.00      0.00   1730.00     52.42      3.04     90.00      6.00     20.00"
    rows = [f"{minute:02}:00:01 AM  {name}  {cells}" for minute in range(1, 10) for name in names]
    log.write_text("\n".join([head, *rows, ""]))
    with reader.read([log]) as found:
        assert {each.device for each in diagnose(found).system.disks} == kept


def test_what_a_log_without_disks_holds_is_named(tmp_path: Path) -> None:
    """As of RHEL 4, whose sar writes one column after the other."""
    log = tmp_path / "log"
    rows = "".join(f"07:{minute:02}:15 PM    168.39\n" for minute in range(20))
    log.write_text(f"Linux 2.6.9-42.ELsmp (db1) \t07/29/2011\n\n06:59:15 PM    proc/s\n{rows}")
    with pytest.raises(LogError, match="20 rows: not in the table, as proc/s") as raised:
        reader.read([log])
    assert "record the counters of disks" in str(raised.value.remedy)
