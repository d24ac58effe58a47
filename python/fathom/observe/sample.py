"""What one look at the machine yields: counters that only grow, gauges that stand where they stand."""

from __future__ import annotations

from dataclasses import dataclass, field

Key = tuple[str, str]
"""Source (`driver`, `host`, `server NAME`, `database NAME`, `place NAME`, `volume NAME`) and measure, its unit last."""


@dataclass(frozen=True)
class Look:
    """One look: `at_ns` on the monotonic clock, counters since some beginning, gauges of the moment."""

    at_ns: int
    counters: dict[Key, float] = field(default_factory=dict)
    gauges: dict[Key, float] = field(default_factory=dict)
