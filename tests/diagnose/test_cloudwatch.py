"""CloudWatch's answers: which volume each series is of, and that what the printed commands ask for is read."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import Outcome, diagnose
from fathom.diagnose.recipes import recipe
from fathom.diagnose.source import LogError

MINUTES = [f"2026-03-02T22:{minute:02}:00Z" for minute in range(3)]
FIRST, SECOND = "vol-0123456789abcdef0", "vol-0fedcba9876543210"


def answer(path: Path, *results: tuple[str, str, float], times: Sequence[str] = MINUTES) -> Path:
    """An answer of get-metric-data: Id, label and the value of each minute."""
    found = [{"Id": name, "Label": label, "Timestamps": times, "Values": [value] * len(times)}
             for name, label, value in results]  # fmt: skip
    path.write_text(json.dumps({"MetricDataResults": found}))
    return path


def statistics(path: Path, label: str, value: float) -> Path:
    """An answer of get-metric-statistics: one metric, and no word of the volume."""
    path.parent.mkdir(exist_ok=True)
    points = [{"Timestamp": time, "Sum": value, "Unit": "Count"} for time in MINUTES]
    path.write_text(json.dumps({"Label": label, "Datapoints": points}))
    return path


def means(*paths: Path) -> dict[tuple[str | None, str], float]:
    """Mean of every series, by device (or host) and metric."""
    with reader.read(paths) as log:
        rows = log.series.with_columns(pl.coalesce(pl.col("device").cast(pl.String), pl.col("host").cast(pl.String)))
        return {(row["device"], row["metric"]): row["mean"] for row in rows.iter_rows(named=True)}


@pytest.mark.parametrize("label", ["data VolumeReadOps", "VolumeReadOps (data)", "VolumeReadOps - data Sum"])
def test_labels_tell_volumes_apart(tmp_path: Path, label: str) -> None:
    path = answer(
        tmp_path / "log",
        ("m0", label, 60_000.0),
        ("m1", label.replace("ReadOps", "TotalReadTime"), 60.0),
        ("m2", label.replace("data", "log"), 6_000.0),
    )
    found = means(path)
    assert found["data", "read_iops"] == 1000.0
    assert found["data", "read_latency_s"] == 0.001
    assert found["log", "read_iops"] == 100.0


def test_ids_tell_volumes_apart(tmp_path: Path) -> None:
    one = answer(tmp_path / "one", ("a", "VolumeReadOps", 60_000.0), ("b", "VolumeReadOps", 6_000.0))
    assert means(one) == {("a", "read_iops"): 1000.0, ("b", "read_iops"): 100.0}
    two = answer(
        tmp_path / "two",
        ("reads_a", "VolumeReadOps", 60_000.0),
        ("writes_a", "VolumeWriteOps", 60.0),
        ("reads_b", "VolumeReadOps", 6_000.0),
    )
    assert means(two) == {("a", "read_iops"): 1000.0, ("a", "write_iops"): 1.0, ("b", "read_iops"): 100.0}


def test_metrics_that_nothing_joins_are_refused(tmp_path: Path) -> None:
    results = [("VolumeReadOps", 60_000.0), ("VolumeWriteOps", 60.0), ("VolumeReadOps", 6_000.0)]
    path = answer(tmp_path / "log", *((f"m{at}", label, value) for at, (label, value) in enumerate(results)))
    with pytest.raises(LogError, match=r"entry m2: VolumeReadOps is there twice .*m0 and m2") as error:
        means(path)
    assert "write the volume's id" in (error.value.remedy or "")


def test_pages_and_days_of_one_volume_are_one_series(tmp_path: Path) -> None:
    later = [time.replace("T22", "T23") for time in MINUTES]
    path = answer(tmp_path / "log", ("m0", "VolumeReadOps", 60_000.0))
    pages = json.loads(path.read_text())
    pages["MetricDataResults"] += [{"Id": "m0", "Label": "VolumeReadOps", "Timestamps": later, "Values": [0.0] * 3}]
    path.write_text(json.dumps(pages))
    assert means(path) == {(None, "read_iops"): 500.0}


def test_a_maximum_beside_the_average_does_not_count(tmp_path: Path) -> None:
    path = answer(tmp_path / "log", ("m0", "VolumeQueueLength Average", 2.0), ("m1", "VolumeQueueLength Maximum", 40.0))
    assert means(path) == {(None, "outstanding_mean"): 2.0}


def test_a_volume_is_named_by_its_own_id_not_by_that_of_the_instance(tmp_path: Path) -> None:
    path = answer(tmp_path / "log", ("m0", f"i-0123456789abcdef0 {FIRST} VolumeReadOps", 60.0))
    assert means(path) == {(FIRST, "read_iops"): 1.0}


def test_folders_name_volumes_that_files_do_not(tmp_path: Path) -> None:
    paths = [
        statistics(tmp_path / folder / f"{metric}.json", metric, value)
        for folder, values in (("a", (60_000.0, 60.0)), ("b", (6_000.0, 60.0)))
        for metric, value in zip(("VolumeReadOps", "VolumeTotalReadTime"), values, strict=True)
    ]
    assert means(*paths)["a", "read_iops"] == 1000.0
    assert means(*paths)["b", "read_iops"] == 100.0
    # One folder needs no name.
    assert means(*paths[:2])[None, "read_iops"] == 1000.0
    volume = {"VolumeId": SECOND, "VolumeType": "gp3", "Size": 100}
    (tmp_path / "b" / "volume.json").write_text(json.dumps({"Volumes": [volume]}))
    assert means(*paths, tmp_path / "b" / "volume.json")[SECOND, "read_iops"] == 100.0


def test_files_of_one_folder_that_differ_are_refused(tmp_path: Path) -> None:
    one, other = (statistics(tmp_path / name, "VolumeReadOps", value) for name, value in (("a", 60.0), ("b", 120.0)))
    with pytest.raises(LogError, match=r"b: read iops at the same times as in .*a, with other values") as error:
        means(one, other)
    assert "one folder per volume" in (error.value.remedy or "")
    other.write_bytes(one.read_bytes())
    assert means(one, other) == {(None, "read_iops"): 1.0}


def test_latency_is_known_where_time_and_operations_are_in_two_files(tmp_path: Path) -> None:
    from fathom.diagnose.evidence import limits
    from fathom.diagnose.evidence.system import system_of

    paths = [
        statistics(tmp_path / name, name, value)
        for name, value in (("VolumeReadOps", 60.0), ("VolumeTotalReadTime", 0.3))
    ]
    with reader.read(paths) as log:
        (volume,) = system_of(log, limits.load()).volumes
    assert volume.mean("latency_s") == pytest.approx(0.005)


_AWS = """#!/usr/bin/env python3
import json, sys
if sys.argv[1] == "ec2":
    volumes = [{"VolumeId": name, "VolumeType": "gp3", "Size": 100} for name in sys.argv[4:-2]]
    print(json.dumps({"Volumes": volumes}))
