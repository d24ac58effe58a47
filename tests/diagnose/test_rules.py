"""Rules: the folder is the registry, and what a diagnosis promises whatever the log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from make_pdh import pdh

from fathom.diagnose import log as reader
from fathom.diagnose import rules as folder
from fathom.diagnose.diagnose import Diagnosis, Outcome, diagnose
from fathom.diagnose.rule import rules

DISK = r"\\SQL01\PhysicalDisk(1 D:)"
COUNTERS = ("Disk Reads/sec", "Disk Read Bytes/sec", "Avg. Disk sec/Read", "Current Disk Queue Length")


def perfmon(path: Path, iops: np.ndarray, latency: np.ndarray, queue: np.ndarray) -> Path:
    rows = [
        tuple(f"{value:.9f}" for value in (rate, rate * 8192, mean, length))
        for rate, mean, length in zip(iops, latency, queue, strict=True)
    ]
    path.write_text(pdh(rows, [rf"{DISK}\{counter}" for counter in COUNTERS]))
    return path


def diagnosed(path: Path) -> Diagnosis:
    with reader.read([path]) as log:
        return diagnose(log)


def test_every_file_of_the_folder_is_a_rule_with_a_name_of_its_own() -> None:
    files = [path for path in Path(folder.__path__[0]).glob("*.py") if path.stem != "__init__"]
    found = rules()
    assert len(found) == len(files) == len({rule.id for rule in found}) == len({rule.title for rule in found})


def test_a_queue_pinned_at_64_is_full_and_names_the_setting(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    queue = np.where(np.arange(200) % 3 == 0, random.integers(5, 40, 200), 64.0)
    latency = np.where(queue == 64, 0.020, 0.012) * random.normal(1, 0.05, 200)
    found = diagnosed(perfmon(tmp_path / "log", queue / latency, latency, queue))
    assert (found.verdict.outcome, found.verdict.rule) == (Outcome.LIMIT, "D1")
    assert any("MaxQueueDepth=254" in line for line in found.findings[0].remedies[0].commands)
    # No log of waits: nobody is known to be harmed.
    assert found.verdict.severity.value == "note"


def test_a_fast_disk_is_healthy(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    latency = random.normal(0.001, 0.0001, 200)
    found = diagnosed(perfmon(tmp_path / "log", np.full(200, 900.0), latency, random.poisson(0.9, 200)))
    assert (found.verdict.outcome, found.verdict.rule) == (Outcome.HEALTHY, "D25")


def test_too_short_a_log_cannot_tell(tmp_path: Path) -> None:
    found = diagnosed(perfmon(tmp_path / "log", np.full(4, 900.0), np.full(4, 0.05), np.full(4, 64.0)))
    assert (found.verdict.outcome, found.verdict.rule) == (Outcome.UNKNOWN, None)


@pytest.mark.parametrize("sample", sorted((Path(__file__).parent / "samples").iterdir()), ids=lambda path: path.name)
def test_every_sample_is_diagnosed(sample: Path) -> None:
    found = diagnosed(sample)
    assert found.verdict.sentence
    assert all(0 <= finding.confidence <= 1 for finding in found.findings)
