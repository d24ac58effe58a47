"""What this machine is: processor, memory, kernel, hypervisor. Read from /proc and /sys; unknown is None."""

from __future__ import annotations

import hashlib
import os
import platform
import time
from pathlib import Path
from typing import Any


def read(path: str | Path) -> str | None:
    """A small file of /proc or /sys without surrounding white space; None if it is missing, unreadable or empty."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def facts(*, anonymous: bool = False) -> dict[str, Any]:
    """Facts that stay while the machine stays: they must be equal for runs to be compared.

    Args:
        anonymous: replace the host name by a short hash of it.
    """
    return {
        "host": host_name(anonymous=anonymous),
        "architecture": platform.machine(),
        "kernel": platform.release(),
        "system": _system(),
        "cpu": _cpu_field("model name") or _cpu_field("Model"),
        "cpus": processors(),
        "cpus_present": os.cpu_count(),
        "governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "memory_bytes": _product(_system_value("SC_PHYS_PAGES"), _system_value("SC_PAGE_SIZE")),
        "page_bytes": _system_value("SC_PAGE_SIZE"),
        "virtual": "hypervisor" in (_cpu_field("flags") or "").split(),
        "vendor": read("/sys/class/dmi/id/sys_vendor"),
        "product": read("/sys/class/dmi/id/product_name"),
        "cgroup_cpu_quota": _cpu_quota(),
    }


def processors() -> int:
    """Processors that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # of Linux alone
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def quota_processors() -> float | None:
    """Processors' worth of time that the cgroup may take; None without a limit."""
    quota = (_cpu_quota() or "").split()
    return int(quota[0]) / int(quota[1]) if len(quota) == 2 and all(part.isdigit() for part in quota) else None


def busy_processors(seconds: float) -> float | None:
    """Processors that are busy, on average over that many seconds, which this call waits; None where nothing says so.

    What a hypervisor gave to others counts too: it is missing here.
    """
    before = _processor_ticks()
    time.sleep(seconds)
    after = _processor_ticks()
    if before is None or after is None or after[1] <= before[1]:
        return None
    return (after[0] - before[0]) / (after[1] - before[1]) * (os.cpu_count() or 1)


def _processor_ticks() -> tuple[int, int] | None:
    """Busy ticks and all ticks of all processors since the start (proc(5): user nice system idle iowait irq ...)."""
    fields = (read("/proc/stat") or "").split("\n", 1)[0].split()[1:9]
    if len(fields) < 5 or not all(field.isdigit() for field in fields):
        return None
    ticks = [int(field) for field in fields]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def _system_value(name: str) -> int | None:
    """A value of POSIX's sysconf; None where there is none."""
    try:
        return os.sysconf(name)
    except (AttributeError, ValueError, OSError):
        return None


def _product(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one * other


def moment() -> dict[str, Any]:
    """Facts of this moment; they may differ between runs."""
    return {
        "load_average": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "memory_available_bytes": _memory_available(),
        "uptime_s": _uptime(),
    }


def host_name(*, anonymous: bool = False) -> str:
    """The host's name, or a hash of it that is the same in all campaigns of this host."""
    name = platform.node() or "unnamed"
    return "host-" + hashlib.blake2b(name.encode(), digest_size=4).hexdigest() if anonymous else name


def _system() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _cpu_field(name: str) -> str | None:
    for line in (read("/proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return None


def _cpu_quota() -> str | None:
    """The cgroup's limit as the kernel writes it ("200000 100000": 2 CPUs); None without a limit."""
    limit = read("/sys/fs/cgroup/cpu.max")
    return None if limit is None or limit.startswith("max") else limit


def _memory_available() -> int | None:
    for line in (read("/proc/meminfo") or "").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _uptime() -> float | None:
    text = read("/proc/uptime")
    return float(text.split()[0]) if text else None
