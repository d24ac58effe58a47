"""L1: the load's regime: latency without waiting, the highest rate, and the load at which they meet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.words import number, seen, share, time
from fathom.diagnose.rule import LATENCY, RATE, Kind, Rule
from fathom.finding import Finding, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.regime import Regime
    from fathom.diagnose.evidence.system import System

_SELDOM = 0.02
"""Share of the time beyond the knee below which a device is not beyond it."""


def examine(system: System) -> Iterator[Finding]:
    """The busiest volumes."""
    for disk, found in system.regimes:
        base, rate, knee = found.base_s, found.rate, found.knee
        yield Finding(
            "L1",
            disk.name,
            f"{disk.name} is {_words(found)}: {time(base.value)} without waiting, at most "
            f"{number(rate.value)} IOPS; from {number(knee.value)} outstanding on, more load only waits.",
            Severity.NOTE,
            0.6,
            (
                seen(
                    disk,
                    f"95 % intervals: {time(base.low)} to {time(base.high)}; {number(rate.low)} to "
                    f"{number(rate.high)} IOPS; {number(knee.low)} to {number(knee.high)} outstanding "
                    f"(bootstrap over blocks of intervals, seed {found.seed}).",
                ),
            ),
        )


def _words(found: Regime) -> str:
    if found.is_saturated:
        return "saturated"
    return f"beyond its knee {share(found.beyond)} of the time" if found.beyond >= _SELDOM else "below its knee"


RULE = Rule("L1", "load regime", Kind.CONTEXT, (RATE, LATENCY), examine)
