"""D29: a database's file grows while it is used: the new part is written with zeros, and other I/O waits behind it, or
the sessions that need the room wait for the zeros (PREEMPTIVE_OS_WRITEFILEGATHER; Microsoft, "Database instant file
initialization").
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fathom.diagnose.evidence.harm import of_storage, of_waits
from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import FEWEST, middle
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import megabytes, number, seen, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import Kind, Need, Rule
from fathom.finding import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags, Floats
    from fathom.diagnose.evidence.system import System

_TIMES = 2.5
"""How many times as long requests take while a file grows."""
_FEWEST, _LEAST_BYTES = 3, 1e6
"""Intervals in which it grows, and bytes per second: less is over before anybody notices."""
_ONE_GROWTH = 0.5
"""Growths of a log in an interval, as a mean over several: at least one in most of them."""
_OF_A_FILE = "file_grown_bytes_per_s"
_DATA = "data files"
_PARTS = {"data_grown_bytes": _DATA, "log_grown_bytes": "log", "log_growths": "log"}
"""What of a database grows, of which the server counts all files of a kind together."""
_METRICS = (_OF_A_FILE, *_PARTS)
_MEASURED, _COUNTED = 0.8, 0.6
"""How sure a growth is whose bytes are known, and one of which only the number is."""
_ZEROING = "PREEMPTIVE_OS_WRITEFILEGATHER"
_ROOM = 1.25
"""How many times its size at the end of the log a file is advised to have."""


_INITIALISED = "SELECT servicename, instant_file_initialization_enabled FROM sys.dm_server_services"


class _Slowed(NamedTuple):
    """A device with its latency while a file grows, and otherwise."""

    device: Device
    then: float
    usual: float


_REUSE = Remedy(
    "If it is a log, see what keeps it from being used again: a transaction that stays open, or no log backup.",
    ("SELECT name, log_reuse_wait_desc FROM sys.databases WHERE log_reuse_wait_desc <> 'NOTHING'",),
    None,
    "The log is used again instead of growing.",
)


def examine(system: System) -> Iterator[Finding]:
    """Growths that slow other I/O; else sessions that wait for their zeros."""
    slows = list(_that_slow(system))
    yield from slows or _that_wait(system)


def _that_wait(system: System) -> Iterator[Finding]:
    """By waits of sessions, which tell no file: those that grew in the same time may be it."""
    harm = of_waits(system, "file growth")
    if harm.sentence is None:
        return
    growers = (*system.of(Layer.DATABASE_FILE), *system.databases)
    grown = [(each, metric) for each in growers for metric in _METRICS if _did_grow(each, metric)]
    grower, metric = grown[0] if len({each.name for each, _ in grown}) == 1 else (None, _OF_A_FILE)
    yield Finding(
        "D29",
        grower.name if grower else "sessions",
        "Sessions wait while a file grows: what is added is written with zeros first.",
        harm.severity,
        _MEASURED,
        (*_waits(system), *(_growth(each, metric) for each, metric in grown[:3])),
        harm.sentence,
        "the zeros are those of a backup that is restored, or of a new database",
        (_fixed(system, grower, is_log=grower is not None and _is_log(grower, metric)), _REUSE),
    )


def _did_grow(grower: Device, metric: str) -> bool:
    return bool(grower.has(metric) and _grows(grower.values(metric), grower.interval_s, metric).any())


def _that_slow(system: System) -> Iterator[Finding]:
    """Files by their size, a database's files together by theirs, or its count of growths of its log."""
    for grower in (*system.of(Layer.DATABASE_FILE), *system.databases):
        # Of a log's size and its growths, which say the same, the first.
        shown = (found for metric in _METRICS if (found := _slows(system, grower, metric)) is not None)
        found = next(shown, None)
        if found is None:
            continue
        metric, slowed = found
        harm = of_storage(system, slowed[0].device)
        part = _PARTS.get(metric)
        grows = f"{f'The {part} of {grower.name}' if part else grower.name} {'grow' if part == _DATA else 'grows'}"
        used = "they are" if part == _DATA else "it is"
        yield Finding(
            "D29",
            grower.name,
            f"{grows} while {used} used: what is added is written with zeros, and other I/O waits behind it.",
            harm.severity,
            _COUNTED if metric == "log_growths" else _MEASURED,
            (_growth(grower, metric), *_waits(system), *_slower(slowed)),
            harm.sentence,
            "the file grows as its data does, and the latency is that of the data",
            (_fixed(system, grower, is_log=_is_log(grower, metric)), _REUSE),
        )


def _is_log(grower: Device, metric: str) -> bool:
    return grower.name.casefold().endswith(".ldf") if metric == _OF_A_FILE else _PARTS[metric] != _DATA


