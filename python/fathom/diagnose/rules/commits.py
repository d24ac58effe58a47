"""D10: many small commits, each waiting for its own flush of the log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.commits import by_database, by_device
from fathom.diagnose.evidence.harm import has_waits, of_storage, of_waits
from fathom.diagnose.evidence.surroundings import MARIADB, POSTGRESQL, SQL_SERVER, VMWARE
from fathom.diagnose.evidence.words import time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System

_COLLECT = "perfmon SQLServer:Databases(*)\\Log Flushes/sec, pg_stat_wal, or iostat -x (f/s, f_await)"


def examine(system: System) -> Iterator[Finding]:
    """As the database counts its flushes, else as the disk does."""
    found = by_database(system) or by_device(system)
    if found is None:
        return
    harm = of_waits(system, "log") if has_waits(system) else of_storage(system)
    how = "many small flushes, each as long as the volume takes"
    if found.slow or not found.small:
        how = f"each flush takes {time(found.each_s)}"
        how += ", as where no cache is safe from power loss" if found.slow else ""
    together = _together(system)
    yield Finding(
        "D10",
        found.subject,
        f"Commits wait for the log one after the other: {how}.",
        harm.severity,
        0.9 if harm.sentence and has_waits(system) else 0.65,
        found.evidence,
        harm.sentence,
        "few sessions wait for log writes, or the queue of the log volume is deep",
        (_device(system), together) if found.slow else (together, _LOWER),
    )


def _together(system: System) -> Remedy:
    """Fewer flushes for as many rows, by what the databases have for it that may be there."""
    shared = {
        POSTGRESQL: "PostgreSQL's commit_delay loses nothing, and does nothing below commit_siblings (5) transactions",
        SQL_SERVER: "SQL Server's delayed durability loses the last transactions in a crash",
        MARIADB: "MariaDB's innodb_flush_log_at_trx_commit = 2 loses the last second in a crash of the machine",
    }
    risks = [risk for database, risk in shared.items() if database not in system.ruled_out]
    return Remedy(
        "Commit several rows at once (one transaction around N rows), or let commits share a flush.",
        (
            "PostgreSQL: ALTER SYSTEM SET commit_delay = 1000",
            "PostgreSQL: SELECT pg_reload_conf()",
            "SQL Server: ALTER DATABASE x SET DELAYED_DURABILITY = ALLOWED",
            "SQL Server: COMMIT TRANSACTION WITH (DELAYED_DURABILITY = ON)",
            "MariaDB: SET GLOBAL innodb_flush_log_at_trx_commit = 2",
        ),
        f"{'; '.join(risks)}." if risks else None,
        "Flushes per second fall while transactions rise.",
    )


def _device(system: System) -> Remedy:
    """What makes a flush short. A volume of a cloud has no cache that anybody could look at."""
    if VMWARE in system.ruled_out:
        return _LOWER
    return Remedy(
        "Look at the device of the log first: whether it turns, whether its controller's write cache is on and the "
        "battery holds, and whether its flash is protected against power loss. Put the log on one that is.",
        (
            "Linux: cat /sys/block/DISK/queue/rotational /sys/block/DISK/queue/write_cache",
            "storcli64 /call/bbu show all",
            "ssacli ctrl all show detail",
        ),
        "None to look. Never switch flushes off on a device without such protection.",
        "A flush takes less than 1 ms.",
    )


_LOWER = Remedy("Put the log on a volume with lower latency.", (), None, "Log flush latency falls.")

RULE = Rule(
    "D10",
    "many small commits",
    Kind.CAUSE,
    (Need((Layer.DATABASE, Layer.GUEST_DISK, Layer.GUEST_VOLUME), ("log_flushes_per_s", "flush_iops"), _COLLECT),),
    examine,
)
