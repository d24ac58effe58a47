"""MariaDB's own statistics: InnoDB's log, pages and checkpoint, and the states of its sessions."""

from __future__ import annotations

from fathom.provision.client import Client

_COUNTERS = {
    "INNODB_OS_LOG_WRITTEN": "log_bytes",
    "INNODB_LOG_WRITES": "log_writes",
    "INNODB_DATA_FSYNCS": "file_flushes",
    "INNODB_LOG_WAITS": "log_buffer_waits",
    "INNODB_PAGES_READ": "pages_read",
    "INNODB_PAGES_WRITTEN": "pages_written",
    "INNODB_BUFFER_POOL_READ_REQUESTS": "page_requests",
    "INNODB_DBLWR_PAGES_WRITTEN": "doublewrite_pages",
    "INNODB_ROW_LOCK_WAITS": "row_lock_waits",
    "COM_COMMIT": "commits",
    "CREATED_TMP_DISK_TABLES": "temporary_tables",
}
_GAUGES = {
    "INNODB_CHECKPOINT_AGE": "log_since_checkpoint_bytes",
    "INNODB_BUFFER_POOL_BYTES_DIRTY": "dirty_pages_bytes",
    "INNODB_DATA_PENDING_READS": "pending_reads",
    "INNODB_DATA_PENDING_WRITES": "pending_writes",
}
_WAITS = (
    "SELECT IF(STATE = '', 'CPU', STATE), COUNT(*) FROM information_schema.PROCESSLIST "
    "WHERE COMMAND IN ('Query', 'Execute') AND ID <> CONNECTION_ID() GROUP BY 1"
)


def prepare(_client: Client) -> str:
    """The statement that yields counters and gauges."""
    names = ", ".join(f"'{name}'" for name in (*_COUNTERS, *_GAUGES))
    return (
        f"SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME IN ({names})"
    )


def counters(client: Client, statement: str) -> tuple[dict[str, float], dict[str, float]]:
    """Counters and gauges of now."""
    found = dict(line.split("\t", 1) for line in client.ask(statement))
    grown = {name: float(found[variable]) for variable, name in _COUNTERS.items() if variable in found}
    return grown, {name: float(found[variable]) for variable, name in _GAUGES.items() if variable in found}


def waits(client: Client) -> dict[str, float]:
    """Sessions at work by their state, as SHOW PROCESSLIST has it; `CPU` for those that give none."""
    rows = (line.rpartition("\t") for line in client.ask(_WAITS))
    return {state: float(count) for state, _, count in rows}
