"""D10 and D12: commits that wait for flushes or for a replica, and what each database has for them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from test_surroundings import advice, diagnosed

from fathom.diagnose.diagnose import Diagnosis

COUNT = 60


def flushed(path: Path, rate: float, flush_ms: float, kernel: str = "6.1.0") -> Diagnosis:
    """Reports of iostat of a disk that one session writes to and flushes."""
    lines = [f"Linux {kernel} (db1) \t2026-03-02 \t_x86_64_\t(8 CPU)\n"]
    for place in range(COUNT):
        lines += [
            f"2026-03-02T22:{place // 12:02}:{place * 5 % 60:02}+0000",
            "Device r/s rkB/s r_await w/s wkB/s w_await f/s f_await aqu-sz %util",
            f"sdb 0.00 0.00 0.00 {rate:.2f} {8 * rate:.2f} 1.00 {rate:.2f} {flush_ms:.2f} 0.90 90.00\n",
        ]
    path.write_text("\n".join(lines))
    return diagnosed(path)


def test_few_flushes_that_take_long_are_the_device_s(tmp_path: Path) -> None:
    found = flushed(tmp_path / "log", 25, 36)
    assert found.findings[0].rule == "D10", found.verdict
    assert "each flush takes 37.0 ms" in found.findings[0].what
    assert "many small flushes" not in found.findings[0].what
    first = found.findings[0].remedies[0]
    assert "battery" in first.action
    assert any("write_cache" in command for command in first.commands)
    rented = flushed(tmp_path / "rented", 25, 36, "6.1.0-1019-azure").findings[0].remedies[0]
    assert "lower latency" in rented.action, "nobody can look at a cache of a cloud"


def test_many_flushes_are_the_commits(tmp_path: Path) -> None:
    found = flushed(tmp_path / "log", 430, 1.2)
    assert "many small flushes" in found.findings[0].what
    assert "one transaction around N rows" in found.findings[0].remedies[0].action
    said = advice(found)
    assert "pg_reload_conf" in said, "the setting alone does nothing"
    assert "commit_siblings" in said
    assert "delayed durability" not in said, "no SQL Server on plain Linux"


def postgresql(path: Path, wait: str, sessions: int) -> Diagnosis:
    """Looks at pg_stat_wal and at sessions by what they wait for."""
    rows = ["now,wal_records,wal_bytes,wal_sync"]
    rows += [
        f"2026-03-02 22:{at // 6:02}:{at % 6 * 10:02}+00,{at},{at * 4000 * 4096},{at * 4000}" for at in range(COUNT)
    ]
    rows += ["now,wait_event_type,wait_event,state,sessions"]
    kind, event = wait.split(":")
    rows += [f"2026-03-02 22:{at // 6:02}:{at % 6 * 10:02}+00,{kind},{event},active,{sessions}" for at in range(COUNT)]
    path.write_text("\n".join(rows) + "\n")
    return diagnosed(path)


@pytest.mark.parametrize(("wait", "rule", "there"), [
    ("IPC:SyncRep", "D12", "synchronous_standby_names"), ("LWLock:WALWrite", "D10", "commit_delay"),
])  # fmt: skip
def test_postgresql_gets_words_of_its_own(tmp_path: Path, wait: str, rule: str, there: str) -> None:
    found = postgresql(tmp_path / "log", wait, 17)
    assert found.verdict.rule == rule, found.verdict
    remedies = [remedy for finding in found.findings for remedy in finding.remedies]
    said = advice(found) + " ".join(str(remedy.verify) for remedy in remedies)
    assert there in said
    assert not any(word in said for word in ("HADR", "WRITELOG", "BEGIN TRAN", "durability", "innodb"))


@pytest.mark.parametrize(("sessions", "told"), [(4, False), (5, False), (6, True)])
def test_a_delay_is_advised_only_where_enough_sessions_are_active_for_it(
    tmp_path: Path, sessions: int, *, told: bool
) -> None:
    found = postgresql(tmp_path / "log", "LWLock:WALWrite", sessions)
    said = advice(found)
    assert "one transaction around N rows" in said
    assert ("commit_delay" in said) is told
    assert ("commit_siblings" in said) is told
    assert ("too few sessions" in said) is not told


@pytest.mark.parametrize(("read_ms", "told"), [(0, True), (0.4, False)])
def test_times_that_postgresql_did_not_measure_are_told(tmp_path: Path, read_ms: float, *, told: bool) -> None:
    rows = ["now,backend_type,object,context,reads,read_time,writes,write_time,op_bytes"]
    for at in range(COUNT):
        reads = 8000 * (at + 1)
        time = f"2026-03-02 22:{at // 6:02}:{at % 6 * 10:02}+00"
        # Writes to the system's cache may round to nothing.
        rows.append(f"{time},client backend,relation,normal,{reads},{read_ms * reads:.1f},10,0,8192")
    log = tmp_path / "log"
    log.write_text("\n".join(rows) + "\n")
    notes = " ".join(fact.value for fact in diagnosed(log).system.facts if fact.name == "note")
    assert ("ALTER SYSTEM SET track_io_timing = on; SELECT pg_reload_conf()" in notes) is told
    assert "track_wal_io_timing" not in notes


@pytest.mark.parametrize(
    ("syncs", "each_ms", "words"),
    [(440, 2.2, "each flush takes 2.20 ms"), (32, 30.0, "where no cache is safe"), (400, 0.3, None)],
)
def test_flushes_that_the_log_does_all_the_time_are_found_however_large(
    tmp_path: Path, syncs: int, each_ms: float, words: str | None
) -> None:
    """Many commits share a flush where each takes long: it is no small one any more."""
    rows = ["now,wal_records,wal_bytes,wal_write,wal_sync,wal_write_time,wal_sync_time"]
    waits = ["now,wait_event_type,wait_event,state,sessions"]
    for at in range(COUNT):
        time, count = f"2026-03-02 22:{at // 6:02}:{at % 6 * 10:02}+00", 10 * at * syncs
        rows.append(f"{time},{9 * count},{count * 100_000},{count},{count},{count * 0.01:.0f},{count * each_ms:.0f}")
        waits.append(f"{time},LWLock,WALWrite,active,19")
    log = tmp_path / "log"
    log.write_text("\n".join([*rows, *waits]) + "\n")
    found = diagnosed(log)
    assert (found.verdict.rule == "D10") == (words is not None), found.verdict
    assert words is None or words in found.verdict.sentence


def beside_disk(path: Path, used: float, write_ms: float, sync_ms: float = 0.5) -> Diagnosis:
    """PostgreSQL's flushes, 1,300 a second for which sessions wait, beside the disk that they reach and processors."""
    rows = ["now,wal_records,wal_bytes,wal_sync,wal_sync_time"]
    for at in range(COUNT):
        count = at * 13_000
        rows += [f"2026-03-02 22:{at // 6:02}:{at % 6 * 10:02}+00,{at},{count * 10_000},{count},{count * sync_ms}"]
    rows += ["now,wait_event_type,wait_event,state,sessions"]
    for at in range(COUNT):
        rows += [f"2026-03-02 22:{at // 6:02}:{at % 6 * 10:02}+00,LWLock,WALWrite,active,2"]
    (path / "views").write_text("\n".join(rows) + "\n")
    lines = ["Linux 6.1.0 (db1) \t2026-03-02 \t_x86_64_\t(8 CPU)\n"]
    for place in range(2 * COUNT):
        lines += [
            f"2026-03-02T22:{place // 12:02}:{place * 5 % 60:02}+0000",
            "avg-cpu:  %user   %nice %system %iowait  %steal   %idle",
            f"          {used:.2f}    0.00    2.00    0.00    0.00   {98 - used:.2f}\n",
            "Device r/s rkB/s r_await w/s wkB/s w_await f/s f_await aqu-sz %util",
            f"sdb 0.00 0.00 0.00 1310.00 13100.00 {write_ms:.2f} 1300.00 0.05 0.30 20.00\n",
        ]
    (path / "disk").write_text("\n".join(lines))
    return diagnosed(path / "views", path / "disk")


