"""Settings of this host that published experiments rely on: large pages, limits, threads per core, network adapters.

Read from /proc and /sys; unknown is None.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fathom.host.machine import read

_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def facts(root: Path = Path("/")) -> dict[str, Any]:
    """Settings by name, plain values.

    Args:
        root: where /proc, /sys and cgroups are, for tests.
    """

    def under(path: str) -> Path:
        return root / path.lstrip("/")

    return {
        "transparent_huge_pages": _chosen(read(under(str(_PAGES)))),
        "huge_pages": _number(read(under("/proc/sys/vm/nr_hugepages"))),
        "swappiness": _number(read(under("/proc/sys/vm/swappiness"))),
        "dirty_ratio_percent": _number(read(under("/proc/sys/vm/dirty_ratio"))),
        "memory_limit_bytes": _number(read(under("/sys/fs/cgroup/memory.max"))),
        "cpus_allowed": read_field(read(under("/proc/self/status")), "Cpus_allowed_list"),
        "threads_per_core": _threads(read(under("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list"))),
        "smt": read(under("/sys/devices/system/cpu/smt/control")),
        "governors": _governors(under("/sys/devices/system/cpu")),
        "network_drivers": _drivers(under("/sys/class/net")),
    }


def read_field(text: str | None, name: str) -> str | None:
    """A line of `name: value`."""
    for line in (text or "").splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return value.strip()
    return None


def _chosen(text: str | None) -> str | None:
    """The word in brackets: "always [madvise] never"."""
    found = re.search(r"\[(\w+)\]", text or "")
    return found[1] if found else None


def _number(text: str | None) -> int | None:
    """None also for "max": no limit."""
    return int(text) if text is not None and text.isdigit() else None


def _threads(siblings: str | None) -> int | None:
    """How many numbers a list such as "0-1" or "0,4" holds."""
    if siblings is None or not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", siblings):
        return None
    ranges = [part.partition("-") for part in siblings.split(",")]
    return sum(int(last or first) - int(first) + 1 for first, _, last in ranges)


def _governors(processors: Path) -> str | None:
    """Every governor in use: one processor at half speed is enough to spoil a comparison."""
    found = {read(path) for path in processors.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return ", ".join(sorted(word for word in found if word)) or None


def _drivers(interfaces: Path) -> str | None:
    """Drivers of the network adapters that are hardware, physical or virtual."""
    links = sorted(interfaces.glob("*/device/driver")) if interfaces.is_dir() else []
    return ", ".join(sorted({link.resolve().name for link in links})) or None
