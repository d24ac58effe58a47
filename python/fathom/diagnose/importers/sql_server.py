"""Repeated snapshots of `sys.dm_io_virtual_file_stats` and `sys.dm_os_wait_stats`, exported with the time of each.

Both count since the server's start: two snapshots make one interval. Names of databases and files come from a join
with `sys.master_files`; without one the ids are the names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fathom.diagnose import tables
from fathom.diagnose.counters import Counted, Differences
from fathom.diagnose.importer import Importer
from fathom.diagnose.metrics import Layer
from fathom.diagnose.numbers import whole_number
from fathom.diagnose.snapshots import Snapshots, Stamped
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows

_FILES = {"num_of_reads", "num_of_writes", "io_stall_read_ms", "io_stall_write_ms"}
_WAITS = {"wait_type", "waiting_tasks_count", "wait_time_ms"}
_REMEDY = (
    "one snapshot holds sums since the server's start, and two make one sample: take several, 10 s apart, into one "
    "file, each with SYSUTCDATETIME() AS sample_time; `fathom record --print sqlserver` prints the script"
)
_FILE = Counted(
    rates={
        "read_iops": ("num_of_reads", 1),
        "write_iops": ("num_of_writes", 1),
        "read_bytes_per_s": ("num_of_bytes_read", 1),
        "write_bytes_per_s": ("num_of_bytes_written", 1),
        "file_grown_bytes_per_s": ("size_on_disk_bytes", 1),
    },
    means={
        "read_latency_s": ("io_stall_read_ms", "num_of_reads", 1e-3),
        "write_latency_s": ("io_stall_write_ms", "num_of_writes", 1e-3),
        "read_size_bytes": ("num_of_bytes_read", "num_of_reads", 1),
        "write_size_bytes": ("num_of_bytes_written", "num_of_writes", 1),
    },
)
_WAIT = Counted(
    rates={
        "waits_per_s": ("waiting_tasks_count", 1),
        "wait_s_per_s": ("wait_time_ms", 1e-3),
        "wait_signal_s_per_s": ("signal_wait_time_ms", 1e-3),
    },
    means={"wait_latency_s": ("wait_time_ms", "waiting_tasks_count", 1e-3)},
)
_HARMLESS = ("SLEEP_", "BROKER_", "XE_", "SQLTRACE_", "FT_", "HADR_FILESTREAM", "QDS_", "DIRTY_PAGE_POLL", "CLR_",
             "LAZYWRITER_SLEEP", "LOGMGR_QUEUE", "REQUEST_FOR_DEADLOCK", "CHECKPOINT_QUEUE", "DISPATCHER_", "WAITFOR",
             "SP_SERVER_DIAGNOSTICS", "ONDEMAND_TASK_QUEUE", "PREEMPTIVE_XE_", "HADR_WORK_QUEUE", "HADR_TIMER_TASK",
             "HADR_CLUSAPI", "HADR_LOGCAPTURE_WAIT", "HADR_NOTIFICATION", "KSOURCE_WAKEUP", "PVS_PREALLOCATE",
             "SOS_WORK_DISPATCHER", "PARALLEL_REDO_", "MEMORY_ALLOCATION_EXT", "BAD_PAGE_PROCESS", "VDI_CLIENT_OTHER",
             "PWAIT_EXTENSIBILITY_CLEANUP_TASK", "PWAIT_ALL_COMPONENTS_INITIALIZED", "PWAIT_DIRECTLOGCONSUMER_GETNEXT",
             "AZURE_IMDS_VERSIONS", "CHKPT", "DBMIRROR_DBM_EVENT", "DBMIRROR_EVENTS_QUEUE", "DBMIRROR_WORKER_QUEUE",
             "DBMIRRORING_CMD", "EXECSYNC", "FSAGENT", "PREEMPTIVE_HADR_LEASE", "PREEMPTIVE_SP_SERVER_DIAGNOSTICS",
             "REDO_THREAD_PENDING_WORK", "RESOURCE_QUEUE", "SERVER_IDLE_CHECK", "SNI_HTTP_ACCEPT", "UCS_SESSION_",
             "STARTUP_DEPENDENCY_MANAGER", "WAIT_FOR_RESULTS", "WAIT_XTP_RECOVERY", "WAIT_XTP_HOST_WAIT",
             "WAIT_XTP_OFFLINE_CKPT_NEW_LOG", "WAIT_XTP_CKPT_CLOSE")  # fmt: skip
"""Waits of background tasks for work: nobody is kept waiting by them. After SQLskills, "Wait statistics, or please tell
me where it hurts" (Paul Randal).
"""


def recognise(head: Head) -> float:
    """A table with the columns of one of the views."""
    return 0.9 if tables.head_of(head, (_FILES, _WAITS)) else 0.0


def read(source: Source) -> Iterator[Block]:
    """Growth from snapshot to snapshot, by file and by wait."""
    rows, snapshots = Rows(), Snapshots(source, _stamped)
    files, waits = Differences(_FILE), Differences(_WAIT)
    sizes: dict[str, float] = {}
    for row, head, stamped in _headed(source):
        cells, time = row.cells, snapshots.time(stamped)
        if time is None:
            continue
        host, name = _key(cells, head)
        if head.is_wait:
            if name.startswith(_HARMLESS):
                source.notes.skip("waits", "of background tasks without work", 1, name)
            else:
                waits.add(rows, time, (host, name, Layer.DATABASE_WAIT), _counts(source, row, head))
        else:
            numbers = _counts(source, row, head)
            size = numbers.get("size_on_disk_bytes")
            if name not in sizes:
                source.notes.fact("database", cells.get("database_name") or cells.get("db_name"), name)
                source.notes.fact("logical_name", cells.get("file_name") or cells.get("name"), name)
            sizes[name] = sizes.get(name, 0.0) if size is None else size
            files.add(rows, time, (host, name, Layer.DATABASE_FILE), numbers)
        yield from rows.take_if()
    for file, size in sizes.items():
        source.notes.fact("file_bytes", f"{size:.0f}" if size else None, file)
    yield from rows.take()


class _Head(NamedTuple):
    """What a head says of the rows below it: the columns of the time, of the server's name and of its counters."""

    names: list[str]
    is_wait: bool
    time: str
    host: str | None
    counters: list[str]