else:
    queries = json.load(open(sys.argv[sys.argv.index("--metric-data-queries") + 1].removeprefix("file://")))
    times = ["2026-03-02T22:00:00Z", "2026-03-02T22:01:00Z"]
    print(json.dumps({"MetricDataResults": [
        {"Id": each["Id"], "Label": each["Label"], "Timestamps": times, "Values": [len(each["Id"]), 60.0]}
        for each in queries]}))
"""


def test_what_the_printed_commands_ask_for_is_read(tmp_path: Path) -> None:
    """The recipe, run by bash against an `aws` that answers every query."""
    (tmp_path / "aws").write_text(_AWS)
    (tmp_path / "aws").chmod(0o755)
    script = recipe("aws").replace("VOLUMES=vol-0123456789abcdef0", f'VOLUMES="{FIRST} {SECOND}"')
    script = script.replace("DATABASE= ", "DATABASE=orders ")
    surroundings = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-e", "-c", script], check=False, cwd=tmp_path, env=surroundings, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    queries = json.loads((tmp_path / "queries.json").read_text())
    assert len({each["Id"] for each in queries}) == len(queries)
    with reader.read([tmp_path / "cloudwatch.json", tmp_path / "volumes.json"]) as log:
        assert not log.notes[0].skipped
        assert log.notes[1].value("volume_type", SECOND) == "gp3"
        series = log.series
    named = {(row["device"] or row["host"], row["metric"]) for row in series.iter_rows(named=True)}
    for volume in (FIRST, SECOND):
        assert {(volume, "read_latency_s"), (volume, "burst_balance_percent"), (volume, "iops_exceeded")} <= named
    assert {("i-0123456789abcdef0", "iops_balance_percent"), ("i-0123456789abcdef0", "cpu_percent")} <= named
    assert {("orders", "read_latency_s"), ("orders", "outstanding_mean"), ("orders", "cpu_percent")} <= named
    assert {("orders", "memory_available_bytes"), ("orders", "swap_used_bytes")} <= named
    assert None not in {name for name, _ in named}


HOUR = [f"2026-03-02T22:{minute:02}:00Z" for minute in range(60)]


def test_averages_that_nothing_calls_so_are_refused(tmp_path: Path) -> None:
    """The console's default: each operation is a sample, so operations are 1 and times are those of one."""
    volume = f"VolumeId={FIRST}"
    rows = (("m1", f"VolumeReadOps {volume}", 1.0), ("m2", f"VolumeTotalReadTime {volume}", 0.04))
    with pytest.raises(LogError, match="VolumeReadOps is 1 in every period: that is the Average") as error:
        means(answer(tmp_path / "log", *rows, times=HOUR))
    assert "export the Sum" in (error.value.remedy or "")
    table = [f"Label,{FIRST} VolumeWriteOps,{FIRST} VolumeTotalWriteTime", *(f"{time},1.0,0.04" for time in HOUR)]
    (tmp_path / "csv").write_text("\n".join(table))
    with pytest.raises(LogError, match="VolumeWriteOps is 1 in every period"):
        means(tmp_path / "csv")


