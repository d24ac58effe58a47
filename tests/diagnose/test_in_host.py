"""Where the time of ESXi's devices goes, as esxtop shows it: in the host, below it, of writes alone, on a link."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from test_starved import COUNT, SLOW, noise, written
from test_surroundings import diagnosed

from fathom.diagnose.diagnose import Diagnosis, Outcome

LUN = "naa.6000d31000a1b2000000000000000042"


def lun(
    device_ms: object, kernel_ms: object, *, name: str = LUN, iops: object = 1500.0, queue_ms: object = 0.01
) -> dict[str, np.ndarray]:
    """A device at so many reads per second, with the parts of their latency."""
    of, rate = rf"Physical Disk SCSI Device({name})", np.asarray(iops) * noise(1, 0.01)
    device, kernel, queue = (np.asarray(each) * noise(2) for each in (device_ms, kernel_ms, queue_ms))
    return {
        rf"{of}\Device Q Depth": np.full(COUNT, 64.0),
        rf"{of}\Active Commands": np.round(rate * device / 1e3),
        rf"{of}\Queued Commands": np.zeros(COUNT),
        rf"{of}\Reads/sec": rate,
        rf"{of}\Writes/sec": np.zeros(COUNT),
        rf"{of}\MBytes Read/sec": rate / 128,
        rf"{of}\Average Driver MilliSec/Command": device,
        rf"{of}\Average Kernel MilliSec/Command": kernel,
        rf"{of}\Average Queue MilliSec/Command": queue,
        rf"{of}\Average Guest MilliSec/Command": device + kernel,
    }


def of(path: Path, columns: Mapping[str, np.ndarray]) -> Diagnosis:
    return diagnosed(written(path, "esx1", dict(columns)))


@pytest.mark.parametrize(
    ("device_ms", "kernel_ms", "words", "sure"),
    [
        (1.0, np.where(SLOW, 7.0, 0.02), " ms of it is in the host's kernel (KAVG)", True),
        (np.where(SLOW, 9.0, 1.0), 0.02, "ms of it is below the host, in the array or the fabric", False),
    ],
)
def test_the_layer_of_a_devices_time_is_told(
    tmp_path: Path, device_ms: object, kernel_ms: object, words: str, sure: bool
) -> None:
    """A DAVG that is not high is no verdict: it may be what these disks take."""
    found = of(tmp_path / "log", lun(device_ms, kernel_ms))
    (slow,) = (each for each in found.findings if each.rule == "L2")
    assert words in slow.what
    assert "the logs do not show" not in found.verdict.sentence
    assert (found.verdict.rule == "L2") is sure, found.verdict
    assert f"esxcli storage core device list -d {LUN}" in slow.remedies[0].commands or not sure


def test_kernel_time_on_all_devices_is_the_hosts_and_one_finding(tmp_path: Path) -> None:
    columns = {}
    for number in range(4):
        columns |= lun(1.2, 14.0, name=f"naa.{number}", iops=800.0 + number, queue_ms=13.0)
    columns |= {
        r"Physical Disk Adapter(vmhba2)\Commands/sec": np.full(COUNT, 1600.0),
        r"Physical Disk Adapter(vmhba2)\Average Kernel MilliSec/Command": np.full(COUNT, 14.0),
        r"Physical Disk Adapter(vmhba9)\Commands/sec": np.full(COUNT, 2.0),
        r"Physical Disk Adapter(vmhba9)\Average Kernel MilliSec/Command": np.full(COUNT, 0.02),
    }
    found = of(tmp_path / "log", columns)
    (slow,) = (each for each in found.findings if each.rule == "L2")
    assert "in the host's kernel (KAVG), as on 3 other devices: the host's, or its adapters'" in slow.what
    said = " ".join(each.sentence for each in slow.evidence)
    assert "of it in the device's queue (QAVG)" in said
    assert "vmhba2: KAVG 14.0 ms." in said
    assert "vmhba9" not in said


@pytest.mark.parametrize(
    ("write_ms", "rule", "words"), [(45.0, "L2", "only its writes are: 4"), (90.0, "D4", ", of writes alone (")]
)
def test_writes_alone_are_told_apart(tmp_path: Path, write_ms: float, rule: str, words: str) -> None:
    name = rf"Physical Disk SCSI Device({LUN})"
    wait = np.where(SLOW, write_ms, 0.6) * noise(3)
    columns = {rf"{name}\Reads/sec": 800 * noise(4), rf"{name}\Writes/sec": 400 * noise(5)}
    for way, took in (("Read", 0.6 * noise(6)), ("Write", wait)):
        columns |= {
            rf"{name}\Average Driver MilliSec/{way}": took,
            rf"{name}\Average Kernel MilliSec/{way}": np.full(COUNT, 0.02),
            rf"{name}\Average Guest MilliSec/{way}": took + 0.02,
        }
    found = of(tmp_path / "log", columns)
    assert found.verdict.rule == rule, found.verdict
    assert words in found.verdict.sentence
    assert "array or" in found.verdict.sentence
    assert "write cache" in found.findings[0].remedies[0].action


def test_large_requests_are_a_load_and_no_verdict(tmp_path: Path) -> None:
    columns = lun(np.where(SLOW, 9.0, 0.8), 0.02, iops=np.where(SLOW, 1500.0, 600.0))
    columns[rf"Physical Disk SCSI Device({LUN})\MBytes Read/sec"] = np.where(SLOW, 1000.0, 5.0) * noise(7)
    found = of(tmp_path / "log", columns)
    assert found.verdict.outcome is Outcome.UNKNOWN
    assert "is below the host, in the array or the fabric, at 1,0" in found.verdict.sentence
    assert "Find the machine" in found.findings[0].remedies[0].action


@pytest.mark.parametrize(("level", "rule"), [(112.0, "D5"), (340.0, None)])
def test_a_device_at_the_rate_of_its_link(tmp_path: Path, level: float, rule: str | None) -> None:
    """That of iSCSI over 1 Gb/s; a level rate that is no link's is nobody's limit."""
    moved = np.where(SLOW, level * noise(8, 0.002), 19 * noise(9))
    columns = lun(np.where(SLOW, 17.0, 1.1), 0.03, iops=16.0) | {
        rf"Physical Disk SCSI Device({LUN})\Reads/sec": 16 * moved,
        rf"Physical Disk SCSI Device({LUN})\MBytes Read/sec": moved,
        rf"Physical Disk SCSI Device({LUN})\Active Commands": np.where(SLOW, 30.0, 1.0),
    }
    found = of(tmp_path / "log", columns)
    assert ("D5" in {each.rule for each in found.findings}) is (rule == "D5"), found.verdict
    if rule:
        assert "at the rate of its link" in found.verdict.sentence
        assert found.findings[0].remedies[0].commands == ("esxcli network nic list", "esxcli storage core path list")


def test_kernel_time_of_a_virtual_disk(tmp_path: Path) -> None:
    columns = lun(1.0, 7.0) | {
        r"Virtual Disk(sql01:scsi0:1)\Reads/sec": 1500 * noise(1, 0.01),
        r"Virtual Disk(sql01:scsi0:1)\Average MilliSec/Read": 8.2 * noise(2),
    }
    found = of(tmp_path / "log", columns)
    assert found.verdict.rule == "L2", found.verdict
    assert "of it is in the host's kernel (KAVG)" in found.verdict.sentence


@pytest.mark.parametrize(("swapped", "named"), [(60.0, True), (0.2, False)])
def test_a_host_that_swaps_its_machines_is_named(tmp_path: Path, swapped: float, named: bool) -> None:
    """A little is left of times long past, and is no wait."""
    columns = lun(0.9, 0.02) | {
        r"Memory\Swap MBytes Read/sec": swapped * noise(10),
        r"Memory\Swap MBytes Write/sec": 1.4 * swapped * noise(11),
    }
    found = of(tmp_path / "log", columns)
    assert found.verdict.outcome is Outcome.HEALTHY, found.verdict
    assert ("the host esx1 swaps memory of its machines" in found.verdict.sentence) is named
    if named:
        assert "esx1 reads 62." in found.findings[0].evidence[0].sentence
        assert "vMotion" in found.findings[0].remedies[0].action


@pytest.mark.parametrize(("swapped", "rule"), [(110.0, "D28"), (4.0, None)])
def test_a_device_that_a_hosts_swapping_loads(tmp_path: Path, swapped: float, rule: str | None) -> None:
    columns = lun(6.2, 0.05, iops=15_000.0) | {
        r"Memory\Swap MBytes Read/sec": swapped * noise(10),
        r"Memory\Swap MBytes Write/sec": swapped * noise(11),
    }
    found = of(tmp_path / "log", columns)
    assert found.verdict.rule == rule, found.verdict
    if rule:
        assert "The host esx1 has too little memory and swaps that of its machines" in found.verdict.sentence
