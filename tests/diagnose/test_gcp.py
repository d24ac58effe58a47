"""Google Cloud Monitoring's answers: one metric each, joined by instance and disk; what was throttled; the commands."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from test_surroundings import advice, diagnosed

from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import Diagnosis, Outcome
from fathom.diagnose.recipes import recipe
from fathom.diagnose.source import LogError

COUNT = 60
BUSY = np.arange(COUNT) >= 20
RATE = np.where(BUSY, 3000.0, 1500.0) * np.random.default_rng(3).normal(1, 0.02, COUNT)
LATENCY_US = np.where(BUSY, 21_000.0, 900.0)


def answer(
    path: Path, metric: str, values: Sequence[float], kind: str = "DELTA", unit: str = "1", **labels: str
) -> Path:
    """One metric of one disk, the newest point first; only counts name the instance."""
    points = []
    for place, value in enumerate(values):
        end = datetime(2026, 3, 2, 9) + timedelta(minutes=place + 1)
        start = end - timedelta(minutes=kind == "DELTA")
        interval = {"startTime": f"{start:%Y-%m-%dT%H:%M:%SZ}", "endTime": f"{end:%Y-%m-%dT%H:%M:%SZ}"}
        points.insert(0, {"interval": interval, "value": {"doubleValue": value}})
    named = {"instance_name": "db1"} if kind == "DELTA" else {}
    series = {
        "metric": {"type": f"compute.googleapis.com/instance/disk/{metric}",
                   "labels": {"device_name": "data", **named, **labels}},
        "resource": {"type": "gce_instance", "labels": {"instance_id": "8122"}},
        "metricKind": kind, "valueType": "DOUBLE", "points": points,
    }  # fmt: skip
    path.write_text(json.dumps({"timeSeries": [series], "unit": unit}))
    return path


def disk(folder: Path, throttled: np.ndarray | None) -> Diagnosis:
    """A disk that slows down under more load; `throttled` requests per second were held back."""
    paths = [
        answer(folder / "reads", "read_ops_count", list(60 * RATE)),
        answer(folder / "bytes", "read_bytes_count", list(60 * 8192 * RATE)),
        answer(folder / "latency", "average_io_latency", list(LATENCY_US), "GAUGE", "us"),
    ]
    if throttled is not None:
        held = answer(folder / "held", "throttled_read_ops_count", list(60 * throttled), throttle_reason="READ_OPS")
        paths.append(held)
    return diagnosed(*paths)


def test_what_was_throttled_is_a_limit(tmp_path: Path) -> None:
    found = disk(tmp_path, np.where(BUSY, 600.0, 0.0))
    assert (found.verdict.outcome, found.verdict.rule) == (Outcome.LIMIT, "D5"), found.verdict
    assert "data is throttled: its limit on IOPS is passed in 67 % of the time" in found.verdict.sentence
    said = advice(found)
    assert "gcloud compute disks update DISK" in said
    assert "--provisioned-iops N" in said
    assert not any(each in said for each in ("aws ", "az ", "EBS", "esxcli"))


@pytest.mark.parametrize("throttled", [None, np.where(BUSY, 30.0, 0.0)])
def test_few_throttled_requests_are_no_limit(tmp_path: Path, throttled: np.ndarray | None) -> None:
    found = disk(tmp_path, throttled)
    assert "is passed" not in found.verdict.sentence
    (volume,) = found.system.volumes
    assert volume.mean("latency_s", BUSY) == pytest.approx(0.021)
    assert volume.mean("iops") == pytest.approx(RATE.mean())


def test_minutes_without_a_throttle_have_no_point(tmp_path: Path) -> None:
    """A short time of it is a small part of the log, not all of what is known."""
    reads = answer(tmp_path / "reads", "read_ops_count", list(60 * RATE))
    path = answer(tmp_path / "held", "throttled_read_ops_count", [60 * 900.0] * COUNT)
    document = json.loads(path.read_text())
    del document["timeSeries"][0]["points"][2:]
    path.write_text(json.dumps(document))
    (volume,) = diagnosed(reads, path).system.volumes
    assert volume.values("iops_exceeded").tolist() == [0.0] * (COUNT - 2) + [1.0] * 2


def test_rates_are_read_as_rates_and_means_of_counts_are_not(tmp_path: Path) -> None:
    rates = answer(tmp_path / "rates", "read_ops_count", [1500.0] * 8, "GAUGE", "1/s")
    with reader.read([rates]) as log:
        assert log.series["mean"].to_list() == [1500.0]
    means = answer(tmp_path / "means", "read_ops_count", [90_000.0] * 8, "GAUGE", "1")
    with pytest.raises(LogError, match="means of counts"):
        reader.read([means])


_CURL = """#!/usr/bin/env python3
import json, sys
metric = next(each for each in sys.argv if each.startswith("filter=")).split('"')[1]
if "throttled" in metric:
    print(json.dumps({"unit": "1"}))
    sys.exit()
counts = metric.endswith("_count")
points = [{"interval": {"startTime": f"2026-03-02T22:0{at}:00Z", "endTime": f"2026-03-02T22:0{at + counts}:00Z"},
           "value": {"int64Value": "60000"}} for at in (1, 0)]
line = {"metric": {"type": metric, "labels": {"device_name": "data"}}, "resource": {"labels": {"instance_id": "8"}},
        "metricKind": "DELTA" if counts else "GAUGE", "points": points}
print(json.dumps({"timeSeries": [line], "unit": "By/s" if "throughput" in metric else "1"}))
"""


def test_what_the_printed_commands_ask_for_is_read(tmp_path: Path) -> None:
    for name, text in (("curl", _CURL), ("gcloud", "#!/bin/sh\necho shop\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    surroundings = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-e", "-c", recipe("gcp")], check=False, cwd=tmp_path, env=surroundings, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    paths = sorted(tmp_path.glob("gcp-*.json"))
    assert len(paths) == 9, "metrics without a series leave no file"
    with reader.read(paths) as log:
        assert not any(skipped.what == "metrics" for each in log.notes for skipped in each.skipped)
        named = {(row["device"], row["metric"]) for row in log.series.iter_rows(named=True)}
        bought = {fact.name: fact.value for each in log.notes for fact in each.facts if fact.subject == "data"}
    wanted = ("read_iops", "write_iops", "read_bytes_per_s", "write_bytes_per_s", "latency_s", "outstanding_mean")
    assert named == {*(("data", metric) for metric in wanted), (None, "cpu_percent")}
    assert bought == {"provisioned_iops": "60000", "provisioned_bytes_per_s": "60000"}
