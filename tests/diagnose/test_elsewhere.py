"""Waits that are not in the storage, and what a database's own figures explain: grants, stolen time, growing files."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from make_pdh import pdh, stamps
from test_surroundings import diagnosed
from typer.testing import CliRunner

from fathom.cli import codes
from fathom.cli.app import build
from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import Diagnosis, Outcome, diagnose

COUNT = 60
SLOW = (np.arange(COUNT) >= 20) & (np.arange(COUNT) < 40)
_FILES = (
    "sample_time,physical_name,num_of_reads,num_of_bytes_read,io_stall_read_ms,num_of_writes,num_of_bytes_written,"
    "io_stall_write_ms,size_on_disk_bytes"
)
LOG = r"L:\Log\erp_log.ldf"


def iostat(path: Path, used: np.ndarray, steal: np.ndarray) -> Diagnosis:
    """A healthy disk beside processors."""
    lines = ["Linux 6.1.0 (db1) \t2026-03-02 \t_x86_64_\t(8 CPU)\n"]
    for place in range(COUNT):
        lines += [
            f"{datetime(2026, 3, 2, 22) + timedelta(seconds=5 * place):%Y-%m-%dT%H:%M:%S+0000}",
            "avg-cpu:  %user   %nice %system %iowait  %steal   %idle",
            f"{used[place]:.2f} 0.00 2.00 0.00 {steal[place]:.2f} {98 - used[place] - steal[place]:.2f}\n",
            "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util",
            "sda 400.00 100.00 3200.00 800.00 0.90 0.90 0.45 30.00\n",
        ]
    path.write_text("\n".join(lines))
    return diagnosed(path)


@pytest.mark.parametrize(
    ("used", "steal", "reason"),
    [
        (46.0, np.full(COUNT, 46.0), "the host gives the processors to other machines"),
        (40.0, np.where(SLOW, 45.0, 0.5), "the host gives the processors to other machines"),
        (92.0, np.full(COUNT, 2.0), "the processors are"),
        (40.0, np.full(COUNT, 3.0), ""),
    ],
)
def test_stolen_time_is_the_hosts_and_not_a_statements(
    tmp_path: Path, used: float, steal: np.ndarray, reason: str
) -> None:
    found = iostat(tmp_path / "log", np.full(COUNT, used), steal)
    assert found.verdict.outcome is Outcome.HEALTHY
    assert found.verdict.sentence.partition(": ")[2].rstrip(".") == reason
    actions = " ".join(each.action for each in found.findings[0].remedies)
    assert ("statements that use most" in actions) is (reason == "the processors are")
    assert ("host's administrator" in actions) is reason.startswith("the host")


def test_a_virtual_machine_that_is_ready_and_does_not_run_is_named(tmp_path: Path) -> None:
    """The hypervisor's idle group is always ready; it is no machine."""
    counters = (r"Virtual Disk(sql01:scsi0:1)\Reads/sec", r"Virtual Disk(sql01:scsi0:1)\Average MilliSec/Read",
                r"Group Cpu(71:sql01)\% Run", r"Group Cpu(71:sql01)\% Ready",
                r"Group Cpu(1:idle)\% Run", r"Group Cpu(1:idle)\% Ready")  # fmt: skip
    rows = [("700", "0.9", "350", "320" if slow else "12", "900", "1500") for slow in SLOW]
    path = tmp_path / "log"
    path.write_text(
        pdh(rows, [rf"\\esx1\{each}" for each in counters], zone="(PDH-CSV 4.0) (UTC)(0)", times=stamps(COUNT))
    )
    found = diagnosed(path)
    assert (found.verdict.outcome, found.verdict.rule) == (Outcome.HEALTHY, "D25")
    assert "the host gives the processors of sql01 to other machines" in found.verdict.sentence
    assert "sql01 waited for 48 % of the processor time" in found.findings[0].evidence[0].sentence


def sql_server(
    path: Path,
    latency_ms: np.ndarray,
    waits: dict[str, np.ndarray],
    grown: np.ndarray | float = 0.0,
    signal: float = 0.0,
) -> Diagnosis:
    """Snapshots of the log's file, written 300 times a second, and of waits in sessions on average, of which a part is
    for a processor.
    """
    files = [_FILES]
    stalls = np.cumsum(300 * 10 * latency_ms)
    sizes = 5e10 + np.cumsum(np.broadcast_to(grown, latency_ms.shape) * 10)
    looks = [f"{datetime(2026, 3, 2, 8) + timedelta(seconds=10 * place):%Y-%m-%d %H:%M:%S}" for place in range(COUNT)]
    for place, look in enumerate(looks):
        count = 3000 * (place + 1)
        files.append(f"{look},{LOG},0,0,0,{count},{count * 6144},{stalls[place]:.0f},{sizes[place]:.0f}")
    path.with_suffix(".files").write_text("\n".join(files))
    lines = ["sample_time,wait_type,waiting_tasks_count,wait_time_ms,signal_wait_time_ms"]
    for name, mean in waits.items():
        total = np.cumsum(mean * 10_000)
        lines += [
            f"{look},{name},{place + 1},{total[place]:.0f},{signal * total[place]:.0f}"
            for place, look in enumerate(looks)
        ]
    path.with_suffix(".waits").write_text("\n".join(lines))
    with reader.read([path.with_suffix(".files"), path.with_suffix(".waits")]) as log:
        return diagnose(log)


