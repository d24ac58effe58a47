"""Harm: sessions in waits for storage, tasks stopped by I/O, response times.

Without any a finding is a note.

Waits are sorted by the names that SQL Server and PostgreSQL give them (sys.dm_os_wait_stats; monitoring statistics of
PostgreSQL). A wait's measure is the mean number of sessions in it. SQL Server counts in it also the time from when the
resource was free until a processor was (`signal_wait_time_ms`): that part is waiting for a processor, whatever the wait
is called.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.files import kinds, lies_on
from fathom.diagnose.evidence.join import above, onto
from fathom.diagnose.evidence.load import middle
from fathom.diagnose.evidence.slow_time import around, slow_time
from fathom.diagnose.evidence.words import number, share, time
from fathom.diagnose.metrics import Layer
from fathom.finding import Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags, Floats
    from fathom.diagnose.evidence.system import System

CLASSES = {
    "log": re.compile(r"^(?:WRITELOG|LOGBUFFER|LWLock:WALWrite.*|IO:W[Aa][Ll]\w*)$"),
    "data": re.compile(r"^(?:PAGEIOLATCH.*|IO_COMPLETION|IO:Data\w*|IO:Bu[fF]\w*|DataFile\w*)$"),
    "backup": re.compile(r"^(?:BACKUP\w*|ASYNC_IO_COMPLETION|IO:BaseBackup\w*)$"),
    "governed log": re.compile(r"^(?:(?:POOL_|INSTANCE_)?LOG_RATE_GOVERNOR|HADR_THROTTLE_LOG_RATE_\w+)$"),
    "file growth": re.compile(r"^(?:PREEMPTIVE_OS_WRITEFILEGATHER)$"),
    "lock": re.compile(r"^(?:LCK.*|Lock:.*|LWLock:(?!WAL).*)$"),
    "page latch": re.compile(r"^(?:PAGELATCH.*)$"),
    "processor": re.compile(r"^(?:SOS_SCHEDULER_YIELD)$"),
    "worker": re.compile(r"^(?:CX\w+|THREADPOOL)$"),
    "replica": re.compile(r"^(?:HADR_SYNC_COMMIT|HADR_(?:DATABASE|TRANSPORT)_FLOW_CONTROL|IPC:SyncRep)$"),
    "memory": re.compile(r"^(?:RESOURCE_SEMAPHORE\w*)$"),
    "check": re.compile(r"^(?:DBCC\w*|CHECK_TABLES\w*)$"),
}
"""Classes of waits and the names that belong to them."""

_IDLE = re.compile(r"^(?:(?:Activity|Client|Extension|Timeout):.*|CPU)$")
"""PostgreSQL's waits of sessions without work; SQL Server's are left out as they are read."""

SIGNAL = "signal waits (ready to run, without a processor)"
"""What all waits together have of waiting for a processor after their resource was free."""

SERIOUS_SESSIONS, SERIOUS_SHARE = 2.0, 0.4
LEAST_SESSIONS, LEAST_SHARE = 0.5, 0.15
"""Mean sessions in a wait and its share of all waiting: from where it is a warning, and from where critical."""
_LONGER = 3.0
"""Times as long as usual from which responses are harm."""
FEWER, _OFTEN = 0.7, 0.6
"""Share of the batches that are still done while a disk is slow, and how surely they are fewer (`join.above`)."""


@dataclass(frozen=True)
class Harm:
    """What users lose. `severity` is NOTE where nothing shows any; `sentence` then is None."""

    severity: Severity
    sentence: str | None


NONE = Harm(Severity.NOTE, None)


def sessions(system: System, *classes: str) -> float:
    """Mean number of sessions that wait in these classes; of all known classes if none is named."""
    return sum(mean for _, mean in ranked(system, *(classes or CLASSES)))


def _waits(system: System) -> list[Device]:
    """The waits, each once: perfmon counts sessions of one wait that the server's own statistics tell in several."""
    found = system.of(Layer.DATABASE_WAIT)
    told = {_base(wait) for wait in found if wait.has("wait_s_per_s")}
    return [wait for wait in found if wait.has("wait_s_per_s") or _base(wait) not in told]


