"""D16, D17, D18: maintenance is the load whoever waits for it, where latency follows it and nowhere else."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import numpy as np
import pytest
from make_pdh import START
from test_context_rules import COUNT, FEW, disk, perfmon
from test_files_beside_disks import views

from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import Diagnosis, Outcome, diagnose
from fathom.finding import Severity

RAN = (np.arange(COUNT) >= 40) & (np.arange(COUNT) < 80)
SCAN = r"SQLServer:Databases(shop)\DBCC Logical Scan Bytes/sec"
BACKUP = r"SQLServer:Databases(shop)\Backup/Restore Throughput/sec"
PAGES = r"SQLServer:Buffer Manager\Checkpoint pages/sec"


def waits(sessions: object) -> dict[str, object]:
    """Sessions that wait for reads, as SQL Server's own counters."""
    counter = r"SQLServer:Wait Statistics({})\Page IO latch waits"
    return {
        counter.format("Waits in progress"): sessions,
        counter.format("Cumulative wait time (ms) per second"): 1000 * np.asarray(sessions),
    }


def diagnosed(*paths: Path) -> Diagnosis:
    with reader.read(paths) as log:
        return diagnose(log)


@pytest.mark.parametrize(("counter", "rule"), [(SCAN, "D17"), (BACKUP, "D16")])
@pytest.mark.parametrize(("inside", "waiting"), [("some", 0.0), ("some", 15.0), ("all", 15.0)])
def test_users_who_wait_for_it_are_harmed_by_it(
    tmp_path: Path, counter: str, rule: str, inside: str, waiting: float
) -> None:
    """A log of waits beside it must not hide a load that was known without."""
    ran = RAN if inside == "some" else np.ones(COUNT, dtype=bool)
    columns = disk("1 E:", np.where(ran, 3400, 500) * FEW, 0.0, np.where(ran, 0.011, 0.0012) * FEW, 0.0, 131072)
    columns[counter] = np.where(ran, 4.5e8, 0.0)
    if waiting:
        columns |= waits(np.where(ran, waiting, 0.6))
    found = diagnosed(perfmon(tmp_path / "log", columns))
    assert (found.verdict.outcome, found.verdict.rule) == (Outcome.LOAD, rule), found.verdict
    assert found.verdict.severity is (Severity.WARNING if waiting else Severity.NOTE)
    evidence = [each.sentence for each in found.findings[0].evidence]
    # What ran a third of the time is told as what it was then.
    assert "450 MB/s" in evidence[0]
    assert "take 11" in evidence[1]
    assert ("no other time" in evidence[1]) is (inside == "all")
    assert ("sessions wait" in str(found.findings[0].harm)) is bool(waiting)


@pytest.mark.parametrize(
    ("counters", "name"),
    [
        ({BACKUP: 4.5e8}, "[shop]"),
        ({BACKUP.replace("shop", "_Total"): 4.5e8}, "x"),  # a sum does not tell which
        ({BACKUP: 4.5e8, BACKUP.replace("shop", "_Total"): 4.5e8}, "[shop]"),
        ({BACKUP: 2e8, BACKUP.replace("shop", "a]b"): 2.5e8}, "x"),
        ({BACKUP.replace("shop", "a]b"): 2.5e8}, "[a]]b]"),
    ],
)
@pytest.mark.parametrize("waiting", [0.0, 15.0])
def test_a_backup_s_command_names_the_database_and_is_gentle(
    tmp_path: Path, counters: dict[str, float], name: str, waiting: float
) -> None:
    columns = disk("1 E:", np.where(RAN, 3400, 500) * FEW, 0.0, np.where(RAN, 0.011, 0.0012) * FEW, 0.0, 131072)
    columns |= {counter: np.where(RAN, rate, 0.0) for counter, rate in counters.items()}
    if waiting:
        columns |= waits(np.where(RAN, waiting, 0.6))
    found = diagnosed(perfmon(tmp_path / "log", columns))
    assert found.verdict.rule == "D16", found.verdict
    command = found.findings[0].remedies[0].commands[0]
    assert command.startswith(f"BACKUP DATABASE {name} TO DISK = '...' WITH BUFFERCOUNT = 2,")
    assert "COMPRESSION" not in command, "not in every edition"
    assert sum("Backup or restore of" in each.sentence for each in found.findings[0].evidence) == (
        2 if len(counters) == 2 and name == "x" else 1
    )


@pytest.mark.parametrize(("counter", "rule"), [(SCAN, "D17"), (BACKUP, "D16")])
def test_users_who_wait_as_long_without_it_wait_for_something_else(tmp_path: Path, counter: str, rule: str) -> None:
    columns = disk("1 E:", 800 * FEW, 0.0, 0.012 * FEW, 0.0) | waits(9.0) | {counter: np.where(RAN, 5e7, 0.0)}
    found = diagnosed(perfmon(tmp_path / "log", columns))
    assert rule not in {each.rule for each in found.findings}


