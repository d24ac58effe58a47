"""Slow LUNs of ESXi: several at once, one that another host loads, and datastores on NFS."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_starved import COUNT, SLOW, noise, written
from test_surroundings import diagnosed

LUN = "naa.6000d31000a1b2000000000000000042"


def of(
    device: str, slow_ms: float, slow: np.ndarray = SLOW, *, megabytes: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """A LUN that takes so long per command in the slow time, and what is read from it."""
    name = rf"Physical Disk SCSI Device({device})"
    return {
        rf"{name}\Reads/sec": 1200 * noise(1),
        rf"{name}\MBytes Read/sec": 8 * noise(2) if megabytes is None else megabytes,
        rf"{name}\Average Driver MilliSec/Read": np.where(slow, slow_ms, 0.8) * noise(3),
        rf"{name}\Average Kernel MilliSec/Read": 0.02 * noise(4),
        rf"{name}\Average Guest MilliSec/Read": np.where(slow, slow_ms, 0.8) * noise(3),
    }


def other(device: str, megabytes: np.ndarray) -> dict[str, np.ndarray]:
    """The LUN as another host sees it: large reads, which take as long as they are large."""
    name = rf"Physical Disk SCSI Device({device})"
    return {
        rf"{name}\Reads/sec": 40 + megabytes * 2,
        rf"{name}\MBytes Read/sec": megabytes,
        rf"{name}\Average Driver MilliSec/Read": np.where(megabytes > 100, 12.0, 0.8) * noise(5),
        rf"{name}\Average Guest MilliSec/Read": np.where(megabytes > 100, 12.0, 0.8) * noise(5),
    }


@pytest.mark.parametrize(("then", "named"), [(700.0, True), (2.0, False)])
def test_the_host_that_loads_the_same_lun_is_named(tmp_path: Path, then: float, named: bool) -> None:
    one = written(tmp_path / "one", "esx01.corp.local", of(LUN, 28.0))
    two = written(tmp_path / "two", "esx02.corp.local", other(LUN, np.where(SLOW, then, 2.0) * noise(6)))
    found = diagnosed(one, two)
    assert found.verdict.rule == "D4", found.verdict
    assert ("while esx02.corp.local does 73" in found.verdict.sentence) is named
    commands = [command for each in found.findings[0].remedies for command in each.commands]
    assert f"esxcli storage core path list -d {LUN}" in commands
    assert not any("corp.local" in command for command in commands)
    assert any("IOPS limit" in each.action for each in found.findings[0].remedies) is named


def test_a_host_whose_load_is_always_there_is_not_to_blame(tmp_path: Path) -> None:
    one = written(tmp_path / "one", "esx01", of(LUN, 28.0))
    two = written(tmp_path / "two", "esx02", other(LUN, 700 * noise(6)))
    assert "esx02 does" not in diagnosed(one, two).verdict.sentence


def test_luns_that_are_slow_at_once_are_one_finding(tmp_path: Path) -> None:
    later = (np.arange(COUNT) >= 85) & (np.arange(COUNT) < 110)
    columns = of("naa.1", 38.0) | of("naa.2", 47.0) | of("naa.3", 40.0) | of("naa.4", 35.0, later) | of("naa.5", 0.9)
    found = diagnosed(written(tmp_path / "log", "esx1", columns))
    together, alone = (each for each in found.findings if each.rule == "D4")
    assert "below 3 LUNs is slow, naa.2 the most and all of them at once" in together.what
    assert [each.sentence.partition(":")[0] for each in together.evidence] == ["naa.2", "naa.3", "naa.1"]
    assert "look at what they share" in together.remedies[0].action
    assert alone.subject == "naa.4"
    assert alone.remedies[0].commands == ("esxcli storage core path list -d naa.4",)


def test_one_lun_that_is_slow_for_two_hosts(tmp_path: Path) -> None:
    logs = [written(tmp_path / host, host, of(LUN, 28.0)) for host in ("esx01", "esx02")]
    assert f"below {LUN} is slow for 2 hosts at once" in diagnosed(*logs).verdict.sentence


def test_a_datastore_on_nfs_has_no_lun(tmp_path: Path) -> None:
    name = r"Physical Disk NFS Volume(NFS_PROD01)"
    columns = {
        rf"{name}\Reads/sec": 1200 * noise(1),
        rf"{name}\Active Commands": np.where(SLOW, 68.0, 1.0),
        rf"{name}\Average Guest MilliSec/Read": np.where(SLOW, 57.0, 1.2) * noise(3),
    }
    found = diagnosed(written(tmp_path / "log", "esx1", columns))
    assert "The NFS server or the network below NFS_PROD01 is slow" in found.verdict.sentence
    (remedy,) = found.findings[0].remedies
    assert "LUN" not in remedy.action
    assert "DAVG" not in remedy.verify
    assert "esxcli storage nfs41 list" in remedy.commands


@pytest.mark.parametrize("stalls", [True, False])
def test_commands_that_a_lun_does_not_answer_are_a_stall(tmp_path: Path, stalls: bool) -> None:
    still = np.isin(np.arange(COUNT), (48, 49, 50, 90, 91)) & stalls
    name = rf"Physical Disk SCSI Device({LUN})"
    columns = {
        rf"{name}\Commands/sec": np.where(still, 8.0, 1200 * noise(1)),
        rf"{name}\Active Commands": np.where(still, 64.0, 1.0),
        rf"{name}\Queued Commands": np.zeros(COUNT),
        rf"{name}\Device Q Depth": np.full(COUNT, 64.0),
        rf"{name}\Aborts/sec": np.where(still, 1.2, 0.0),
        rf"{name}\Average Driver MilliSec/Command": np.where(still, 4500.0, 0.8 * noise(2)),
        rf"{name}\Average Guest MilliSec/Command": np.where(still, 4500.0, 0.8 * noise(2)),
    }
    found = diagnosed(written(tmp_path / "log", "esx1", columns))
    assert (found.verdict.rule == "D24") is stalls, found.verdict
    if stalls:
        said = " ".join(each.sentence for each in found.findings[0].evidence)
        assert "5 intervals with 64.0 requests outstanding and next to none completed" in said
        assert "30.0 commands were aborted then" in said
        assert f"esxcli storage core path list -d {LUN}" in found.findings[0].remedies[0].commands
    else:
        assert found.verdict.rule == "D25"
