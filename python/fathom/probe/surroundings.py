"""What the probed path means for a database, and how far the figures can be trusted. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from fathom.finding import Evidence, Finding, Remedy, Severity
from fathom.probe.matrix import Matrix
from fathom.probe.storage import Storage, size_words
from fathom.probe.words import time_words

_COPY_ON_WRITE = frozenset({"btrfs", "zfs", "bcachefs"})
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs", "fuse.sshfs"})
_UNSAFE = frozenset({"nobarrier", "barrier=0"})

_MOVED = 0.2
"""Scatter between a cell's passes from which single figures mean little."""

_BUSY = 0.25
"""Share of the processors that others may keep busy; more, and latencies are partly theirs."""

_PRESENT = 0.7
"""Share of the stated outstanding I/O that must have been there, by rate x latency, for a rate to be the disk's."""

_QUIET = Remedy("Probe again when the machine is quiet.")

PLACE, MEASUREMENT = "place", "measurement"
"""What findings of this file are about."""


def place(where: Storage, matrix: Matrix) -> Iterator[Finding]:
    """What the file system and the device mean."""
    yield from _file_system(where)
    device = where.device
    if device is None:
        return
    offset, physical = device.partition_offset, device.physical_sector
    if offset is not None and physical and offset % physical:
        what = f"The partition starts at byte {offset}, not on a sector of {physical} B: every I/O is split."
        align = Remedy("Make the partition again, aligned to 1 MiB.", risk="That deletes what it holds.")
        yield Finding("place-alignment", PLACE, what, Severity.WARNING, 0.9, remedies=(align,))
    alone = matrix.named("random read")[0]
    if device.rotational and alone.latency_ms < 1:
        what = f"The kernel treats {device.name} as a rotating disk, but it answers in {time_words(alone.latency_ms)}."
        tell = Remedy(
            "Tell schedulers and databases that it does not rotate.",
            (f"echo 0 > /sys/block/{device.name}/queue/rotational",),
            verify=f"cat /sys/block/{device.name}/queue/rotational prints 0 (until the next boot).",
        )
        yield Finding("place-rotational", PLACE, what, Severity.NOTE, 0.8, remedies=(tell,))
    if device.scheduler == "bfq" and not device.rotational:
        change = Remedy(
            "Use none or mq-deadline for a database.",
            (f"echo mq-deadline > /sys/block/{device.name}/queue/scheduler",),
        )
        what = "Scheduler bfq lowers the rate on flash."
        yield Finding("place-scheduler", PLACE, what, Severity.NOTE, 0.7, remedies=(change,))


def _file_system(where: Storage) -> Iterator[Finding]:
    kind = where.system.mount.kind

    def found(rule: str, severity: Severity, what: str, action: str | None = None) -> Finding:
        remedies = (Remedy(action),) if action else ()
        return Finding(rule, PLACE, what, severity, 0.9, remedies=remedies)

    if where.system.in_memory:
        what = f"{kind} keeps files in memory: these figures describe no disk."
        yield found("place-memory", Severity.WARNING, what, "Probe a directory on the disk.")
    if kind == "overlay":
        what = "This is a container's own layer."
        yield found("place-overlay", Severity.WARNING, what, "Give the database its own volume.")
    if kind in _COPY_ON_WRITE:
        what = f"{kind} copies on write and fragments data files."
        yield found("place-copy-on-write", Severity.NOTE, what, "Use its no-copy-on-write attribute for data files.")
    if kind in _NETWORK:
        what = f"{kind} is a network file system."
        yield found("place-network", Severity.NOTE, what, "Check that it honours flushes (sync exports, hard mounts).")
    if _UNSAFE & set(where.system.mount.options):
        what = "Write barriers are off: a power cut may corrupt the file system and the log."
        yield found("place-barriers", Severity.WARNING, what, "Mount the file system without that option.")
    unit = size_words(where.system.allocation_unit)
    what = f"The allocation unit is {unit}. It does not limit the size of I/O; a larger one saves metadata, not time."
    yield found("place-unit", Severity.NOTE, what)


def measurement(matrix: Matrix) -> Iterator[Finding]:
    """How far the figures can be trusted."""
    if matrix.busy is not None and matrix.busy[0] > _BUSY * matrix.busy[1]:
        busy, all_of_them = matrix.busy
        what = (
            f"The machine is busy: other processes kept {busy:.1f} of {all_of_them} processors busy before "
            "the measurement. They add to the latencies."
        )
        yield Finding("measurement-busy", MEASUREMENT, what, Severity.WARNING, 0.9, remedies=(_QUIET,))
    restless = [(cell.scatter, cell) for cell in matrix.cells if cell.scatter is not None and cell.scatter > _MOVED]
    if restless:
        most, cell = max(restless, key=lambda pair: pair[0])
        what = f"{len(restless)} of {len(matrix.cells)} cells changed by more than {_MOVED:.0%} between passes."
        worst = (
            f"{cell.step.name} of {size_words(cell.step.bytes)} with {cell.step.depth} outstanding changed "
            f"by {most:.0%} ({time_words(min(cell.passes_ms))} to {time_words(max(cell.passes_ms))})."
        )
        repeat = Remedy(
            "Take no single figure of this disk for granted; measure several rounds.",
            ("fathom new study quiet-or-not --from probe", "fathom run quiet-or-not.toml"),
        )
        yield Finding(
            "measurement-scatter", MEASUREMENT, what, Severity.WARNING, 0.9, (Evidence(worst),), remedies=(repeat,)
        )
    first = matrix.named("random read")[0]
    present = first.iops * first.latency_ms / 1e3
    if present < _PRESENT * first.step.depth:
        what = (
            f"By Little's law only {present:.2f} of {first.step.depth} requests were outstanding: this machine was "
            "slow to send the next one (busy, or waking an idle CPU). Rates at low depth show this machine, not the "
            "disk."
        )
        yield Finding("measurement-sender", MEASUREMENT, what, Severity.WARNING, 0.8, remedies=(_QUIET,))
    waited = [cell for cell in matrix.named("log write") if cell.p99_ms is not None and cell.latency_ms > cell.p99_ms]
    if waited:
        late = max(waited, key=lambda cell: cell.latency_ms)
        what = (
            f"Log writes of {size_words(late.step.bytes)} followed one another after {time_words(late.latency_ms)}, "
            f"though 99 of 100 took at most {time_words(late.p99_ms or 0.0)}: the rest was lost in this machine, or in "
            "a few that took very long."
        )
        yield Finding("measurement-log-sender", MEASUREMENT, what, Severity.WARNING, 0.8, remedies=(_QUIET,))
    if not matrix.direct:
        what = "Direct I/O is not available here: reads came from the page cache and do not describe the disk."
        yield Finding("measurement-cached", MEASUREMENT, what, Severity.WARNING, 0.9)
    what = (
        f"Measured on a scratch file of {size_words(matrix.file_bytes)} that was read once before: a cache below may "
        "be faster than the disk behind it."
    )
    yield Finding("measurement-file", MEASUREMENT, what, Severity.NOTE, 0.9)