def _base(wait: Device) -> str:
    """The wait's name without its mode: PAGEIOLATCH of PAGEIOLATCH_SH."""
    return re.sub(r"(?<=LATCH)_[A-Z]{2}$", "", _word(wait))


def _looks(system: System) -> int:
    """How often the sessions were looked at."""
    # A moment in which nobody waited has no wait in it: only the count of all sessions tells that there was one.
    counted = [each for each in system.of(Layer.DATABASE_WAIT) if not each.has("wait_s_per_s")]
    every = [each for each in (*counted, *system.databases) if each.has("active_sessions")]
    return len({moment for each in every for moment in each.times_ns.tolist()})


def ranked(system: System, *classes: str) -> list[tuple[str, float]]:
    """Every wait of these classes with the mean number of sessions in it, most first; of all waits if no class is
    named, without those for something to do.
    """
    looks, wanted = _looks(system), [CLASSES[name] for name in classes]
    found = [(_word(wait), _sessions(wait, looks)) for wait in _waits(system)]
    kept = [each for each in found if (any(c.match(each[0]) for c in wanted) if wanted else not _IDLE.match(each[0]))]
    signal = sum(float(np.nan_to_num(wait.mean("wait_signal_s_per_s"))) for wait in _waits(system) if _has_signal(wait))
    if signal > 0 and (not classes or "processor" in classes):
        kept.append((SIGNAL, signal))
    return sorted(kept, key=lambda each: -each[1])


def part_of_all(system: System, mean: float) -> str:
    """Which part of all waiting some sessions' is, of unknown waits as well: what L3 counts."""
    everything = sum(each for _, each in ranked(system))
    return f"{share(mean / everything if everything > 0 else 0.0)} of all waiting"


def _has_signal(wait: Device) -> bool:
    """Whether a part of a wait is for a processor, not all of it."""
    return wait.has("wait_signal_s_per_s") and not CLASSES["processor"].match(_word(wait))


def _word(wait: Device) -> str:
    """The wait's name without the instance's."""
    return (wait.device or "").rpartition("/")[2]


def _sessions(wait: Device, looks: int) -> float:
    """Mean sessions in a wait. One that is absent from a look at the sessions had none in it."""
    if wait.has("wait_s_per_s"):
        signal = float(np.nan_to_num(wait.mean("wait_signal_s_per_s"))) if _has_signal(wait) else 0.0
        return max(0.0, float(np.nan_to_num(wait.mean("wait_s_per_s"))) - signal)
    return float(np.nansum(wait.values("active_sessions"))) / max(looks, 1)


def waited_for(system: System, device: Device | None) -> tuple[str, ...]:
    """The classes of waits for a device: where the logs have files of both kinds, those of the files that it is, or
    that lie on it by the letter; else both.
    """
    files = system.of(Layer.DATABASE_FILE)
    if device is None or len(kinds(files)) < 2:
        return "data", "log"
    own = [device] if device.layer is Layer.DATABASE_FILE else [each for each in files if lies_on(each, device)]
    return tuple(sorted(kinds(own))) or ("data", "log")


def waiting(system: System, device: Device) -> Floats:
    """How many sessions wait for storage at each moment of a device."""
    total = np.zeros(len(device.times_ns))
    for wait in _waits(system):
        if any(CLASSES[name].match(_word(wait)) for name in waited_for(system, device)):
            measure = "wait_s_per_s" if wait.has("wait_s_per_s") else "active_sessions"
            total += np.nan_to_num(onto(device, wait, measure))
            if _has_signal(wait):
                total -= np.nan_to_num(onto(device, wait, "wait_signal_s_per_s"))
    return np.clip(total, 0.0, None)


def has_waits(system: System) -> bool:
    """Whether the logs tell how many sessions wait for what, not only how long each waits."""
    return any(wait.has("wait_s_per_s") or wait.has("active_sessions") for wait in system.of(Layer.DATABASE_WAIT))


