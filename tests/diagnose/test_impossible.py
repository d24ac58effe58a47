"""Values that cannot be are left out and told: latencies longer than the log, rows without a number, equal times."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from make_iostat import disk, iostat
from test_surroundings import diagnosed

from fathom.diagnose.diagnose import Outcome

COUNT = 60


def damaged(path: Path, digits: str, every: int) -> Path:
    """A busy disk and one beside it; every so many latencies of reads of the first are such a number."""
    rates, latency = np.full(COUNT, 2000.0), np.full(COUNT, 0.5)
    iostat(path, {"sda": disk(rates / 40, latency), "sdb": disk(rates, latency)})
    lines = path.read_text().splitlines()
    rows = [at for at, line in enumerate(lines) if line.startswith("sdb")]
    for at in rows[::every]:
        cells = lines[at].split()
        lines[at] = " ".join([*cells[:5], digits, *cells[6:]])
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(("every", "outcome"), [(1, Outcome.UNKNOWN), (30, Outcome.HEALTHY)])
def test_a_latency_longer_than_the_log_is_left_out(tmp_path: Path, every: int, outcome: Outcome) -> None:
    found = diagnosed(damaged(tmp_path / "log", "999999999993", every))
    assert found.verdict.outcome is outcome, found.verdict
    check = next(each for each in found.checks if each.rule == "Q10")
    assert check.subject == "sdb"
    assert "latencies up to 999,999,999 s cannot be in a log of 5.0 min" in re.sub(r"1,000,000,000", "999,999,999",
                                                                                   check.what)  # fmt: skip
    assert f"{COUNT // every} of {COUNT} intervals are left out" in check.what
    assert not {"Q1", "Q4"} & {each.rule for each in found.checks}


def test_a_long_latency_that_can_be_counts(tmp_path: Path) -> None:
    found = diagnosed(damaged(tmp_path / "log", "250000", 20))
    assert "Q10" not in {each.rule for each in found.checks}


def test_a_disk_of_which_no_row_can_be_read_is_not_cleared(tmp_path: Path) -> None:
    found = diagnosed(damaged(tmp_path / "log", "nan", 1))
    assert found.verdict.outcome is Outcome.UNKNOWN, found.verdict
    assert f"sdb: none of its {COUNT} lines could be read" in found.verdict.sentence


def test_progress_of_one_time_is_told(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"progress: 5.0 s, {90 + at}.0 tps, lat 6.714 ms stddev 9.316\n" for at in range(20)))
    notes = [fact.value for fact in diagnosed(log).system.facts if fact.name == "note"]
    assert any("19 lines have the time of the line before" in each for each in notes)


def counters(path: Path, names: dict[str, int]) -> Path:
    """Copies of /proc/diskstats; each device completes so many reads per second, of 1 ms each."""
    lines = []
    for at in range(COUNT):
        lines.append(f"{1_772_488_800 + at}.000000000")
        for place, (name, rate) in enumerate(names.items()):
            done = rate * (at + 1)
            cells = (done, 0, 16 * done, done, 0, 0, 0, 0, 0, done, done, 0, 0, 0, 0, 0, 0)
            lines.append(f"   7 {place:7} {name} {' '.join(map(str, cells))}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_loop_devices_that_did_something_are_disks(tmp_path: Path) -> None:
    log = counters(tmp_path / "log", {"loop0": 100, "loop1": 0, "loop2p1": 10, "zram0": 50, "ram0": 0})
    found = diagnosed(log)
    assert {each.name for each in found.system.disks} == {"loop0", "loop2p1"}
    assert found.verdict.outcome is Outcome.HEALTHY
    skipped = [(each.what, each.count, each.example) for notes in found.system.notes for each in notes.skipped]
    assert skipped == [("devices", 1, "zram0")]


def test_the_quieter_time_of_a_highest_rate_is_one_stretch(tmp_path: Path) -> None:
    at = np.arange(COUNT)
    quiet = (at < 20) | (at == COUNT - 1)
    iops = np.where(quiet, 60.0, 166.0) * np.random.default_rng(5).normal(1, 0.008, COUNT)
    latency = np.where(quiet, 7.5, 60.0 + at)
    found = diagnosed(iostat(tmp_path / "log", {"sda": disk(iops, latency)}))
    assert found.verdict.rule == "D26", found.verdict
    evidence = next(each for each in found.findings[0].evidence if "In quieter times" in each.sentence)
    assert (evidence.end_ns or 0) - (evidence.start_ns or 0) == 20 * 5_000_000_000
