"""Ready time of virtual machines, which counts by processor, and the machine that is named for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from make_pdh import pdh, stamps
from test_starved import COUNT, SLOW, noise, written
from test_surroundings import diagnosed

from fathom.diagnose.diagnose import Diagnosis, Outcome


def esxtop(path: Path, machines: Mapping[str, tuple[float, float, int]]) -> Diagnosis:
    """A fast device below machines, each with %RUN, %RDY and a number of processors."""
    columns: dict[str, float] = {
        r"Physical Disk SCSI Device(naa.1)\Commands/sec": 1200.0,
        r"Physical Disk SCSI Device(naa.1)\Average Guest MilliSec/Command": 0.8,
    }
    for place, (name, (run, ready, processors)) in enumerate(machines.items()):
        group = 52000 + place
        columns |= {rf"Group Cpu({group}:{name})\% Run": run, rf"Group Cpu({group}:{name})\% Ready": ready}
        for number in range(processors):
            world = f"{group}:{name}:{60_000 + 100 * place + number}"
            columns[rf"Vcpu({world}:vmx-vcpu-{number}:{name})\% Ready"] = ready / processors
        columns[rf"Vcpu({group}:{name}:{70_000 + place}:vmx)\% Ready"] = 0.0
    rows = [[f"{value:.3f}" for value in columns.values()]] * COUNT
    paths = [rf"\\esx1\{each}" for each in columns]
    path.write_text(pdh(rows, paths, zone="(PDH-CSV 4.0) (UTC)(0)", times=stamps(COUNT)))
    return diagnosed(path)


@pytest.mark.parametrize(
    ("run", "ready", "processors", "named"),
    [
        (69.0, 13.0, 8, False),  # 1.6 % of each
        (69.0, 13.0, 1, True),
        (200.0, 104.0, 16, False),
        (199.0, 360.0, 8, True),
        (69.0, 13.0, 0, False),  # of how many processors the log does not tell
    ],
)
def test_ready_time_counts_by_processor(tmp_path: Path, run: float, ready: float, processors: int, named: bool) -> None:
    found = esxtop(tmp_path / "log", {"sqlvm01": (run, ready, processors)})
    assert found.verdict.outcome is Outcome.HEALTHY, found.verdict
    assert ("gives the processors of sqlvm01" in found.verdict.sentence) is named
    if named:
        assert f"%RDY {ready / processors:.1f} of each processor; %RUN" in found.findings[0].evidence[0].sentence


def test_the_machine_that_waits_most_is_named_first(tmp_path: Path) -> None:
    machines = {"app03": (199.0, 100.0, 8), "sqlvm01": (199.0, 360.0, 8), "web01": (200.0, 48.0, 8)}
    found = esxtop(tmp_path / "log", machines)
    assert "the host gives the processors of sqlvm01 to other machines" in found.verdict.sentence
    said = found.findings[0].evidence[0].sentence
    assert "sqlvm01 waited for 64 % of the processor time" in said
    assert "So did app03 (33 %)." in said


def test_others_that_wait_explain_nothing_of_a_guest_that_does_not(tmp_path: Path) -> None:
    """The guest has a log of its own, and the machine beside it none."""
    host = {
        r"Group Cpu(71:sql01)\% Run": np.full(COUNT, 199.0),
        r"Group Cpu(71:sql01)\% Ready": np.full(COUNT, 4.0),
        r"Group Cpu(72:app03)\% Run": np.full(COUNT, 199.0),
        r"Group Cpu(72:app03)\% Ready": np.full(COUNT, 360.0),
    }
    guest = {
        r"PhysicalDisk(1 E:)\Disk Reads/sec": 1000 * noise(1),
        r"PhysicalDisk(1 E:)\Avg. Disk sec/Read": 0.0009 * noise(2),
    }
    found = diagnosed(written(tmp_path / "esx", "esx1", host), written(tmp_path / "guest", "SQL01", guest))
    assert found.verdict.sentence == "Storage is not your bottleneck."


@pytest.mark.parametrize("below_ms", [0.85, 26.0])
def test_no_device_is_at_its_highest_rate_whose_virtual_disk_is_fast(tmp_path: Path, below_ms: float) -> None:
    """A guest's disk that is level at 1,400 IOPS, while the hypervisor completes the same in a fraction of the time."""
    rate = np.where(SLOW, 1400 * noise(3, 0.01), 240 * noise(4))
    host = {
        r"Virtual Disk(sql01:scsi0:1)\Reads/sec": rate,
        r"Virtual Disk(sql01:scsi0:1)\Average MilliSec/Read": np.where(SLOW, below_ms, 0.8) * noise(5),
    }
    guest = {
        r"PhysicalDisk(1 E:)\Disk Reads/sec": rate,
        r"PhysicalDisk(1 E:)\Avg. Disk sec/Read": np.where(SLOW, 0.027, 0.0009) * noise(6),
        r"PhysicalDisk(1 E:)\% Idle Time": np.where(SLOW, 0.0, 70.0),
    }
    found = diagnosed(written(tmp_path / "esx", "esx1", host), written(tmp_path / "guest", "SQL01", guest))
    if below_ms < 1:
        assert "the time of 1 E: is spent in the guest, above its virtual disk" in found.verdict.sentence
        assert "D26" not in {each.rule for each in found.findings}
    else:
        assert found.verdict.rule == "D26", found.verdict
