"""Causes that show in a part of the time, or in two logs together: what a mean over the whole log hides."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from make_iostat import Disk, disk, iostat
from make_pdh import pdh, stamps
from test_elsewhere import COUNT as LOOKS
from test_elsewhere import sql_server
from test_starved import COUNT, SLOW, noise, written
from test_surroundings import diagnosed

from fathom.diagnose.diagnose import Diagnosis, Outcome
from fathom.finding import Severity

FEW = (np.arange(COUNT) >= 40) & (np.arange(COUNT) < 60)


def guest_and_host(path: Path, through: float, ready: float = 2.0) -> Diagnosis:
    """A guest with 200 requests outstanding in the slow time, of which so many are at its virtual disk at once."""
    iops = np.where(SLOW, 20_000.0, 4000.0)
    host = written(
        path / "esx",
        "esx1",
        {
            r"Virtual Disk(sql01:scsi0:1)\Reads/sec": iops * noise(3, 0.01),
            r"Virtual Disk(sql01:scsi0:1)\Average MilliSec/Read": np.where(SLOW, through / 20, 0.8) * noise(4, 0.01),
            r"Group Cpu(71:sql01)\% Run": np.full(COUNT, 180.0),
            r"Group Cpu(71:sql01)\% Ready": np.full(COUNT, ready),
        },
    )
    guest = written(
        path / "guest",
        "SQL01",
        {
            r"PhysicalDisk(1 E:)\Disk Reads/sec": iops * noise(5, 0.01),
            r"PhysicalDisk(1 E:)\Avg. Disk sec/Read": np.where(SLOW, 0.01, 0.0009) * noise(6, 0.01),
        },
    )
    return diagnosed(host, guest)


@pytest.mark.parametrize(("through", "rule"), [(32.0, "D1"), (64.0, "D1"), (44.0, None)])
def test_what_a_guest_lets_through_tells_its_queue(tmp_path: Path, through: float, rule: str | None) -> None:
    found = guest_and_host(tmp_path, through)
    assert (found.verdict.rule == "D1") == (rule == "D1"), found.verdict
    if rule == "D1":
        assert f"is full: it lets {through:.0f} requests through" in found.verdict.sentence
        assert "200 requests are outstanding in the guest" in found.findings[0].evidence[0].sentence
        assert "PVSCSI" in found.findings[0].remedies[0].action


def perfmon(path: Path, latency_s: float, waiting: float, used: float = 30.0) -> Diagnosis:
    """10,000 reads per second, and so many sessions in Page IO latch waits."""
    made = {
        r"PhysicalDisk(1 E:)\Disk Reads/sec": 10_000 * noise(7),
        r"PhysicalDisk(1 E:)\Avg. Disk sec/Read": latency_s * noise(8),
        r"Processor(_Total)\% Processor Time": used * noise(9, 0.01),
        r"SQLServer:Wait Statistics(Waits in progress)\Page IO latch waits": waiting * noise(10),
    }
    return diagnosed(written(path, "SQL01", made))


def test_a_server_that_reads_much_has_some_who_read(tmp_path: Path) -> None:
    found = perfmon(tmp_path / "log", 0.0006, 3.0)
    assert found.verdict.outcome is Outcome.HEALTHY
    assert "no more than wait for so many requests" in found.findings[0].evidence[0].sentence
    assert perfmon(tmp_path / "log", 0.0006, 30.0).verdict.outcome is not Outcome.HEALTHY, "more than are outstanding"
    assert perfmon(tmp_path / "log", 0.003, 25.0).verdict.outcome is not Outcome.HEALTHY, "near what should be kept"


def test_processors_are_named_beside_sessions_that_read(tmp_path: Path) -> None:
    assert perfmon(tmp_path / "log", 0.0006, 3.0, 95.0).verdict.sentence.endswith("the processors are.")


def test_a_member_that_is_slow_for_a_part_of_the_time_is_named(tmp_path: Path) -> None:
    def member(seed: int, slow_ms: float) -> Disk:
        return disk(60 * noise(seed), np.where(FEW, slow_ms, 7.7) * noise(seed + 10), percent=50.0)

    members = {name: member(place, 80.0 if name == "sdd" else 7.7) for place, name in enumerate(("sdb", "sdc", "sdd"))}
    total = sum(each.reads + each.writes for each in members.values())
    over = disk(np.asarray(total), sum(each.load for each in members.values()) / total * 1e3)
    found = diagnosed(iostat(tmp_path / "log", {"md0": over, **members}))
    assert found.verdict.rule == "D27", found.verdict
    assert "on the others at the same time, 100 s of 10 min" in found.verdict.sentence
    assert "D20" not in {each.rule for each in found.findings if each.subject in {"sdd", "md0"}}


def test_time_lost_above_a_disk_for_a_part_of_the_time_is_found(tmp_path: Path) -> None:
    slow = (np.arange(LOOKS) >= 20) & (np.arange(LOOKS) < 32)
    latency = np.where(slow, 22.0, 0.9)
    sql_server(tmp_path / "log", latency, {"WRITELOG": np.where(slow, 9.0, 0.2)})
    rows = [(f"{300 + place % 7}", "0.0007") for place in range(LOOKS)]
    counters = [rf"\\SQL01\PhysicalDisk(2 L:)\{each}" for each in ("Disk Writes/sec", "Avg. Disk sec/Write")]
    times = stamps(LOOKS, datetime(2026, 3, 2, 8), 10.0)
    (tmp_path / "disks").write_text(pdh(rows, counters, zone="(PDH-CSV 4.0) (UTC)(0)", times=times))
    found = diagnosed(tmp_path / "log.files", tmp_path / "log.waits", tmp_path / "disks")
    assert found.verdict.rule == "D30", found.verdict
    assert "takes 22.0 ms, and 2 L: below it 0.700 ms in the same intervals, in 2.0 min of" in found.verdict.sentence


def test_a_wait_that_two_logs_tell_counts_once(tmp_path: Path) -> None:
    latency = np.full(LOOKS, 22.0)
    sql_server(tmp_path / "log", latency, {"PAGEIOLATCH_SH": np.full(LOOKS, 5.0)})
    counter = r"\\SQL01\SQLServer:Wait Statistics(Waits in progress)\Page IO latch waits"
    times = stamps(LOOKS, datetime(2026, 3, 2, 8), 10.0)
    (tmp_path / "sessions").write_text(pdh([("5",)] * LOOKS, [counter], zone="(PDH-CSV 4.0) (UTC)(0)", times=times))
    found = diagnosed(tmp_path / "log.files", tmp_path / "log.waits", tmp_path / "sessions")
    assert "5.00 sessions wait" in str(found.findings[0].harm)


def test_fewer_batches_are_harm_where_few_sessions_wait_over_the_whole_log(tmp_path: Path) -> None:
    made = {
        r"PhysicalDisk(1 E:)\Disk Reads/sec": np.where(FEW, 150.0, 2900.0) * noise(11),
        r"PhysicalDisk(1 E:)\Avg. Disk sec/Read": np.where(FEW, 0.06, 0.0006) * noise(12),
        r"SQLServer:SQL Statistics\Batch Requests/sec": np.where(FEW, 6.0, 25.0) * noise(13),
        r"SQLServer:Wait Statistics(Waits in progress)\Page IO latch waits": np.where(FEW, 2.0, 0.0),
    }
    found = diagnosed(written(tmp_path / "log", "SQL01", made))
    assert found.findings[0].severity is Severity.WARNING
    assert "batches/s while 1 E: is slow" in str(found.findings[0].harm)


@pytest.mark.parametrize(("part", "rule"), [(9, "D3"), (3, None)])
def test_a_queue_of_the_hypervisor_that_is_full_for_a_part_of_the_time_is_found(
    tmp_path: Path, part: int, rule: str | None
) -> None:
    full = np.arange(COUNT) < part
    lun = r"Physical Disk SCSI Device(naa.1)"
    made = {
        rf"{lun}\Commands/sec": np.where(full, 24_000.0, 6000.0),
        rf"{lun}\Active Commands": np.where(full, 32.0, 7.0),
        rf"{lun}\Queued Commands": np.where(full, 120.0, 0.0),
        rf"{lun}\Device Q Depth": np.full(COUNT, 32.0),
        rf"{lun}\Average Driver MilliSec/Command": np.full(COUNT, 1.1) * noise(14),
        rf"{lun}\Average Kernel MilliSec/Command": np.where(full, 4.1, 0.02) * noise(15),
    }
    found = diagnosed(written(tmp_path / "log", "esx1", made))
    assert ("D3" in {each.rule for each in found.findings}) == (rule == "D3"), found.verdict


@pytest.mark.parametrize(("part", "size", "rule"), [(9, 8192, "D4"), (3, 8192, None), (9, 512 * 1024, None)])
def test_an_array_that_is_slow_for_a_part_of_the_time_is_named_beside_a_guests_log(
    tmp_path: Path, part: int, size: int, rule: str | None
) -> None:
    slow = np.arange(COUNT) % (COUNT // 3) < part / 3
    iops = np.where(slow, 700.0 if size < 100_000 else 60.0, 900.0)
    device = np.where(slow, 0.034, 0.0011) * noise(16)
    lun = r"Physical Disk SCSI Device(naa.1)"
    host = written(
        tmp_path / "esx",
        "esx1",
        {
            rf"{lun}\Commands/sec": iops * noise(17),
            rf"{lun}\MBytes Read/sec": iops * np.where(slow, size, 8192) / 2**20,
            rf"{lun}\Active Commands": iops * device,
            rf"{lun}\Queued Commands": np.zeros(COUNT),
            rf"{lun}\Device Q Depth": np.full(COUNT, 64.0),
            rf"{lun}\Average Driver MilliSec/Command": 1e3 * device,
            rf"{lun}\Average Kernel MilliSec/Command": np.full(COUNT, 0.02),
            rf"{lun}\Average Guest MilliSec/Command": 1e3 * device + 0.02,
        },
    )
    guest = written(
        tmp_path / "guest",
        "SQL01",
        {
            r"PhysicalDisk(1 E:)\Disk Reads/sec": iops * noise(18, 0.01),
            r"PhysicalDisk(1 E:)\Avg. Disk sec/Read": device + 0.0001,
        },
    )
    found = diagnosed(host, guest)
    assert ("D4" in {each.rule for each in found.findings}) == (rule == "D4"), found.verdict
    if rule:
        assert found.verdict.rule == "D4", found.verdict


@pytest.mark.parametrize("lowered", [8.0, 64.0, None])
def test_a_depth_that_esxi_lowered_is_not_raised(tmp_path: Path, lowered: float | None) -> None:
    full = FEW
    depth = np.where(full, lowered or 64.0, 64.0)
    lun = r"Physical Disk SCSI Device(naa.1)"
    made = {
        rf"{lun}\Commands/sec": np.where(full, 7000.0, 6000.0),
        rf"{lun}\Active Commands": np.where(full, depth, 7.0),
        rf"{lun}\Queued Commands": np.where(full, 60.0, 0.0),
        rf"{lun}\Device Q Depth": depth,
        rf"{lun}\Average Driver MilliSec/Command": np.full(COUNT, 1.1) * noise(14),
        rf"{lun}\Average Kernel MilliSec/Command": np.where(full, 8.1, 0.02) * noise(15),
    }
    if lowered is None:
        # Not every version has the column.
        del made[rf"{lun}\Device Q Depth"]
    found = diagnosed(written(tmp_path / "log", "esx1", made)).findings
    remedies = next(each for each in found if each.rule == "D3").remedies
    assert remedies[0].action.startswith("Look at the array's ports") == (lowered == 8.0)
    commands = " ".join(remedies[0].commands)
    assert ("lpfc_lun_queue_depth=128" in commands) == (lowered == 64.0)
    assert ("lpfc_lun_queue_depth=DEPTH" in commands) == (lowered is None)


def test_a_latency_that_the_log_rounds_to_zero_is_said_so(tmp_path: Path) -> None:
    rate = np.full(120, 20.0)
    found = diagnosed(iostat(tmp_path / "log", {"nvme0n1": disk(rate, np.zeros(120))}))
    said = " ".join(each.sentence for finding in found.findings for each in finding.evidence)
    assert "at most 0 ms" not in said
    assert "a latency that the log rounds to zero" in said
