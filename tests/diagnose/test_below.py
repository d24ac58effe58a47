"""L2 on a hypervisor: which layer the time of a virtual disk is in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from make_pdh import pdh, stamps
from test_surroundings import diagnosed

from fathom.diagnose.diagnose import Diagnosis

COUNT = 60
LUN, GUEST = r"\\esx1\Physical Disk SCSI Device(naa.1)", r"\\esx1\Virtual Disk(sql01:scsi0:1)"
OTHER = r"\\esx1\Physical Disk SCSI Device(naa.2)"


def esxtop(
    path: Path, guest_ms: float, device_ms: float, device_iops: float, *, kernel_ms: float = 0.03, other: float = 0.0
) -> Diagnosis:
    """A virtual disk at 600 IOPS that is slow for half of the time, over a device; another device may work as well."""
    random = np.random.default_rng(1)
    slow = np.arange(COUNT) >= COUNT // 2

    def when(then: float, usual: float) -> np.ndarray:
        return np.where(slow, then, usual) * random.normal(1, 0.03, COUNT)

    rates = when(600, 700)
    columns = {
        rf"{GUEST}\Reads/sec": rates,
        rf"{GUEST}\Average MilliSec/Read": when(guest_ms, 0.9),
        rf"{LUN}\Commands/sec": when(device_iops, 710),
        rf"{LUN}\Active Commands": when(8, 1),
        rf"{LUN}\Queued Commands": np.zeros(COUNT),
        rf"{LUN}\Device Q Depth": np.full(COUNT, 64.0),
        rf"{LUN}\Average Driver MilliSec/Command": when(device_ms, 0.8),
        rf"{LUN}\Average Kernel MilliSec/Command": when(kernel_ms, 0.03),
        rf"{LUN}\Average Guest MilliSec/Command": when(device_ms + kernel_ms, 0.83),
        rf"{OTHER}\Commands/sec": np.full(COUNT, other),
        rf"{OTHER}\Average Driver MilliSec/Command": np.full(COUNT, 0.7),
    }
    rows = [[f"{value:.4f}" for value in row] for row in zip(*columns.values(), strict=True)]
    path.write_text(pdh(rows, list(columns), zone="(PDH-CSV 4.0) (UTC)(0)", times=stamps(COUNT)))
    return diagnosed(path)


def test_time_below_the_host_is_told_and_what_else_the_device_does(tmp_path: Path) -> None:
    found = esxtop(tmp_path / "log", 17.7, 13.0, 2800)
    assert found.verdict.rule == "L2"
    assert "13.0 ms of it is below the host" in found.verdict.sentence.replace("12.9", "13.0").replace("13.1", "13.0")
    assert "times what the virtual disks ask: a snapshot is read through or consolidated" in found.verdict.sentence
    assert "snapshot.get" in found.findings[0].remedies[0].commands[0]


def test_an_array_that_only_serves_this_disk_is_the_slow_one(tmp_path: Path) -> None:
    found = esxtop(tmp_path / "log", 13.5, 13.0, 610)
    assert "is below the host, in the array or the fabric" in found.verdict.sentence


def test_a_fast_device_leaves_the_time_to_the_host_above_it(tmp_path: Path) -> None:
    found = esxtop(tmp_path / "log", 19.0, 0.9, 610)
    assert found.verdict.rule == "L2"
    assert "the time is in the host between the two: an IOPS limit of the virtual disk" in found.verdict.sentence
    assert "IOPS limit" in found.findings[0].remedies[0].action


@pytest.mark.parametrize(("kernel_ms", "other"), [(9.0, 0.0), (0.03, 900.0)])
def test_a_wait_in_the_kernel_or_two_devices_leave_it_open(tmp_path: Path, kernel_ms: float, other: float) -> None:
    found = esxtop(tmp_path / "log", 19.0, 0.9, 610, kernel_ms=kernel_ms, other=other)
    assert found.verdict.rule is None
    assert "the logs do not show where below it" in found.verdict.sentence


def written(path: Path, columns: dict[str, np.ndarray]) -> Path:
    rows = [[f"{value:.4f}" for value in row] for row in zip(*columns.values(), strict=True)]
    path.write_text(pdh(rows, list(columns), zone="(PDH-CSV 4.0) (UTC)(0)", times=stamps(COUNT)))
    return path


def host_of_two(path: Path, data_ms: np.ndarray, log_ms: np.ndarray) -> Path:
    """A virtual disk for data at 1,300 IOPS and one for the log at 200, each on a device of its own."""
    random, columns = np.random.default_rng(2), {}
    for place, (rate, wait) in enumerate(((1300, data_ms), (200, log_ms))):
        rates, lun = rate * random.uniform(0.7, 1.3, COUNT), rf"\\esx1\Physical Disk SCSI Device(naa.{place})"
        columns |= {
            rf"\\esx1\Virtual Disk(sql01:scsi{place}:0)\Reads/sec": rates,
            rf"\\esx1\Virtual Disk(sql01:scsi{place}:0)\Average MilliSec/Read": wait,
            rf"{lun}\Commands/sec": rates,
            rf"{lun}\Queued Commands": np.zeros(COUNT),
            rf"{lun}\Average Driver MilliSec/Command": wait,
            rf"{lun}\Average Kernel MilliSec/Command": np.full(COUNT, 0.01),
        }
    return written(path, columns)


def test_each_disk_is_looked_for_on_a_device_of_its_own(tmp_path: Path) -> None:
    """The device of the data does as much as the log, and more."""
    found = diagnosed(host_of_two(tmp_path / "log", np.full(COUNT, 18.0), np.full(COUNT, 13.5)))
    slow = {each.subject: each.what for each in found.findings if each.rule == "L2"}
    assert "18.0 ms of it is below the host" in slow["sql01:scsi0:0"]
    assert "13.5 ms of it is below the host" in slow["sql01:scsi1:0"]


@pytest.mark.parametrize(("guest_ms", "below"), [(18.2, True), (31.0, False)])
def test_the_guests_log_does_not_hide_what_the_hosts_shows(tmp_path: Path, guest_ms: float, below: bool) -> None:
    host = host_of_two(tmp_path / "host", np.full(COUNT, 18.0), np.full(COUNT, 0.9))
    rates = 1300 * np.random.default_rng(2).uniform(0.7, 1.3, COUNT)
    disk = r"\\SQL01\PhysicalDisk(0 D:)"
    columns = {rf"{disk}\Disk Reads/sec": rates, rf"{disk}\Avg. Disk sec/Read": np.full(COUNT, guest_ms / 1e3)}
    found = diagnosed(host, written(tmp_path / "guest", columns))
    words = next(each.what for each in found.findings if each.rule == "L2" and each.subject == "0 D:")
    assert ("18.0 ms of it is below the host, in the array or the fabric" in words) is below
    assert (found.verdict.rule == "L2") is below


def test_a_slow_array_is_told_with_the_whole_slow_time(tmp_path: Path) -> None:
    """Few of the moments are above what is slow beyond doubt."""
    slow = np.where(np.arange(COUNT) >= COUNT // 3, 1.0, 0.07) * np.tile([17.0, 18.0, 19.0, 21.0, 18.0], COUNT // 5)
    found = diagnosed(host_of_two(tmp_path / "log", slow, np.full(COUNT, 0.9)))
    assert found.verdict.rule == "D4"
    assert "DAVG 18.0 ms, KAVG 0.0100 ms, nothing queued, in 67 % of" in found.findings[0].evidence[0].sentence


@pytest.mark.parametrize(("device", "name"), [("naa.600a0980", "naa.600a0980"), ("naa.1;reboot", "naa.ID")])
def test_a_deeper_queue_begins_in_the_adapters_module(tmp_path: Path, device: str, name: str) -> None:
    """A device takes no more than the module allows: the last command alone has no effect."""
    lun = rf"\\esx1\Physical Disk SCSI Device({device})"
    values = {"Commands/sec": "3000", "Active Commands": "32", "Queued Commands": "40", "Device Q Depth": "32",
              "Average Kernel MilliSec/Command": "14", "Average Driver MilliSec/Command": "5"}  # fmt: skip
    path = tmp_path / "log"
    paths = [rf"{lun}\{counter}" for counter in values]
    path.write_text(pdh([list(values.values())] * COUNT, paths, zone="(PDH-CSV 4.0) (UTC)(0)", times=stamps(COUNT)))
    found = diagnosed(path)
    assert found.verdict.rule == "D3", found.verdict
    remedy = found.findings[0].remedies[0]
    assert f"esxcli storage core device set -d {name} -O 64" == remedy.commands[-1]
    assert any("lpfc_lun_queue_depth=64" in command for command in remedy.commands[:-1])
    assert "restart of the host" in str(remedy.risk)
