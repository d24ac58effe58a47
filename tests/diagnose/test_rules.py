"""Rules: the folder is the registry, and what a diagnosis promises whatever the log."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from make_pdh import pdh

from fathom.diagnose import log as reader
from fathom.diagnose import rules as folder
from fathom.diagnose.diagnose import Diagnosis, Outcome, diagnose
from fathom.diagnose.rule import rules
from fathom.diagnose.source import LogError

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


def test_logs_of_one_disk_with_other_counters_are_one_series(tmp_path: Path) -> None:
    """Transfers in one log, reads and writes in the next: the rate has both."""
    counters = (("Disk Transfers/sec",), ("Disk Reads/sec", "Disk Writes/sec"))
    for number, names in enumerate(counters):
        start = datetime(2026, 3, 2, 22 + number)
        times = [f"{start + timedelta(seconds=15 * each):%m/%d/%Y %H:%M:%S}.000" for each in range(20)]
        rows = [["60.0"] * len(names)] * 20
        text = pdh(rows, [rf"{DISK}\{name}" for name in names], zone="(PDH-CSV 4.0) (UTC)(0)", times=times)
        (tmp_path / f"log{number}").write_text(text)
    with reader.read([tmp_path / "log0", tmp_path / "log1"]) as log:
        rate = diagnose(log).system.disks[0].values("iops")
    assert rate.tolist() == [60.0] * 20 + [120.0] * 20


def test_a_count_that_comes_back_to_one_number_stands_there(tmp_path: Path) -> None:
    """No window of five numbers holds most of the moments, and 32 is twice as frequent as any other number."""
    random = np.random.default_rng(4)
    queue = np.where(np.arange(200) % 6 == 0, 32.0, random.integers(3, 29, 200))
    latency = 0.004 * (1 + queue / 32) * random.normal(1, 0.05, 200)
    assert diagnosed(perfmon(tmp_path / "log", queue / latency, latency, queue)).verdict.rule == "D1"


@pytest.mark.parametrize(("latency_s", "finding"), [(0.012, "D1"), (0.003, "D25")])
def test_a_depth_at_which_nothing_is_slower_is_likely_where_requests_are_slow(
    tmp_path: Path, latency_s: float, finding: str
) -> None:
    """As many threads as a queue is deep look the same, so it is no verdict; it is not ruled out either."""
    random = np.random.default_rng(1)
    queue = np.where(np.arange(200) % 3 == 0, random.integers(5, 40, 200), 64.0)
    latency = latency_s * random.normal(1, 0.05, 200)
    found = diagnosed(perfmon(tmp_path / "log", queue / latency, latency, queue))
    assert found.findings[0].rule == finding
    assert found.verdict.rule == (None if finding == "D1" else finding)
    assert "full queue of a disk" not in found.ruled_out or finding != "D1"


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


PATHS = [
    rf"\\SQL01\{path}"
    for disk in ("PhysicalDisk(0 C:)", "PhysicalDisk(1 D: E:)", "LogicalDisk(D:)", "PhysicalDisk(_Total)")
    for path in (rf"{disk}\Disk Reads/sec", rf"{disk}\Disk Writes/sec", rf"{disk}\Avg. Disk sec/Read",
                 rf"{disk}\Avg. Disk sec/Write", rf"{disk}\Avg. Disk sec/Transfer",
                 rf"{disk}\Current Disk Queue Length",
                 rf"{disk}\Disk Bytes/sec", rf"{disk}\Avg. Disk Bytes/Read")
] + [
    r"\\SQL01\Processor(_Total)\% Processor Time",
    r"\\SQL01\SQLServer:Databases(shop)\Log Flushes/sec",
    r"\\SQL01\SQLServer:Databases(shop)\Log Bytes Flushed/sec",
    r"\\SQL01\SQLServer:Buffer Manager\Page reads/sec",
    r"\\SQL01\SQLServer:Buffer Manager\Checkpoint pages/sec",
    r"\\SQL01\SQLServer:Wait Statistics(Cumulative wait time (ms) per second)\Log write waits",
]  # fmt: skip


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("seed", range(40))
def test_any_choice_of_counters_with_gaps_and_odd_values_is_diagnosed(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    chosen = [path for path in PATHS if random.random() < random.choice((0.2, 0.7))] or PATHS[:1]
    count = int(random.choice((1, 2, 9, 60)))
    scale = 10.0 ** random.integers(-4, 5, len(chosen))
    values = random.choice((0.0, 1.0, 1e-9, 3.3), (count, len(chosen))) * scale
    gaps = random.random(values.shape) < random.choice((0.0, 0.3, 0.95))
    cells = np.where(gaps, " ", np.char.mod("%.9f", values))
    rows = [[str(cell) for cell in row] for row in cells]
    (tmp_path / "log").write_text(pdh(rows, chosen))
    try:
        found = diagnosed(tmp_path / "log")
    except LogError:
        # Nothing but gaps and _Total: the importer says so.
        return
    assert found.verdict.sentence
    assert found.verdict.confidence <= 1


def test_an_empty_balance_tells_spent_credits_without_any_other_metric(tmp_path: Path) -> None:
    """`get-metric-statistics` gives one metric; what it cannot tell, it does not claim."""
    start, path = datetime(2026, 3, 2, 22), tmp_path / "log"

    def rule(metric: str, key: str, unit: str, numbers: list[float]) -> str | None:
        points = [
            {"Timestamp": f"{start + timedelta(minutes=5 * place):%Y-%m-%dT%H:%M:%SZ}", key: value, "Unit": unit}
            for place, value in enumerate(numbers)
        ]
        path.write_text(json.dumps({"Label": metric, "Datapoints": points[::-1]}))
        return diagnosed(path).verdict.rule

    assert rule("BurstBalance", "Average", "Percent", [max(0.0, 100.0 - 5 * place) for place in range(40)]) == "D7"
    assert rule("BurstBalance", "Average", "Percent", [100.0 - place for place in range(40)]) is None
    assert rule("VolumeReadOps", "Sum", "Count", [900000.0 + place for place in range(40)]) is None


def test_the_allocation_unit_is_never_a_cause(tmp_path: Path) -> None:
    path = perfmon(tmp_path / "log", np.full(100, 900.0), np.full(100, 0.05), np.full(100, 45.0))
    with reader.read([path]) as log:
        log.notes[0].fact("allocation_unit_bytes", "4096", "D:")
        found = diagnose(log)
    assert "D23" in {finding.rule for finding in found.findings}
    assert found.verdict.rule != "D23"
    assert found.findings[0].rule != "D23"


def test_requests_that_took_seconds_are_a_stall_where_the_log_counts_them_at_completion(tmp_path: Path) -> None:
    rate, latency = np.full(60, 200.0), np.full(60, 0.0004)
    rate[30:33], latency[30:33] = (0.0, 1.0, 0.0), (0.0, 2.0, 0.0)
    found = diagnosed(perfmon(tmp_path / "log", rate, latency, np.zeros(60)))
    assert found.verdict.rule == "D24"


def test_requests_at_the_end_of_idle_intervals_are_no_stall(tmp_path: Path) -> None:
    """Bursts of swapping: nothing completed in an interval that was idle but for its end."""
    rate, queue = np.full(60, 200.0), np.ones(60)
    rate[30:33], queue[30:33] = 0.0, 40.0
    idle = np.full(60, 20.0)
    for share, stalled in ((86.5, False), (0.0, True)):
        idle[30:33] = share
        rows = [(f"{r:.3f}", f"{q:.3f}", f"{i:.3f}") for r, q, i in zip(rate, queue, idle, strict=True)]
        paths = [rf"{DISK}\{name}" for name in ("Disk Transfers/sec", "Avg. Disk Queue Length", "% Idle Time")]
        (tmp_path / "log").write_text(pdh(rows, paths))
        assert (diagnosed(tmp_path / "log").verdict.rule == "D24") is stalled


@pytest.mark.parametrize(("waited_ms", "stalled"), [(40.0, True), (0.8, False)])
def test_a_pause_is_a_stall_if_what_ends_after_it_waited_through_it(
    tmp_path: Path, waited_ms: float, *, stalled: bool
) -> None:
    """Linux since 5.0 counts a request's time when it ends: iostat shows a disk that hangs as idle."""
    lines = ["Linux 6.1.0 (db1) \t03/02/26 \t_x86_64_\t(8 CPU)", ""]
    for at in range(60):
        rate = 0.0 if at in (30, 31, 32) else 2000.0
        latency = 0.0 if not rate else waited_ms if at == 33 else 0.8
        lines += [
            f"03/02/26 22:01:{at:02}",
            "Device r/s rkB/s r_await rareq-sz w/s wkB/s w_await wareq-sz aqu-sz %util",
        ]
        lines += [f"sdb {rate} {rate * 8} {latency} 8.00 0.00 0.00 0.00 0.00 {rate * latency / 1000} 50.0", "", ""]
    (tmp_path / "log").write_text("\n".join(lines))
    assert (diagnosed(tmp_path / "log").verdict.rule == "D24") is stalled