@pytest.mark.parametrize(("slowed", "there"), [(0.008, True), (0.001, False)])
def test_checkpoints_harm_who_waits_for_reads_that_they_slow(tmp_path: Path, slowed: float, *, there: bool) -> None:
    burst = np.arange(COUNT) % 8 < 2
    reads = np.where(burst, slowed, 0.001) * FEW
    columns = disk("1 D:", 500 * FEW, np.where(burst, 2000, 20) * FEW, reads, np.where(burst, 0.02, 0.002))
    columns |= {PAGES: np.where(burst, 2000.0, 0.0)} | waits(np.where(burst, 12.0, 1.0))
    found = diagnosed(perfmon(tmp_path / "log", columns))
    assert ("D18" in {each.rule for each in found.findings}) is there
    if there:
        assert (found.verdict.outcome, found.verdict.rule) == (Outcome.LOAD, "D18")
        assert found.verdict.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("size", "rate", "latency_s", "there"),
    [
        (180_000, 900, 0.015, True),  # a scan of tables beside the usual reads
        (180_000, 900, 0.0013, False),  # larger, and as fast
        (8192, 900, 0.015, False),  # slow for another reason
        (180_000, 60, 0.015, False),  # no more is moved than usual
    ],
)
def test_large_reads_that_come_in_are_the_load(
    tmp_path: Path, size: int, rate: int, latency_s: float, *, there: bool
) -> None:
    """No counter of a database, and less than half of the log."""
    columns = disk("1 E:", np.where(RAN, rate, 500) * FEW, 0.0, np.where(RAN, latency_s, 0.0012) * FEW, 0.0)
    columns[r"PhysicalDisk(1 E:)\Disk Read Bytes/sec"] = columns[r"PhysicalDisk(1 E:)\Disk Reads/sec"] * np.where(
        RAN, size, 8192
    )
    del columns[r"PhysicalDisk(1 E:)\Disk Bytes/sec"]
    found = diagnosed(perfmon(tmp_path / "log", columns))
    assert ("D16" in {each.rule for each in found.findings}) is there
    if there:
        assert found.verdict.outcome is Outcome.LOAD
        first = found.findings[0].evidence[0]
        assert "176 KiB" in first.sentence
        assert first.start_ns != found.system.disks[0].times_ns[0]


def test_a_backup_is_known_by_its_window(tmp_path: Path) -> None:
    """Most of the log's requests are small, and the copy goes to another disk at the rate of the reads."""
    ran = np.arange(COUNT) >= 90
    columns = disk("1 E:", np.where(ran, 300, 700) * FEW, 0.0, np.where(ran, 0.04, 0.002), 0.0)
    columns[r"PhysicalDisk(1 E:)\Disk Bytes/sec"] = np.where(ran, 300 * 1048576, 700 * 8192) * FEW
    columns |= disk("2 B:", 0.0, np.where(ran, 300, 0.1) * FEW, 0.0, 0.004, 1048576)
    for name in ("1 E:", "2 B:"):
        way = "Read" if name == "1 E:" else "Write"
        columns[rf"PhysicalDisk({name})\Disk {way} Bytes/sec"] = columns.pop(rf"PhysicalDisk({name})\Disk Bytes/sec")
    found = diagnosed(perfmon(tmp_path / "log", columns))
    assert found.verdict.rule == "D16", found.verdict
    assert "another disk is written" in found.findings[0].evidence[0].sentence


SIZES = np.where(RAN, 300_000, 8192)
UNEVEN = np.random.default_rng(4).normal(1, 0.15, COUNT)
"""A rate that no limit holds."""
BATCHES = r"SQLServer:SQL Statistics\Batch Requests/sec"


@pytest.mark.parametrize(("day", "severity"), [(1500.0, Severity.WARNING), (700.0, Severity.NOTE)])
def test_fewer_batches_than_just_before_large_reads_are_harm(tmp_path: Path, day: float, severity: Severity) -> None:
    """At night there are as few before and after."""
    reads = np.where(RAN, 750, 900) * UNEVEN
    columns = disk("1 E:", reads, 0.0, np.where(RAN, 0.03, 0.002) * FEW, 0.0, SIZES)
    columns[r"PhysicalDisk(1 E:)\Disk Read Bytes/sec"] = reads * SIZES
    found = diagnosed(perfmon(tmp_path / "log", columns | {BATCHES: np.where(RAN, 700.0, day) * FEW}))
    assert (found.verdict.outcome, found.verdict.rule) == (Outcome.LOAD, "D16")
    assert found.verdict.severity is severity
    assert ("batches/s while 1 E: is slow, 1,5" in str(found.findings[0].harm)) is (severity is Severity.WARNING)