def _slows(system: System, grower: Device, metric: str) -> tuple[str, list[_Slowed]] | None:
    """The metric with the devices that are slow while it tells of a growth; None where none is."""
    if not grower.has(metric):
        return None
    slowed = [found for each in system.nearest if (found := _slowed(grower, metric, each)) is not None]
    slowed = [each for each in slowed if each.then > tier_of(system, each.device).target_s]
    return (metric, slowed) if slowed else None


def _fixed(system: System, grower: Device | None, *, is_log: bool) -> Remedy:
    """Room for what will come. A size below the present one is an error."""
    file = grower.name if grower else None
    size, known = (system.number("file_bytes", file), system.fact("logical_name", file)) if file else (None, None)
    name = f"N'{known.replace(chr(39), 2 * chr(39))}'" if known else "LOGICAL_NAME"
    room = f"{math.ceil(_ROOM * size / 2**30)}GB" if size else "N"
    growth = "64MB" if is_log else "512MB"
    look = "SELECT name, physical_name, size / 128 AS mb FROM sys.master_files"
    change = f"ALTER DATABASE x MODIFY FILE (NAME = {name}, SIZE = {room}, FILEGROWTH = {growth})"
    has = f", more than the {number(size / 2**30)} GiB that it has" if size else ", more than it has"
    return Remedy(
        f"Make the file as large as it will be{has}, and let it grow by a fixed size. Data files need no zeros with "
        'instant file initialization (the right "Perform volume maintenance tasks"); a log needs them in growths above '
        "64 MB, and before SQL Server 2022 in all.",
        (change,) if known and size else (look, change) if grower else (_INITIALISED, look, change),
        "Growing it once takes as long: do it in a quiet time.",
        "The size of the file stays the same, and latency at these times is the usual one.",
    )


def _grows(grown: Floats, seconds: float, metric: str) -> Flags:
    """Of values of a metric, each of an interval of `seconds`."""
    if metric == "log_growths":
        return grown >= _ONE_GROWTH
    return grown >= _LEAST_BYTES * (1 if metric == _OF_A_FILE else seconds)


def _slowed(grower: Device, metric: str, device: Device) -> _Slowed | None:
    """The device with its latency while the file grows and otherwise; None where that is no longer."""
    latency, grown = device.values("latency_s"), onto(device, grower, metric)
    # A server's own statistics do not name its machine.
    if None not in {device.host, grower.host} and device.host != grower.host:
        return None
    grows = _grows(grown, grower.interval_s, metric)
    rest = np.isfinite(grown) & ~grows & np.isfinite(latency)
    if (grows & np.isfinite(latency)).sum() < _FEWEST or rest.sum() < FEWEST:
        return None
    then, usual = middle(latency[grows]), middle(latency[rest])
    return _Slowed(device, then, usual) if then >= _TIMES * usual else None


def _growth(grower: Device, metric: str) -> Evidence:
    grown = grower.values(metric)
    grows = _grows(grown, grower.interval_s, metric)
    if metric == "log_growths":
        words = f"The log grew {number(float(np.nansum(grown)))} times"
    else:
        rate = grown[grows] if metric == _OF_A_FILE else grown[grows] / grower.seconds[grows]
        words = f"{'They grow' if _PARTS.get(metric) == _DATA else 'It grows'} by {megabytes(middle(rate))}"
    writes = middle(grower.values("write_size_bytes")[grows])
    sizes = f", in writes of {number(writes / 1024)} KiB" if writes > 0 else ""
    return seen(grower, f"{words} in {grows.sum()} intervals{sizes}.", grows)


def _slower(slowed: list[_Slowed]) -> Iterator[Evidence]:
    for each in slowed[:3]:
        name = each.device.name
        yield seen(each.device, f"Requests to {name} take {time(each.then)} then, {time(each.usual)} otherwise.")


def _waits(system: System) -> Iterator[Evidence]:
    for wait in system.of(Layer.DATABASE_WAIT):
        mean = wait.mean("wait_s_per_s")
        if (wait.device or "").endswith(_ZEROING) and mean >= 0.01:
            yield seen(wait, f"{number(mean)} sessions wait for zeros on average ({_ZEROING}).")


RULE = Rule(
    "D29",
    "a file that grows",
    Kind.LOAD,
    (
        Need(
            (Layer.DATABASE_FILE, Layer.DATABASE, Layer.DATABASE_WAIT),
            (*_METRICS, "wait_s_per_s"),
            "perfmon SQLServer:Databases(*)\\Data File(s) Size (KB) and Log Growths, or sizes of files: "
            "fathom record --print sqlserver",
        ),
    ),
    examine,
)
