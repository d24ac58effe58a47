"""Writes reports as nfsiostat of nfs-utils 2.9 prints them, or an older one, for tests."""

from __future__ import annotations

from dataclasses import dataclass, replace

STEP_S = 5
EXPORT, POINT = "fs-0123456789abcdef0.fsx.eu-central-1.amazonaws.com:/vol1", "/var/lib/pgsql"


@dataclass(frozen=True)
class Load:
    """What one mount does in an interval: counts, and times of a request in ms."""

    reads: int = 9000
    writes: int = 4500
    queue_ms: float = 0.02
    trip_ms: float = 0.6
    backlog: float = 0.0
    again: int = 0
    errors: int = 0
    connections: int = 1

    @property
    def whole_ms(self) -> float:
        return self.queue_ms + self.trip_ms + 0.02


HEALTHY = Load()
SLOTS = Load(30000, 1500, 22.0, 10.2, 90.0)
SLOW = Load(3500, 1250, 0.05, 38.0)
LOST = Load(3500, 1250, 4.0, 6.0, 0.0, 90)
SINCE_MOUNT = replace(HEALTHY, reads=977, writes=391)
"""Over another time than the interval: its rates are no whole counts."""


def report(
    load: Load,
    point: str = POINT,
    export: str = EXPORT,
    *,
    seconds: float = STEP_S,
    queue: bool = True,
    errors: bool = True,
    mega: bool = False,
) -> str:
    """One mount in one report.

    Args:
        load: what it did.
        point: where it is mounted.
        export: what is mounted.
        seconds: by which the script divides.
        queue: whether the version prints the time in the queue.
        errors: whether it prints errors.
        mega: `-m`.
    """
    both = load.reads + load.writes + load.again
    lines = ["", f"{export} mounted on {point}:", "", f"{'ops/s':>16}{'rpc bklog':>16}"]
    lines += [f"{both / load.connections / seconds:16.3f}{load.backlog / seconds:16.3f}", ""]
    unit, scale = ("MB", 1024.0) if mega else ("kB", 1.0)
    heads = [f"{unit}/s", f"{unit}/op", "retrans", "avg RTT (ms)", "avg exe (ms)"]
    heads += ["avg queue (ms)"] * queue + ["errors"] * errors
    for name, count, kib in (("read:", load.reads, 8.262), ("write:", load.writes, 16.309)):
        lines.append(f"{name:<16}{'ops/s':>8}" + "".join(f"{head:>16}" for head in heads))
        times = [load.trip_ms, load.whole_ms, *([load.queue_ms] if queue else [])] if count else [0.0] * (2 + queue)
        cells = [f"{count / seconds:24.3f}", f"{count * kib / scale / seconds:16.3f}", f"{kib / scale:16.3f}"]
        cells += [_counted(load.again, count), *(f"{time:16.3f}" for time in times)]
        cells += [_counted(load.errors, count)] * errors
        lines.append("".join(cells))
    return "\n".join(lines) + "\n"


def _counted(number: int, of: int) -> str:
    return f"{f'{number} ({100 * number / of if of else 0.0:.1f}%)':>16}"


def reports(loads: list[Load], **options: bool | float) -> str:
    """The report since the mount, and one for each load."""
    first = report(SINCE_MOUNT, **{**options, "seconds": 86412.0})
    return first + "".join(report(load, **options) for load in loads)


def varied(load: Load, count: int = 60) -> list[Load]:
    """Loads that differ a little from one interval to the next."""
    return [
        replace(
            load,
            reads=load.reads + 37 * (at % 7) - 90,
            writes=load.writes + 11 * (at % 5) - 20,
            queue_ms=load.queue_ms * (0.95 + 0.02 * (at % 6)),
            trip_ms=load.trip_ms * (0.96 + 0.02 * (at % 5)),
        )
        for at in range(count)
    ]
