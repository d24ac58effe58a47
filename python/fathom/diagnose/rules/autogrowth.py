"""D29: a database's file grows while it is used: the new part is written with zeros, and other I/O waits behind it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import FEWEST, middle
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import megabytes, number, seen, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import PATH_LATENCY, Kind, Need, Rule
from fathom.finding import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_TIMES = 2.5
"""How many times as long requests take while a file grows."""
_FEWEST, _LEAST_BYTES = 3, 1e6
"""Intervals in which it grows, and bytes per second: less is over before anybody notices."""
_ZEROING = "PREEMPTIVE_OS_WRITEFILEGATHER"
_ROOM = 1.25
"""How many times its size at the end of the log a file is advised to have."""
_REUSE = Remedy(
    "If it is a log, see what keeps it from being used again: a transaction that stays open, or no log backup.",
    ("SELECT name, log_reuse_wait_desc FROM sys.databases WHERE log_reuse_wait_desc <> 'NOTHING'",),
    None,
    "The log is used again instead of growing.",
)


def examine(system: System) -> Iterator[Finding]:
    """Files by their size, or a database's count of growths of its log."""
    for grower in (*system.of(Layer.DATABASE_FILE), *system.databases):
        metric = "file_grown_bytes_per_s" if grower.layer is Layer.DATABASE_FILE else "log_growths"
        if not grower.has(metric):
            continue
        slowed = [found for each in system.nearest if (found := _slowed(grower, metric, each)) is not None]
        slowed = [(each, then, usual) for each, then, usual in slowed if then > tier_of(system, each).target_s]
        if not slowed:
            continue
        grows = _grows(grower, metric)
        harm = of_storage(system)
        name = grower.name if metric == "file_grown_bytes_per_s" else f"The log of {grower.name}"
        yield Finding(
            "D29",
            grower.name,
            f"{name} grows while it is used: what is added is written with zeros, and other I/O waits behind it.",
            harm.severity,
            0.8 if len(grows) and metric == "file_grown_bytes_per_s" else 0.6,
            (_growth(grower, metric, grows), *_waits(system), *_slower(slowed)),
            harm.sentence,
            "the file grows as its data does, and the latency is that of the data",
            (_fixed(system, grower), _REUSE),
        )


def _fixed(system: System, grower: Device) -> Remedy:
    """Room for what will come. A size below the present one is an error."""
    file = grower.name
    size, known = system.number("file_bytes", file), system.fact("logical_name", file)
    is_log = grower.layer is not Layer.DATABASE_FILE or file.casefold().endswith(".ldf")
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
        (change,) if known and size else (look, change),
        "Growing it once takes as long: do it in a quiet time.",
        "The size of the file stays the same, and latency at these times is the usual one.",
    )


def _grows(grower: Device, metric: str) -> Flags:
    values = grower.values(metric)
    return values >= (_LEAST_BYTES if metric == "file_grown_bytes_per_s" else 1)


def _slowed(grower: Device, metric: str, device: Device) -> tuple[Device, float, float] | None:
    """The device with its latency while the file grows and otherwise; None where that is no longer."""
    latency, grown = device.values("latency_s"), onto(device, grower, metric)
    # A server's own statistics do not name its machine.
    if None not in {device.host, grower.host} and device.host != grower.host:
        return None
    grows = grown >= (_LEAST_BYTES if metric == "file_grown_bytes_per_s" else 0.5)
    rest = np.isfinite(grown) & ~grows & np.isfinite(latency)
    if (grows & np.isfinite(latency)).sum() < _FEWEST or rest.sum() < FEWEST:
        return None
    then, usual = middle(latency[grows]), middle(latency[rest])
    return (device, then, usual) if then >= _TIMES * usual else None


def _growth(grower: Device, metric: str, grows: Flags) -> Evidence:
    if metric == "log_growths":
        words = f"The log grew {number(float(np.nansum(grower.values(metric))))} times"
    else:
        words = f"It grows by {megabytes(middle(grower.values(metric)[grows]))}"
    writes = middle(grower.values("write_size_bytes")[grows])
    sizes = f", in writes of {number(writes / 1024)} KiB" if writes > 0 else ""
    return seen(grower, f"{words} in {grows.sum()} intervals{sizes}.", grows)


def _slower(slowed: list[tuple[Device, float, float]]) -> Iterator[Evidence]:
    for device, then, usual in slowed[:3]:
        yield seen(device, f"Requests to {device.name} take {time(then)} then, {time(usual)} otherwise.")


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
        PATH_LATENCY,
        Need(
            (Layer.DATABASE_FILE, Layer.DATABASE),
            ("file_grown_bytes_per_s", "log_growths"),
            "perfmon SQLServer:Databases(*)\\Log Growths, or sizes of files: fathom record --print sqlserver",
        ),
    ),
    examine,
)