def test_sessions_that_wait_for_memory_grants_are_named(tmp_path: Path) -> None:
    waits = {"RESOURCE_SEMAPHORE": np.where(SLOW, 40.0, 0.0), "WRITELOG": np.full(COUNT, 0.3)}
    found = sql_server(tmp_path / "log", np.full(COUNT, 1.0), waits)
    assert found.verdict.outcome is Outcome.HEALTHY
    assert "sessions wait for memory to run their statements in" in found.verdict.sentence
    assert any("dm_exec_query_memory_grants" in each for each in found.findings[0].remedies[0].commands)


def test_harm_is_told_where_the_logs_cannot_tell_its_cause(tmp_path: Path) -> None:
    sql_server(tmp_path / "log", np.full(COUNT, 22.0), {"WRITELOG": np.full(COUNT, 9.0)})
    done = CliRunner().invoke(build(), ["diagnose", str(tmp_path / "log.files"), str(tmp_path / "log.waits")])
    assert done.exit_code == codes.CANNOT_TELL
    text = " ".join(done.stdout.split())
    assert "Harm: 9.00 sessions wait for data and log I/O on average: 100 % of all waiting, most of them in" in text
    assert text.count("Harm:") == 1
    # Below a database's file are the disks of its server.
    assert "fathom record --print windows" in text.partition("Missing counters")[0]
    assert "fathom record --print aws" not in text


@pytest.mark.parametrize(("grown", "rule"), [(3.4e8, "D29"), (0.0, None)])
def test_a_file_that_grows_is_the_load(tmp_path: Path, grown: float, rule: str | None) -> None:
    waits = {"WRITELOG": np.where(SLOW, 60.0, 0.5), "PREEMPTIVE_OS_WRITEFILEGATHER": np.where(SLOW, 0.9, 0.0)}
    found = sql_server(tmp_path / "log", np.where(SLOW, 48.0, 1.0), waits, np.where(SLOW, grown, 0.0))
    assert found.verdict.rule == rule
    if rule:
        assert found.verdict.outcome is Outcome.LOAD
        assert f"{LOG} grows while it is used" in found.verdict.sentence
        assert "It grows by 340 MB/s in 20 intervals" in found.findings[0].evidence[0].sentence
        # 50 GB and 20 intervals of growth: an error below that.
        look, change = found.findings[0].remedies[0].commands
        assert "sys.master_files" in look
        assert "NAME = LOGICAL_NAME, SIZE = 138GB, FILEGROWTH = 64MB" in change


def test_a_file_that_grows_without_slowing_anything_is_nothing_to_tell(tmp_path: Path) -> None:
    found = sql_server(tmp_path / "log", np.full(COUNT, 1.0), {"WRITELOG": np.full(COUNT, 0.3)}, 3.4e8)
    assert "D29" not in {each.rule for each in found.findings}


def test_most_sessions_that_wait_for_memory_come_before_some_that_wait_for_storage(tmp_path: Path) -> None:
    waits = {"RESOURCE_SEMAPHORE": np.full(COUNT, 15.0), "WRITELOG": np.full(COUNT, 3.6)}
    found = sql_server(tmp_path / "log", np.full(COUNT, 10.7), waits)
    assert found.verdict.outcome is Outcome.HEALTHY
    assert "sessions wait for memory to run their statements in" in found.verdict.sentence
    assert "3.60 sessions wait for data and log I/O" in found.findings[0].evidence[1].sentence


@pytest.mark.parametrize("most", ["SOS_SCHEDULER_YIELD", "ASYNC_NETWORK_IO", "WRITELOG"])
def test_the_largest_wait_is_named_whatever_it_is(tmp_path: Path, most: str) -> None:
    waits = {"WRITELOG": np.full(COUNT, 4.0), most: np.full(COUNT, 16.0)}
    found = sql_server(tmp_path / "log", np.full(COUNT, 2.0), waits)
    (largest,) = (each for each in found.findings if each.rule == "L3")
    assert largest.what.startswith(f"Sessions wait most in {most}: 16.0 on average")


def test_sessions_that_wait_for_a_fast_file_are_why_nothing_can_be_told(tmp_path: Path) -> None:
    found = sql_server(tmp_path / "log", np.full(COUNT, 2.0), {"WRITELOG": np.full(COUNT, 1.1)})
    assert found.verdict.outcome is Outcome.UNKNOWN
    assert "1.10 sessions wait for data and log I/O on average: 100 % of all waiting" in found.verdict.sentence
    assert "no latency in them explains that" in found.verdict.sentence


