"""D10: many small commits, each waiting for its own flush of the log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.commits import found
from fathom.diagnose.evidence.elsewhere import processors
from fathom.diagnose.evidence.harm import has_waits, of_storage, of_waits
from fathom.diagnose.evidence.sold import DOUBTFUL
from fathom.diagnose.evidence.surroundings import MARIADB, POSTGRESQL, SQL_SERVER, VMWARE
from fathom.diagnose.evidence.words import time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.commits import Commits
    from fathom.diagnose.evidence.elsewhere import Elsewhere
    from fathom.diagnose.evidence.system import System

_COMMIT_SIBLINGS = 5
"""PostgreSQL's own: so many transactions must be open beside the one that commits, or it does not wait for others."""

_COLLECT = "perfmon SQLServer:Databases(*)\\Log Flushes/sec, pg_stat_wal, or iostat -x (f/s, f_await)"


def examine(system: System) -> Iterator[Finding]:
    """As the database counts its flushes, else as the disk does."""
    commits = found(system)
    if commits is None:
        return
    system = system.beside(commits.device)
    harm = of_waits(system, "log") if has_waits(system) else of_storage(system)
    sure = 0.9 if harm.sentence and has_waits(system) and commits.below is None else 0.65
    busy = processors(system) if commits.below is not None else None
    yield Finding(
        "D10",
        commits.device.name,
        f"Commits wait for the log one after the other: {_how(commits, busy)}.",
        harm.severity,
        sure if commits.calm_s is None else DOUBTFUL,
        (*commits.evidence, *(() if busy is None else (busy.evidence,))),
        harm.sentence,
        "few sessions wait for log writes, or the queue of the log volume is deep",
        _remedies(system, commits, busy),
    )


def _how(commits: Commits, busy: Elsewhere | None) -> str:
    """Why they wait."""
    if commits.below is not None:
        disk, takes_s = commits.below
        words = (
            f"each flush takes {time(commits.each_s)}, of which {disk.name} has {time(takes_s)}: most of it is above"
        )
        return f"{words} the disk" + ("" if busy is None else f", where {busy.what} busy")
    if not commits.slow and commits.small and commits.calm_s is None:
        return "many small flushes, each as long as the volume takes"
    each = f"each flush takes {time(commits.each_s)}"
    if commits.calm_s is not None:
        return f"{each}, but {time(commits.calm_s)} while no other writes fill the disk"
    if commits.held:
        return f"{each}, most of it for writes at a rate that never moves, as at a limit on writes"
    return each + (", as where no cache is safe from power loss" if commits.slow else "")


def _remedies(system: System, commits: Commits, busy: Elsewhere | None) -> tuple[Remedy, ...]:
    """What shortens a flush first where each is long, else fewer of them. No other volume where its time is short."""
    together = _together(system)
    if commits.below is not None:
        return (together,) if busy is None else (together, busy.remedy)
    if commits.calm_s is not None:
        return (_OTHERS,)
    if commits.held:
        return (_LIMIT, together)
    return (_device(system), together) if commits.slow else (together, _LOWER)


def _together(system: System) -> Remedy:
    """Fewer flushes for as many rows, by what the databases have for it that may be there."""
    shared = {
        POSTGRESQL: "PostgreSQL's commit_delay loses nothing, and does nothing below commit_siblings (5) transactions",
        SQL_SERVER: "SQL Server's delayed durability loses the last transactions in a crash",
        MARIADB: "MariaDB's innodb_flush_log_at_trx_commit = 2 loses the last second in a crash of the machine",
    }
    commands = {
        POSTGRESQL: ("PostgreSQL: ALTER SYSTEM SET commit_delay = 1000", "PostgreSQL: SELECT pg_reload_conf()"),
        SQL_SERVER: (
            "SQL Server: ALTER DATABASE x SET DELAYED_DURABILITY = ALLOWED",
            "SQL Server: COMMIT TRANSACTION WITH (DELAYED_DURABILITY = ON)",
        ),
        MARIADB: ("MariaDB: SET GLOBAL innodb_flush_log_at_trx_commit = 2",),
    }
    useless = system.ruled_out | ({POSTGRESQL} if _too_few_for_a_delay(system) else set())
    risks = [risk for database, risk in shared.items() if database not in useless]
    means = [command for database, each in commands.items() if database not in useless for command in each]
    return Remedy(
        "Commit several rows at once (one transaction around N rows)"
        + (
            ", or let commits share a flush."
            if means
            else "; too few sessions are active for commits to share a flush."
        ),
        tuple(means),
        f"{'; '.join(risks)}." if risks else None,
        "Flushes per second fall while transactions rise.",
    )


def _too_few_for_a_delay(system: System) -> bool:
    """Whether there never were as many sessions as PostgreSQL wants beside the one that commits before it waits."""
    counted = [each.values("active_sessions") for each in system.databases if each.has("active_sessions")]
    most = [float(np.nanmax(values)) for values in counted if not np.isnan(values).all()]
    return bool(most) and max(most) <= _COMMIT_SIBLINGS


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


_OTHERS = Remedy(
    "See what else writes then, a checkpoint, a copy or a load: spread it, or put it on another volume than the log.",
    ("Linux: pidstat -d 1",),
    "None to look.",
    "A flush takes as long as in calm times.",
)
_LIMIT = Remedy(
    "See whether writes have a limit: of the volume (what was bought, the array's quality of service) or, on Linux, of "
    "the service's control group.",
    ("Linux: grep . /sys/fs/cgroup/system.slice/*/io.max",),
    "None to look.",
    "A write takes as long as a read.",
)
_LOWER = Remedy("Put the log on a volume with lower latency.", (), None, "Log flush latency falls.")

RULE = Rule(
    "D10",
    "many small commits",
    Kind.CAUSE,
    (Need((Layer.DATABASE, Layer.GUEST_DISK, Layer.GUEST_VOLUME), ("log_flushes_per_s", "flush_iops"), _COLLECT),),
    examine,
)
