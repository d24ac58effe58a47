"""PostgreSQL's statistics views as metrics: pg_stat_io, pg_stat_wal, pg_stat_bgwriter, pg_stat_checkpointer,
pg_stat_database, pg_stat_activity.

Counters are growth between looks. Times are there only with `track_io_timing` and `track_wal_io_timing`; without, the
views hold zeros, which mean that nothing was measured: such means are missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fathom.diagnose.counters import Counted, Differences
from fathom.diagnose.documents import number
from fathom.diagnose.metrics import Layer
from fathom.diagnose.table import Rows, Series

_IO = Counted(
    rates={
        "read_iops": ("reads", 1),
        "write_iops": ("writes", 1),
        "flush_iops": ("fsyncs", 1),
        "read_bytes_per_s": ("read_bytes", 1),
        "write_bytes_per_s": ("write_bytes", 1),
    },
    means={
        "read_latency_s": ("read_time", "reads", 1e-3),
        "write_latency_s": ("write_time", "writes", 1e-3),
        "flush_latency_s": ("fsync_time", "fsyncs", 1e-3),
    },
)
_WAL = Counted(
    rates={
        "log_bytes_per_s": ("wal_bytes", 1),
        "log_flushes_per_s": ("wal_sync", 1),
        "log_page_images_per_s": ("wal_fpi", 1),
        "log_buffers_full_per_s": ("wal_buffers_full", 1),
    },
    means={
        "log_flush_latency_s": ("wal_sync_time", "wal_sync", 1e-3),
        "log_flush_size_bytes": ("wal_bytes", "wal_sync", 1),
    },
)
_CHECKPOINTER = Counted(
    rates={"checkpoint_pages_per_s": ("buffers_checkpoint", 1)},
    events={"checkpoints": "checkpoints"},
)
_DATABASE = Counted(
    rates={
        "transactions_per_s": ("xact_commit", 1),
        "rollbacks_per_s": ("xact_rollback", 1),
        "page_reads_per_s": ("blks_read", 1),
        "page_lookups_per_s": ("blks", 1),
        "deadlocks_per_s": ("deadlocks", 1),
        "temp_bytes_per_s": ("temp_bytes", 1),
    },
    means={"buffer_hit_percent": ("blks_hit", "blks", 100)},
)
VIEWS = (
    "pg_stat_io", "pg_stat_wal", "pg_stat_bgwriter", "pg_stat_checkpointer", "pg_stat_database", "pg_stat_activity",
)  # fmt: skip
"""Views that are understood."""
COLUMNS = {
    "pg_stat_io": {"backend_type", "context", "reads"},
    "pg_stat_wal": {"wal_records", "wal_bytes"},
    "pg_stat_bgwriter": {"buffers_clean", "maxwritten_clean"},
    "pg_stat_checkpointer": {"num_timed", "num_requested"},
    "pg_stat_database": {"datname", "xact_commit"},
    "pg_stat_activity": {"wait_event_type", "wait_event"},
}
"""Columns that identify a view."""


def view_of(columns: Sequence[str]) -> str | None:
    """The view that a table's columns are of; None for none."""
    given = {column.casefold() for column in columns}
    return next((view for view, needed in COLUMNS.items() if needed <= given), None)


