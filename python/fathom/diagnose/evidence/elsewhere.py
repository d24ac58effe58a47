"""Waits that are not in the storage: busy processors, and locks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.harm import sessions
from fathom.diagnose.evidence.words import number, seen, share
from fathom.finding import Evidence, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System

FULL_PERCENT = 85.0
"""Of all processors on average, from which on most work waits for one: what is told as "90 %" scatters about it."""

_BUSIEST = (
    "SELECT TOP 10 total_worker_time, execution_count, sql_handle FROM sys.dm_exec_query_stats "
    "ORDER BY total_worker_time DESC"
)
_BUSIEST_POSTGRESQL = (
    "PostgreSQL: SELECT query, calls, total_exec_time FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT 10"
)
_BLOCKED = (
    "SELECT session_id, blocking_session_id, wait_type, wait_time FROM sys.dm_exec_requests "
    "WHERE blocking_session_id <> 0"
)
_BLOCKED_POSTGRESQL = (
    "PostgreSQL: SELECT pid, pg_blocking_pids(pid), query FROM pg_stat_activity "
    "WHERE cardinality(pg_blocking_pids(pid)) > 0"
)


@dataclass(frozen=True)
class Elsewhere:
    """Where the wait is: a clause, its evidence and what to do."""

    what: str
    evidence: Evidence
    remedy: Remedy


def processors(system: System) -> Elsewhere | None:
    """Processors that are busy most of the time."""
    for host in system.hosts:
        used = host.mean("cpu_percent")
        if not used >= 0:
            used = host.mean("cpu_user_percent") + host.mean("cpu_system_percent")
        if used >= FULL_PERCENT:
            return Elsewhere(
                "the processors are",
                seen(host, f"Processors were {number(used)} % busy on average."),
                Remedy("Look for the statements that use most processor time, or give the server more processors.",
                       (_BUSIEST, _BUSIEST_POSTGRESQL), None, "Processor time falls below 70 %."),
            )  # fmt: skip
    return None


def locks(system: System) -> Elsewhere | None:
    """Sessions that wait for each other more than for anything else."""
    waiting, everything = sessions(system, "lock"), sessions(system)
    if waiting < 0.5 or waiting < 0.5 * everything:
        return None
    return Elsewhere(
        "sessions wait for each other's locks",
        Evidence(f"{number(waiting)} sessions wait for locks: {share(waiting / everything)} of all waiting."),
        Remedy("Find the session at the head of the chain and make its transaction shorter.",
               (_BLOCKED, _BLOCKED_POSTGRESQL),
               None, "Lock waits fall."),
    )  # fmt: skip
