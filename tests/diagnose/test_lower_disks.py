"""What the disks below a device of Linux show: time that a mirror loses, and the disk that takes nearly all of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from make_iostat import Disk, disk, iostat
from test_surroundings import advice, diagnosed

from fathom.diagnose.diagnose import Diagnosis, Outcome
from fathom.diagnose.evidence.overview import overview

COUNT = 240
TOGETHER = np.isin(np.arange(COUNT), np.random.default_rng(5).choice(COUNT // 3, 24, replace=False) * 3)
"""24 single intervals in which many writes come together."""


def noise(seed: int, spread: float = 0.05) -> np.ndarray:
    return np.random.default_rng(seed).normal(1, spread, COUNT)


RATE = np.where(TOGETHER, 8600, 4400) * noise(1)


def mirror(below_ms: float = 4.0, merged: float = 0.9, moved: float | np.ndarray = 1.0) -> dict[str, Disk]:
    """Writes that wait for 120 ms in the mirror while they come together, and two disks that merge some of them; once
    each disk has many more outstanding, so that its queue is not full otherwise.
    """
    made = {"md2": disk(RATE, np.where(TOGETHER, 120.0, 0.4) * noise(2), writes=1.0)}
    for seed, name in ((3, "nvme0n1"), (4, "nvme1n1")):
        below = disk(RATE * merged * moved, np.where(TOGETHER, below_ms, 0.2) * noise(seed), writes=1.0)
        made[name] = replace(below, write_ms=np.where(np.arange(COUNT) == 1, 40.0, below.write_ms))
    return made


def log(path: Path, disks: dict[str, Disk], merged: float = 0.9) -> Diagnosis:
    """Reports in which the members' requests are larger by what they merge."""
    text = iostat(path, disks).read_text().splitlines()
    for place, line in enumerate(text):
        if line.startswith("nvme"):
            cells = line.split()
            cells[4] = f"{float(cells[4]) / merged:.2f}"
            text[place] = " ".join(cells)
    path.write_text("\n".join(text))
    return diagnosed(path)


def rules(found: Diagnosis) -> set[str]:
    return {each.rule for each in found.findings}


def test_a_mirror_that_loses_time_when_writes_come_together(tmp_path: Path) -> None:
    found = log(tmp_path / "log", mirror())
    assert found.verdict.rule == "D34", found.verdict
    assert [each.rule for each in found.findings].count("D34") == 1
    sentence = found.verdict.sentence
    assert "The time is lost in md2, above its disks: it takes 12" in sentence or "it takes 11" in sentence
    assert "the slowest of nvme0n1 and nvme1n1 below it, 4." in sentence or "below it, 3.9" in sentence
    assert "in 2.0 min of 20 min" in sentence
    assert "A faster disk" not in sentence
    assert "mdadm --detail /dev/md2" in advice(found)
    assert "crypt" not in advice(found)
    assert "L2" not in rules(found)


def test_disks_that_a_burst_strains_as_well_do_not_explain_the_mirror(tmp_path: Path) -> None:
    """As real ones of NVMe: 7 ms where they should keep 5, under a mirror that takes 120; Linux writes back then."""
    found = log(tmp_path / "log", mirror(below_ms=7.0))
    assert found.verdict.rule == "D34", found.verdict
    assert "vm.dirty_background_bytes" in advice(found)
    assert "D34" not in rules(log(tmp_path / "strained", mirror(below_ms=18.0)))


@pytest.mark.parametrize(
    ("disks", "merged"),
    [
        (mirror(below_ms=40.0), 0.9),  # the disks are slow
        (mirror(merged=0.6), 0.6),  # not the same requests
        (mirror(moved=noise(9, 0.1)), 0.9),  # as many bytes on average, and at other times
        ({**mirror(), "md2": disk(RATE, np.where(TOGETHER, 12.0, 4.4) * noise(2), writes=1.0)}, 0.9),  # little is lost
    ],
)
def test_time_that_is_not_known_to_be_lost_in_a_mirror(tmp_path: Path, disks: dict[str, Disk], merged: float) -> None:
    assert "D34" not in rules(log(tmp_path / "log", disks, merged))


def test_full_queues_of_its_disks_are_what_a_mirror_waits_for(tmp_path: Path) -> None:
    """34 outstanding in each disk, and never more."""
    disks = {name: replace(each, write_ms=np.minimum(each.write_ms, 4.4)) for name, each in mirror(4.2).items()}
    disks["md2"] = mirror()["md2"]
    assert "D34" not in rules(log(tmp_path / "log", disks))


def layers(slow: np.ndarray, below: float = 190.0) -> dict[str, Disk]:
    """A cache over each of two disks, whose misses are the disk's requests; when it is warm the disk has none."""
    found = {}
    for seed, (cache, lower) in enumerate((("bcache0", "sdb"), ("bcache1", "sdc"))):
        rate = 320 * noise(10 + seed, 0.1)
        found[cache] = disk(np.where(slow, rate, 9e4), np.where(slow, 200.0, 1.2) * noise(20 + seed), writes=0.0)
        missed = disk(rate * 0.99 * slow, below * noise(30 + seed) * slow, writes=0.0)
        found[lower] = missed
    return found


@pytest.mark.parametrize("slow", [np.ones(COUNT, dtype=bool), np.arange(COUNT) < 150])
def test_the_disk_with_nearly_all_of_the_latency_is_named(tmp_path: Path, slow: np.ndarray) -> None:
    found = diagnosed(iostat(tmp_path / "log", layers(slow)))
    assert found.verdict.outcome is Outcome.UNKNOWN, found.verdict
    told = {each.subject: each for each in found.findings if each.rule == "L2"}
    for cache, lower in (("bcache0", "sdb"), ("bcache1", "sdc")):
        assert f"{lower} takes 19" in told[cache].what or f"{lower} takes 18" in told[cache].what
        assert told[cache].what.endswith("ms at the same rate: look there."), told[cache].what
        own, below = told[cache].evidence[:2]
        assert below.where == lower
        assert (below.start_ns, below.end_ns) == (own.start_ns, own.end_ns)
        assert told[cache].confidence == 0.45
    assert "the logs do not show where below it" in told["sdb"].what


def test_a_disk_with_a_part_of_the_latency_is_not_named(tmp_path: Path) -> None:
    found = diagnosed(iostat(tmp_path / "log", layers(np.ones(COUNT, dtype=bool), below=120.0)))
    assert all("look there" not in each.what for each in found.findings)


def test_how_many_more_disks_there_are_is_said(tmp_path: Path) -> None:
    disks = {f"sd{'abcdefg'[place]}": disk(100 * noise(place), 9.0 * noise(place + 9)) for place in range(7)}
    said = overview(diagnosed(iostat(tmp_path / "seven", disks)).system)
    assert len(said) == 5
    assert said[-1].startswith("3 more with fewer requests outstanding")
    four = {name: disks[name] for name in list(disks)[:4]}
    assert len(overview(diagnosed(iostat(tmp_path / "four", four)).system)) == 4
