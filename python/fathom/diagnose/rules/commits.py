"""D10: many small commits, each waiting for its own flush of the log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.commits import by_database, by_device
from fathom.diagnose.evidence.harm import has_waits, of_storage, of_waits
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
    yield Finding(
        "D10",
        found.subject,
        "Commits wait for the log one after the other: many small flushes, each as long as the volume takes.",
        harm.severity,
        0.9 if harm.sentence and has_waits(system) else 0.65,
        found.evidence,
        harm.sentence,
        "few sessions wait for log writes, or the queue of the log volume is deep",
        (
            Remedy(
                "Commit several rows at once (BEGIN TRAN around N rows), or let commits share a flush.",
                (
                    "PostgreSQL: ALTER SYSTEM SET commit_delay = 1000",
                    "SQL Server: ALTER DATABASE x SET DELAYED_DURABILITY = ALLOWED",
                    "MariaDB: SET GLOBAL innodb_flush_log_at_trx_commit = 2",
                ),
                "commit_delay loses nothing; delayed durability and innodb_flush_log_at_trx_commit = 2 lose "
                "the last transactions in a crash.",
                "Flushes per second fall while transactions rise.",
            ),
            Remedy("Put the log on a volume with lower latency.", (), None, "Log flush latency falls."),
        ),
    )


RULE = Rule(
    "D10",
    "many small commits",
    Kind.CAUSE,
    (Need((Layer.DATABASE, Layer.GUEST_DISK, Layer.GUEST_VOLUME), ("log_flushes_per_s", "flush_iops"), _COLLECT),),
    examine,
)
