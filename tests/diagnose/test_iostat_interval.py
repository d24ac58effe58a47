"""The interval of iostat's reports where they have no times: by amounts, by rates, or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fathom.diagnose import log as reader
from fathom.diagnose.iostat_interval import interval_of

HEADING = "Linux 6.1.0 (db1) \t03/02/26 \t_x86_64_\t(8 CPU)\n\n"
Reports = list[dict[str, dict[str, float]]]


def of_counts(
    seconds: float, *, decimals: int = 2, late: float = 0.0, count: int = 60, most: float = 3000.0, seed: int = 1
) -> Reports:
    """Reports of two disks with whole numbers of requests; a share of the intervals is longer by 10 ms."""
    random = np.random.default_rng(seed)
    found: Reports = []
    for _ in range(count):
        length = seconds + (0.01 if random.random() < late else 0.0)
        rates = np.round(random.integers(0.3 * most * seconds, most * seconds, 4) / length, decimals)
        busy = round(random.uniform(10, 90), decimals)
        disks = {"sda": {"r/s": rates[0], "w/s": rates[1], "%util": busy}, "sdb": {"r/s": rates[2], "w/s": rates[3]}}
        found.append(disks)
    return found


@pytest.mark.parametrize("seconds", [1, 2, 5, 7, 10, 15, 30, 60])
def test_rates_of_many_requests_tell_the_interval(seconds: int) -> None:
    found = interval_of(of_counts(seconds))
    assert found is not None
    assert (found.seconds, found.why) == (seconds, "which the rates are whole counts of")


def test_some_longer_intervals_do_not_matter() -> None:
    found = interval_of(of_counts(5, late=0.2))
    assert found is not None
    assert found.seconds == 5


@pytest.mark.parametrize(
    "reports",
    [
        of_counts(300),
        of_counts(7.3),
        of_counts(5, late=0.5),
        of_counts(5, decimals=0),
        of_counts(30, decimals=1),
        of_counts(5, count=1),
        [{"sda": {"r/s": 600.0, "w/s": 1200.0}}] * 60,
        [],
    ],
    ids=["of minutes", "no seconds", "jitter", "--dec=0", "--dec=1", "few", "always the same", "none"],
)
def test_what_chance_may_be_tells_nothing(reports: Reports) -> None:
    assert interval_of(reports) is None


def test_chance_seldom_tells_an_interval() -> None:
    found = [interval_of(of_counts(7.3, count=40, seed=seed)) for seed in range(100)]
    assert found == [None] * 100


def plain(lengths: list[float], unit: str = "kB") -> str:
    """What `iostat -d` prints: amounts beside rates, the first since the machine's start."""
    random = np.random.default_rng(2)
    lines = [HEADING]
    for length in lengths:
        amounts = random.integers(50 * length, 4500 * length, 2)
        rates = [f"{each / length:.2f}" for each in amounts]
        lines.append(f"Device tps {unit}_read/s {unit}_wrtn/s {unit}_read {unit}_wrtn")
        lines.append(f"sda 600.00 {rates[0]} {rates[1]} {amounts[0]} {amounts[1]}\nsdb 0.00 0.00 0.00 0 0\n")
    return "\n".join(lines)


@pytest.mark.parametrize("unit", ["kB", "Blk"])
@pytest.mark.parametrize(("first", "kept"), [(81_234.5, 8), (20.0, 9)])
def test_amounts_over_rates_are_the_interval(tmp_path: Path, unit: str, first: float, kept: int) -> None:
    path = tmp_path / "log"
    path.write_text(plain([first, *[20.0] * 5, 20.01, *[20.0] * 2], unit))
    with reader.read([path]) as log:
        (clock,) = [fact.value for fact in log.notes[0].facts if fact.name == "clock"]
        series = log.series.row(0, named=True)
    assert clock.endswith("every 20 s, which is the amounts over their rates")
    assert (series["interval_s"], series["samples"]) == (20.0, kept)


def test_amounts_that_tell_several_intervals_tell_none(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(plain([20.0, 20.0, 5.0, 20.0, 5.0, 5.0, 20.0, 7.0]))
    with reader.read([path]) as log:
        assert any(fact.value.endswith("1 s, as the log does not say") for fact in log.notes[0].facts)
