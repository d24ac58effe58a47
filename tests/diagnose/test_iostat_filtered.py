"""iostat's reports that grep, awk or -z left incomplete, and devices whose time the kernel does not count."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from test_linux_logs import HEADING, facts, values

from fathom.diagnose import log as reader
from fathom.diagnose.source import LogError

HEAD = "Device            r/s     w/s     rkB/s     wkB/s r_await w_await aqu-sz  %util\n"


def row(reads: float, device: str = "nvme0n1") -> str:
    return f"{device}   {reads:.2f}   10.00   {reads * 8:.2f}   80.00   0.50   0.25   0.40   61.20\n"


def times(path: Path) -> list[str]:
    with reader.read([path]) as log:
        found = (
            log.samples.filter(pl.col("metric") == "read_iops").sort("time").select("time").unique(maintain_order=True)
        )
        return found.collect()["time"].dt.strftime("%H:%M:%S").to_list()


def skipped(path: Path) -> dict[str, str | None]:
    with reader.read([path]) as log:
        return {each.why: each.example for each in log.notes[0].skipped}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.mark.parametrize("heading", ["", HEADING])
def test_a_device_that_comes_again_under_one_head_begins_the_next_report(log: Path, heading: str) -> None:
    """`iostat -x 1 | grep -E 'Linux|Device|nvme' | awk '!/Device/ || !n++'`."""
    pairs = ((830.0, 415.0), (912.0, 456.0), (877.0, 433.0))
    log.write_text(heading + HEAD + "".join(row(one) + row(two, "nvme1n1") for one, two in pairs))
    assert values(log, "nvme0n1", "read_iops") == [one for one, _ in pairs]
    assert values(log, "nvme1n1", "read_iops") == [two for _, two in pairs]
    assert len(times(log)) == 3


def test_rows_of_one_head_have_the_stamps_before_them(log: Path) -> None:
    stamps = ("2026-03-02 22:00:00", "2026-03-02 22:00:05", "2026-03-02 22:00:10")
    text = "".join(f"{stamp} {row(800.0 + place)}" for place, stamp in enumerate(stamps))
    log.write_text(f"                    {HEAD}{text}")
    assert times(log) == ["22:00:00", "22:00:05", "22:00:10"]
    assert facts(log, "clock") == []


@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_times_that_grep_left_above_rows_of_one_head_are_theirs(log: Path, between: str) -> None:
    rows = (f"03/02/2026 10:00:{5 * place:02d} PM{between}{row(800.0 + place)}" for place in range(4))
    log.write_text(HEAD + "".join(rows))
    assert times(log) == ["22:00:00", "22:00:05", "22:00:10", "22:00:15"]
    assert "no reports of iostat" not in skipped(log)


def test_no_line_of_another_program_is_a_row_of_a_table_above_it(log: Path) -> None:
    log.write_text(HEADING + HEAD + row(800.0) + "\n" + row(900.0, "eth0") + "\n" + HEAD + row(810.0))
    with reader.read([log]) as found:
        assert set(found.series["device"].cast(str)) == {"nvme0n1"}
    assert "no reports of iostat" in skipped(log)


@pytest.mark.parametrize("before", ["", "2026-03-02 22:00:00 ", "  "])
@pytest.mark.parametrize("device", ["nvme0n1", "sda", "dm-3", "md127"])
def test_rows_without_any_head_are_refused(log: Path, before: str, device: str) -> None:
    log.write_text((before + row(800.0, device)) * 40)
    with pytest.raises(LogError, match="rows of iostat without the head") as raised:
        reader.read([log])
    assert "grep -E 'Device|nvme0n1'" in str(raised.value.remedy)


def idle(before: str = "", gaps: str = HEAD + "\n") -> str:
    """Two busy reports, three of no device, and two more, as `iostat -xzd 1` prints them."""
    busy = "".join(f"{HEAD}{row(rate)}\n" for rate in (800.0, 33.0))
    return f"{before}{busy}{gaps * 3}{busy}"


def test_reports_of_no_device_are_idle_intervals(log: Path) -> None:
    log.write_text(idle(HEADING))
    assert values(log, "nvme0n1", "read_iops") == [800.0, 33.0, 0.0, 0.0, 0.0, 800.0, 33.0]
    assert values(log, "nvme0n1", "busy_percent")[2:5] == [0.0] * 3
    assert values(log, "nvme0n1", "read_latency_s")[2:5] == [None] * 3


def test_of_several_devices_those_left_out_are_idle_too(log: Path) -> None:
    log.write_text(idle(f"{HEADING}\n{HEAD}{row(7.0)}{row(3.0, 'sdb')}\n"))
    assert values(log, "sdb", "read_iops") == [3.0, *[0.0] * 7]
    without = idle(f"{HEADING}\n{HEAD}{row(7.0)}{row(3.0, 'sdb')}\n", gaps="")
    log.write_text(without)
    assert values(log, "sdb", "read_iops") == [3.0], "without -z sdb may have been removed"
    log.write_text(f"# iostat -xzyd 1\n{without}")
    assert values(log, "sdb", "read_iops") == [3.0, *[0.0] * 4]


def test_a_damaged_or_cut_report_is_no_idle_interval(log: Path) -> None:
    damaged = row(20.0).replace("61.20", "61.2o")
    log.write_text(idle(HEADING, gaps=f"{HEAD}{damaged}\n"))
    assert values(log, "nvme0n1", "read_iops") == [800.0, 33.0, *[None] * 3, 800.0, 33.0]
    log.write_text(idle(HEADING, gaps="") + HEAD)
    assert values(log, "nvme0n1", "read_iops") == [800.0, 33.0, 800.0, 33.0]


def untimed(await_ms: float, busy: float, rate: float = 400.0) -> str:
    """A mirror and its disk, which takes the time."""
    mirror = f"md0 0.00 {rate:.2f} 0.00 {rate * 16:.2f} 0.00 {await_ms:.2f} 0.00 {busy:.2f}\n"
    return HEADING + "".join(f"\n{HEAD}{mirror}{row(100.0 + place)}" for place in range(20))


def test_a_device_that_takes_no_time_has_no_latency_queue_or_busy_time(log: Path) -> None:
    log.write_text(untimed(0.0, 0.0))
    assert values(log, "md0", "write_iops") == [400.0] * 20
    for metric in ("read_latency_s", "write_latency_s", "outstanding_mean", "busy_percent"):
        assert values(log, "md0", metric) == []
        assert len(values(log, "nvme0n1", metric)) == 20
    assert next(example for why, example in skipped(log).items() if "record the disks below" in why) == "md0"


@pytest.mark.parametrize(("await_ms", "busy", "rate"), [(0.02, 0.0, 400.0), (0.0, 0.4, 400.0), (0.0, 0.0, 0.2)])
def test_a_device_that_takes_little_time_or_does_little_keeps_it(
    log: Path, await_ms: float, busy: float, rate: float
) -> None:
    log.write_text(untimed(await_ms, busy, rate))
    assert len(values(log, "md0", "write_latency_s")) == 20
