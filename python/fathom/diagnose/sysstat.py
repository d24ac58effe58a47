"""The columns of sar and sadf as metrics: the same numbers under the names of text, `sadf -d` and `sadf -j`.

sar merges reads and writes of a device: one latency, one size. Its `tps` counts discards and flushes, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from fathom.diagnose.metrics import Layer
from fathom.diagnose.table import Rows, Series

_DISK: dict[str, tuple[str, float]] = {
    "tps": ("iops", 1), "rkB": ("read_bytes_per_s", 1024), "wkB": ("write_bytes_per_s", 1024),
    "rd_sec": ("read_bytes_per_s", 512), "wr_sec": ("write_bytes_per_s", 512), "dkB": ("discard_bytes_per_s", 1024),
    "areq-sz": ("size_bytes", 1024), "avgrq-sz": ("size_bytes", 512), "aqu-sz": ("outstanding_mean", 1),
    "avgqu-sz": ("outstanding_mean", 1), "await": ("latency_s", 1e-3), "util": ("busy_percent", 1),
}  # fmt: skip
_HOST: dict[str, tuple[str, float]] = {
    "iowait": ("cpu_iowait_percent", 1), "steal": ("cpu_steal_percent", 1), "nice": ("cpu_nice_percent", 1),
    "runq-sz": ("run_queue", 1),
    "blocked": ("blocked", 1), "avail": ("memory_available_bytes", 1024), "dirty": ("memory_dirty_bytes", 1024),
    "majflt": ("hard_faults_per_s", 1), "pswpin": ("swap_in_bytes_per_s", 4096),
    "pswpout": ("swap_out_bytes_per_s", 4096),
}  # fmt: skip
_NETWORK = {"rxkB": ("network_in_bytes_per_s", 1024), "txkB": ("network_out_bytes_per_s", 1024)}
_MEANS = {"size_bytes", "latency_s"}


def short(name: str) -> str:
    """A column without what only one of the forms has: `%util`, `rkB/s`, `util-percent`, `kbdirty`."""
    for start, end in (("%", ""), ("", "/s"), ("", "-percent")):
        name = name.removeprefix(start).removesuffix(end)
    return {"kbavail": "avail", "kbdirty": "dirty"}.get(name, name)


def add_disk(rows: Rows, time: int, seconds: float | None, host: str | None, device: str,
             values: Mapping[str, float]) -> None:  # fmt: skip
    """One device's line."""
    found = {_DISK[name][0]: value * _DISK[name][1] for name, value in values.items() if name in _DISK}
    for metric, value in found.items():
        missing = metric in _MEANS and found.get("iops") == 0
        rows.add(time, seconds, Series(host, device, Layer.GUEST_DISK, metric), None if missing else value)


def add_host(rows: Rows, time: int, seconds: float | None, host: str | None, values: Mapping[str, float]) -> None:
    """Numbers of the whole host: processor ("all"), memory, paging, queue."""
    found = {_HOST[name][0]: value * _HOST[name][1] for name, value in values.items() if name in _HOST}
    user = [values[name] for name in ("user", "usr", "nice") if name in values]
    system = [values[name] for name in ("system", "sys", "irq", "soft") if name in values]
    if "idle" in values and (user or system):
        found["cpu_percent"] = max(0.0, 100.0 - values["idle"] - values.get("iowait", 0.0))
        found["cpu_user_percent"] = sum(user)
        found["cpu_system_percent"] = sum(system)
    for metric, value in found.items():
        rows.add(time, seconds, Series(host, None, Layer.HOST, metric), value)


def add_network(rows: Rows, time: int, seconds: float | None, host: str | None, device: str,
                values: Mapping[str, float]) -> None:  # fmt: skip
    """One interface's line."""
    for name, value in values.items():
        if name in _NETWORK:
            metric, scale = _NETWORK[name]
            rows.add(time, seconds, Series(host, device, Layer.HOST, metric), value * scale)


def add_pressure(rows: Rows, time: int, seconds: float | None, host: str | None, resource: str,
                 values: Mapping[str, float]) -> None:  # fmt: skip
    """Pressure stall information: `some_avg` and `full_avg` are means over the interval."""
    names = {
        ("cpu", "some_avg"): "cpu_pressure_percent", ("io", "some_avg"): "io_pressure_percent",
        ("io", "full_avg"): "io_pressure_full_percent", ("mem", "some_avg"): "memory_pressure_percent",
    }  # fmt: skip
    for name, value in values.items():
        if (resource, name) in names:
            rows.add(time, seconds, Series(host, None, Layer.HOST, names[resource, name]), value)