def of_waits(system: System, *classes: str) -> Harm:
    """Harm by sessions that wait in these classes."""
    mine, all_of_them = sessions(system, *classes), sessions(system)
    part = mine / all_of_them if all_of_them > 0 else 0.0
    if mine < LEAST_SESSIONS or part < LEAST_SHARE:
        return NONE
    serious = mine >= SERIOUS_SESSIONS and part >= SERIOUS_SHARE
    words = f"{number(mine)} sessions wait for {' and '.join(classes)} I/O on average: {part_of_all(system, mine)}"
    words += f", most of them in {ranked(system, *classes)[0][0]}"
    return Harm(Severity.CRITICAL if serious else Severity.WARNING, words)


def of_storage(system: System, device: Device | None = None) -> Harm:
    """Harm by storage, whichever log shows it best: waits of sessions, response times, or tasks stopped by I/O. Of a
    device only what was measured at its time, and waits for what lies on it.
    """
    classes = waited_for(system, device)
    system = system if device is None else system.beside(device)
    if has_waits(system):
        # What sessions wait for is closer to users than tasks of whatever program; a mean hides a short time.
        found = of_waits(system, *classes)
        return found if found.sentence else _of_batches(system) or NONE
    return _of_tasks(system) or _of_batches(system) or NONE


def _of_tasks(system: System) -> Harm | None:
    for host in system.hosts:
        some, full = host.mean("io_pressure_percent"), host.mean("io_pressure_full_percent")
        if some >= 20:
            words = f"tasks waited for I/O {number(some)} % of the time"
            return Harm(Severity.CRITICAL if full >= 40 else Severity.WARNING, words)
        blocked = host.mean("blocked")
        if blocked >= 2:
            return Harm(Severity.WARNING, f"{number(blocked)} threads were stopped by I/O on average")
    return _of_responses(system)


def _of_responses(system: System) -> Harm | None:
    for benchmark in system.of(Layer.BENCHMARK):
        response = benchmark.values("response_s")
        good = response[np.isfinite(response)]
        if len(good) >= 8 and np.percentile(good, 90) > _LONGER * max(np.percentile(good, 10), 1e-6):
            low, high = (float(np.percentile(good, each)) for each in (10, 90))
            return Harm(Severity.WARNING, f"response times rise from {time(low)} to {time(high)}")
    return None


def _of_batches(system: System) -> Harm | None:
    """Fewer batches while a disk is slow than just before and after: users get less done. A night has few all along."""
    found = (fewer_batches(system, disk, slow_time(system, disk)) for disk in system.nearest)
    return next((each for each in found if each is not None), None)


def fewer_batches(system: System, disk: Device, slow: Flags) -> Harm | None:
    """Fewer batches in these moments of a disk than just before and after; None where the logs do not show it."""
    near = around(slow) if slow.any() else slow
    for server in (each for each in system.databases if near.any() and each.has("batches_per_s")):
        done = onto(disk, server, "batches_per_s")
        then, usual = (float(np.nanmean(done[each])) for each in (slow, near))
        if then <= FEWER * usual and above(done[near], done[slow]) >= _OFTEN:
            words = f"{number(then)} batches/s while {disk.name} is slow, {number(usual)} just before and after"
            return Harm(Severity.WARNING, words)
    return None


def longer_responses(system: System, disk: Device, chosen: Flags) -> Harm | None:
    """Response times that are several times as long in these moments of a disk as in the others; None where the logs do
    not show it.
    """
    for benchmark in system.of(Layer.BENCHMARK):
        times = onto(disk, benchmark, "response_s")
        then, usual = (middle(times[each]) for each in (chosen, ~chosen))
        if then >= _LONGER * usual and above(times[chosen], times[~chosen]) >= _OFTEN:
            return Harm(Severity.WARNING, f"response times rise from {time(usual)} to {time(then)}")
    return None
