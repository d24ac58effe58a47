"""Logs of Linux as people really record them: without times, with stamps of other programs, in every layout."""

from __future__ import annotations

import zipfile
from pathlib import Path

import polars as pl
import pytest

from fathom.diagnose import log as reader
from fathom.diagnose.clock import iso_ns
from fathom.diagnose.source import LogError

HEADING = "Linux 6.1.0 (db1) \t03/02/26 \t_x86_64_\t(8 CPU)\n"
CPU = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n     4.00    0.00    1.00    0.50    0.00   94.50\n"
RATES = ((12.34, 5.67), (0.2, 1.4), (3.0, 0.6), (20.4, 7.8), (1.8, 2.2), (0.0, 0.4))
"""Reads and writes per second: a mean since the start, then whole counts over 5 s."""


def reports(before: str = "") -> str:
    """What `iostat -x 5` prints."""
    lines = [HEADING]
    for reads, writes in RATES:
        lines.append(CPU)
        lines.append("Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util")
        lines.append(f"sda {reads:.2f} {writes:.2f} {reads * 8:.2f} {writes * 8:.2f} 1.00 2.00 0.03 1.00\n")
    text = "\n".join(lines)
    return "".join(f"{before}{line}\n" for line in text.splitlines()) if before else text


def values(path: Path, device: str, metric: str) -> list[float | None]:
    with reader.read([path]) as log:
        table = log.samples.sort("time").filter(pl.col("device") == device, pl.col("metric") == metric).collect()
    return table["value"].to_list()


def facts(path: Path, name: str, start_ns: int | None = None) -> list[str]:
    with reader.read([path], start_ns=start_ns) as log:
        return [fact.value for fact in log.notes[0].facts if fact.name == name]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_iostat_without_times_is_counted_at_the_interval_its_rates_tell(log: Path) -> None:
    log.write_text(reports())
    assert values(log, "sda", "read_iops") == [0.2, 3.0, 20.4, 1.8, 0.0]
    with reader.read([log]) as read:
        table = read.samples.filter(pl.col("metric") == "read_iops").sort("time").collect()
        assert table["seconds"].to_list() == [5.0] * 5
        assert table["time"][0].isoformat() == "2026-03-02T00:00:10+00:00"
        assert any("mean since" in each.why for each in read.notes[0].skipped)
    assert "every 5 s" in facts(log, "clock")[0]


def test_iostat_without_times_begins_where_the_user_says(log: Path) -> None:
    log.write_text(reports())
    start = iso_ns("2026-03-02T22:00:00Z")[0]
    with reader.read([log], start_ns=start) as read:
        assert read.samples.select(pl.col("time").min()).collect().item().isoformat() == "2026-03-02T22:00:10+00:00"
    assert "--start" in facts(log, "clock", start)[0]


def test_rates_that_are_no_counts_tell_no_interval(log: Path) -> None:
    text = reports()
    for number, (reads, writes) in enumerate(RATES):
        text = text.replace(f"sda {reads:.2f} {writes:.2f}", f"sda {60 + 1.37 * number:.2f} {80 + 0.93 * number:.2f}")
    log.write_text(text)
    assert "1 s, as the log does not say" in facts(log, "clock")[0]


@pytest.mark.parametrize("before", ["2026-03-02 22:00:05.123456\t", "2026-03-02T22:00:05+0000 "])
def test_a_stamp_before_each_line_is_the_time(log: Path, before: str) -> None:
    log.write_text(reports(before))
    with reader.read([log]) as read:
        assert read.samples.select(pl.col("time").max()).collect().item().isoformat().startswith("2026-03-02T22:00:05")
        assert not any(each.what == "lines" for each in read.notes[0].skipped)


def test_a_report_without_a_time_among_others_is_an_error(log: Path) -> None:
    table = "\nDevice r/s w/s rkB/s\nsda 1.00 2.00 3.00\n"
    log.write_text(f"{HEADING}\n{CPU}{table}\n03/02/2026 10:00:05 PM\n{CPU}{table}")
    with pytest.raises(LogError, match="this report has no time, others have"):
        reader.read([log])


