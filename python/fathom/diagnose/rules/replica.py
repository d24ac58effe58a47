"""D12: commits wait for a synchronous replica more than for the local log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.harm import LEAST_SESSIONS, of_waits, ranked, sessions
from fathom.diagnose.evidence.surroundings import POSTGRESQL, SQL_SERVER
from fathom.diagnose.evidence.words import number
from fathom.diagnose.rule import WAITS, Kind, Rule
from fathom.finding import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


_FLOW_CONTROL = ("HADR_DATABASE_FLOW_CONTROL", "HADR_TRANSPORT_FLOW_CONTROL")
"""Waits until the replica has taken messages that were sent before (Microsoft, sys.dm_os_wait_stats). They are not of
commits: an asynchronous replica has them as well.
"""


def examine(system: System) -> Iterator[Finding]:
    """By waits of sessions."""
    held = [(name, mean) for name, mean in ranked(system, "replica") if name in _FLOW_CONTROL and mean > 0]
    local = sessions(system, "log")
    remote = sessions(system, "replica") - sum(mean for _, mean in held)
    harm = of_waits(system, "replica")
    if remote <= 1.5 * local or remote < LEAST_SESSIONS or harm.sentence is None:
        return
    yield Finding(
        "D12",
        "replica",
        "Commits wait for the synchronous replica, not for this server's log.",
        harm.severity,
        0.85,
        (
            Evidence(
                f"{number(remote)} sessions wait for the replica (HADR_SYNC_COMMIT, SyncRep), {number(local)} "
                "for the local log."
            ),
            *(Evidence(f"{number(mean)} wait until it takes more messages ({name}).") for name, mean in held),
        ),
        harm.sentence,
        "the replica's log volume and the network are idle",
        (_look(system),),
    )


_ASYNCHRONOUS = (
    "SQL Server: ALTER AVAILABILITY GROUP ag MODIFY REPLICA ON 'replica' WITH (AVAILABILITY_MODE = ASYNCHRONOUS_COMMIT)"
)


def _look(system: System) -> Remedy:
    """By the databases that may be there: each has its own words for a synchronous replica."""
    verify = {SQL_SERVER: "HADR_SYNC_COMMIT falls below WRITELOG", POSTGRESQL: "IPC:SyncRep falls below IO:WALSync"}
    return Remedy(
        "Look at the network and at the log volume of the replica; asynchronous commit if the loss of the last "
        "transactions is acceptable.",
        (
            "SELECT * FROM sys.dm_hadr_database_replica_states",
            _ASYNCHRONOUS,
            "PostgreSQL: SELECT application_name, sync_state, flush_lag, replay_lag FROM pg_stat_replication",
            "PostgreSQL: SHOW synchronous_standby_names",
            "PostgreSQL: ALTER SYSTEM SET synchronous_commit = local",
            "PostgreSQL: SELECT pg_reload_conf()",
        ),
        "Asynchronous: committed transactions may be lost at a failover.",
        " or ".join(said for database, said in verify.items() if database not in system.ruled_out) + ".",
    )


RULE = Rule("D12", "synchronous replica", Kind.CAUSE, (WAITS,), examine)