def _headed(source: Source) -> Iterator[tuple[tables.Row, _Head, Stamped]]:
    """All rows, with what their head says of them and with their stamps."""
    head: _Head | None = None
    for row in tables.rows(source, (_FILES, _WAITS), _REMEDY):
        if head is None or head.names is not row.names:
            head = _head(source, row)
        yield row, head, Stamped(row.line, row.cells[head.time], (head.is_wait, *_key(row.cells, head)))


def _stamped(source: Source) -> Iterator[Stamped]:
    return (stamped for _, _, stamped in _headed(source))


def _key(cells: Mapping[str, str], head: _Head) -> tuple[str | None, str]:
    """The server and the wait or file that a row is of."""
    host = None if head.host is None else cells[head.host] or None
    return host, cells["wait_type"] if head.is_wait else _file(cells)


def _head(source: Source, row: tables.Row) -> _Head:
    is_wait = set(row.names) >= _WAITS
    counted = _WAIT if is_wait else _FILE
    host = next((name for name in ("server_name", "servername", "host") if name in row.cells), None)
    time = tables.time_column(source, row.cells, _REMEDY, row.line)
    return _Head(row.names, is_wait, time, host, [name for name in row.cells if name in counted.counters])


def _counts(source: Source, row: tables.Row, head: _Head) -> dict[str, float | None]:
    """The row's counters. All of them are whole numbers, which some tools export with separators of thousands."""
    numbers = {name: whole_number(row.cells[name]) for name in head.counters}
    if None not in numbers.values():
        return numbers
    for name, value in numbers.items():
        if value is None and row.cells[name] not in {"", "NULL"}:
            example = f'line {row.line}: {name} "{row.cells[name][:40]}"'
            source.notes.skip("numbers", "no whole number, so the value is missing", 1, example)
    return numbers


def _file(cells: Mapping[str, str]) -> str:
    path = cells.get("physical_name") or cells.get("file_path")
    if path:
        return path
    database = cells.get("database_name") or cells.get("db_name") or cells.get("database_id") or "?"
    return f"{database}/{cells.get('file_name') or cells.get('name') or cells.get('file_id') or '?'}"


IMPORTER = Importer(
    "sql-server", "SQL Server file and wait statistics, snapshots as CSV", recognise, read,
    "fathom record --print sqlserver", looks=True,
)  # fmt: skip