def test_short_forms_with_the_device_last_are_one_report(log: Path) -> None:
    log.write_text(
        f"{HEADING}\n{CPU}\n     r/s     rkB/s   r_await rareq-sz Device\n    6.90    222.1k     12.58    32.2k sda\n"
        f"\n     w/s     wkB/s   w_await wareq-sz Device\n    1.69      1.5M      9.61   912.0k sda\n"
        f"\n     r/s     rkB/s   r_await rareq-sz Device\n    7.00     10.0k     12.58    32.2k sda\n"
    )
    assert values(log, "sda", "read_bytes_per_s")[-1] == pytest.approx(10.0 * 1024)
    assert values(log, "sda", "write_bytes_per_s") == [pytest.approx(1.5 * 1024 * 1024)]
    assert values(log, "sda", "write_iops") == [pytest.approx(1.69)]


def test_amounts_with_units_of_columns_in_megabytes(log: Path) -> None:
    log.write_text(f"{HEADING}\n{CPU}\nDevice r/s w/s rMB/s %util\nsda 6.00 1.00 512.0k 12.5%\n")
    assert values(log, "sda", "read_bytes_per_s") == [pytest.approx(512 * 1024)]
    assert values(log, "sda", "busy_percent") == [12.5]


@pytest.mark.parametrize(
    "stamp",
    ["03/02/26 22:00:05", "03/02/2026 10:00:05 PM", "2026-03-02 10:00:05 PM", "02.03.2026 22.00.05",
     "2026年03月02日 22时00分05秒", "2026年03月02日 22時00分05秒", "2026년 03월 02일 22시 00분 05초",
     "Time: 22:00:05", "Time: 10:00:05 PM", "Heure : 22:00:05", "時間: 22時00分05秒", "时间\uff1a22时00分05秒"],
)  # fmt: skip
def test_times_of_every_language_are_read_or_told(log: Path, stamp: str) -> None:
    log.write_text(f"{HEADING}\n{stamp}\n{CPU}\nDevice r/s w/s rkB/s\nsda 6.00 1.00 9.00\n")
    with reader.read([log]) as read:
        assert read.samples.collect()["time"][0].isoformat() == "2026-03-02T22:00:05+00:00"


@pytest.mark.parametrize("stamp", ["11/21/26 22:00:05", "21/11/2026 22:00:05", "21.11.26 22:00:05"])
def test_days_beyond_the_twelfth_tell_the_order(log: Path, stamp: str) -> None:
    log.write_text(f"{HEADING}\n{stamp}\n{CPU}\nDevice r/s w/s rkB/s\nsda 6.00 1.00 9.00\n")
    with reader.read([log]) as read:
        assert read.samples.collect()["time"][0].isoformat() == "2026-11-21T22:00:05+00:00"


def test_times_without_a_date_go_on_into_the_next_day(log: Path) -> None:
    rows = [f"Time: {time}\n{CPU}\nDevice r/s w/s rkB/s\nsda 6.00 1.00 9.00\n" for time in ("23:59:55", "00:00:05")]
    log.write_text("\n".join((HEADING, *rows)))
    with reader.read([log]) as read:
        assert read.samples.collect()["time"].max().isoformat() == "2026-03-03T00:00:05+00:00"


def test_a_heading_whose_date_nobody_can_read_takes_no_report_away(log: Path) -> None:
    log.write_text(reports().replace("03/02/26", "Monday 02 March 2026"))
    assert values(log, "sda", "read_iops") == [0.2, 3.0, 20.4, 1.8, 0.0]
    assert "no date can be read" in facts(log, "clock")[0]


def test_a_date_that_may_be_either_is_told(log: Path) -> None:
    log.write_text(f"{HEADING}\n03/02/26 22:00:05\n{CPU}\nDevice r/s w/s rkB/s\nsda 6.00 1.00 9.00\n")
    assert "month first" in facts(log, "note")[0]