@pytest.mark.parametrize(
    ("disk", "below_ms", "rule"), [("2 L:", 0.7, "D30"), ("1 E:", 0.7, None), ("2 L:", 20.0, None)]
)
def test_time_that_a_file_takes_and_its_disk_does_not_is_lost_above_the_disk(
    tmp_path: Path, disk: str, below_ms: float, rule: str | None
) -> None:
    sql_server(tmp_path / "log", np.full(COUNT, 22.0), {"WRITELOG": np.full(COUNT, 9.0)})
    rows = [(f"{300 + place % 7}", f"{below_ms / 1e3}") for place in range(COUNT)]
    counters = [rf"\\SQL01\PhysicalDisk({disk})\{each}" for each in ("Disk Writes/sec", "Avg. Disk sec/Write")]
    times = stamps(COUNT, datetime(2026, 3, 2, 8), 10.0)
    (tmp_path / "disks").write_text(pdh(rows, counters, zone="(PDH-CSV 4.0) (UTC)(0)", times=times))
    found = diagnosed(tmp_path / "log.files", tmp_path / "log.waits", tmp_path / "disks")
    assert found.verdict.rule == rule, found.verdict
    if rule:
        assert f"{LOG} takes 22.0 ms, and 2 L: below it 0.700 ms" in found.verdict.sentence
        assert "9.00 sessions wait" in str(found.findings[0].harm)
        assert "fltmc instances" in found.findings[0].remedies[0].commands


def esx(path: Path, busy: float, ready: float | None, run: float | None = None) -> Diagnosis:
    """A fast device below a host's machines."""
    columns = {
        r"Physical Disk SCSI Device(naa.1)\Commands/sec": 1200.0,
        r"Physical Disk SCSI Device(naa.1)\Average Guest MilliSec/Command": 0.8,
        r"Physical Cpu(_Total)\% Util Time": busy,
        r"Group Cpu(71:sql01)\% Ready": ready,
        r"Group Cpu(71:sql01)\% Run": run,
    }
    kept = {name: value for name, value in columns.items() if value is not None}
    rows = [[f"{value}" for value in kept.values()]] * COUNT
    path.write_text(pdh(rows, [rf"\\esx1\{each}" for each in kept], zone="(PDH-CSV 4.0) (UTC)(0)", times=stamps(COUNT)))
    return diagnosed(path)


@pytest.mark.parametrize(
    ("busy", "ready", "run", "reason"),
    [
        (97.0, 180.0, None, "sql01 waits for processors of its host"),
        (61.0, 180.0, None, "sql01 waits for processors of its host"),
        (97.0, 40.0, None, "the processors of the host esx1 are"),  # of how many processors nothing tells
        (97.0, 180.0, 300.0, "the host gives the processors of sql01 to other machines"),
        (61.0, 180.0, 3000.0, ""),
        (61.0, 40.0, None, ""),
        (97.0, None, None, "the processors of the host esx1 are"),
    ],
)
def test_a_machine_that_waits_for_its_host_gets_no_more_processors(
    tmp_path: Path, busy: float, ready: float | None, run: float | None, reason: str
) -> None:
    found = esx(tmp_path / "log", busy, ready, run)
    assert found.verdict.outcome is Outcome.HEALTHY, found.verdict
    assert found.verdict.sentence.partition(": ")[2].rstrip(".") == reason
    actions = " ".join(each.action for each in found.findings[0].remedies)
    assert "give the server more processors" not in actions
    assert "statements that use most" not in actions
    assert ("vMotion" in actions) is bool(reason)


@pytest.mark.parametrize("counter", ["Locks(_Total)\\Lock Wait Time (ms)", "General Statistics\\Processes blocked"])
@pytest.mark.parametrize(("blocked", "named"), [(171.0, True), (0.5, False)])
def test_locks_are_seen_by_perfmon_without_wait_statistics(
    tmp_path: Path, counter: str, blocked: float, named: bool
) -> None:
    disk = r"\\SQL01\PhysicalDisk(1 E:)\{}"
    paths = [disk.format(name) for name in ("Disk Reads/sec", "Avg. Disk sec/Read")]
    paths += [rf"\\SQL01\SQLServer:{counter}", r"\\SQL01\SQLServer:SQL Statistics\Batch Requests/sec"]
    scale = 1000 if "(ms)" in counter else 1
    rows = [
        ["200" if slow else "800", "0.0007", f"{scale * blocked if slow else 0:.0f}", "60" if slow else "900"]
        for slow in SLOW
    ]
    log = tmp_path / "perfmon.csv"
    log.write_text(pdh(rows, paths))
    with reader.read([log]) as opened:
        found = diagnose(opened)
    assert found.verdict.outcome is Outcome.HEALTHY, found.verdict
    assert ("sessions wait for each other's locks" in found.verdict.sentence) is named
    if named:
        assert "60.0 batches/s, 900 otherwise" in found.findings[0].evidence[0].sentence
