"""Logs of one layer only, with wrong counts, or of other programs: the right verdict, or a clear error."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from make_pdh import pdh, stamps

from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import Diagnosis, Outcome, diagnose
from fathom.diagnose.evidence import limits
from fathom.diagnose.evidence.harm import sessions
from fathom.diagnose.evidence.system import system_of
from fathom.diagnose.source import LogError

NFS = r"\\esx1\Physical Disk NFS Volume(nfs_1)"
GUEST = r"\\esx1\Virtual Disk(SQL01 (104c07ff):scsi0:1)"
ESXTOP = (
    rf"{NFS}\Active Commands", rf"{NFS}\Commands/sec", rf"{NFS}\Average Guest MilliSec/Command",
    rf"{GUEST}\Reads/sec", rf"{GUEST}\Average MilliSec/Read",
)  # fmt: skip


def diagnosed(path: Path) -> Diagnosis:
    with reader.read([path]) as log:
        return diagnose(log)


def esxtop(path: Path, latency_ms: np.ndarray) -> Path:
    rows = [("20", "400", f"{each:.2f}", "400", f"{each:.2f}") for each in latency_ms]
    path.write_text(pdh(rows, ESXTOP, zone="(PDH-CSV 4.0) (UTC)(0)"))
    return path


def iostat(path: Path, rows: list[tuple[float, float, float]]) -> Path:
    """Reads per second, ms and aqu-sz of one disk, a report per second."""
    lines = ["Linux 5.4.0 (db1) \t2026-03-02 \t_x86_64_\t(4 CPU)\n"]
    for number, (rate, latency, load) in enumerate(rows):
        moment = datetime(2026, 3, 2, 22) + timedelta(seconds=number)
        numbers = (rate, 0, rate * 8, 0, latency, 0, load, 100)
        lines += [
            f"{moment:%Y-%m-%dT%H:%M:%S+0000}",
            "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util",
            "sda " + " ".join(f"{each:.2f}" for each in numbers) + "\n",
        ]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.filterwarnings("error")
def test_values_that_no_device_can_have_are_missing(tmp_path: Path) -> None:
    rows = [(1e308, 1e308, 1e308) if moment % 2 else (100.0, 1.0, 0.1) for moment in range(60)]
    diagnosis = diagnosed(iostat(tmp_path / "log", rows))
    disk = diagnosis.system.devices[0]
    assert disk.mean("read_iops") == pytest.approx(100)
    assert disk.mean("latency_s") == pytest.approx(0.001)


def test_a_healthy_hypervisor_without_a_log_of_its_guests_is_healthy(tmp_path: Path) -> None:
    found = diagnosed(esxtop(tmp_path / "log", np.random.default_rng(1).uniform(0.5, 2.5, 40)))
    assert (found.verdict.outcome, found.verdict.rule) == (Outcome.HEALTHY, "D25")
    assert "SQL01 (104c07ff):scsi0:1" in found.findings[0].evidence[0].sentence


def test_a_slow_datastore_on_nfs_is_slow_below_the_host(tmp_path: Path) -> None:
    found = diagnosed(esxtop(tmp_path / "log", np.random.default_rng(2).uniform(40, 120, 40)))
    assert found.verdict.rule == "D4"
    assert found.findings[0].remedies[0].commands[0] == "esxcli storage nfs list"


def test_requests_that_a_kernel_counts_for_ever_are_no_queue(tmp_path: Path) -> None:
    rates = np.where(np.arange(60) % 5 == 0, 0.0, np.random.default_rng(3).uniform(20, 300, 60))
    found = diagnosed(iostat(tmp_path / "log", [(rate, 0.8, 3 + rate * 0.0008) for rate in rates]))
    assert found.verdict.rule == "D25"
    assert [check.what[:34] for check in found.checks if check.rule == "Q1"] == ["at least 3.00 requests are counted"]


def test_a_stall_that_a_few_requests_got_past_is_a_stall(tmp_path: Path) -> None:
    usual = [(400.0, 1.5, 0.6)] * 20
    held, after = [(3.0, 1.0, 12.0)] * 6, [(600.0, 210.0, 9.0)]
    found = diagnosed(iostat(tmp_path / "log", [*usual, *held, *after, *usual]))
    assert found.verdict.rule == "D24"
    assert "6 intervals" in found.findings[0].evidence[0].sentence


def test_a_limit_that_is_reached_now_and_then_is_found(tmp_path: Path) -> None:
    rows = [(3000.0 + number % 3, 8.0, 24.0) for number in range(12)]
    rows += [(1000.0 + 40 * number, 1.2, 1.2 + 0.05 * number) for number in range(48)]
    path = iostat(tmp_path / "log", rows)
    path.write_text(path.read_text().replace("5.4.0", "5.4.0-1018-aws"))
    found = diagnosed(path)
    assert (found.verdict.rule, found.findings[0].confidence) == ("D5", 0.8)


def test_a_disk_that_is_hardly_used_is_healthy_however_slow(tmp_path: Path) -> None:
    rows = [(1.0, 22.0, 0.02) if number % 30 else (160.0, 24.0, 3.9) for number in range(180)]
    found = diagnosed(iostat(tmp_path / "log", rows))
    assert found.verdict.rule == "D25"
    assert "hardly used" in found.findings[0].evidence[0].sentence


def test_cells_that_a_spreadsheet_padded_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    times = [f" {each.replace('.', ',')} " for each in stamps(3)]
    path.write_text(pdh([("100", "0,004", "3")] * 3, separator=" ; ", times=times).replace('"', ""))
    with reader.read([path]) as log:
        assert log.rows == 9
        assert log.series.filter(log.series["metric"] == "read_latency_s")["mean"].to_list() == [pytest.approx(0.004)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("top - 11:16:45 up 43 min,  1 user\n", "do not tell how long requests take"),
        ("06:47:54 Total DISK READ :       4.97 M/s\n", "do not tell how long requests take"),
        ('"Dstat 0.7.3 CSV output"\n', "do not tell how long requests take"),
        ("----system---- --dsk/sda-----dsk/sda1--\n", "do not tell how long requests take"),
        (
            "\nTimestamp                 CounterSamples\n---------                 --------------\n",
            "Get-Counter's table",
        ),
        ("  8,0    1        1     0.000000000  1234  Q   R 4096 + 8 [fio]\n", "blkparse's text"),
        ("#<----CPU[HYPER]-----><-----------Disks----------->\n", "are not read"),
        ("                    extended device statistics              \n    r/s    w/s   kr/s\n", "are not read"),
        ('{\n  "fio version" : "fio-3.33",\n', "tell their load"),
        ("\nCommand Line: diskspd.exe -b8K -d30 D:\\iotest.dat\n", "tell their load"),
        ("2026-03-02 22:00:00.12 spid5s      SQL Server has encountered 3 occurrence(s)\n", "error log of SQL Server"),
    ],
)
def test_programs_whose_output_is_no_log_for_this_are_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "log"
    path.write_text(text * 20)
    with pytest.raises(LogError, match=problem) as raised:
        reader.read([path])
    assert raised.value.remedy


def test_a_load_that_asks_for_the_same_rate_all_day_is_no_saturated_disk(tmp_path: Path) -> None:
    random = np.random.default_rng(9)
    rates, latencies = random.normal(1200, 200, 240), random.normal(0.9, 0.15, 240)
    loads = rates * latencies / 1e3
    rows = [(float(rate), float(ms), float(load)) for rate, ms, load in zip(rates, latencies, loads, strict=True)]
    found = diagnosed(iostat(tmp_path / "log", rows))
    assert [finding.rule for finding in found.findings] == ["D25"]


def without_times(path: Path, rates: list[float]) -> Path:
    """What `iostat 1` prints of a disk at these rates and of one without any request: no latency."""
    lines = ["Linux 5.4.0 (db1) \t2026-03-02 \t_x86_64_\t(4 CPU)\n"]
    for rate in rates:
        lines += ["Device tps kB_read/s kB_wrtn/s", f"sda {rate:.2f} {rate * 8:.2f} 0.00", "sdb 0.00 0.00 0.00\n"]
    path.write_text("\n".join(lines))
    return path


def test_a_disk_that_did_nothing_clears_no_other(tmp_path: Path) -> None:
    found = diagnosed(without_times(tmp_path / "log", [900.0 + number % 7 for number in range(60)]))
    assert (found.verdict.outcome, len(found.findings)) == (Outcome.UNKNOWN, 0)


def test_disks_that_did_nothing_are_named(tmp_path: Path) -> None:
    found = diagnosed(without_times(tmp_path / "log", [0.0] * 60))
    assert found.verdict.rule == "D25"
    assert [each.sentence for each in found.findings[0].evidence] == [
        "sda completed no request.", "sdb completed no request."
    ]  # fmt: skip


def test_a_log_that_tells_no_kind_of_disk_is_not_called_a_cloud_volume(tmp_path: Path) -> None:
    found = diagnosed(iostat(tmp_path / "log", [(400.0, 1.5, 0.6)] * 20))
    assert "a disk of unknown kind should keep" in found.findings[0].evidence[0].sentence


@pytest.mark.parametrize(("load", "rule"), [(0.1, "D25"), (0.6, None)])
def test_a_queue_alone_can_clear_a_disk_that_is_hardly_used(tmp_path: Path, load: float, rule: str | None) -> None:
    random, path = np.random.default_rng(5), tmp_path / "log"
    counter = r"\\SQL01\PhysicalDisk(0 C:)\Avg. Disk Queue Length"
    path.write_text(pdh([(f"{each:.6f}",) for each in random.exponential(load, 200) * 0.9], [counter]))
    found = diagnosed(path)
    assert found.verdict.rule == rule
    assert rule is None or found.verdict.confidence == pytest.approx(0.6)


def test_a_disk_that_others_slow_is_no_full_queue(tmp_path: Path) -> None:
    """Fewer of the same requests outstanding, and more completed: hardly a queue."""
    random = np.random.default_rng(6)
    rows = []
    for number in range(120):
        rate, latency = (1700.0, 22.0) if 50 <= number < 75 else (2050.0, 2.9)
        rate, latency = rate * random.normal(1, 0.02), latency * random.normal(1, 0.05)
        rows.append((rate, latency, rate * latency / 1e3))
    found = diagnosed(iostat(tmp_path / "log", rows))
    assert found.verdict.rule == "D20"


def test_a_cache_that_missed_is_not_somebody_elses_load(tmp_path: Path) -> None:
    """The device of a cache is slow while the disk below it works; both are in the log."""
    random = np.random.default_rng(7)
    text = "Linux 5.4.0 (db1) \t2026-03-02 \t_x86_64_\t(4 CPU)\n\n"
    for number in range(120):
        missed = 50 <= number < 75
        rate, latency = (random.uniform(900, 1900), random.uniform(4, 14)) if missed else (2050.0, 0.4)
        below = f"{rate * 0.9:.2f} 0.00 {rate * 8:.2f} 0.00 {latency:.2f}" if missed else "0.00 0.00 0.00 0.00 0.00"
        text += (
            f"{datetime(2026, 3, 2, 22) + timedelta(seconds=number):%Y-%m-%dT%H:%M:%S+0000}\n"
            "Device r/s w/s rkB/s wkB/s r_await\n"
            f"bcache0 {rate:.2f} 0.00 {rate * 8:.2f} 0.00 {latency:.2f}\nsdb {below}\n\n"
        )
    path = tmp_path / "log"
    path.write_text(text)
    found = diagnosed(path)
    assert found.verdict.rule == "D20"
    assert "sdb serves it then, as where a cache is cold or misses" in found.verdict.sentence
    assert "lsblk" in found.findings[0].remedies[0].commands[0]
    assert "sdb completes" in found.findings[0].evidence[1].sentence


@pytest.mark.parametrize(("level", "rule"), [(7000.0, None), (12661.0, None), (12500.0, "D5"), (9000.0, None)])
def test_a_highest_rate_is_a_limit_only_where_it_is_round_or_known(
    tmp_path: Path, level: float, rule: str | None
) -> None:
    loads = [4.0 + number % 40 for number in range(120)]
    knee = level * 0.001
    rows = [(min(load / 0.001, level), max(load / level, 0.001) * 1e3, load) for load in loads if load > knee] * 2
    rows += [(load / 0.001, 1.0, load) for load in loads if load <= knee]
    found = diagnosed(iostat(tmp_path / "log", rows))
    assert found.verdict.rule in ({rule} if rule else {None, "D25"}), found.verdict


def test_of_two_limits_near_a_plateau_the_nearer_one_is_named(tmp_path: Path) -> None:
    """3,000 requests of 8 KiB a second are 24.6 MB/s, too, which is near the limit of a volume of 120 IOPS."""
    loads = [2.0 + number % 40 for number in range(160)]
    rows = [(min(load / 0.001, 2998.0), max(load / 2998.0, 0.001) * 1e3, load) for load in loads]
    assert "gp3 as sold by default" in diagnosed(iostat(tmp_path / "log", rows)).verdict.sentence


@pytest.mark.parametrize(("size", "rule"), [(1024, "D14"), (8, "D20")])
def test_large_requests_that_share_the_bandwidth_have_no_neighbour(tmp_path: Path, size: int, rule: str) -> None:
    random, rows = np.random.default_rng(5), []
    for number in range(120):
        load = 30.0 if 40 <= number < 70 else 5.0
        rate = 800.0 * random.normal(1, 0.1)
        rows.append((rate, load / rate * 1e3, load))
    path = iostat(tmp_path / "log", rows)
    path.write_text(path.read_text() if size == 8 else _with_size(path.read_text(), size))
    assert diagnosed(path).verdict.rule == rule


def _with_size(text: str, size: int) -> str:
    """The same requests, so many KiB each."""
    lines = []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["sda"]:
            words[3] = f"{float(words[1]) * size:.2f}"
        lines.append(" ".join(words) if words[:1] == ["sda"] else line)
    return "\n".join(lines)


def test_a_cloud_metric_without_data_does_not_end_the_diagnosis(tmp_path: Path) -> None:
    points = ", ".join(
        f'{{"Timestamp": "2026-03-02T01:{minute:02d}:00+00:00", "Sum": 6000.0, "Unit": "Count"}}'
        for minute in range(30)
    )
    some, none = tmp_path / "reads.json", tmp_path / "balance.json"
    some.write_text(f'{{"Label": "VolumeReadOps", "Datapoints": [{points}]}}')
    none.write_text('{"Label": "BurstBalance", "Datapoints": []}')
    with reader.read([some, none]) as log:
        skipped = [skip for notes in log.notes for skip in notes.skipped]
        assert [(skip.what, skip.example) for skip in skipped] == [("metrics", "BurstBalance")]
    with pytest.raises(LogError, match="no data points"):
        reader.read([none])


def test_sessions_count_over_all_moments_and_not_those_with_a_wait(tmp_path: Path) -> None:
    log = tmp_path / "activity.csv"
    rows = [
        f"2026-03-02 01:{moment // 6:02d}:{moment % 6 * 10:02d}+00,{wait},active,1"
        for moment in range(120)
        for wait in ("IO,WALSync",) * (moment % 24 == 0) + (",",)
    ]
    log.write_text("\n".join(["now,wait_event_type,wait_event,state,sessions", *rows]) + "\n")
    with reader.read([log]) as found:
        assert sessions(system_of(found, limits.load()), "log") == pytest.approx(5 / 120)


@pytest.mark.parametrize(
    ("wait", "sessions", "read_ms", "rule"),
    # A fast log that one session waits for a third of the time; a backup, of which only its waits tell.
    [("WRITELOG", 0.35, 0.5, "D25"), ("BACKUPIO", 15.0, 18.0, "D16")],
)
def test_of_sql_server_s_own_views_alone(tmp_path: Path, wait: str, sessions: float, read_ms: float, rule: str) -> None:
    waits = ["sample_time,wait_type,waiting_tasks_count,wait_time_ms,max_wait_time_ms,signal_wait_time_ms"]
    files = ["sample_time,database_name,physical_name,num_of_reads,num_of_bytes_read,io_stall_read_ms,num_of_writes,"]
    files[0] += "num_of_bytes_written,io_stall_write_ms"
    for number in range(60):
        moment = f"{datetime(2026, 3, 2, 1) + timedelta(seconds=10 * number):%Y-%m-%dT%H:%M:%S}"
        reads = 9000 * number
        waits.append(f"{moment},{wait},{1000 * number},{1e4 * sessions * number:.0f},20,0")
        files.append(rf"{moment},tpcc,D:\data\tpcc.mdf,{reads},{reads * 8192},{reads * read_ms:.0f},0,0,0")
    log = tmp_path / "views.csv"
    log.write_text("\n".join([*files, *waits]) + "\n")
    assert diagnosed(log).verdict.rule == rule


@pytest.mark.parametrize(
    ("release", "clouds"),
    [
        ("Linux 6.8.0-1031-aws", {"aws"}),
        ("Linux 6.1.82-99.168.amzn2023.x86_64", {"aws"}),
        ("Linux 5.15.0-1053-azure", {"azure"}),
        ("Linux 6.1.0-18-amd64", {"aws", "azure"}),
    ],
)
def test_a_limit_of_one_cloud_is_none_on_a_host_of_another(release: str, clouds: set[str]) -> None:
    known = limits.load()
    assert {each.cloud for each in known.where([release]).caps if each.kind != "link"} == clouds
    azure = known.where([release]).cap("iops", 120)
    assert (azure is not None) == ("azure" in clouds)
