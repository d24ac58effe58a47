"""D33: Azure SQL's limit on the rate at which log is generated, of a database, an elastic pool or an instance.

Sessions wait while a log record is made, not while it is written: the log's own latency stays short. Waits and levels:
Microsoft, "Resource management in Azure SQL Database", transaction log rate governance
(learn.microsoft.com/azure/azure-sql/database/resource-limits-logical-server).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.harm import of_waits, ranked
from fathom.diagnose.evidence.words import megabytes, number, seen
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import WAITS, Kind, Rule
from fathom.finding import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


@dataclass(frozen=True)
class _Level:
    """Whose limit a wait is: what is so, and the commands that raise it."""

    what: str
    raises: str
    commands: tuple[str, ...]


_LIMITS = (
    "SELECT slo_name, primary_max_log_rate, pool_max_log_rate, instance_max_log_rate "
    "FROM sys.dm_user_db_resource_governance"
)
_USED = "SELECT end_time, avg_log_write_percent FROM sys.dm_db_resource_stats ORDER BY end_time DESC"
_LEVELS = {
    "LOG_RATE_GOVERNOR": _Level(
        "the database's limit",
        "Take a higher service objective or more vCores for the database, or Hyperscale",
        (
            _LIMITS,
            _USED,
            "az sql db update --resource-group GROUP --server SERVER --name DATABASE --service-objective OBJECTIVE",
        ),
    ),
    "POOL_LOG_RATE_GOVERNOR": _Level(
        "the elastic pool's limit",
        "Give the elastic pool more vCores, or move the database that writes most to another pool or out of it",
        (
            _LIMITS,
            "az sql elastic-pool update --resource-group GROUP --server SERVER --name POOL --capacity VCORES",
        ),
    ),
    "INSTANCE_LOG_RATE_GOVERNOR": _Level(
        "the instance's limit",
        "Give the managed instance more vCores, or Business Critical; of a database, a higher service objective",
        (_LIMITS, "az sql mi update --resource-group GROUP --name INSTANCE --capacity VCORES --tier BusinessCritical"),
    ),
    "HADR_THROTTLE_LOG_RATE_SEND_RECV_QUEUE_SIZE": _Level(
        "the pace of the replicas, which do not keep up",
        "Take a larger service objective: the replicas have the same",
        ("SELECT * FROM sys.dm_database_replica_states",),
    ),
    "HADR_THROTTLE_LOG_RATE_LOG_SIZE": _Level(
        "what keeps the log from running out of space",
        "See what keeps the log from being used again: a transaction that stays open, a replica that does not keep up",
        ("SELECT name, log_reuse_wait_desc FROM sys.databases WHERE log_reuse_wait_desc <> 'NOTHING'",),
    ),
    "HADR_THROTTLE_LOG_RATE_MISMATCHED_SLO": _Level(
        "the pace of a geo-secondary with a lower service objective",
        "Give the geo-secondary the service objective of the primary",
        ("SELECT partner_server, partner_database, replication_lag_sec FROM sys.dm_geo_replication_link_status",),
    ),
}
"""By wait; the first three are limits of the tier that was bought."""
_OTHER = _Level("the service", _LEVELS["LOG_RATE_GOVERNOR"].raises, (_LIMITS, _USED))

_LESS = Remedy(
    "Write less log: load in batches, temporary rows into tempdb, rows for analyses into a clustered columnstore index "
    "(compressed); rebuild fewer indexes, or at another time.",
    (),
    None,
    "Fewer sessions wait in it, and the load takes less time.",
)


def examine(system: System) -> Iterator[Finding]:
    """By waits of sessions: the log's files show nothing of it."""
    harm = of_waits(system, "governed log")
    if harm.sentence is None:
        return
    waits = ranked(system, "governed log")
    most = waits[0][0]
    level = _LEVELS.get(most, _OTHER)
    each = "; ".join(f"{name} {number(mean)}" for name, mean in waits if mean > 0)
    yield Finding(
        "D33",
        "log rate",
        f"The rate of log writes is held by {level.what} ({most}), not by how fast the storage is.",
        harm.severity,
        0.9,
        (Evidence(f"Sessions that wait for leave to write log, on average: {each}."), *_written(system)),
        harm.sentence,
        "avg_log_write_percent is far below 100 while they wait",
        (
            Remedy(
                f"{level.raises}.",
                level.commands,
                "Costs more; connections are cut for some seconds when the change completes.",
                f"{most} falls, and more log is written per second.",
            ),
            _LESS,
        ),
    )


def _written(system: System) -> Iterator[Evidence]:
    """The rate at which logs were written in the same time."""
    for file in system.of(Layer.DATABASE_FILE):
        rate = file.mean("write_bytes_per_s")
        if file.name.casefold().endswith(".ldf") and rate > 0:
            yield seen(file, f"{file.name} is written at {megabytes(rate)}.")


RULE = Rule("D33", "limit on the rate of log writes", Kind.CAUSE, (WAITS,), examine)