class Views:
    """Looks at the views of one server, one after the other."""

    def __init__(self, host: str | None) -> None:
        self._host = host
        self._timing: dict[str, bool] = {}
        """Settings that make PostgreSQL measure times, and whether it did; without those of which no row tells."""
        self._io = Differences(_IO)
        self._wal = Differences(_WAL)
        self._checkpointer = Differences(_CHECKPOINTER)
        self._database = Differences(_DATABASE)

    def add(self, rows: Rows, time: int, view: str, found: Sequence[Mapping[str, Any]]) -> None:
        """All rows of one view at one moment; texts and numbers alike. Unknown views are ignored."""
        if view == "pg_stat_activity":
            self._activity(rows, time, found)
            return
        for row in found:
            numbers = {str(key).casefold(): number(value) for key, value in row.items()}
            if view == "pg_stat_io":
                self._io.add(
                    rows,
                    time,
                    (self._host, _io_name(row), Layer.DATABASE_FILE),
                    self._timed(_sized(numbers), "track_io_timing"),
                )
            elif view == "pg_stat_wal":
                self._wal.add(
                    rows, time, (self._host, None, Layer.DATABASE), self._timed(numbers, "track_wal_io_timing")
                )
            elif view in {"pg_stat_bgwriter", "pg_stat_checkpointer"}:
                counters = _checkpoints(numbers)
                if counters:
                    self._checkpointer.add(rows, time, (self._host, None, Layer.DATABASE), counters)
            elif view == "pg_stat_database" and row.get("datname"):
                hit, missed = numbers.get("blks_hit"), numbers.get("blks_read")
                numbers["blks"] = None if hit is None or missed is None else hit + missed
                place = (self._host, str(row["datname"]), Layer.DATABASE)
                self._database.add(rows, time, place, numbers)

    @property
    def untimed(self) -> str | None:
        """What to tell where I/O was counted and its times were not measured; None where they were."""
        off = [setting for setting, measured in self._timing.items() if not measured]
        if not off:
            return None
        change = "; ".join(f"ALTER SYSTEM SET {setting} = on" for setting in off)
        return f"PostgreSQL did not measure how long I/O takes: {change}; SELECT pg_reload_conf()"

    def _timed(self, numbers: dict[str, float | None], setting: str) -> dict[str, float | None]:
        """Times of zero over counted events mean that timing is off."""
        for time, events in (
            ("read_time", "reads"), ("write_time", "writes"), ("fsync_time", "fsyncs"), ("wal_sync_time", "wal_sync"),
        ):  # fmt: skip
            if numbers.get(events) and numbers.get(time) is not None:
                self._timing[setting] = self._timing.get(setting, False) or numbers[time] != 0
            if numbers.get(time) == 0 and numbers.get(events):
                numbers[time] = None
        return numbers

    def _activity(self, rows: Rows, time: int, found: Sequence[Mapping[str, Any]]) -> None:
        """Sessions by what they wait for; rows may be counted already (`sessions`)."""
        waits: dict[str, float] = {}
        active = 0.0
        for row in found:
            count = number(row.get("sessions"))
            count = 1.0 if count is None else count
            if row.get("state", "active") not in {"active", None, ""}:
                continue
            active += count
            kind, event = row.get("wait_event_type"), row.get("wait_event")
            if kind and event and kind not in {"Activity", "Client"}:
                waits[f"{kind}:{event}"] = waits.get(f"{kind}:{event}", 0.0) + count
        rows.add(time, None, Series(self._host, None, Layer.DATABASE, "active_sessions"), active)
        for name, count in waits.items():
            rows.add(time, None, Series(self._host, name, Layer.DATABASE_WAIT, "active_sessions"), count)


def _io_name(row: Mapping[str, Any]) -> str:
    return "/".join(str(row.get(part) or "") for part in ("backend_type", "object", "context"))


def _sized(numbers: dict[str, float | None]) -> dict[str, float | None]:
    """Bytes, which version 18 counts and earlier ones give as operations of `op_bytes`."""
    size = numbers.get("op_bytes")
    for name, operations in (("read_bytes", "reads"), ("write_bytes", "writes")):
        count = numbers.get(operations)
        if numbers.get(name) is None and size is not None and count is not None:
            numbers[name] = count * size
    return numbers


def _checkpoints(numbers: dict[str, float | None]) -> dict[str, float | None]:
    """The same counters before and after version 17, which moved them to a view of their own."""
    timed = numbers.get("checkpoints_timed", numbers.get("num_timed"))
    requested = numbers.get("checkpoints_req", numbers.get("num_requested"))
    written = numbers.get("buffers_checkpoint", numbers.get("buffers_written"))
    if timed is None or requested is None:
        return {}
    return {"checkpoints": timed + requested, "buffers_checkpoint": written}