def test_a_second_number_beyond_twelve_leaves_no_doubt(log: Path) -> None:
    rows = (f"{day}/26 22:00:05\n{CPU}\nDevice r/s w/s rkB/s\nsda 6.00 1.00 9.00\n" for day in ("03/02", "03/15"))
    log.write_text("\n".join((HEADING, *rows)))
    assert facts(log, "note") == []


def test_lines_of_several_hosts_are_read_host_by_host(log: Path) -> None:
    """As pdsh and clush print them, line by line in any order."""
    hosts = []
    for number, name in enumerate(("db1", "db2")):
        lines = reports().replace("db1", name).replace("sda 3.00", f"sda 3{number}.00").splitlines()
        hosts.append([f"{name}: {line}\n" for line in lines])
    log.write_text("".join(line for pair in zip(*hosts, strict=True) for line in pair))
    with reader.read([log]) as read:
        table = read.samples.filter(pl.col("metric") == "read_iops").sort("host", "time").collect()
        found = {str(host): group["value"].to_list() for (host,), group in table.group_by("host")}
        assert found == {"db1": [0.2, 30.0, 20.4, 1.8, 0.0], "db2": [0.2, 31.0, 20.4, 1.8, 0.0]}
        assert not any(each.what == "lines" for each in read.notes[0].skipped)


MEAN = "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util"


def test_means_since_the_start_written_again_and_again_are_no_samples(log: Path) -> None:
    """`while sleep 5; do iostat -x; done`: however slow the disk is now, the means hardly move."""
    rows = (
        f"sda {412.1 - n / 50:.2f} 35.12 3300.00 {280 + n / 10:.2f} 9.{80 + n // 5} 4.11 4.20 61.00" for n in range(30)
    )
    log.write_text("\n".join(f"{HEADING}\n{CPU}\n{MEAN}\n{row}\n" for row in rows))
    with pytest.raises(LogError, match="mean since the machine's start"):
        reader.read([log])


def test_a_report_per_heading_over_an_interval_is_a_sample(log: Path) -> None:
    """`while true; do iostat -xy 1 1; done`: one report per heading, each of its own second."""
    again = [
        f"{HEADING}\n{CPU}\n{MEAN}\nsda {rate:.2f} 0.00 9.00 0.00 1.00 0.00 0.03 1.00\n" for rate in (6, 29, 3, 17)
    ]
    log.write_text("\n".join(again))
    assert values(log, "sda", "read_iops") == [6.0, 29.0, 3.0, 17.0]
    with reader.read([log]) as read:
        assert read.samples.select(pl.col("time").n_unique()).collect().item() == 4


def test_stamps_tell_the_mean_since_the_start_although_some_intervals_are_long(log: Path) -> None:
    rates = (2.37, 0.0, 6.0, 2.0, 1.54, 4.0, 57.61, 6.0, 2.02, 4.0, 8.0, 2.0)
    rows = [
        f"Time: 22:00:{number:02}\nDevice: r/s w/s rsec/s await\nsda 0.00 {rate:.2f} 0.00 9.00\n"
        for number, rate in enumerate(rates)
    ]
    log.write_text("\n".join((HEADING, *rows)))
    assert values(log, "sda", "write_iops") == list(rates[1:])


def test_a_long_name_has_a_line_of_its_own_before_version_11(log: Path) -> None:
    row = "mapper-data-of-the-shop\n                  6.00 1.00 9.00\n"
    log.write_text(f"{HEADING}\n{CPU}\nDevice: r/s w/s rkB/s\n{row}sdb 7.00 1.00 9.00\nlonely\n")
    assert values(log, "mapper-data-of-the-shop", "read_iops") == [6.0]
    assert values(log, "sdb", "read_iops") == [7.0]
    with reader.read([log]) as read:
        assert "lonely" in next(str(each.example) for each in read.notes[0].skipped if "numbers" in each.why)


def test_blocks_of_old_iostat_are_sectors(log: Path) -> None:
    log.write_text(f"{HEADING}\n{CPU}\nDevice: tps Blk_read/s Blk_wrtn/s Blk_read Blk_wrtn\nsda 6.00 8.00 0.00 9 9\n")
    assert values(log, "sda", "read_bytes_per_s") == [4096.0]


