"""One observation of the machine: counters that only grow, gauges that rise and fall."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Key(NamedTuple):
    """What a number is about.

    Attributes:
        kind: `driver`, `observer`, `host`, `server`, `standby`, `fathomd`, `place`, `volume`, `database` or `waits`.
        measure: what was counted, its unit last (`read_bytes`, `cpu_s`).
        name: which of that kind, as the study calls it; empty where there is one.
        instance: which part of it: of `waits` what sessions waited for.
    """

    kind: str
    measure: str
    name: str = ""
    instance: str = ""

    @property
    def unit(self) -> str:
        """`B` or `s`; empty for counts. A rate of a counter is that per second."""
        return {"bytes": "B", "s": "s"}.get(self.measure.rpartition("_")[2], "")


@dataclass(frozen=True)
class Observation:
    """One of them: `at_ns` on the monotonic clock, counters since some beginning, gauges of the moment."""

    at_ns: int
    counters: dict[Key, float] = field(default_factory=dict)
    gauges: dict[Key, float] = field(default_factory=dict)
