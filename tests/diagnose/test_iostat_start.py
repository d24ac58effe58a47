"""Means since the machine's start are told from intervals: by figures, and by the command line above the reports."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from test_linux_logs import HEADING, facts, values

from fathom.diagnose import log as reader
from fathom.diagnose.iostat_command import Command, command_of
from fathom.diagnose.source import LogError

HEAD = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util\n"


def report(merges: float, reads: float, writes: float, device: str = "sda") -> str:
    return f"{HEAD}{device} 0.00 {merges:.2f} {reads:.2f} {writes:.2f} 9.00 900.00 11.31 0.94 11.27 10.02 90.04\n\n"


SINCE_START = report(4.31, 0.04, 9.87)
INTERVALS = report(43.0, 0.0, 94.0) + report(31.0, 0.0, 71.0) + report(52.0, 0.0, 88.0)
LATE = report(0.0, 0.0, 412.38) + report(0.0, 0.0, 397.03)
"""Intervals that some milliseconds made longer: no whole counts."""


def writes(path: Path) -> list[float | None]:
    return values(path, "sda", "write_iops")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("[root@db1 log]# iostat -xzd 1", Command("iostat -xzd 1", 1, False, True)),
        ("mdc@db1:~$ iostat -xkm 5 3 nvme0n1", Command("iostat -xkm 5 3 nvme0n1", 5, False, False)),
        ("- `iostat -x 1 /dev/sda`", Command("iostat -x 1 /dev/sda", 1, False, False)),
        ("$ sudo S_TIME_FORMAT=ISO iostat -xty 10", Command("iostat -xty 10", 10, True, False)),
        ("iostat -x 2 screenshot:", Command("iostat -x 2", 2, False, False)),
        ("# sudo iostat -x", Command("iostat -x", None, False, False)),
        ("$ iostat --pretty -p sda 5 | tee log", Command("iostat --pretty -p sda 5", 5, False, False)),
        ("I ran iostat 2 days ago", None),
        ("see iostat -x for that", None),
        ("zpool iostat -y data3 1", None),
        ("less iostat.txt", None),
    ],
)
def test_command_lines_as_people_paste_them(line: str, command: Command | None) -> None:
    assert command_of(line) == command


def test_merges_tell_the_interval_too(log: Path) -> None:
    log.write_text(SINCE_START + INTERVALS)
    assert writes(log) == [94.0, 71.0, 88.0]
    assert facts(log, "clock")[0].endswith("every 1 s, which the rates are whole counts of")


def test_rates_far_lower_than_the_others_are_of_more_time(log: Path) -> None:
    log.write_text(SINCE_START + LATE)
    assert writes(log) == [412.38, 397.03]


@pytest.mark.parametrize("command", ["$ iostat -x 2\n", "iostat -x 2 screenshot:\n"])
def test_the_interval_is_that_of_the_command_line(log: Path, command: str) -> None:
    log.write_text(command + report(40.0, 65.5, 469.0) + report(19.5, 350.5, 413.5) + report(269.0, 395.0, 365.0))
    assert facts(log, "clock")[0].endswith("every 2 s, as `iostat -x 2` in the log says")
    assert writes(log) == [469.0, 413.5, 365.0], "those above may have been left out"


def test_figures_that_exclude_the_command_line_s_interval_win(log: Path) -> None:
    log.write_text("$ iostat -x 5\n" + "".join(report(0.0, 900.0 + 7 * each, 800.0 + 3 * each) for each in range(20)))
    assert facts(log, "clock")[0].endswith("every 1 s, which the rates are whole counts of")


@pytest.mark.parametrize(
    ("command", "heading", "first", "kept"),
    [
        ("# iostat -xd 1\n", HEADING, report(80.9, 61.3, 117.4), 3),
        ("# iostat -xdy 1\n", HEADING, report(80.9, 61.3, 117.4), 4),
        ("# iostat -xd 1\n", "", report(80.9, 61.3, 117.4), 4),
        ("# iostat -xd 1\n", "", SINCE_START, 3),
        ("# iostat -xd 1\n", HEADING, report(80.0, 61.0, 117.0), 4),
    ],
    ids=["from its heading", "-y", "perhaps a later one", "low rates", "an interval's counts"],
)
def test_the_first_report_below_a_command_line_without_y(
    log: Path, command: str, heading: str, first: str, kept: int
) -> None:
    log.write_text(command + heading + first + LATE + report(0.0, 0.0, 402.91))
    assert len(writes(log)) == kept


def test_a_second_command_line_begins_another_recording(log: Path) -> None:
    log.write_text(f"$ iostat -x 1\n{HEADING}{SINCE_START}{INTERVALS}$ iostat -x 1\n{HEADING}{SINCE_START}{INTERVALS}")
    assert writes(log) == [94.0, 71.0, 88.0, 94.0, 71.0, 88.0]


@pytest.mark.parametrize(
    "text",
    [
        report(0.67, 0.01, 0.71) + "\n",
        f"# sudo iostat -x\n{report(0.85, 1.77, 0.68)}",
        f"[user@db1 ~]$ iostat -x 1\n{report(5.94, 1.28, 2.75)}",
        f"iostat -x 1 5\n{HEADING}{report(10.39, 81.3, 122.3)}",
        "Device: tps Blk_read/s Blk_wrtn/s Blk_read Blk_wrtn\nsda 15.06 12.69 338.22 5812034 154912064\n",
    ],
    ids=["low rates", "no interval", "low rates below a command", "from its heading", "amounts"],
)
def test_the_mean_since_the_start_alone_is_no_sample(log: Path, text: str) -> None:
    log.write_text(text)
    with pytest.raises(LogError, match="the mean since the machine's start; record with `iostat -xty 1`"):
        reader.read([log])


HALVES = HEAD + "".join(
    f"{name} 0.00 0.00 {rate:.2f} {rate + 3:.2f} 9.00 900.00 11.31 0.94 11.27 10.02 90.04\n"
    for name, rate in (("sda", 13.5), ("sdb", 24.0), ("sdc", 3.5), ("sdd", 9.5))
)


@pytest.mark.parametrize("behind", ["", "\navg-cpu:  %user   %nice %system %iowait  %steal   %idle\n", f"\n{HEAD}"])
def test_one_report_of_an_interval_is_a_sample_whatever_was_cut_behind_it(log: Path, behind: str) -> None:
    log.write_text(HALVES + behind)
    assert writes(log) == [16.5]
    with reader.read([log]) as found:
        assert found.samples.select(pl.col("seconds").unique()).collect().to_series().to_list() == [2.0]
    assert facts(log, "clock")[0].endswith("every 2 s, which the rates are whole counts of")


def test_one_report_of_unknown_length_has_none(log: Path) -> None:
    log.write_text(report(0.0, 5000.37, 4000.21))
    assert facts(log, "clock")[0].endswith("--start is better")