def test_partitions_count_only_where_their_disk_is_not_listed(log: Path) -> None:
    rows = "".join(f"{name} 6.00 1.00 9.00\n" for name in ("sda", "sda1", "sdb1"))
    log.write_text(f"{HEADING}\n{CPU}\nDevice r/s w/s rkB/s\n{rows}")
    with reader.read([log]) as read:
        found = set(read.samples.collect()["device"].drop_nulls().cast(pl.String).to_list())
    assert found == {"sda", "sdb1"}


def test_latency_of_nothing_is_missing_in_old_iostat(log: Path) -> None:
    head = "Device: r/s w/s avgrq-sz avgqu-sz await svctm %util"
    log.write_text(f"{HEADING}\n{CPU}\n{head}\nsda 0.00 0.00 0.00 0.00 0.00 0.00 0.00\n")
    assert values(log, "sda", "latency_s") == [None]
    assert values(log, "sda", "size_bytes") == [None]


DISKS = "   8 0 sda {reads} 0 {sectors} 90 5 0 40 10 2 50 100\n   8 1 sda1 9 0 9 9 9 9 9 9 9 9 9\n"


@pytest.mark.parametrize("stamp", ["TS 177250{n}00.2500 2026-03-02 22:00:00", "177250{n}00.25", "TS 177250{n}00.25"])
@pytest.mark.parametrize("behind", [False, True])
def test_copies_of_diskstats_with_times_before_or_behind(log: Path, stamp: str, *, behind: bool) -> None:
    text = ""
    for n in range(10, 14):
        copy, time = DISKS.format(reads=100 * n, sectors=1600 * n), stamp.format(n=n) + "\n"
        text += copy + time if behind else time + copy
    log.write_text(text)
    assert values(log, "sda", "read_iops") == [1.0] * 3
    assert values(log, "sda1", "read_iops") == []


def test_a_cut_copy_behind_which_no_time_stands_is_told(log: Path) -> None:
    copies = [DISKS.format(reads=n, sectors=n) for n in range(1, 6)]
    log.write_text("".join(f"{copy}17725000{n}0\n" for n, copy in enumerate(copies[:4])) + copies[4])
    with reader.read([log]) as read:
        assert [each.what for each in read.notes[0].skipped] == ["copies"]


def test_partitions_alone_are_read(log: Path) -> None:
    lines = "".join(f"TS 17725000{n}0\n8 3 nvme0n1p3 {n}0 0 0 0 0 0 0 0 0 0 0\n" for n in range(1, 4))
    log.write_text(lines)
    assert values(log, "nvme0n1p3", "read_iops") == [1.0, 1.0]


@pytest.mark.parametrize(
    ("stamp", "first"),
    [("1772488805", "2026-03-02T22:00:05"), ("2026-03-02 22:00:05 CET", "2026-03-02T22:00:05"),
     ("2026-03-02 22:00:05 UTC", "2026-03-02T22:00:05")],
)  # fmt: skip
def test_stamps_of_sadf(log: Path, stamp: str, first: str) -> None:
    names = "# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;areq-sz;aqu-sz;await;%util"
    log.write_text(f"{names}\ndb1;5;{stamp};sda;4.00;1.00;2.00;3.00;0.10;0.50;1.00\n")
    with reader.read([log]) as read:
        assert read.samples.select(pl.col("time").min()).collect().item().isoformat().startswith(first)


def test_sar_before_version_9_has_a_short_heading(log: Path) -> None:
    """RHEL 5: no architecture, no processors, sectors instead of kilobytes, twelve hours, a restart."""
    log.write_text(
        "Linux 2.6.18-308.el5 (ora1) \t03/02/2026\n\n"
        "11:50:01 PM       DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util\n"
        "11:55:01 PM   dev8-16    400.00   4800.00   1600.00     16.00      2.40      6.00      1.00     40.00\n"
        "12:05:01 AM   dev8-16    200.00   2400.00    800.00     16.00      1.20      6.00      1.00     20.00\n"
        "Average:      dev8-16    300.00   3600.00   1200.00     16.00      1.80      6.00      1.00     30.00\n"
    )
    assert values(log, "dev8-16", "iops") == [400.0, 200.0]
    assert values(log, "dev8-16", "read_bytes_per_s") == [4800.0 * 512, 2400.0 * 512]
    with reader.read([log]) as read:
        times = read.samples.select(pl.col("time").unique().sort()).collect()["time"].dt.strftime("%d %H:%M:%S")
        assert times.to_list() == ["02 23:55:01", "03 00:05:01"]
        assert [fact.name for fact in read.notes[0].facts if fact.subject] == ["os"]


