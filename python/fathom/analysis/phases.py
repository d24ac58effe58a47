"""When the phases of a workload begin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def phases(study: Mapping[str, Any]) -> tuple[tuple[float, str], ...]:
    """(start in s after the measured phase began, name) of each phase, in order; empty without phases."""
    from fathom import _core

    workload = study.get("workload")
    listed = workload.get("phases") if isinstance(workload, Mapping) else None
    found: list[tuple[float, str]] = []
    start = 0.0
    for phase in listed or ():
        found.append((start, str(phase.get("name", ""))))
        duration = phase.get("duration")
        if duration is None:
            break  # it lasts until a count is reached: what follows has no time of its own
        start += _core.time_ns(str(duration)) / 1e9
    return tuple(found)
