"""`[goals]`: read with errors that name the line, judged by exit code, JSON and report, and searched by."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fathom.cli.finding import sentence, value_words
from fathom.goals import Goal
from fathom.search import First, Found, Highest

LOAD = """\
title = "How much does it take?"
clock = "virtual"

[volumes.disk]
kind = "model"
model = "aws/gp3"
size = "1TiB"

[workload]
kind = "io"
volumes = ["disk"]
size = "8KiB"
rate = 1000
ramp = "200ms"
duration = "2s"

[compare]
metric = "iops"
rounds = 1

[goals]
latency_p99_ms = "< 20ms"
refused = "<= 0"
"""


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [(17_680.0, "ms", "17.7 s"), (17_680.0, "IOPS", "17,680 IOPS"), (5.004, "ms", "5.004 ms"), (0.0, "", "0")],
)
def test_a_value_that_missed_is_told_without_an_exponent(value: float, unit: str, words: str) -> None:
    assert value_words(value, unit) == words


@pytest.fixture
def load(tmp_path: Path) -> Path:
    """An open loop with goals that hold below what gp3 grants, 3,000 IOPS."""
    path = tmp_path / "load.toml"
    path.write_text(LOAD)
    return path


def test_goals_met_and_missed_have_exit_codes_of_their_own(fathom: Any, load: Path) -> None:
    done = fathom("simulate", load, "--out", "met")
    assert done.returncode == 0, done.stderr
    assert "Both goals met" in done.stdout
    load.write_text(LOAD.replace("rate = 1000", "rate = 6000"))
    done = fathom("simulate", load, "--out", "missed")
    assert done.returncode == 8, done.stderr
    assert "2 of 2 goals missed" in done.stdout, "a load that is not sustained misses all of them"
    found = json.loads(fathom("report", "missed", "--json").stdout)["goals"]
    assert [(entry["goal"]["metric"], entry["passed"]) for entry in found] == [
        ("latency_p99_ms", False),
        ("refused", False),
    ]
    assert found[0]["worst"] > 20


STANDSTILL = """\
title = "A cache on a volume whose credits end"
clock = "virtual"

[volumes.drive]
kind = "model"
model = "aws/r5d.4xlarge/nvme"

[volumes.disk]
kind = "model"
model = "aws/gp3"
size = "1TiB"

[volumes.credits]
kind = "throttle"
backing = "disk"
iops = 100
iops_burst = { peak = 3000, credits = 20000, initial = 20000 }

[volumes.data]
kind = "writeback"
backing = "credits"
cache = "drive"
size = "8GiB"
lag_target = "3s"
lag_max = "9s"

[workload]
kind = "io"
volumes = ["data"]
size = "8KiB"
read = "0%"
rate = 2000
ramp = "5s"
duration = "20s"

[compare]
metric = "iops"
rounds = 1