@pytest.mark.parametrize(
    ("then", "severity"), [(7000.0, Severity.WARNING), (9.0, Severity.NOTE)], ids=["longer", "as long"]
)
def test_responses_that_take_longer_beside_large_reads_are_harm(
    tmp_path: Path, then: float, severity: Severity
) -> None:
    reads = np.where(RAN, 750, 900) * UNEVEN
    columns = disk("1 E:", reads, 0.0, np.where(RAN, 0.03, 0.002) * FEW, 0.0, SIZES)
    columns[r"PhysicalDisk(1 E:)\Disk Read Bytes/sec"] = reads * SIZES
    waited, start = np.where(RAN, then, 4.1) * FEW, START.replace(tzinfo=UTC).timestamp()
    lines = (
        f"progress: {start + 15 * at:.1f} s, 90.0 tps, lat {ms:.3f} ms stddev 1.000, 0 failed"
        for at, ms in enumerate(waited)
    )
    (tmp_path / "pgbench").write_text("\n".join(["pgbench (15.8)", *lines]) + "\n")
    found = diagnosed(perfmon(tmp_path / "log", columns), tmp_path / "pgbench")
    assert (found.verdict.rule, found.verdict.severity) == ("D16", severity)
    assert ("response times rise from 4.1" in str(found.findings[0].harm)) is (severity is Severity.WARNING)


@pytest.mark.parametrize(("read", "rule"), [(0.95, "D16"), (0.2, None)])
def test_large_reads_are_seen_in_the_size_of_all_requests(tmp_path: Path, read: float, rule: str | None) -> None:
    """As sar counts them: one rate, one latency and one size, but the bytes of reads and of writes."""
    iops, name = np.where(RAN, 700.0, 1000.0) * UNEVEN, "PhysicalDisk(1 E:)"
    moved = iops * np.where(RAN, 400_000, 10_000)
    columns = {
        rf"{name}\Disk Transfers/sec": iops,
        rf"{name}\Avg. Disk sec/Transfer": np.where(RAN, 0.02, 0.0008) * FEW,
        rf"{name}\Disk Read Bytes/sec": np.where(RAN, read, 0.5) * moved,
        rf"{name}\Disk Write Bytes/sec": np.where(RAN, 1 - read, 0.5) * moved,
    }
    found = diagnosed(perfmon(tmp_path / "log", columns))
    assert found.verdict.rule == rule, found.verdict
    assert any("Requests of 391 KiB on average read" in each.sentence for each in found.findings[0].evidence) is (
        rule == "D16"
    )


@pytest.mark.parametrize(("then", "otherwise", "rule"), [(14.0, 1.0, "D18"), (14.0, 13.0, None), (0.3, 0.1, None)])
def test_sessions_that_wait_during_checkpoints_show_them_without_a_disk(
    tmp_path: Path, then: float, otherwise: float, rule: str | None
) -> None:
    columns = waits(np.where(RAN, then, otherwise) * FEW) | {PAGES: np.where(RAN, 6000.0, 0.0)}
    found = diagnosed(perfmon(tmp_path / "log", columns))
    assert found.verdict.rule == rule, found.verdict
    if rule:
        assert found.verdict.severity is Severity.WARNING
        assert "Sessions wait for storage while checkpoints write: 14.0 then, 1.00 otherwise" in found.verdict.sentence


@pytest.mark.parametrize(("longer", "advice"), [(0.0628, "If others work in these times, move"), (0.0012, "Mark the")])
def test_a_backup_that_slows_others_is_not_to_be_made_faster(tmp_path: Path, longer: float, advice: str) -> None:
    """Nobody recorded who waits: then the hour decides, which a reader knows."""
    columns = disk("1 E:", np.where(RAN, 3400, 500) * FEW, 0.0, np.where(RAN, longer, 0.0012) * FEW, 0.0, 131072)
    columns[BACKUP] = np.where(RAN, 4.5e8, 0.0)
    findings = diagnosed(perfmon(tmp_path / "log", columns)).findings
    remedy = next(each for each in findings if each.rule == "D16").remedies[0]
    assert remedy.action.startswith(advice)
    assert ("BUFFERCOUNT = 50" in str(remedy.commands)) is advice.startswith("Mark")


@pytest.mark.parametrize(("size", "shown"), [(8192, False), (300_000, True)])
def test_a_backup_that_only_waits_tell_of_is_not_said_to_read_much(tmp_path: Path, size: int, *, shown: bool) -> None:
    logs = views(tmp_path / "v", data_ms=1.0, waits={"BACKUPTHREAD": 1.0, "WRITELOG": 0.1})
    logs[0].write_text(logs[0].read_text() if size == 8192 else _with_size(logs[0].read_text(), size))
    (backup,) = (each for each in diagnosed(*logs).findings if each.rule == "D16")
    assert ("a fixed number of large reads" in backup.what) is shown
    assert backup.confidence == (0.85 if shown else 0.6)
    assert any("Reads of " in each.sentence for each in backup.evidence) is not shown


def _with_size(text: str, size: int) -> str:
    """The views with reads of another size."""
    head, *rows = (line.split(",") for line in text.splitlines())
    return "\n".join(
        ",".join(each) for each in [head, *([*row[:3], str(int(row[2]) * size), *row[4:]] for row in rows)]
    )