@pytest.mark.parametrize("means", ["Average:", "Durchschn.:", "Moyenne :"])
@pytest.mark.parametrize(("first", "second"), [("04:03:05", "04:03:06"), ("11:59:01 PM", "12:00:01 AM")])
@pytest.mark.parametrize("cpu", ["", "04:03:04  CPU  %user  %idle\n04:03:05  all  1.00  99.00\n\n"])
def test_the_means_at_the_end_of_sar_are_no_lines_of_a_host_of_iostat(
    log: Path, means: str, first: str, second: str, cpu: str
) -> None:
    """`Average: DEV tps ...` has the columns of iostat behind what looks like a host of pdsh."""
    names = "DEV  tps  rkB/s  wkB/s  areq-sz  aqu-sz  await  %util"
    numbers = "vda  {}  8.00  8.00  8.00  0.01  0.50  0.10"
    log.write_text(
        f"Linux 6.1.0 (db1) \t11/23/26 \t_x86_64_\t(2 CPU)\n\n{cpu}{first}  {names}\n"
        f"{first}  {numbers.format(2)}\n{second}  {numbers.format(4)}\n\n"
        f"{means}  {names}\n{means}  {numbers.format(3)}\n"
    )
    assert values(log, "vda", "iops") == [2.0, 4.0]
    with reader.read([log]) as read:
        assert (read.notes[0].format, read.notes[0].skipped) == ("sar", [])


def test_sar_of_rhel_4_has_blocks_of_one_column(log: Path) -> None:
    counts = "".join(f"0{number}:00:01 PM    1.00\n" for number in range(1, 9))
    log.write_text(
        f"Linux 2.6.9-42.ELsmp (ora1) \t03/02/2026\n\n12:00:01 PM    proc/s\n{counts}Average:        1.00\n\n"
        "12:00:01 PM       DEV       tps  rd_sec/s  wr_sec/s\n01:00:01 PM    dev8-0     18.00      8.00      0.00\n"
    )
    assert values(log, "dev8-0", "iops") == [18.0]
    with reader.read([log]) as read:
        assert [(each.what, each.count, each.example) for each in read.notes[0].skipped] == [("rows", 8, "proc/s")]


def test_blocks_of_one_column_may_fill_the_head_of_a_sar_log(log: Path) -> None:
    counts = "01:00:01 PM    1.00\n" * 5000
    log.write_text(
        f"Linux 2.6.9-42.ELsmp (ora1) \t03/02/2026\n\n12:00:01 PM    proc/s\n{counts}\n"
        "12:00:01 PM       DEV       tps  rd_sec/s  wr_sec/s\n01:00:01 PM    dev8-0     18.00      8.00      0.00\n"
    )
    assert values(log, "dev8-0", "iops") == [18.0]


@pytest.mark.parametrize("form", ["{}時{}分{}秒", "{}.{}.{}", "{}:{}:{}"])
def test_times_of_sar_in_other_languages(log: Path, form: str) -> None:
    log.write_text(
        f"Linux 2.6.18 (db1) \t2026年03月02日\n\n{form.format(22, '00', '00')}  DEV  tps  rd_sec/s  wr_sec/s\n"
        f"{form.format(22, '00', 10)}  dev8-0  18,00  8,00  0,00\n"
    )
    with reader.read([log]) as read:
        assert read.samples.select(pl.col("time").max()).collect().item().isoformat() == "2026-03-02T22:00:10+00:00"


