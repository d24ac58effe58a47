"""Exporters' metrics as metrics of the table: node_exporter, windows_exporter, postgres_exporter.

Prometheus keeps counters: `Counted` says what their growth becomes. A host is the label `instance` without its port.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fathom.diagnose.clock import NS
from fathom.diagnose.counters import Counted, Differences
from fathom.diagnose.linux import CPU, is_whole_disk
from fathom.diagnose.metrics import Layer
from fathom.diagnose.table import Rows, Series

Labels = Mapping[str, str]

_NODE_DISK = Counted(
    rates={
        "read_iops": ("node_disk_reads_completed_total", 1),
        "write_iops": ("node_disk_writes_completed_total", 1),
        "discard_iops": ("node_disk_discards_completed_total", 1),
        "flush_iops": ("node_disk_flush_requests_total", 1),
        "read_bytes_per_s": ("node_disk_read_bytes_total", 1),
        "write_bytes_per_s": ("node_disk_written_bytes_total", 1),
        "busy_percent": ("node_disk_io_time_seconds_total", 100),
        "outstanding_mean": ("node_disk_io_time_weighted_seconds_total", 1),
    },
    means={
        "read_latency_s": ("node_disk_read_time_seconds_total", "node_disk_reads_completed_total", 1),
        "write_latency_s": ("node_disk_write_time_seconds_total", "node_disk_writes_completed_total", 1),
        "flush_latency_s": ("node_disk_flush_requests_time_seconds_total", "node_disk_flush_requests_total", 1),
        "read_size_bytes": ("node_disk_read_bytes_total", "node_disk_reads_completed_total", 1),
        "write_size_bytes": ("node_disk_written_bytes_total", "node_disk_writes_completed_total", 1),
    },
)


def _windows_disk(kind: str) -> Counted:
    name = f"windows_{kind}_"
    return Counted(
        rates={
            "read_iops": (f"{name}reads_total", 1),
            "write_iops": (f"{name}writes_total", 1),
            "read_bytes_per_s": (f"{name}read_bytes_total", 1),
            "write_bytes_per_s": (f"{name}write_bytes_total", 1),
            "split_iops": (f"{name}split_ios_total", 1),
        },
        means={
            "read_latency_s": (f"{name}read_latency_seconds_total", f"{name}reads_total", 1),
            "write_latency_s": (f"{name}write_latency_seconds_total", f"{name}writes_total", 1),
            "read_size_bytes": (f"{name}read_bytes_total", f"{name}reads_total", 1),
            "write_size_bytes": (f"{name}write_bytes_total", f"{name}writes_total", 1),
        },
    )


_HOST = Counted(
    rates={
        "io_pressure_percent": ("node_pressure_io_waiting_seconds_total", 100),
        "io_pressure_full_percent": ("node_pressure_io_stalled_seconds_total", 100),
        "cpu_pressure_percent": ("node_pressure_cpu_waiting_seconds_total", 100),
        "memory_pressure_percent": ("node_pressure_memory_waiting_seconds_total", 100),
        "hard_faults_per_s": ("node_vmstat_pgmajfault", 1),
    }
)
_DATABASE = Counted(
    rates={
        "transactions_per_s": ("pg_stat_database_xact_commit", 1),
        "rollbacks_per_s": ("pg_stat_database_xact_rollback", 1),
        "page_reads_per_s": ("pg_stat_database_blks_read", 1),
        "temp_bytes_per_s": ("pg_stat_database_temp_bytes", 1),
        "deadlocks_per_s": ("pg_stat_database_deadlocks", 1),
    }
)
_SERVER = Counted(
    rates={
        "checkpoint_pages_per_s": ("pg_stat_bgwriter_buffers_checkpoint_total", 1),
        "log_bytes_per_s": ("pg_stat_wal_bytes", 1),
        "log_flushes_per_s": ("pg_stat_wal_sync", 1),
    },
    events={"checkpoints": "pg_stat_bgwriter_checkpoints_timed_total"},
)
_GAUGES: dict[str, tuple[Layer, str, str | None]] = {
    "node_memory_MemAvailable_bytes": (Layer.HOST, "memory_available_bytes", None),
    "node_memory_Dirty_bytes": (Layer.HOST, "memory_dirty_bytes", None),
    "node_procs_blocked": (Layer.HOST, "blocked", None),
    "node_procs_running": (Layer.HOST, "run_queue", None),
    "node_disk_io_now": (Layer.GUEST_DISK, "outstanding", "device"),
    "windows_physical_disk_requests_queued": (Layer.GUEST_DISK, "outstanding", "disk"),
    "windows_logical_disk_requests_queued": (Layer.GUEST_VOLUME, "outstanding", "volume"),
    "windows_logical_disk_free_bytes": (Layer.GUEST_VOLUME, "free_bytes", "volume"),
    "windows_memory_available_bytes": (Layer.HOST, "memory_available_bytes", None),
    "windows_os_physical_memory_free_bytes": (Layer.HOST, "memory_available_bytes", None),
    "windows_system_processor_queue_length": (Layer.HOST, "run_queue", None),
    "pg_stat_activity_count": (Layer.DATABASE, "sessions", "datname"),
}
_COUNTERS: tuple[tuple[Layer, str | None, Counted], ...] = (
    (Layer.GUEST_DISK, "device", _NODE_DISK),
    (Layer.GUEST_DISK, "disk", _windows_disk("physical_disk")),
    (Layer.GUEST_VOLUME, "volume", _windows_disk("logical_disk")),
    (Layer.HOST, None, _HOST),
    (Layer.DATABASE, "datname", _DATABASE),
    (Layer.DATABASE, None, _SERVER),
)


def _names(counted: Counted) -> set[str]:
    named = {counter for counter, _ in counted.rates.values()}
    named |= {counter for amount, events, _ in counted.means.values() for counter in (amount, events)}
    return named | set(counted.events.values())


_OF_COUNTER = {name: place for place, (_, _, counted) in enumerate(_COUNTERS) for name in _names(counted)}
_CPU_NAMES = {"node_cpu_seconds_total", "windows_cpu_time_total"}
_CPU_KINDS = {"user": "user", "nice": "user", "system": "system", "irq": "system", "softirq": "system",
              "iowait": "iowait", "steal": "steal", "privileged": "system", "interrupt": "system",
              "dpc": "system"}  # fmt: skip
KNOWN = set(_OF_COUNTER) | set(_GAUGES) | _CPU_NAMES
"""Names of metrics that are understood."""


class Scrapes:
    """Looks of all targets, one after the other; values of one moment are gathered before growth is computed."""

    def __init__(self) -> None:
        self._differences = [Differences(counted) for _, _, counted in _COUNTERS]
        self._cpu = Differences(CPU)
        self._now: dict[tuple[int, str | None, str | None], dict[str, float | None]] = {}
        self._ticks: dict[str | None, dict[str, float | None]] = {}

    def value(self, rows: Rows, time: int, name: str, labels: Labels, value: float | None) -> bool:
        """One value of one series; False where it is not in the table."""
        host = host_of(labels)
        if name in _GAUGES:
            layer, metric, label = _GAUGES[name]
            device = None if label is None else labels.get(label)
            if not _skipped(layer, device):
                rows.add(time, None, Series(host, device, layer, metric), value)
            return True
        if name in _CPU_NAMES:
            ticks = self._ticks.setdefault(
                host, dict.fromkeys(("user", "nice", "system", "iowait", "steal", "busy", "all"), 0.0)
            )
            mode = labels.get("mode", "")
            kind = _CPU_KINDS.get(mode, "")
            busy = ["busy"] if kind not in {"", "iowait"} else []
            for key in ("all", *({kind, mode} & ticks.keys()), *busy):
                known = ticks[key]
                ticks[key] = None if known is None or value is None else known + value
            return True
        place = _OF_COUNTER.get(name)
        if place is None:
            return False
        layer, label, _ = _COUNTERS[place]
        device = None if label is None else labels.get(label)
        if not _skipped(layer, device):
            found = self._now.setdefault((place, host, device), {})
            # Several series of one name (checkpoints timed and requested) are one thing.
            found[name] = value
        return True

    def end(self, rows: Rows, time: int) -> None:
        """All values of a moment have been given."""
        for (place, host, device), counters in self._now.items():
            self._differences[place].add(rows, time, (host, device, _COUNTERS[place][0]), counters)
        for host, ticks in self._ticks.items():
            self._cpu.add(rows, time, (host, None, Layer.HOST), ticks)
        self._now, self._ticks = {}, {}


def host_of(labels: Labels) -> str | None:
    """The machine of a series: the label `nodename`, or `instance` without its port."""
    name = labels.get("nodename") or re.sub(r":\d+$", "", labels.get("instance", ""))
    return name or None


def _skipped(layer: Layer, device: str | None) -> bool:
    if device is None:
        return False
    return device == "_Total" or (layer is Layer.GUEST_DISK and not is_whole_disk(device))


def moment(seconds: float) -> int:
    """Seconds since 1970 in ns, as Prometheus's milliseconds allow."""
    return round(seconds * 1000) * (NS // 1000)
