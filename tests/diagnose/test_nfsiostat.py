"""nfsiostat's reports: versions, the report since the mount, times, damage."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from make_nfsiostat import HEALTHY, POINT, SINCE_MOUNT, SLOTS, Load, report, reports
from test_linux_logs import facts, values

from fathom.diagnose import log as reader
from fathom.diagnose.source import LogError

LOADS = [replace(HEALTHY, reads=9001 + 313 * at, writes=4003 + 71 * at) for at in range(5)]
RATES = [each.reads / 5 for each in LOADS]
OLD = """
nas1:/vol/pg mounted on /var/lib/pgsql:

   op/s\t\trpc bklog
{total:7.2f}\t   0.80
read:            ops/s\t\t   kB/s\t\t  kB/op\t\tretrans\t\tavg RTT (ms)\tavg exe (ms)
\t\t{reads:7.3f}\t64097.000\t  8.262       4 (0.1%)\t  0.598\t  2.638
write:           ops/s\t\t   kB/s\t\t  kB/op\t\tretrans\t\tavg RTT (ms)\tavg exe (ms)
\t\t  0.000\t  0.000\t  0.000       0 (0.0%)\t  0.000\t  0.000
"""
"""As nfs-utils before 1.3.1 prints it."""
PAGES = (
    "\n7225640 nfs_readpage() calls read 7225640 pages\n8128720 nfs_readahead() calls read 534632360 pages\n"
    "(65.8 pages per call)\n\n6322560 nfs_updatepage() calls\n16256440 congestion waits\n"
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def skipped(path: Path) -> dict[str, int]:
    with reader.read([path]) as log:
        return {each.why: each.count for each in log.notes[0].skipped}


def times(path: Path, start_ns: int | None = None) -> list[str]:
    with reader.read([path], start_ns=start_ns) as log:
        table = log.samples.filter(pl.col("metric") == "read_iops", pl.col("device") == POINT).sort("time").collect()
    return table["time"].dt.strftime("%Y-%m-%d %H:%M:%S").to_list()


def seconds(path: Path) -> set[float | None]:
    with reader.read([path]) as log:
        return set(log.samples.collect()["seconds"].to_list())


def test_the_sample_of_the_script_itself(samples: Path) -> None:
    """Written by nfs-iostat.py of nfs-utils 2.9.2-rc2 from made-up counters."""
    path = samples / "nfsiostat.txt"
    rates = values(path, POINT, "read_iops")
    assert len(rates) == 12
    assert min(each or 0.0 for each in rates) > 5000
    assert len(values(path, "/backup", "read_iops")) == 12
    assert facts(path, "export") == ["fs-0123456789abcdef0.fsx.eu-central-1.amazonaws.com:/vol1", "10.0.0.9:/backup"]
    assert skipped(path) == {"the mean since the mount, which nfsiostat writes first whenever it is called": 2}
    assert seconds(path) == {5.0}


def test_every_column_in_its_unit(log: Path) -> None:
    log.write_text(reports([replace(SLOTS, again=10, errors=5)] * 3 + LOADS))
    found = {
        metric: values(log, POINT, metric)[0]
        for metric in ("read_iops", "read_bytes_per_s", "read_latency_s", "read_device_latency_s",
                       "read_queue_latency_s", "write_latency_s", "queued_mean", "retransmits_per_s", "failed_per_s")
    }  # fmt: skip
    assert found == pytest.approx({
        "read_iops": 6000.0, "read_bytes_per_s": 6000 * 8.262 * 1024, "read_latency_s": 0.03222,
        "read_device_latency_s": 0.0102, "read_queue_latency_s": 0.022, "write_latency_s": 0.03222,
        # The script divides the backlog by the interval; 10 reads and 10 writes in 5 s.
        "queued_mean": 90.0, "retransmits_per_s": 4.0, "failed_per_s": 2.0,
    }, rel=1e-3)  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"queue": False, "errors": False}, {"errors": False}, {"mega": True}])
def test_versions_and_units(log: Path, options: dict[str, bool]) -> None:
    log.write_text(reports(LOADS, **options))
    assert values(log, POINT, "read_iops") == pytest.approx(RATES)
    assert values(log, POINT, "read_bytes_per_s") == pytest.approx([rate * 8.262 * 1024 for rate in RATES], rel=1e-3)
    assert bool(values(log, POINT, "read_queue_latency_s")) is options.get("queue", True)
    assert bool(values(log, POINT, "failed_per_s")) is options.get("errors", True)


def test_tables_of_old_versions(log: Path) -> None:
    rates = (7.758, 1600.2, 1723.8, 1688.6, 1701.4)
    log.write_text("".join(OLD.format(total=rate, reads=rate) for rate in rates))
    assert values(log, POINT, "read_iops") == list(rates[1:])
    assert values(log, POINT, "read_latency_s")[0] == pytest.approx(0.002638)
    assert values(log, POINT, "queued_mean")[0] == pytest.approx(4.0)
    assert values(log, POINT, "write_latency_s") == [None] * 4, "the mean over no request is missing"


def test_pages_are_left_out_and_reads_are_read(log: Path) -> None:
    log.write_text("".join(text + PAGES for text in (report(SINCE_MOUNT, seconds=86412.0), *map(report, LOADS))))
    assert values(log, POINT, "read_iops") == pytest.approx(RATES)
    assert skipped(log)["not in the table"] == 30


def test_attributes_alone_are_refused_with_what_to_record(log: Path) -> None:
    log.write_text(reports(LOADS).replace("read:  ", "getattr:").replace("write: ", "access:"))
    with pytest.raises(LogError, match="no reads and writes") as raised:
        reader.read([log])
    assert "nfsiostat 5 | ts" in str(raised.value.remedy)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ["", "[root@db1 ~]# nfsiostat 5 6 /var/lib/pgsql\n", "$ sudo nfsiostat 5\n"])
def test_the_first_report_is_since_the_mount(log: Path, before: str, ends: str) -> None:
    log.write_bytes((before + reports(LOADS)).replace("\n", ends).encode())
    assert values(log, POINT, "read_iops") == pytest.approx(RATES)
    assert skipped(log) == {"the mean since the mount, which nfsiostat writes first whenever it is called": 1}
    how = "as the command line in the log says" if before else "which the rates are whole counts of"
    assert facts(log, "clock")[0].endswith(f"every 5 s, {how}")


def test_the_first_report_stays_where_its_figures_are_of_the_interval(log: Path) -> None:
    """Someone cut the log in two."""
    log.write_text("".join(map(report, LOADS)))
    assert values(log, POINT, "read_iops") == pytest.approx(RATES)


def test_a_first_report_of_whole_counts_below_its_command_is_since_the_mount(log: Path) -> None:
    log.write_text("# nfsiostat 5\n" + "".join(map(report, LOADS)))
    assert values(log, POINT, "read_iops") == pytest.approx(RATES[1:])


@pytest.mark.parametrize("calls", [1, 3])
def test_only_the_report_since_the_mount_is_no_sample(log: Path, calls: int) -> None:
    loads = (replace(SINCE_MOUNT, reads=977 + at) for at in range(calls))
    log.write_text("".join(f"# nfsiostat\n{report(each, seconds=86411.0)}" for each in loads))
    with pytest.raises(LogError, match="the mean since the mount"):
        reader.read([log])


def test_a_loop_of_calls_has_one_such_report_each(log: Path) -> None:
    """`while true; do nfsiostat 5 3; done`."""
    pairs = (LOADS[at : at + 2] for at in (0, 2))
    log.write_text("".join(map(reports, pairs)))
    assert values(log, POINT, "read_iops") == pytest.approx(RATES[:4])
    assert skipped(log) == {"the mean since the mount, which nfsiostat writes first whenever it is called": 2}


def test_a_mount_that_comes_later_begins_with_its_own_report_since_the_mount(log: Path) -> None:
    late = [report(replace(SINCE_MOUNT, reads=7), "/late"), *(report(each, "/late") for each in LOADS[2:])]
    late[0] = report(replace(SINCE_MOUNT, reads=7, writes=3), "/late", seconds=31.0)
    parts = [report(SINCE_MOUNT, seconds=86412.0), *map(report, LOADS)]
    log.write_text("".join(parts[:2]) + "".join(a + b for a, b in zip(parts[2:], late, strict=False)))
    assert values(log, POINT, "read_iops") == pytest.approx(RATES)
    assert values(log, "/late", "read_iops") == pytest.approx(RATES[2:])


def test_several_mounts_in_any_order(log: Path) -> None:
    """-s sorts them by their rate."""
    text = report(SINCE_MOUNT, seconds=86412.0) + report(SINCE_MOUNT, "/data", "nas:/data", seconds=86412.0)
    for at, load in enumerate(LOADS):
        pair = [report(load), report(replace(load, reads=load.reads + 1), "/data", "nas:/data")]
        text += "".join(pair if at % 2 else reversed(pair))
    log.write_text(text)
    assert values(log, POINT, "read_iops") == pytest.approx(RATES)
    assert values(log, "/data", "read_iops") == pytest.approx([rate + 0.2 for rate in RATES])


def test_several_connections_are_a_fact(log: Path) -> None:
    """The script prints what the last of them sent."""
    log.write_text(reports([replace(each, connections=4) for each in LOADS]))
    assert facts(log, "connections") == ["at least 4"]


@pytest.mark.parametrize("step", [1, 10, 60])
def test_the_interval_follows_from_the_rates(log: Path, step: int) -> None:
    log.write_text(reports([*LOADS, *(replace(each, reads=each.reads + 17) for each in LOADS)], seconds=step))
    assert seconds(log) == {float(step)}
    assert times(log)[:2] == [str(datetime.fromtimestamp(place * step, UTC))[:19] for place in (2, 3)]


def test_without_figures_the_command_line_tells_the_interval(log: Path) -> None:
    """An idle mount has no rates."""
    idle = Load(0, 0)
    log.write_text("db1:~ # nfsiostat 30\n" + reports([idle, replace(idle, reads=1), idle], seconds=30))
    assert seconds(log) == {30.0}
    assert "as the command line in the log says" in facts(log, "clock")[0]
    assert values(log, POINT, "read_iops") == pytest.approx([0.0, 0.033, 0.0])


def test_without_either_the_interval_is_not_known(log: Path) -> None:
    log.write_text(reports([Load(0, 0)] * 3))
    assert seconds(log) == {None}
    assert "every 1 s, as the log does not say" in facts(log, "clock")[0]


def test_times_count_from_start(log: Path) -> None:
    log.write_text(reports(LOADS))
    start = int(datetime(2026, 3, 2, 22, tzinfo=UTC).timestamp()) * 10**9
    assert times(log, start)[0] == "2026-03-02 22:00:10"


def test_stamps_before_each_line(log: Path) -> None:
    """`nfsiostat 5 | ts '%F %T'`."""
    parts = [report(SINCE_MOUNT, seconds=86412.0), *map(report, LOADS)]
    log.write_text(
        "".join(
            f"2026-03-02 22:00:{5 * at:02d} {line}\n" for at, part in enumerate(parts) for line in part.splitlines()
        )
    )
    assert times(log) == [f"2026-03-02 22:00:{5 * at:02d}" for at in range(1, 6)]
    assert values(log, POINT, "read_iops") == pytest.approx(RATES)


def test_an_editor_that_cuts_blanks_leaves_stamps_alone_on_their_lines(log: Path) -> None:
    text = "".join(
        f"2026-03-02 22:00:{5 * at:02d} {line}".rstrip() + "\n"
        for at, load in enumerate(LOADS) for line in report(load).splitlines()
    )  # fmt: skip
    log.write_text(text)
    assert times(log) == [f"2026-03-02 22:00:{5 * at:02d}" for at in range(5)]
    assert values(log, POINT, "read_iops") == pytest.approx(RATES)


@pytest.mark.parametrize(("before", "length"), [("", 1.0), ("# nfsiostat 5 | tee log\n", 5.0)])
def test_whole_numbers_leave_a_doubt_that_the_command_line_ends(log: Path, before: str, length: float) -> None:
    loads = [Load(5 * (at + 1), 10 * (at + 3)) for at in range(4)]
    log.write_text(before + reports(loads))
    assert seconds(log) == {length}


def test_whole_numbers_leave_a_doubt_that_stamps_end(log: Path) -> None:
    loads = [Load(5 * (at + 1), 10 * (at + 3)) for at in range(4)]
    log.write_text(
        "".join(
            f"2026-03-02 22:00:{5 * at:02d} {line}\n"
            for at, load in enumerate(loads)
            for line in report(load).splitlines()
        )
    )
    assert seconds(log) == {5.0}


@pytest.mark.parametrize(
    ("stamp", "begin"),
    [
        ("Mon Mar  2 22:00:00 UTC 2026", "22:00:05"),
        ("Mon 02 Mar 2026 10:00:00 PM UTC", "22:00:05"),
        ("zzz ***Mon Mar 2 22:00:00 UTC 2026", "22:00:05"),
        ("2026-03-02T22:00:00+01:00", "21:00:05"),
        ("2026-03-02 22:00:00", "22:00:05"),
        ("1772488800", "22:00:05"),
    ],
)
def test_a_time_above_a_call_is_that_of_its_first_report(log: Path, stamp: str, begin: str) -> None:
    log.write_text(f"{stamp}\n{reports(LOADS)}")
    assert times(log)[0] == f"2026-03-02 {begin}"
    assert values(log, POINT, "read_iops") == pytest.approx(RATES)


def test_calls_with_times_of_which_one_has_none(log: Path) -> None:
    log.write_text(f"2026-03-02 22:00:00\n{reports(LOADS)}# nfsiostat 5\n{reports(LOADS)}")
    with pytest.raises(LogError, match="this report has no time, others have"):
        reader.read([log])


@pytest.mark.parametrize("cut", [1, 40, 90, 150, 260, 500])
def test_a_log_that_ends_within_a_report(log: Path, cut: int) -> None:
    whole = reports(LOADS)
    log.write_text(whole[:-cut])
    found = values(log, POINT, "read_iops")
    assert found == pytest.approx(RATES[: len(found)])
    assert len(found) >= 4
    writes = values(log, POINT, "write_iops")
    assert writes == pytest.approx([each.writes / 5 for each in LOADS][: len(writes)])


def test_a_cut_line_is_noted(log: Path) -> None:
    lines = reports(LOADS).splitlines()
    place = max(at for at, line in enumerate(lines) if line.startswith("read:")) + 1
    lines[place] = lines[place][:70]
    log.write_text("\n".join(lines) + "\n")
    assert values(log, POINT, "read_iops") == pytest.approx(RATES[:4])
    assert "not as many numbers as columns: the line was cut" in skipped(log)


def test_numbers_below_no_mount_are_noted(log: Path) -> None:
    text = reports(LOADS)
    log.write_text(text[text.index("read:") :])
    assert values(log, POINT, "read_iops") == pytest.approx(RATES)
    assert skipped(log)["no mount is named above them"] == 2


def test_no_mount_at_all(log: Path) -> None:
    log.write_text("No NFS mount points were found\n")
    with pytest.raises(LogError, match="nfsiostat found no mount"):
        reader.read([log])


def test_heads_without_any_mount(log: Path) -> None:
    log.write_text("           ops/s       rpc bklog\n        1812.220           0.000\n")
    with pytest.raises(LogError, match="nfsiostat found no mount"):
        reader.read([log])


@pytest.mark.parametrize(
    "line", ["I ran nfsiostat 5 minutes ago", "see nfsiostat(8)", "-bash: nfsiostat: command not found"]
)
def test_a_sentence_is_no_command(log: Path, line: str) -> None:
    log.write_text(f"{line}\n" + "".join(map(report, LOADS)))
    assert values(log, POINT, "read_iops") == pytest.approx(RATES)
    assert skipped(log) == {"no reports of nfsiostat": 1}


def test_what_ends_a_recording_is_no_damage(log: Path) -> None:
    log.write_text(reports(LOADS) + "^CCaught ^C... exiting\n")
    assert values(log, POINT, "read_iops") == pytest.approx(RATES)
    assert "no reports of nfsiostat" not in skipped(log)
