"""D37: vSAN that rebuilds or moves data, as its performance service tells it; units of that service."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from test_surroundings import advice, diagnosed

from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import Outcome

COUNT = 72
LATER = (np.arange(COUNT) >= 24) & (np.arange(COUNT) < 48)
CLIENT, BACK = "cluster-domclient:5270dc4d", "cluster-domcompmgr:5270dc4d"


def service(path: Path, latency_us: np.ndarray, resync: np.ndarray, congestion: np.ndarray) -> Path:
    """9,000 reads/s and 4,000 writes/s of 16 KiB, every five minutes."""
    noise = np.random.default_rng(7).normal(1, 0.04, COUNT)
    series = {
        CLIENT: {
            "iopsRead": 9000 * noise, "iopsWrite": 4000 * noise, "throughputRead": 9000 * 16384 * noise,
            "throughputWrite": 4000 * 16384 * noise, "latencyAvgRead": latency_us, "latencyAvgWrite": 1.5 * latency_us,
            "congestion": congestion, "oio": 0.0151 * latency_us,
        },
        BACK: {"iopsRead": 9000 * noise, "latencyAvgRead": 0.8 * latency_us, "iopsRecWrite": resync,
               "iopsResyncRead": resync},
    }  # fmt: skip
    stamps = ",".join(f"{datetime(2026, 11, 2) + timedelta(minutes=5 * at):%Y-%m-%d %H:%M:%S}" for at in range(COUNT))
    entities = [
        {
            "entityRefId": name,
            "sampleInfo": stamps,
            "value": [
                {
                    "metricId": {"label": label, "metricsCollectInterval": 300},
                    "values": ",".join(f"{v:.0f}" for v in of),
                }
                for label, of in labels.items()
            ],
        }
        for name, labels in series.items()
    ]
    path.write_text(json.dumps(entities))
    return path


def test_a_resync_that_slows_virtual_machines_is_the_load(tmp_path: Path) -> None:
    log = service(
        tmp_path / "log", np.where(LATER, 18_000.0, 800.0), np.where(LATER, 6000.0, 0.0), np.where(LATER, 120.0, 0.0)
    )
    found = diagnosed(log)
    assert (found.verdict.outcome, found.verdict.rule) == (Outcome.LOAD, "D37"), found.verdict
    said = " ".join(each.sentence for each in found.findings[0].evidence)
    assert "12,000 resync requests/s" in said
    assert "congestion 120 of 255" in said
    assert "esxcli vsan debug resync summary get" in advice(found)


@pytest.mark.parametrize(
    ("latency_us", "resync"),
    [
        (np.full(COUNT, 900.0), np.where(LATER, 6000.0, 0.0)),  # it harms nobody
        (np.full(COUNT, 900.0), np.zeros(COUNT)),
        (np.where(LATER, 18_000.0, 800.0), np.zeros(COUNT)),  # something else
        (np.where(LATER, 18_000.0, 800.0), np.full(COUNT, 6000.0)),  # as much all the time
        (np.where(LATER, 18_000.0, 800.0), np.where(LATER, 300.0, 0.0)),  # little of it
    ],
)
def test_a_resync_that_explains_no_latency_is_not_told(
    tmp_path: Path, latency_us: np.ndarray, resync: np.ndarray
) -> None:
    found = diagnosed(service(tmp_path / "log", latency_us, resync, np.zeros(COUNT)))
    assert "D37" not in {each.rule for each in found.findings}, found.verdict
    healthy = found.verdict.outcome is Outcome.HEALTHY
    assert healthy is bool((latency_us < 1000).all()), found.verdict


def test_throughput_is_a_rate_and_congestion_a_state(tmp_path: Path) -> None:
    log = service(tmp_path / "log", np.full(COUNT, 800.0), np.zeros(COUNT), np.full(COUNT, 120.0))
    with reader.read([log]) as found:
        rows = found.samples.collect()
        mean = {
            metric: float(np.mean(part["value"].to_numpy()))
            for (device, metric), part in rows.group_by("device", "metric")
            if device == CLIENT
        }
    assert mean["read_bytes_per_s"] / mean["read_iops"] == pytest.approx(16384, rel=0.01)
    assert mean["congestion"] == 120
