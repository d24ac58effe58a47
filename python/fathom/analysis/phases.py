"""The phases of a workload on the time of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Span:
    """A phase in s since the measured phase began; `end` is None where it ends at a count or with the run."""

    name: str
    start: float
    end: float | None


def phases(workload: Mapping[str, Any] | None) -> tuple[Span, ...]:
    """The phases of the `[workload]` table of a variant, in order; empty without phases."""
    from fathom import _core

    listed = workload.get("phases") if isinstance(workload, Mapping) else None
    found: list[Span] = []
    start = 0.0
    for phase in listed or ():
        duration = phase.get("duration")
        end = None if duration is None else start + _core.time_ns(str(duration)) / 1e9
        found.append(Span(str(phase.get("name", "")), start, end))
        if end is None:
            break  # it lasts until a count is reached: what follows has no time of its own
        start = end
    return tuple(found)