def test_a_sum_of_one_operation_is_read_where_it_is_called_so(tmp_path: Path) -> None:
    path = answer(tmp_path / "log", ("m1", f"{FIRST} VolumeWriteOps Sum", 1.0), times=HOUR)
    assert means(path) == {(FIRST, "write_iops"): 1 / 60}


def test_a_queue_that_contradicts_the_rate_makes_no_idle_volume(tmp_path: Path) -> None:
    """A rate that is 300 times too low, as of operations per second that were taken for a sum."""
    rows = (
        ("m1", f"{FIRST} VolumeReadOps Sum", 1200.0 / 60),
        ("m2", f"{FIRST} VolumeTotalReadTime Sum", 0.04 * 1200.0 / 60),
        ("m3", f"{FIRST} VolumeQueueLength Average", 48.0),
    )
    with reader.read([answer(tmp_path / "log", *rows, times=HOUR)]) as log:
        found = diagnose(log)
    assert found.verdict.outcome is not Outcome.HEALTHY


@pytest.mark.parametrize(
    ("cpu", "left", "swap", "reason"),
    [
        (98.0, 9e7, 1.8e9, "the processors are, and memory is short"),
        (30.0, 9e7, 1.8e9, "memory is short"),
        (98.0, 4e9, 1.8e9, "the processors are"),
        (98.0, 9e7, 4e7, "the processors are"),
        (30.0, 9e7, 4e7, ""),
    ],
)
def test_memory_that_is_short_is_named_beside_the_processors(
    tmp_path: Path, cpu: float, left: float, swap: float, reason: str
) -> None:
    metrics = {"ReadIOPS": 2800.0, "WriteIOPS": 300.0, "ReadLatency": 0.0011, "WriteLatency": 0.0013,
               "CPUUtilization": cpu, "FreeableMemory": left, "SwapUsage": swap}  # fmt: skip
    rows = ((f"m{at}", f"{name} DBInstanceIdentifier=db", value) for at, (name, value) in enumerate(metrics.items()))
    with reader.read([answer(tmp_path / "log", *rows, times=HOUR)]) as log:
        found = diagnose(log)
    assert found.verdict.outcome is Outcome.HEALTHY
    assert found.verdict.sentence.partition(": ")[2].rstrip(".") == reason
    said = " ".join(each.sentence for each in found.findings[0].evidence)
    assert ("90.0 MB of memory are left, and 1,800 MB of programs are in swap" in said) is ("memory" in reason)
    advice = [text for each in found.findings[0].remedies for text in (each.action, *each.commands)]
    assert any("more memory" in each for each in advice) is ("memory" in reason)