[goals]
write_latency_p50_ms = "< 200ms"
write_latency_p99_ms = "< 2s"
"""

UNANSWERED = re.compile("of the arrivals got no answer|nothing was answered for")
"""Either is told, whichever share is the larger."""


def test_requests_that_were_never_answered_meet_no_limit_on_the_latency(fathom: Any, tmp_path: Path) -> None:
    study = tmp_path / "standstill.toml"
    study.write_text(STANDSTILL)
    done = fathom("simulate", study, "--out", "stood")
    assert done.returncode == 8, done.stderr
    assert UNANSWERED.search(" ".join(done.stdout.split()))
    report = json.loads(fathom("report", "stood", "--json").stdout)
    median, tail = report["goals"]
    assert tail["worst"] < 2000, "the completed writes were fast enough"
    assert (tail["passed"], tail["met"]) == (False, 0)
    assert 0.3 < tail["left_out"]["share"] < 0.5
    assert (median["met"], median["left_out"]) == (1, None), "more than half were answered in time"
    assert (median["passed"], median["sustained"]) == (False, False), "and the others wait"
    found = fathom("simulate", study, "--find-max", "workload.rate=1000..8000", "--out", "found")
    assert "8000 meets" not in found.stdout
    assert UNANSWERED.search(found.stderr)


def test_a_failed_run_meets_no_goal_and_is_told_first(fathom: Any, tmp_path: Path) -> None:
    study = tmp_path / "gone.toml"
    study.write_text(
        'title = "Gone"\n[volumes.disk]\nkind = "file"\npath = "/nowhere/disk.img"\n'
        '[workload]\nkind = "io"\nvolumes = ["disk"]\nduration = "50ms"\n'
        '[compare]\nmetric = "iops"\nrounds = 1\n[goals]\niops = "> 1"\n'
    )
    done = fathom("run", study, "--json")
    assert done.returncode == 1
    (goal,) = json.loads(done.stdout)["goals"]
    assert (goal["passed"], goal["worst"], goal["runs"], goal["met"]) == (False, None, 1, 0)


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        ('latency_p99_ms = "5ms"', ("does not begin with <, <=, > or >=", "load.toml:22:")),
        ('latency_p99_ms = "< 5MB/s"', ('unit "MB/s" does not fit', "us, ms, s")),
        ("latency_p99_ms = 5", ("expected a text", "load.toml:22:")),
        ('latency_p99 = "< 5ms"', ("no metric `latency_p99`", "latency_p99_ms", "fathom doc io", "load.toml:22:")),
        ('errors = "< many"', ("has no number",)),
    ],
)
def test_a_goal_that_cannot_be_meant_is_refused_at_its_line(
    goal: str, words: tuple[str, ...], fathom: Any, load: Path
) -> None:
    load.write_text(LOAD.replace('latency_p99_ms = "< 20ms"', goal))
    done = fathom("plan", load)
    assert done.returncode == 2
    assert all(word in done.stderr for word in words), done.stderr


def test_a_goal_compares_as_it_is_written() -> None:
    kept = {
        comparison: [value for value in (4.0, 5.0, 6.0) if Goal("latency_ms", comparison, 5.0, "").met(value)]
        for comparison in ("<", "<=", ">", ">=")
    }
    assert kept == {"<": [4.0], "<=": [4.0, 5.0], ">": [6.0], ">=": [5.0, 6.0]}


def test_the_highest_load_within_the_goals_is_found(fathom: Any, load: Path, tmp_path: Path) -> None:
    command = ("simulate", load, "--find-max", "workload.rate=600..20000", "--out", "found", "--json")
    done = fathom(*command)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert 2400 < answer["met"] < answer["missed"] < 3200, "gp3 does 3,000"
    seeds = {
        level: [step["seed"] for step in answer["steps"] if step["value"] == level]
        for level in (answer["met"], answer["missed"])
    }
    assert set(map(tuple, seeds.values())) == {(1, 2)}, "both ends are tried with another seed"
    assert [step["passed"] for step in answer["steps"]][:2] == [True, False]
    again = fathom(*command)
    assert json.loads(again.stdout) == answer
    assert "1 of them finished before" in again.stderr
    best = tmp_path / "found" / f"workload.rate={answer['met']}"
    assert fathom("report", best).returncode == 0
    other = fathom("simulate", load, "--out", best)
    assert other.returncode == 4
    assert "another value of a setting" in other.stderr


def test_a_load_that_is_not_sustained_is_not_the_highest_whatever_its_latency_was(
    fathom: Any, load: Path, tmp_path: Path
) -> None:
    loose = LOAD.replace("< 20ms", "< 500ms").replace('duration = "2s"', 'duration = "10s"')
    load.write_text(loose)
    command = ("simulate", load, "--find-max", "workload.rate=2800..3100", "--out", "found")
    done = fathom(*command)
    assert done.returncode == 0, done.stderr
    assert re.search("workload.rate = 29.. meets the goals; [0-9]+ is a load that is not sustained", done.stdout)
    assert "missed, overloaded: disk cannot sustain 3,100/s" in done.stderr
    answer = json.loads(fathom(*command, "--json").stdout)
    assert 2900 < answer["met"] < 3000 < answer["missed"] <= 3100, "gp3 does 3,000"
    top = next(step for step in answer["steps"] if step["value"] == 3100)
    assert not top["passed"]
    assert all(goal["met"] == goal["runs"] for goal in top["goals"]), "the latency was fast enough until the end"
    assert not any(goal["passed"] for goal in top["goals"]), "and grows from there on"
    assert "cannot sustain" in top["overloads"][0]
    best = fathom("report", tmp_path / "found" / f"workload.rate={answer['met']}")
    assert "overloaded" not in best.stdout


def test_a_load_that_is_not_sustained_misses_its_goals_everywhere(fathom: Any, load: Path) -> None:
    """Its latency was low enough until the end of the run, and grows from there on."""
    slow = LOAD.replace("< 20ms", "< 500ms").replace('duration = "2s"', 'duration = "10s"')
    load.write_text(slow.replace("rate = 1000", "rate = 3100"))
    done = fathom("simulate", load, "--out", "over", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 8
    assert not any(goal["passed"] or goal["sustained"] for goal in told["goals"])
    assert told["analysis"]["decision"]["goals"]["met"] == 0
    report = fathom("report", "over")
    assert report.returncode == 8
    assert "Goals: 0 of " in report.stdout
    assert "not sustained" in report.stdout
    assert "goals met" not in report.stdout.lower()


def test_the_first_volume_of_a_list_within_the_goals_is_found(fathom: Any, load: Path) -> None:
    load.write_text(LOAD.replace("rate = 1000", "rate = 5000"))
    line = ("simulate", load, "--find-first")
    done = fathom(*line, "volumes.disk.iops=3000,4000,6000,8000")
    assert done.returncode == 0, done.stderr
    assert "volumes.disk.iops = 6000 is the first that meets the goals; 4000 misses them." in done.stdout
    none = fathom(*line, "volumes.disk.iops=3000,3500")
    assert none.returncode == 8
    assert "No value of volumes.disk.iops meets the goals" in none.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--find-max", "workload.rate"), "KEY=LOW..HIGH"),
        (("--find-max", "workload.rate=9..3"), "empty range"),
        (("--find-max", "workload.rat=1..3"), "workload.rat"),
        (("--find-first", "workload.rate=5,,6"), "KEY=A,B,C"),
        (("--find-first", "volumes.disk.size=1TiB,900TiB"), "900TiB"),
        (("--find-max", "workload.rate=1..3", "--find-first", "a=1,2"), "two searches"),
    ],
)
def test_searches_that_cannot_be_meant_are_refused_before_anything_runs(
    arguments: tuple[str, ...], words: str, fathom: Any, load: Path, tmp_path: Path
) -> None:
    done = fathom("simulate", load, *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"load.toml"}


def test_a_search_without_goals_is_refused(fathom: Any, study: Path) -> None:
    done = fathom("simulate", study, "--find-max", "workload.outstanding=1..64")
    assert done.returncode == 2
    assert "[goals]" in done.stderr


@pytest.mark.parametrize("line", [0, 1, 499, 500, 777, 19_999, 20_000])
def test_a_bisection_brackets_the_line(line: int) -> None:
    tried: list[float] = []

    def meets(level: Any) -> bool:
        tried.append(level)
        return bool(level <= line)

    found = Highest("key", 500, 20_000).search(meets)
    if line < 500:
        assert (found.met, found.missed) == (None, 500)
    elif line >= 20_000:
        assert (found.met, found.missed) == (20_000, None)
    else:
        assert found.met <= line < found.missed
        assert found.missed - found.met <= max(1, 0.02 * found.met)
    assert len(tried) <= 14
    assert len(set(tried)) == len(tried)


def test_scatter_near_the_line_widens_what_is_found() -> None:
    def found(first: int, second: int) -> Found:
        return Highest("key", 500, 6000).search(lambda v: v <= first, again=lambda v: v <= second)

    alike = found(2300, 2300)
    assert alike.met <= 2300 < alike.missed
    assert (alike.missed - alike.met <= 0.02 * alike.met, alike.unclear) == (True, ())
    lower, higher = found(2300, 2100), found(2300, 2500)
    assert lower.met <= 2100
    assert lower.missed > 2300
    assert higher.met <= 2300
    assert higher.missed > 2500
    assert lower.unclear
    assert higher.unclear
    assert found(9000, 5000).met <= 5000, "the upper end met the goals once"
    assert (found(2300, 100).met, found(2300, 100).missed) == (None, 500)
    assert First("key", (1, 2, 3)).search(lambda v: v >= 2, again=lambda v: v >= 3).met == 3


def test_a_bisection_goes_on_below_what_a_second_seed_contradicts() -> None:
    """One seed takes 920, the other 790: between 700, which both take, and 900 lay nothing that was tried."""
    tried: list[float] = []

    def meets(value: float) -> bool:
        tried.append(value)
        return value <= 920

    found = Highest("workload.rate", 300, 1100).search(meets, again=lambda value: value <= 790)
    assert isinstance(found.met, int)
    assert found.met <= 790
    assert min(found.unclear) - found.met <= 0.02 * found.met
    assert found.missed == 925
    assert len(tried) == len(set(tried)) < 16


@pytest.mark.parametrize(
    ("unclear", "end"), [((), "."), ((2350,), "; 2350 did so"), ((2350, 2370), "; 2350 and 2370 did so")]
)
def test_what_was_found_is_told_with_what_both_seeds_said(unclear: tuple[int, ...], end: str) -> None:
    said = sentence(Highest("workload.rate", 500, 6000), Found(2300, 2400, 2300, unclear))
    assert said.startswith(f"workload.rate = 2300 meets the goals; 2400 misses them{end}")


def test_a_bisection_between_fractions_ends() -> None:
    found = Highest("key", 0.0, 1.0).search(lambda level: level <= 0.3)
    assert found.met <= 0.3 < found.missed
    assert found.missed - found.met <= 0.02 * 0.3
    nothing = Highest("key", 0.0, 1.0).search(lambda level: level <= 0.0)
    assert nothing.met == 0.0
    assert nothing.missed <= 1e-3


def test_a_list_is_tried_in_its_order_and_no_further() -> None:
    tried: list[Any] = []
    found = First("key", (1, 2, 3, 4)).search(lambda level: tried.append(level) or level >= 3)
    assert (found.met, found.missed, tried) == (3, 2, [1, 2, 3])


def test_a_mistake_in_a_value_of_a_search_is_one_error(fathom: Any, load: Path) -> None:
    done = fathom("simulate", load, "--find-first", "workload.siz=4KiB,8KiB")
    assert done.returncode == 2
    assert done.stderr.count("error:") == 1, done.stderr
    assert "workload.siz = 4KiB" in done.stderr


def test_a_run_that_did_nothing_is_no_success(fathom: Any, load: Path) -> None:
    slow = 'kind = "model"\nsize = "1GiB"\nservers = 1\nread = { latency = "60s" }'
    text = LOAD.replace('kind = "model"\nmodel = "aws/gp3"\nsize = "1TiB"', slow).partition("[goals]")[0]
    load.write_text(text.replace("rate = 1000", "outstanding = 1"))
    done = fathom("simulate", load, "--out", "idle")
    assert done.returncode == 1, done.stdout
    assert "1 run completed nothing while measured" in " ".join(done.stdout.split())


def test_fewer_rounds_than_a_campaign_has_are_told(fathom: Any, load: Path) -> None:
    assert fathom("simulate", load, "--out", "c", "--rounds", "3").returncode == 0
    done = fathom("simulate", load, "--out", "c", "--rounds", "2")
    assert done.returncode == 0, done.stderr
    assert "c has 3 rounds, and --rounds 2 takes none away" in " ".join(done.stderr.split())
