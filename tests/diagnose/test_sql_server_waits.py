"""Waits of SQL Server that are no slow disk and no lock: governed log rates, page latches, zeros, flow control."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_elsewhere import COUNT, LOG, sql_server

from fathom.diagnose.diagnose import Diagnosis, Outcome
from fathom.finding import Severity

FAST = np.full(COUNT, 1.0)


def waits(**mean: float) -> dict[str, np.ndarray]:
    return {name: np.full(COUNT, value) for name, value in mean.items()}


def said(found: Diagnosis) -> str:
    finding = found.findings[0]
    texts = [finding.what, finding.harm or "", *(each.sentence for each in finding.evidence)]
    texts += [text for each in finding.remedies for text in (each.action, *each.commands)]
    return "\n".join(texts)


@pytest.mark.parametrize("log_writes", [0.0, 0.2, 1.2])
@pytest.mark.parametrize(
    ("wait", "whose", "command"),
    [
        ("LOG_RATE_GOVERNOR", "the database's limit", "az sql db update"),
        ("POOL_LOG_RATE_GOVERNOR", "the elastic pool's limit", "az sql elastic-pool update"),
        ("INSTANCE_LOG_RATE_GOVERNOR", "the instance's limit", "az sql mi update"),
        ("HADR_THROTTLE_LOG_RATE_MISMATCHED_SLO", "a geo-secondary", "dm_geo_replication_link_status"),
        ("HADR_THROTTLE_LOG_RATE_OF_LATER", "the service", "dm_user_db_resource_governance"),
    ],
)
def test_a_governed_log_rate_is_a_limit_of_the_tier(
    tmp_path: Path, wait: str, whose: str, command: str, log_writes: float
) -> None:
    """Its log and data files are fast, and yet sessions wait for leave to write."""
    found = sql_server(
        tmp_path / "log", FAST, waits(**{wait: 64.0, "WRITELOG": log_writes, "SOS_SCHEDULER_YIELD": 0.6})
    )
    assert (found.verdict.outcome, found.verdict.rule) == (Outcome.LIMIT, "D33"), found.verdict
    assert found.verdict.severity is Severity.CRITICAL
    assert whose in found.verdict.sentence
    text = said(found)
    assert command in text
    assert f"most of them in {wait}" in text
    assert f"{LOG} is written at 1.84 MB/s" in text


def test_a_log_rate_that_is_hardly_governed_is_nothing_to_tell(tmp_path: Path) -> None:
    found = sql_server(tmp_path / "log", FAST, waits(LOG_RATE_GOVERNOR=0.2, SOS_SCHEDULER_YIELD=0.6))
    assert found.verdict.outcome is Outcome.HEALTHY


@pytest.mark.parametrize("mode", ["UP", "EX", "SH"])
def test_page_latches_are_no_locks(tmp_path: Path, mode: str) -> None:
    found = sql_server(tmp_path / "log", FAST, waits(**{f"PAGELATCH_{mode}": 50.0, "SOS_SCHEDULER_YIELD": 0.6}))
    assert (found.verdict.outcome, found.verdict.rule) == (Outcome.HEALTHY, "D25")
    assert "sessions wait for the same pages in memory" in found.verdict.sentence
    text = said(found)
    assert "lock" not in text.replace("blocking", "")
    assert f"99 % of all waiting, most of them in PAGELATCH_{mode}" in text
    for word in ("tempdb ADD FILE", "MEMORY_OPTIMIZED TEMPDB_METADATA", "OPTIMIZE_FOR_SEQUENTIAL_KEY"):
        assert word in text


def test_locks_are_still_locks_beside_page_latches(tmp_path: Path) -> None:
    found = sql_server(tmp_path / "log", FAST, waits(LCK_M_X=30.0, PAGELATCH_EX=5.0))
    assert "sessions wait for each other's locks" in found.verdict.sentence


def test_page_latches_come_before_some_that_wait_for_storage(tmp_path: Path) -> None:
    found = sql_server(tmp_path / "log", np.full(COUNT, 10.7), waits(PAGELATCH_EX=15.0, WRITELOG=3.6))
    assert found.verdict.outcome is Outcome.HEALTHY
    assert "same pages in memory" in found.verdict.sentence


@pytest.mark.parametrize(("grown", "subject"), [(0.0, "sessions"), (3.4e8, LOG)])
def test_zeros_of_a_file_that_grows_keep_sessions_waiting(tmp_path: Path, grown: float, subject: str) -> None:
    """No other I/O is slow: the sessions that need the room wait for it."""
    means = waits(PREEMPTIVE_OS_WRITEFILEGATHER=8.0, SOS_SCHEDULER_YIELD=0.6)
    found = sql_server(tmp_path / "log", FAST, means, grown)
    assert (found.verdict.outcome, found.verdict.rule) == (Outcome.LOAD, "D29"), found.verdict
    assert found.findings[0].subject == subject
    text = said(found)
    assert "8.00 sessions wait for file growth I/O on average: 93 % of all waiting" in text
    assert "instant file initialization" in text
    assert ("instant_file_initialization_enabled" in text) is (subject == "sessions")
    assert ("It grows by 340 MB/s" in text) is (subject == LOG)


def test_zeros_are_a_small_part_where_most_wait_for_locks(tmp_path: Path) -> None:
    found = sql_server(tmp_path / "log", FAST, waits(LCK_M_X=30.0, PREEMPTIVE_OS_WRITEFILEGATHER=7.0))
    assert any(each.rule == "D25" and "locks" in each.what for each in found.findings), found.findings


def test_flow_control_of_a_replica_counts_as_waiting_for_it(tmp_path: Path) -> None:
    means = waits(HADR_SYNC_COMMIT=1.2, HADR_DATABASE_FLOW_CONTROL=12.0, SOS_SCHEDULER_YIELD=0.6)
    found = sql_server(tmp_path / "log", FAST, means)
    assert found.verdict.rule == "D12", found.verdict
    text = said(found)
    assert "13.2 sessions wait for replica I/O on average: 96 % of all waiting" in text
    assert "1.20 sessions wait for the replica" in text
    assert "12.0 wait until it takes more messages (HADR_DATABASE_FLOW_CONTROL)" in text


def test_flow_control_without_commits_that_wait_is_no_synchronous_replica(tmp_path: Path) -> None:
    found = sql_server(tmp_path / "log", FAST, waits(HADR_SYNC_COMMIT=0.01, HADR_DATABASE_FLOW_CONTROL=12.0))
    assert "D12" not in {each.rule for each in found.findings}


@pytest.mark.parametrize("yields", [3.0, 120.0])
def test_time_that_ready_sessions_wait_for_a_processor_is_no_wait_for_storage(tmp_path: Path, yields: float) -> None:
    """WRITELOG takes 48 ms, 46 of them after the log was written."""
    means = waits(WRITELOG=14.4, SOS_SCHEDULER_YIELD=yields)
    found = sql_server(tmp_path / "log", FAST, means, signal=0.95)
    assert found.verdict.outcome is Outcome.HEALTHY, found.verdict
    assert "sessions wait for processors" in found.verdict.sentence
    text = said(found)
    assert "0.720 sessions wait for storage" in text
    assert "are ready to run and wait for a processor on average" in text
    assert "dm_exec_query_stats" in text


def test_a_slow_log_is_harm_beside_sessions_without_a_processor(tmp_path: Path) -> None:
    means = waits(WRITELOG=9.0, SOS_SCHEDULER_YIELD=12.0)
    found = sql_server(tmp_path / "log", np.full(COUNT, 22.0), means, signal=0.1)
    assert found.verdict.outcome is not Outcome.HEALTHY
    assert any("8.10 sessions wait for data and log I/O" in (each.harm or "") for each in found.findings) or (
        "8.10 sessions wait for data and log I/O" in found.verdict.sentence
    )


def test_few_sessions_that_wait_for_a_processor_are_nothing_to_tell(tmp_path: Path) -> None:
    found = sql_server(tmp_path / "log", FAST, waits(SOS_SCHEDULER_YIELD=1.5), signal=1.0)
    assert found.verdict.sentence == "Storage is not your bottleneck."


def test_threads_that_are_not_there_are_told_beside_processors(tmp_path: Path) -> None:
    found = sql_server(tmp_path / "log", FAST, waits(SOS_SCHEDULER_YIELD=120.0, THREADPOOL=18.0))
    assert "18.0 more wait for a worker thread (THREADPOOL)" in said(found)


def test_background_tasks_are_no_sessions_that_wait(tmp_path: Path) -> None:
    idle = waits(VDI_CLIENT_OTHER=1.0, PWAIT_EXTENSIBILITY_CLEANUP_TASK=0.4, REDO_THREAD_PENDING_WORK=1.0)
    found = sql_server(tmp_path / "log", FAST, idle)
    assert not any(each.rule == "L3" for each in found.findings)


def test_parts_of_all_waiting_are_of_the_same_whole(tmp_path: Path) -> None:
    """Of a wait of no class, as for the client, D12 and L3 know alike."""
    found = sql_server(tmp_path / "log", FAST, waits(HADR_SYNC_COMMIT=6.0, ASYNC_NETWORK_IO=4.0))
    harm = next(each.harm or "" for each in found.findings if each.rule == "D12")
    assert "60 % of all waiting" in harm
    assert any("60 % of all waiting" in each.what for each in found.findings if each.rule == "L3")