def test_sar_with_units(log: Path) -> None:
    log.write_text(
        "Linux 6.1.0 (db1) \t2026-03-02 \t_x86_64_\t(8 CPU)\n\n"
        "22:00:00          tps     rkB/s     wkB/s  areq-sz    aqu-sz     await     %util DEV\n"
        "22:00:10        10.00      2.0M    512.0k    16.0k      0.10      0.50     12.5% sda\n"
    )
    assert values(log, "sda", "read_bytes_per_s") == [2 * 1024 * 1024]
    assert values(log, "sda", "busy_percent") == [12.5]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x96\xd5\x75\x21" + bytes(60), "sadf -j FILE"),
        (b"7z\xbc\xaf'\x1c" + bytes(60), "unpack it"),
        (b"AAA,progname,topas_nmon\nAAA,command,nmon\n", "fathom record"),
        (b"procs -----------memory---------- ---swap--\n r  b   swpd   free\n 1  0      0   9\n", "iostat -xty 1"),
        (b"pgbench (15.4)\ntransaction type: <builtin: TPC-B (sort of)>\ntps = 2000.1\n", "-P 1"),
        (b"          disk0           disk1       cpu     load average\n    KB/t tps  MB/s\n", "on Linux, record"),
        (b"Histogram: IO lengths of commands,virtual machine worldGroupID,2099979\nmin,512\n", "vscsiStats -s -t"),
        (b"AIX host 2 7 00F9 04/20/20\n", "--formats"),
        (b"<?xml version='1.0'?>\n<sysstat/>\n", "sadf -j FILE"),
    ],
    ids=lambda value: repr(value)[:12],
)
def test_files_that_are_no_logs_here_say_what_to_do(log: Path, content: bytes, words: str) -> None:
    log.write_bytes(content)
    with pytest.raises(LogError) as error:
        reader.read([log])
    assert words in str(error.value.remedy)


def test_an_archive_of_one_log_is_unpacked_and_one_of_several_is_not(log: Path) -> None:
    with zipfile.ZipFile(log, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("__MACOSX/._iostat.txt", "x")
        archive.writestr("iostat.txt", reports())
    assert values(log, "sda", "read_iops") == [0.2, 3.0, 20.4, 1.8, 0.0]
    with zipfile.ZipFile(log, "a") as archive:
        archive.writestr("second.txt", "x")
    with pytest.raises(LogError, match="archive of several files"):
        reader.read([log])


def test_a_damaged_archive_is_an_error(log: Path) -> None:
    with zipfile.ZipFile(log, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("iostat.txt", reports())
    log.write_bytes(log.read_bytes()[:-30])
    with pytest.raises(LogError, match="damaged"):
        reader.read([log])


def test_a_heading_as_wide_as_the_table_above_it_is_no_row(log: Path) -> None:
    """Rows are recognised before all else, as most lines are rows: sysstat before version 9 writes four words."""
    heading = "Linux 2.6.18-8 (db{}) \t03/02/2026\n\n"
    table = "Time: 22:00:{:02d}\nDevice: tps kB_read/s kB_wrtn/s\nsda {}.00 80.00 40.00\n"
    parts = [heading.format(host) + "\n".join(table.format(5 * k, 10 + k) for k in range(6)) for host in (1, 2)]
    log.write_text("".join(parts))
    with reader.read([log]) as read:
        assert set(read.series["host"]) == {"db1", "db2"}
        assert set(read.series["device"]) == {"sda"}


def test_means_of_no_requests_are_missing_and_others_are_not(log: Path) -> None:
    lines = [HEADING]
    for place in range(6):
        reads = 0 if place % 2 else 100
        lines.append(
            f"2026-03-02T08:00:{5 * place:02d}+0000\nDevice r/s w/s r_await w_await areq-sz\n"
            f"sda {reads}.00 0.00 {0.5 if reads else 0:.2f} 0.00 {8 if reads else 0}.00\n"
        )
    log.write_text("\n".join(lines))
    assert values(log, "sda", "read_latency_s")[-4:] == [0.0005, None, 0.0005, None]
    assert set(values(log, "sda", "write_latency_s")) == {None}
    assert values(log, "sda", "size_bytes")[-4:] == [8192.0, None, 8192.0, None]
