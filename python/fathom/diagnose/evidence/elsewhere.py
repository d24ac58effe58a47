"""Waits that are not in the storage: busy processors, processors that others got, memory grants, and locks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import FEWER, SERIOUS_SESSIONS, has_waits, part_of_all, ranked, sessions
from fathom.diagnose.evidence.load import FEWEST, middle
from fathom.diagnose.evidence.memory import LITTLE_BYTES, MAX_SERVER_MEMORY, SWAPPED, swapping
from fathom.diagnose.evidence.words import megabytes, number, seen, share
from fathom.diagnose.metrics import Layer
from fathom.finding import Evidence, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags, Floats
    from fathom.diagnose.evidence.system import System

FULL_PERCENT = 85.0
"""Of all processors on average, from which on most work waits for one: what is told as "90 %" scatters about it."""
_OWN_PERCENT = 60.0
"""Of all processors without niced programs, below which a database finds one: niced work yields to it."""
STOLEN_PERCENT = 10.0
"""Processor time that a hypervisor gives to others from which on programs wait noticeably."""
_OFTEN = 0.1
"""Share of the moments in which that must be so."""
WAITED = 0.15
"""Part of the processor time that a virtual machine wants and does not get."""
_READY_PERCENT = 10.0
"""%RDY of a virtual processor from which it harms: 5 to 10 % in VMware's guides and IBM's "Virtual machine CPU ready",
which converts as VMware's KB 2002181 does. esxtop adds up all processors of a machine.
"""
_WHOLE_PERCENT = 100.0
"""%RDY of all processors of a machine from which it waits for a whole one all the time, however many it has."""

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
_GRANTS = (
    "SELECT TOP 10 session_id, requested_memory_kb, granted_memory_kb, wait_time_ms FROM "
    "sys.dm_exec_query_memory_grants ORDER BY requested_memory_kb DESC"
)
_LIMIT_GRANTS = (
    "ALTER WORKLOAD GROUP [default] WITH (REQUEST_MAX_MEMORY_GRANT_PERCENT = 10); ALTER RESOURCE GOVERNOR RECONFIGURE"
)
_LATCHED = (
    "SELECT session_id, wait_type, resource_description FROM sys.dm_os_waiting_tasks WHERE wait_type LIKE 'PAGELATCH%'"
)
_TEMPDB_FILE = "ALTER DATABASE tempdb ADD FILE (NAME = N'temp2', FILENAME = N'PATH', SIZE = N, FILEGROWTH = 512MB)"
_TEMPDB_METADATA = "ALTER SERVER CONFIGURATION SET MEMORY_OPTIMIZED TEMPDB_METADATA = ON"
_LAST_PAGE = "ALTER INDEX i ON t SET (OPTIMIZE_FOR_SEQUENTIAL_KEY = ON)"
_LARGER_CLASS = (
    "aws rds modify-db-instance --db-instance-identifier DB-ID --db-instance-class CLASS --apply-immediately"
)
_MEMORY_POSTGRESQL = (
    "PostgreSQL: SELECT name, setting, unit FROM pg_settings WHERE name IN "
    "('shared_buffers', 'work_mem', 'max_connections')"
)
_SWAPPED_BYTES = 500e6
"""Memory in swap that is more than what programs left there once and never need."""
_LEAST_SESSIONS = 0.5
GIVEN = "the host gives the processors to other machines"
LESS_SHARED = Remedy(
    "Ask the host's administrator for fewer virtual processors per core, or for a reservation. On a burstable instance "
    "see whether its CPU credits are spent. Tuning statements of this machine does not give the time back.",
    (),
    "A reservation takes time from other machines.",
    "Steal (%st) or ready time (%RDY) falls below 5 % of a processor.",
)


_LESS_SHARED_VM = Remedy(
    "Ask the host's administrator to move the machine to another host (vMotion), for fewer virtual processors per "
    "core, or for a reservation, and whether the machine or its pool has a CPU limit. More virtual processors make it "
    "worse. Tuning statements of this machine does not give the time back.",
    ("esxtop (c: %RDY, %CSTP and %MLMTD of the machine)",),
    "A reservation takes time from other machines.",
    "Ready time (%RDY) falls below 5 % of a processor.",
)
_FULL_HOST = Remedy(
    "Move machines to another host (vMotion), or give them fewer virtual processors: together they want more than the "
    "host has. More virtual processors of a machine make that worse.",
    ("esxtop (c: %USED, %RDY and %CSTP of each machine)",),
    None,
    "Processor time of the host falls below 70 %.",
)


@dataclass(frozen=True)
class Elsewhere:
    """Where the wait is: a clause, its evidence and what to do."""

    what: str
    evidence: Evidence
    remedy: Remedy


def processors(system: System) -> Elsewhere | None:
    """Processors that are busy most of the time, by their own programs or because others have them."""
    for host in system.hosts:
        each, own = used_of(host.values)
        known = np.isfinite(each)
        # Not known is not full, nor is what a few looks show.
        if known.sum() < FEWEST:
            continue
        used, without = (float(np.average(kind[known], weights=host.seconds[known])) for kind in (each, own))
        if not is_full(np.array(used), np.array(without)):
            continue
        # What others got counts as busy, and no statement of this machine's is to blame for it.
        lost = stolen(system)
        if lost is not None and not used - host.mean("cpu_steal_percent") >= FULL_PERCENT:
            return lost
        niced = f", {number(used - without)} % of it with niced programs" if used - without >= 1 else ""
        return busy_processors(system, host, f"Processors were {number(used)} % busy on average{niced}.")
    return None


def used_of(values: Callable[[str], Floats]) -> tuple[Floats, Floats]:
    """Processor time in use, of all processors: all of it, and without niced programs; by what gives a metric."""
    used = values("cpu_percent")
    used = np.where(np.isfinite(used), used, values("cpu_user_percent") + values("cpu_system_percent"))
    return used, used - np.nan_to_num(values("cpu_nice_percent"))


def is_full(used: Floats, own: Floats) -> Flags:
    """When processors leave a database hardly any time, by all that is used and what is not niced of it."""
    found: Flags = (used >= FULL_PERCENT) & (own >= _OWN_PERCENT)
    return found


def busy_processors(system: System, host: Device, words: str) -> Elsewhere:
    """Processors that a machine's own programs keep busy, or a hypervisor's machines."""
    if any(each.host == host.host for each in system.of(Layer.HOST_DEVICE, Layer.VIRTUAL_DISK)):
        return Elsewhere(f"the processors of the host {host.name} are", seen(host, words), _FULL_HOST)
    return Elsewhere(
        "the processors are",
        seen(host, words),
        Remedy("Look for the statements that use most processor time, or give the server more processors.",
               (_BUSIEST, _BUSIEST_POSTGRESQL), None, "Processor time falls below 70 %."),
    )  # fmt: skip


def stolen(system: System) -> Elsewhere | None:
    """Processor time that the hypervisor gave to others, as the machine itself or the hypervisor counts it."""
    for host in system.hosts:
        values = host.values("cpu_steal_percent")
        hit, known = values >= STOLEN_PERCENT, np.isfinite(values)
        if _often(hit, known):
            words = (
                f"Steal is {number(float(np.median(values[hit])))} % in {share(hit.sum() / known.sum())} of the time"
            )
            return Elsewhere(GIVEN, seen(host, f"{words}: the machine wanted to run and others ran.", hit), LESS_SHARED)
    waiting = [found for machine in machines(system) if (found := _ready(machine)) is not None]
    if not waiting:
        return None
    worst = max(waiting, key=lambda each: each.rank)
    also = [f"{each.machine.name} ({each.what})" for each in waiting if each is not worst]
    others = f" So did {', '.join(also)}." if also else ""
    return given_away(worst.machine, seen(worst.machine, f"{worst.said}{others}", worst.hit), known=worst.known)


@dataclass(frozen=True)
class _Ready:
    """A virtual machine that is ready and does not run, and what tells how badly."""

    machine: Device
    hit: Flags
    rank: tuple[float, float]
    what: str
    said: str
    known: bool


def _ready(machine: Device) -> _Ready | None:
    hit, known = waited(machine.values), np.isfinite(ready_of(machine.values))
    if not _often(hit, known):
        return None
    part, ready = (middle(each[hit]) for each in (missed(machine.values), ready_of(machine.values)))
    when, figures = f"in {share(hit.sum() / known.sum())} of the time", ready_words(machine.values, hit)
    if not part >= 0:
        said = f"{machine.name} was ready and did not run {when}: {figures}."
        return _Ready(machine, hit, (0.0, ready), figures, said, known=False)
    what = f"{share(part)} of the processor time that it wanted"
    run = f"%RUN {number(middle(machine.values('cpu_run_percent')[hit]))}, added over its processors"
    return _Ready(machine, hit, (part, ready), share(part),
                  f"{machine.name} waited for {what}, {when}: {figures}; {run}.", known=True)  # fmt: skip


def ready_of(values: Callable[[str], Floats]) -> Floats:
    """%RDY of each processor of a virtual machine, on average; of all together where the log has no other."""
    each = values("cpu_ready_each_percent")
    return np.where(np.isfinite(each), each, values("cpu_ready_percent"))


def ready_words(values: Callable[[str], Floats], chosen: Flags) -> str:
    """%RDY at these moments, and of what."""
    of_each = bool(np.isfinite(values("cpu_ready_each_percent")[chosen]).any())
    return f"%RDY {number(middle(ready_of(values)[chosen]))} {'of each processor' if of_each else 'of all processors'}"


def waited(values: Callable[[str], Floats]) -> Flags:
    """When a virtual machine waited for processors: each of them for long, and for a part of what it wanted. Where the
    log does not count its processors one by one, for a whole one all the time.
    """
    each, part = values("cpu_ready_each_percent"), missed(values)
    long = np.where(np.isfinite(each), each >= _READY_PERCENT, values("cpu_ready_percent") >= _WHOLE_PERCENT)
    found: Flags = long & ~(part < WAITED)
    return found


def missed(values: Callable[[str], Floats]) -> Floats:
    """The part of the processor time that a virtual machine wanted and did not get, of its %RDY and %RUN."""
    ready, run = values("cpu_ready_percent"), values("cpu_run_percent")
    return ready / np.where(ready + run > 0, ready + run, np.nan)


def given_away(machine: Device, evidence: Evidence, *, known: bool) -> Elsewhere:
    """A virtual machine that waits for processors; `known`: whether the log tells for which part of its time."""
    given = f"the host gives the processors of {machine.name} to other machines"
    what = given if known else f"{machine.name} waits for processors of its host"
    return Elsewhere(what, evidence, _LESS_SHARED_VM)


def machines(system: System) -> list[Device]:
    """Virtual machines whose disks are in the log, and those alone that have a log of their own, where any has; a
    hypervisor's own groups are always ready for something.
    """
    owners = {(each.device or "").partition(":")[0] for each in system.of(Layer.VIRTUAL_DISK)}
    every = [each for each in system.of(Layer.HOST) if np.isfinite(ready_of(each.values)).any()
             and (each.device in owners or not owners)]  # fmt: skip
    guests = {(each.host or "").casefold() for each in system.disks}
    return [each for each in every if (each.device or "").casefold() in guests] or every


def swapped_by_host(system: System) -> Elsewhere | None:
    """A hypervisor that reads memory of its machines from swap: each such page is a wait inside of the machine."""
    of_esxi = {each.host for each in system.of(Layer.HOST_DEVICE, Layer.VIRTUAL_DISK)}
    for host in system.hosts:
        hit, known = swapping(host), np.isfinite(host.values("swap_in_bytes_per_s"))
        if host.host not in of_esxi or not _often(hit, known):
            continue
        into, out = (middle(host.values(f"swap_{way}_bytes_per_s")[hit]) for way in ("in", "out"))
        words = f"{host.name} reads {megabytes(into)} of its machines' memory from swap and writes {megabytes(out)}, in"
        said = seen(host, f"{words} {share(hit.sum() / known.sum())} of the time.", hit)
        return Elsewhere(f"the host {host.name} swaps memory of its machines", said, SWAPPED)
    return None


def swapped(system: System) -> Elsewhere | None:
    """A machine whose programs are in swap in good part while hardly any memory is left, most of the time.

    Of RDS: FreeableMemory and SwapUsage (Amazon RDS User Guide, CloudWatch instance-level metrics, and "DB instance RAM
    recommendations"). Other systems tell how much they read back, which is what harms (D28).
    """
    for host in system.hosts:
        left, used = host.values("memory_available_bytes"), host.values("swap_used_bytes")
        short, known = (left <= LITTLE_BYTES) & (used >= _SWAPPED_BYTES), np.isfinite(left + used)
        if known.sum() < FEWEST or short.sum() < 0.5 * known.sum():
            continue
        least, most = (number(float(np.median(each[short])) / 1e6) for each in (left, used))
        return Elsewhere(
            "memory is short",
            seen(host, f"{least} MB of memory are left, and {most} MB of programs are in swap.", short),
            Remedy("Give the machine more memory, or make the database's own limits smaller: its buffers, and the "
                   "memory and number of its sessions.",
                   (_LARGER_CLASS, _MEMORY_POSTGRESQL, MAX_SERVER_MEMORY),
                   "Minutes without service while the class changes; with Multi-AZ as long as a failover takes.",
                   "Swap shrinks, and memory is left."),
        )  # fmt: skip
    return None


def _most_wait(system: System, kind: str) -> tuple[float, str] | None:
    """Sessions that wait in a class, and their part of all that wait; None unless they are most of them."""
    waiting = sessions(system, kind)
    few = waiting < _LEAST_SESSIONS or waiting < 0.5 * sessions(system)
    return None if few else (waiting, part_of_all(system, waiting))


def _often(hit: Flags, known: Flags) -> bool:
    return bool(known.any() and hit.sum() >= max(3.0, _OFTEN * known.sum()))


def runnable(system: System) -> Elsewhere | None:
    """Sessions of SQL Server that are ready to run and wait for a processor, more than for anything else.

    Microsoft, sys.dm_os_wait_stats: `signal_wait_time_ms` is the "difference between the time that the waiting thread
    was signaled and when it started running"; SOS_SCHEDULER_YIELD is a task that waits for its quantum to be renewed.
    """
    most = _most_wait(system, "processor")
    if most is None or most[0] < SERIOUS_SESSIONS:
        return None
    waiting, part = most
    workers = dict(ranked(system, "worker")).get("THREADPOOL", 0.0)
    more = f" {number(workers)} more wait for a worker thread (THREADPOOL)." if workers >= _LEAST_SESSIONS else ""
    return Elsewhere(
        "sessions wait for processors",
        Evidence(
            f"{number(waiting)} sessions are ready to run and wait for a processor on average (SOS_SCHEDULER_YIELD and "
            f"signal waits): {part}.{more}"
        ),
        Remedy("Look for the statements that use most processor time, or give the server more processors; in a virtual "
               "machine see first whether its host gives it the processors that it has (steal, %RDY).",
               (_BUSIEST,), None, "Signal waits and SOS_SCHEDULER_YIELD fall."),
    )  # fmt: skip


def grants(system: System) -> Elsewhere | None:
    """Sessions that wait for memory to sort or to join in, more than for anything else."""
    most = _most_wait(system, "memory")
    if most is None:
        return None
    waiting, part = most
    return Elsewhere(
        "sessions wait for memory to run their statements in",
        Evidence(
            f"{number(waiting)} sessions wait for a memory grant (RESOURCE_SEMAPHORE) on average: "
            f"{part}."
        ),
        Remedy("Find the statements with the largest grants: sorts and hashes of too many rows, wrong estimates. Fix "
               "indexes and statistics, or limit a grant.",
               (_GRANTS, _LIMIT_GRANTS),
               "A statement with too small a grant spills to tempdb.", "RESOURCE_SEMAPHORE falls."),
    )  # fmt: skip


def locks(system: System) -> Elsewhere | None:
    """Sessions that wait for each other more than for anything else, or of which only waits for locks are known."""
    most = _most_wait(system, "lock")
    evidence = _locked(system) if most is None else Evidence(f"{number(most[0])} sessions wait for locks: {most[1]}.")
    if evidence is None:
        return None
    return Elsewhere(
        "sessions wait for each other's locks",
        evidence,
        Remedy("Find the session at the head of the chain and make its transaction shorter.",
               (_BLOCKED, _BLOCKED_POSTGRESQL),
               None, "Lock waits fall."),
    )  # fmt: skip


def _locked(system: System) -> Evidence | None:
    """Sessions that wait for locks by SQL Server's counters of locks alone, which know of no other wait.

    Microsoft, "SQL Server, Locks object": Lock Wait Time (ms), "Total wait time (in milliseconds) for locks in the last
    second"; "General Statistics object": Processes blocked.
    """
    for server in system.databases if not has_waits(system) else ():
        each = server.values("lock_wait_s_per_s")
        each = each if np.isfinite(each).any() else server.values("blocked_sessions")
        mean = float(np.average(np.nan_to_num(each), weights=server.seconds)) if len(each) else 0.0
        then = np.nan_to_num(each) >= max(SERIOUS_SESSIONS, middle(each, 95) / 2)
        if mean >= SERIOUS_SESSIONS and then.sum() >= 3:
            words = f"{number(mean)} sessions wait for locks on average, {number(middle(each[then]))} in"
            return seen(server, f"{words} {share(then.sum() / len(then))} of the time{_fewer(server, then)}.", then)
    return None


def _fewer(server: Device, then: Flags) -> str:
    """How many batches are done while sessions wait, where the log tells it and they are fewer."""
    batches = server.values("batches_per_s")
    less, usual = middle(batches[then]), middle(batches[~then])
    return f", with {number(less)} batches/s, {number(usual)} otherwise" if less < FEWER * usual else ""


def page_latches(system: System) -> Elsewhere | None:
    """Sessions that wait for a page in memory, which another one changes, more than for anything else.

    Microsoft: "Reduce allocation contention in SQL Server tempdb database", "Resolve last-page insert PAGELATCH_EX
    contention in SQL Server".
    """
    most = _most_wait(system, "page latch")
    if most is None:
        return None
    waiting, part = most
    return Elsewhere(
        "sessions wait for the same pages in memory (page latches)",
        Evidence(
            f"{number(waiting)} sessions wait for pages in memory: {part}, most of them in "
            f"{ranked(system, 'page latch')[0][0]}. No disk is read in these waits: those for a disk are PAGEIOLATCH."
        ),
        Remedy("See which pages these are. Of tempdb (2:...): give it several data files of equal size, one for each "
               "processor up to 8, and keep its metadata in memory (SQL Server 2019 and later). Of an index whose key "
               "only grows: set OPTIMIZE_FOR_SEQUENTIAL_KEY (2019 and later).",
               (_LATCHED, _TEMPDB_FILE, _TEMPDB_METADATA, _LAST_PAGE),
               "Metadata in memory takes effect after a restart of SQL Server.", "Waits for PAGELATCH fall."),
    )  # fmt: skip