@pytest.mark.parametrize("used", [30.0, 92.0])
def test_a_flush_that_takes_its_time_above_the_disk_wants_no_other_volume(tmp_path: Path, used: float) -> None:
    found = beside_disk(tmp_path, used, 0.15)
    first = found.findings[0]
    assert (first.rule, first.confidence) == ("D10", 0.65)
    assert (
        "each flush takes 0.500 ms, of which sdb has 0.200 ms: most of it is above the disk" in found.verdict.sentence
    )
    assert "lower latency" not in advice(found)
    busy = used > 90
    assert ("where the processors are busy" in found.verdict.sentence) == busy
    assert ("more processors" in " ".join(each.action for each in first.remedies)) == busy
    assert [each.rule for each in found.findings].count("L4") == busy


def test_a_flush_that_the_disk_takes_as_long_for_is_the_disk_s(tmp_path: Path) -> None:
    found = beside_disk(tmp_path, 92.0, 0.4)
    assert found.findings[0].confidence == 0.9
    assert "lower latency" in advice(found)


def test_evidence_of_counters_begins_with_their_first_look(tmp_path: Path) -> None:
    """The sessions of that look are a state, which tells nothing of the time before it."""
    (said,) = beside_disk(tmp_path, 30.0, 0.4).findings[0].evidence
    start = datetime(2026, 3, 2, 22, tzinfo=UTC)
    assert said.start_ns == int(start.timestamp()) * 10**9


def test_who_waits_at_another_time_is_no_harm_of_a_disk_that_flushes(tmp_path: Path) -> None:
    flushed(tmp_path / "disk", 430, 1.2)
    rows = ["sample_time,wait_type,waiting_tasks_count,wait_time_ms,signal_wait_time_ms"]
    files = ["sample_time,physical_name,num_of_reads,num_of_bytes_read,io_stall_read_ms,num_of_writes"]
    files[0] += ",num_of_bytes_written,io_stall_write_ms"
    for at in range(COUNT):
        rows.append(f"2026-03-03 08:{at:02}:00,WRITELOG,{at},{at * 240_000},0")
        files.append(f"2026-03-03 08:{at:02}:00,/data/shop.ldf,0,0,0,{6000 * at},{6000 * at * 8192},{6000 * at}")
    (tmp_path / "views").write_text("\n".join([*files, *rows]))
    (commits,) = (each for each in diagnosed(tmp_path / "disk", tmp_path / "views").findings if each.rule == "D10")
    assert (commits.harm, commits.confidence) == (None, 0.65)
