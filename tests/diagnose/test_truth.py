"""The short form of `make diagnose-truth`, and the published case P10, made by the project's own virtual driver."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from cases.simulated import SIMULATED
from cases.truth import GENERATED, case_of, outcomes, rates
from make_pdh import START, pdh, stamps

from fathom import results
from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import Diagnosis, diagnose

ROOT = Path(__file__).parents[2]
INTERVAL_S = 15.0


def test_causes_come_first_and_the_healthy_are_not_called_sick() -> None:
    found = list(outcomes(150, 9))
    assert rates(found).met, (rates(found), [each for each in found if not each.right])
    assert {each.maker for each in found} == set(GENERATED)
    assert {"perfmon", "blg", "iostat", "iostat-json", "esxtop", "nfsiostat"} <= {
        name for each in found for name in each.formats
    }


@pytest.mark.parametrize("maker", SIMULATED, ids=lambda name: name.removeprefix("run: "))
def test_bottlenecks_that_the_virtual_driver_runs_are_found(maker: str) -> None:
    _, found, outcome = case_of(11, {maker: SIMULATED[maker]})
    assert outcome.right, found.verdict


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> results.Campaign:
    folder = tmp_path_factory.mktemp("p10")
    text = (ROOT / "studies" / "adapter-queue-depth.toml").read_text()
    study = folder / "study.toml"
    # Ten samples of 15 s of each load; its own length leaves four.
    study.write_text(re.sub(r'^duration = "60s"', 'duration = "150s"', text, flags=re.MULTILINE))
    command = [sys.executable, "-m", "fathom", "simulate", str(study), "--rounds", "1", "-q", "--no-sensitivity"]
    environment = {"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"}
    subprocess.run([*command, "--out", str(folder / "out")], check=True, capture_output=True, env=environment)
    return results.read(folder / "out")


def perfmon(campaign: results.Campaign, adapter: str, path: Path) -> Path:
    """Both loads of one adapter, one after the other, as LogicalDisk counters at 15 s."""
    rows: list[tuple[str, ...]] = []
    for load in ("queries", "backup"):
        run = next(run for run in campaign.runs if run.variant == {"adapter": adapter, "load": load})
        samples = run.samples()
        assert samples is not None
        reads = samples.filter((pl.col("node") == "disk") & (pl.col("op") == "read") & (pl.col("phase") == "measure"))
        for (_,), part in reads.with_columns((pl.col("t_s") // INTERVAL_S).alias("slot")).group_by(
            "slot", maintain_order=True
        ):
            seconds, count = float(part["seconds"].sum()), float(part["count"].sum())
            latency = float(np.average(part["latency_mean_ns"].fill_null(0), weights=part["count"])) / 1e9
            values = (
                count / seconds,
                float(part["bytes"].sum()) / seconds,
                latency,
                round(part["outstanding_mean"][-1]),
            )
            rows.append(tuple(f"{value:.9f}" for value in values))
    counters = ("Disk Reads/sec", "Disk Read Bytes/sec", "Avg. Disk sec/Read", "Current Disk Queue Length")
    paths = [rf"\\SQL01\LogicalDisk(D:)\{counter}" for counter in counters]
    path.write_text(pdh(rows, paths, times=stamps(len(rows), START, INTERVAL_S)))
    return path


def diagnosed(path: Path) -> Diagnosis:
    with reader.read([path]) as log:
        return diagnose(log)


def test_p10_before_is_a_full_queue_with_the_right_setting(campaign: results.Campaign, tmp_path: Path) -> None:
    before = diagnosed(perfmon(campaign, "LSI Logic SAS", tmp_path / "before"))
    assert before.verdict.rule == "D1"
    commands = [command for remedy in before.findings[0].remedies for command in remedy.commands]
    assert any("MaxQueueDepth=254" in command for command in commands)


def test_p10_after_is_no_full_queue(campaign: results.Campaign, tmp_path: Path) -> None:
    after = diagnosed(perfmon(campaign, "PVSCSI, raised", tmp_path / "after"))
    assert not {finding.rule for finding in after.findings} & {"D1", "D2"}, after.findings
    # The device itself is at its highest rate, which is no limit that anybody set.
    assert after.verdict.rule == "D26", after.verdict
