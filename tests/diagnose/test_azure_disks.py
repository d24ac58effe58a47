"""Azure's own percentage tells a limit by itself, and spent credits of a disk get the command of a higher tier."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_surroundings import COUNT, advice, azure, diagnosed

SPENT = np.arange(COUNT) >= COUNT // 3


@pytest.mark.parametrize(
    ("metric", "words"), [("IOPS", "limit on IOPS is used up"), ("Bandwidth", "limit on throughput is used up")]
)
def test_the_percentage_alone_tells_the_limit(tmp_path: Path, metric: str, words: str) -> None:
    """Nobody exported the operations."""
    used = {f"Data Disk {metric} Consumed Percentage": np.where(SPENT, 100.0, 40.0), "Data Disk Latency": SPENT * 20.0}
    found = diagnosed(azure(tmp_path / "log", "virtualMachines/sql1", used))
    assert (found.verdict.rule, found.verdict.confidence) == ("D5", 0.95), found.verdict
    assert words in found.verdict.sentence
    assert "az vm show --resource-group shop --name sql1 " in advice(found)


def test_a_percentage_that_is_not_used_up_is_no_limit(tmp_path: Path) -> None:
    found = diagnosed(
        azure(tmp_path / "log", "virtualMachines/sql1", {"Data Disk IOPS Consumed Percentage": np.full(COUNT, 60.0)})
    )
    assert found.verdict.rule is None, found.verdict


@pytest.mark.parametrize(
    ("burst", "size", "tier"), [(3500.0, 8192, "P30"), (1000.0, 8192, "P15"), (500.0, 262144, "P20")]
)
def test_spent_credits_of_azure_get_the_tier_that_the_load_needs(
    tmp_path: Path, burst: float, size: int, tier: str
) -> None:
    rate = np.where(SPENT, 240.0, burst)
    values = {
        "Data Disk Read Operations/Sec": rate,
        "Data Disk Read Bytes/sec": rate * size,
        "Data Disk Used Burst IO Credits Percentage": np.where(SPENT, 100.0, 40.0),
    }
    found = diagnosed(azure(tmp_path / "log", "virtualMachines/sql1", values))
    assert found.verdict.rule == "D7", found.verdict
    remedy = found.findings[0].remedies[0]
    assert remedy.commands == (
        'az vm show --resource-group shop --name sql1 --query "storageProfile.dataDisks[].[lun,name]"',
        f"az disk update --name DISK --resource-group shop --set tier={tier} # Premium SSD",
    )
    assert "gp3" not in advice(found)
    assert f"{burst:,.0f} IOPS were needed" in remedy.action or burst < 1000
