"""D28: a disk that is overloaded because memory lacks, and D21: the same where the disk keeps its latency."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from make_pdh import pdh
from test_surroundings import diagnosed

from fathom.diagnose.diagnose import Diagnosis, Outcome

COUNT = 120
SLOW = (np.arange(COUNT) >= 40) & (np.arange(COUNT) < 80)
DISK = r"\\SQL01\PhysicalDisk(0 C: D:)"
BUFFERS = r"\\SQL01\SQLServer:Buffer Manager"
MEMORY = r"\\SQL01\Memory"


def perfmon(
    path: Path, slow: np.ndarray, size: float, others: dict[str, np.ndarray], slow_s: float = 0.02
) -> Diagnosis:
    """A disk that reads much and slowly at times, beside further counters."""
    random = np.random.default_rng(1)
    iops = np.where(slow, 1200.0, 40.0) * random.normal(1, 0.04, COUNT)
    latency = np.where(slow, slow_s, 0.001) * random.normal(1, 0.03, COUNT)
    columns = {
        rf"{DISK}\Disk Reads/sec": iops,
        rf"{DISK}\Disk Read Bytes/sec": iops * size,
        rf"{DISK}\Avg. Disk sec/Read": latency,
        rf"{DISK}\Current Disk Queue Length": np.round(iops * latency),
        **others,
    }
    rows = [[f"{value:.6f}" for value in row] for row in zip(*columns.values(), strict=True)]
    path.write_text(pdh(rows, list(columns)))
    return diagnosed(path)


def paging(slow: np.ndarray, pages: float, megabytes: float) -> dict[str, np.ndarray]:
    return {
        rf"{MEMORY}\Pages Input/sec": np.where(slow, pages, 15.0),
        rf"{MEMORY}\Available MBytes": np.where(slow, megabytes, 5000.0),
    }


@pytest.mark.parametrize("slow", [SLOW, np.ones(COUNT, dtype=bool)])
def test_paging_is_named_with_the_latency_as_its_consequence(tmp_path: Path, slow: np.ndarray) -> None:
    found = perfmon(tmp_path / "log", slow, 16384, paging(slow, 3600, 90))
    assert (found.verdict.outcome, found.verdict.rule) == (Outcome.LIMIT, "D28")
    assert "The machine has too little memory and pages" in found.verdict.sentence
    assert "ms is the consequence" in found.verdict.sentence
    assert "75 % of what the disk reads; 9" in found.findings[0].evidence[0].sentence
    # Without it the setting does not exist.
    command = found.findings[0].remedies[0].commands[0]
    assert command.startswith("EXEC sp_configure 'show advanced options', 1; RECONFIGURE; ")


@pytest.mark.parametrize(("pages", "megabytes"), [(3600, 4000), (100, 90)])
def test_pages_of_files_and_a_few_pages_are_no_lack_of_memory(tmp_path: Path, pages: float, megabytes: float) -> None:
    """Windows counts pages of mapped files, too: they are read in however much memory there is."""
    found = perfmon(tmp_path / "log", SLOW, 16384, paging(SLOW, pages, megabytes))
    assert "D28" not in {each.rule for each in found.findings}


def buffers(slow: np.ndarray, reads: float, life: float, usual: float = 8000.0) -> dict[str, np.ndarray]:
    return {
        rf"{BUFFERS}\Page reads/sec": np.where(slow, reads, 40.0),
        rf"{BUFFERS}\Lazy writes/sec": np.where(slow, 900.0, 0.0),
        rf"{BUFFERS}\Free list stalls/sec": np.where(slow, 30.0, 0.0),
        rf"{BUFFERS}\Page life expectancy": np.where(slow, life, usual),
    }


@pytest.mark.parametrize("slow", [SLOW, np.ones(COUNT, dtype=bool)])
def test_a_starved_buffer_pool_is_named_where_it_overloads_the_disk(tmp_path: Path, slow: np.ndarray) -> None:
    found = perfmon(tmp_path / "log", slow, 65536, buffers(slow, 9600, 25))
    assert found.verdict.rule == "D28"
    assert "reads the same pages again" in found.verdict.sentence
    assert "a page stays 25.0 s" in found.findings[0].evidence[0].sentence


@pytest.mark.parametrize(("reads", "life"), [(9600, 7000), (200, 25)])
def test_pages_that_stay_or_reads_of_others_are_no_starved_pool(tmp_path: Path, reads: float, life: float) -> None:
    found = perfmon(tmp_path / "log", SLOW, 65536, buffers(SLOW, reads, life))
    assert "D28" not in {each.rule for each in found.findings}


def test_where_the_disk_keeps_its_latency_storage_is_not_the_bottleneck(tmp_path: Path) -> None:
    always = np.ones(COUNT, dtype=bool)
    found = perfmon(tmp_path / "log", always, 65536, buffers(always, 9600, 25), slow_s=0.001)
    assert (found.verdict.outcome, found.verdict.rule) == (Outcome.HEALTHY, "D21")
