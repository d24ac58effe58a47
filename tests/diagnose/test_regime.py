"""L1: the bounds of a load are told where they hold for the log, with the share of the time beyond them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from cases.truth import GENERATED, outcomes
from make_iostat import disk, iostat
from test_surroundings import diagnosed

from fathom.diagnose.evidence.regime import fit

COUNT = 120
PLACES = np.arange(COUNT)
MIDDLE = (PLACES >= 40) & (PLACES < 90)


def regime(path: Path, outstanding: np.ndarray, highest: np.ndarray, base_ms: np.ndarray, kib: float = 8.0) -> str:
    """What L1 says of a disk with this highest rate and latency without waiting; empty where it says nothing."""
    random = np.random.default_rng(3)
    outstanding = outstanding * random.normal(1, 0.02, COUNT)
    iops = np.minimum(outstanding / base_ms * 1e3, highest) * random.normal(1, 0.01, COUNT)
    found = diagnosed(iostat(path / "log", {"sda": disk(iops, outstanding / iops * 1e3)}, kib=kib))
    return next((each.what for each in found.findings if each.rule == "L1"), "")


def always(value: float) -> np.ndarray:
    return np.full(COUNT, value)


def test_the_share_of_the_time_beyond_the_knee_is_told(tmp_path: Path) -> None:
    said = regime(tmp_path, np.where(MIDDLE, 57.0, 1.5), always(6670), always(0.6))
    assert "sda is beyond its knee 42 % of the time: 0.60" in said
    assert "at most 6,6" in said


def test_a_log_that_is_always_beyond_is_saturated(tmp_path: Path) -> None:
    said = regime(tmp_path, np.where(PLACES < 15, 0.8, 6.0 + PLACES / 4), always(166), always(7.5))
    assert said.startswith("sda is saturated")


def test_two_regimes_have_no_bounds_in_common(tmp_path: Path) -> None:
    """Three times as many requests were completed before a limit fell: it is not the highest rate of the log."""
    assert not regime(tmp_path, np.where(MIDDLE, 23.0, 3.5), np.where(MIDDLE, 900.0, 3000.0), always(1.1))


def test_a_ceiling_that_the_log_exceeds_is_none(tmp_path: Path) -> None:
    """Most of the time one outstanding, now and then 42 at nearly three times the rate."""
    assert "at most 1,1" not in regime(
        tmp_path, np.where(MIDDLE, 42.0, 1.03), np.where(MIDDLE, 3000.0, 1140.0), always(0.9)
    )


def test_a_latency_of_small_requests_and_a_rate_of_large_ones_are_no_bounds(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    load = np.where(MIDDLE, 58.0, 0.6) * random.normal(1, 0.05, COUNT)
    iops = np.where(MIDDLE, 5400.0, 600.0) * random.normal(1, 0.02, COUNT)
    made = disk(iops, load / iops * 1e3)
    path = iostat(tmp_path / "log", {"sda": made})
    assert any(each.rule == "L1" for each in diagnosed(path).findings)
    # The same rates, but of eight times as many bytes each while the load is high.
    lines = path.read_text().splitlines()
    at = -1
    for place, line in enumerate(lines):
        if line.startswith("sda "):
            at += 1
            cells = line.split()
            cells[3:5] = [f"{float(each) * (8 if MIDDLE[at] else 1):.2f}" for each in cells[3:5]]
            lines[place] = " ".join(cells)
    path.write_text("\n".join(lines))
    assert not any(each.rule == "L1" for each in diagnosed(path).findings)


def test_two_loads_in_turn_have_no_bounds_in_common(tmp_path: Path) -> None:
    """A backup beside the usual load, which is beyond the bend of a fit over both itself."""
    random = np.random.default_rng(6)
    iops = np.where(MIDDLE, 720.0, 900.0) * random.normal(1, 0.06, COUNT)
    latency = np.where(MIDDLE, 31.0, 2.0) * random.normal(1, 0.08, COUNT)
    path = iostat(tmp_path / "log", {"sda": disk(iops, latency)})
    lines = path.read_text().splitlines()
    places = [place for place, line in enumerate(lines) if line.startswith("sda ")]
    for at in np.flatnonzero(MIDDLE):
        cells = lines[places[at]].split()
        cells[3:5] = [f"{70 * float(each):.2f}" for each in cells[3:5]]
        lines[places[at]] = " ".join(cells)
    assert fit(diagnosed(path).system.volumes[0]) is not None
    path.write_text("\n".join(lines))
    assert fit(diagnosed(path).system.volumes[0]) is None


def test_no_knee_is_fitted_to_a_time_that_others_made_slow() -> None:
    """Of these cases most have one by their own figures."""
    found = list(outcomes(8, 11, {"neighbour": GENERATED["neighbour"]}))
    assert sum(each.first == "D20" for each in found) >= 6
    assert not any(each.first == "D20" and "L1" in each.findings for each in found)
