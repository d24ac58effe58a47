"""PostgreSQL's own statistics: log, checkpoints, buffers, and what its sessions wait for."""

from __future__ import annotations

from fathom.provision.client import Client

_WAITS = (
    "SELECT coalesce(wait_event_type || ' ' || wait_event, 'CPU'), count(*) FROM pg_stat_activity "
    "WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid() GROUP BY 1"
)
_DATABASES = (
    "SELECT sum(xact_commit), sum(blks_read), sum(blks_hit), sum(temp_bytes), sum(blk_read_time) / 1000 "
    "FROM pg_stat_database"
)
_CHECKPOINTS_17 = 170000
"""From this version on checkpoints have a view of their own."""
_WAL_IO_18 = 180000
"""From this version on log writes are counted among all other I/O."""


def prepare(client: Client) -> str:
    """The statement that yields the counters, for this server's version."""
    version = int(client.ask("SHOW server_version_num")[0])
    wal = "wal_records, wal_fpi, wal_write, wal_sync, wal_write_time / 1000, wal_sync_time / 1000 FROM pg_stat_wal"
    if version >= _WAL_IO_18:
        wal = (
            "wal_records, wal_fpi, io.writes, io.fsyncs, io.write_time / 1000, io.fsync_time / 1000 FROM pg_stat_wal, "
            "(SELECT sum(writes) writes, sum(fsyncs) fsyncs, sum(write_time) write_time, sum(fsync_time) fsync_time "
            "FROM pg_stat_io WHERE object = 'wal') io"
        )
    checkpoints = "checkpoints_timed + checkpoints_req, buffers_checkpoint FROM pg_stat_bgwriter"
    if version >= _CHECKPOINTS_17:
        checkpoints = "num_timed + num_requested, buffers_written FROM pg_stat_checkpointer"
    return (
        "SELECT pg_current_wal_lsn() - '0/0', pg_current_wal_lsn() - (SELECT redo_lsn FROM pg_control_checkpoint()), "
        f"w.*, c.*, d.* FROM (SELECT {wal}) w, (SELECT {checkpoints}) c, ({_DATABASES}) d"
    )


_COUNTERS = (
    "log_bytes", "", "log_records", "log_page_images", "log_writes", "log_flushes", "log_write_s", "log_flush_s",
    "checkpoints", "checkpoint_pages", "commits", "pages_read", "pages_found", "temporary_bytes", "page_read_s",
)  # fmt: skip


def counters(client: Client, statement: str) -> tuple[dict[str, float], dict[str, float]]:
    """Counters and gauges of now."""
    values = client.ask(statement)[0].split("|")
    found = {name: float(value) for name, value in zip(_COUNTERS, values, strict=True) if name and value}
    return found, {"log_since_checkpoint_bytes": float(values[1])}


def waits(client: Client) -> dict[str, float]:
    """Sessions at work by what they wait for; `CPU` for those that wait for nothing."""
    rows = (line.rpartition("|") for line in client.ask(_WAITS))
    return {event: float(count) for event, _, count in rows}
