"""L1: the load's regime: latency without waiting, the highest rate, and the load at which they meet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.load import busy, is_steady, middle
from fathom.diagnose.evidence.regime import fit
from fathom.diagnose.evidence.words import number, seen, share, time
from fathom.diagnose.rule import LATENCY, RATE, Kind, Rule
from fathom.finding import Finding, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System

_WAITS = 2.0
"""How many times the latency without waiting requests take where a ceiling is said to be reached."""
_ALWAYS, _SELDOM = 0.85, 0.02
"""Shares of the time beyond the knee from which a device is saturated, and below which it is not."""
_LEAST_KNEE = 0.8
"""Requests outstanding at the knee, by the fit: of a disk that serves one after the other it is one."""


def examine(system: System) -> Iterator[Finding]:
    """The two busiest volumes."""
    for disk in system.volumes[:2]:
        found = fit(disk)
        # A load that asks for the same rate all day shows a highest rate as well: only waiting makes it a ceiling.
        if (
            found is None
            or is_steady(disk)
            or not middle(disk.values("latency_s")[busy(disk)]) > _WAITS * found.base_s.value
        ):
            continue
        base, rate, knee = found.base_s, found.rate, found.knee
        # With fewer than one outstanding a device waits for its users; no rate of that load is its highest.
        if knee.value < _LEAST_KNEE:
            continue
        yield Finding(
            "L1",
            disk.name,
            f"{disk.name} is {_words(found.beyond)}: {time(base.value)} without waiting, at most "
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


def _words(beyond: float) -> str:
    if beyond >= _ALWAYS:
        return "saturated"
    return f"beyond its knee {share(beyond)} of the time" if beyond >= _SELDOM else "below its knee"


RULE = Rule("L1", "load regime", Kind.CONTEXT, (RATE, LATENCY), examine)
