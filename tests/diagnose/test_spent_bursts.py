"""D7: a demand below the burst rate that is served until the credits are gone, and then kept to one rate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_surroundings import diagnosed, iostat
from test_throttle import AWS, AZURE, OWN

from fathom.diagnose.diagnose import Diagnosis

COUNT = 240
PLACES = np.arange(COUNT)


def log(
    path: Path, *, fast: int, level: float = 600.0, scatter: float = 0.0003, kernel: str = AWS, back: int = 0
) -> Diagnosis:
    """Some 1,300 IOPS while there are credits, of which a few came back every `back` moments; else the level."""
    random = np.random.default_rng(4)
    spent = np.arange(COUNT) >= fast
    if back:
        spent &= PLACES % back > 2
    iops = np.where(spent, level * random.normal(1, scatter, COUNT), 1300 * random.lognormal(0, 0.3, COUNT))
    seconds = np.where(spent, 0.306 * random.normal(1, 0.01, COUNT), 0.0009 * random.normal(1, 0.05, COUNT))
    return diagnosed(iostat(path, iops=iops, queue=iops * seconds, device="nvme1n1", kernel=kernel))


@pytest.mark.parametrize("fast", [20, 130])
@pytest.mark.parametrize("back", [0, 12])
def test_a_demand_below_the_burst_rate_spends_credits_too(tmp_path: Path, fast: int, back: int) -> None:
    """Also where most of the log is slow, and where credits that came back are spent again."""
    found = log(tmp_path / "log", fast=fast, back=back)
    assert (found.verdict.rule, found.verdict.confidence) == ("D7", 0.55), found.verdict
    assert "it fell to 600 IOPS and stays there" in found.verdict.sentence
    assert "A gp2 of 200 GiB has so many IOPS without credits." in found.findings[0].evidence[0].sentence
    assert not {"D1", "D20", "L2"} & {each.rule for each in found.findings}


@pytest.mark.parametrize(("kernel", "confidence"), [(AZURE, 0.55), (OWN, 0.45)])
def test_outside_of_aws_no_gp2_is_named(tmp_path: Path, kernel: str, confidence: float) -> None:
    finding = next(each for each in log(tmp_path / "log", fast=20, kernel=kernel).findings if each.rule == "D7")
    assert finding.confidence == confidence
    assert "gp2" not in finding.evidence[0].sentence


@pytest.mark.parametrize(
    ("fast", "level", "scatter"),
    [
        (20, 600.0, 0.03),  # others leave now more and now less
        (4, 600.0, 0.0003),  # hardly anything before it
        (20, 1500.0, 0.0003),  # no less than before
    ],
)
def test_a_rate_that_scatters_or_that_fell_from_nothing_is_no_spent_burst(
    tmp_path: Path, fast: int, level: float, scatter: float
) -> None:
    found = log(tmp_path / "log", fast=fast, level=level, scatter=scatter)
    assert "D7" not in {each.rule for each in found.findings}
