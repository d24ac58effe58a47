"""D20 of a load that asks for the same rate all the time: at two latencies it is at no limit, and does not stall."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_surroundings import diagnosed, iostat
from test_throttle import AWS, OWN

from fathom.diagnose.diagnose import Diagnosis

COUNT = 240
PLACES = np.arange(COUNT)


def confidence(found: Diagnosis, rule: str) -> float:
    return max((each.confidence for each in found.findings if each.rule == rule), default=0.0)


def paced(path: Path, rate: float, share: int, *, device: str = "sdb", kernel: str = OWN) -> Diagnosis:
    """A rate within 0.2 %, of which one stretch of 100 s in `share` takes 21 ms and the others 0.9 ms."""
    random = np.random.default_rng(11)
    iops = rate * random.normal(1, 0.002, COUNT)
    latency = np.where(PLACES // 20 % share == share - 1, 0.021, 0.0009) * random.normal(1, 0.12, COUNT)
    return diagnosed(iostat(path, iops=iops, queue=iops * latency, device=device, kernel=kernel))


@pytest.mark.parametrize("share", [2, 3, 6])
@pytest.mark.parametrize("rate", [2200, 2750, 3000, 7500])
def test_a_paced_load_that_something_else_slows(tmp_path: Path, rate: float, share: int) -> None:
    found = paced(tmp_path / "log", rate, share)
    assert (found.verdict.rule, found.verdict.confidence) == ("D20", 0.55), found.verdict
    assert not {"D5", "D24", "L2"} & {each.rule for each in found.findings}
    assert "more was asked for in the slow time" in str(found.findings[0].refuted_by)


def test_in_a_cloud_the_rate_that_is_sold_is_likelier(tmp_path: Path) -> None:
    found = paced(tmp_path / "sold", 3000, 2, device="nvme1n1", kernel=AWS)
    assert found.verdict.rule == "D5", found.verdict
    assert confidence(found, "D20") == 0.55, "the other explanation is told"
    found = paced(tmp_path / "own", 2750, 2, device="nvme1n1", kernel=AWS)
    assert found.verdict.rule == "D20", found.verdict


def test_few_and_many_users_at_a_limit_are_no_paced_load(tmp_path: Path) -> None:
    """Latency follows the number of users, which is spread: 5 to 10, and 40 to 90."""
    random = np.random.default_rng(12)
    users = np.where(PLACES // 20 % 2 == 0, random.uniform(5, 10, COUNT), random.uniform(40, 90, COUNT))
    iops = 3000 * random.normal(1, 0.002, COUNT)
    found = diagnosed(iostat(tmp_path / "log", iops=iops, queue=users, device="sdb", kernel=OWN))
    assert confidence(found, "D20") == 0
    assert confidence(found, "D5") == 0.45


def test_stretches_whose_latency_scatters_are_no_short_stalls(tmp_path: Path) -> None:
    """Each lasts 100 s; only some of its intervals take 20 times as long as usual."""
    random = np.random.default_rng(13)
    iops = 3000 * random.normal(1, 0.02, COUNT)
    latency = np.where(PLACES // 20 % 3 == 2, 0.019, 0.00095) * random.normal(1, 0.15, COUNT)
    found = diagnosed(iostat(tmp_path / "log", iops=iops, queue=iops * latency, device="sdb", kernel=OWN))
    assert found.verdict.rule == "D20", found.verdict
    assert confidence(found, "D24") == 0
