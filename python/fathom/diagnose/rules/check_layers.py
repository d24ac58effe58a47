"""Q6: time lost between two layers: filter drivers, encryption, the volume manager."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fathom.diagnose.evidence.figures import latency_below
from fathom.diagnose.evidence.files import lies_on
from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import worked
from fathom.diagnose.evidence.words import seen, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import DISK_COLLECT, Kind, Need, Rule
from fathom.finding import Finding, Remedy, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_FILE_S, _FILE_TIMES, _VOLUME_S = 0.002, 1.3, 0.001
"""Time from which it matters what a file loses, and how many times as long it then takes at least; what a volume loses.
"""


def examine(system: System) -> Iterator[Finding]:
    """Files against the disks or volumes that they lie on, then volumes against disks; the one that loses most."""
    disks, volumes = system.of(Layer.GUEST_DISK), system.of(Layer.GUEST_VOLUME)
    files = [found for each in system.of(Layer.DATABASE_FILE)
             if (found := _compared(each, disks) or _compared(each, volumes)) is not None]  # fmt: skip
    most = _most([each for each in files if each.lost_s > _FILE_S and each.above_s > _FILE_TIMES * each.below_s])
    if most is not None:
        yield _finding(
            most, "Filter drivers (antivirus, encryption) or waits for processors: `fltmc instances` lists them."
        )
    most = _most(
        [found for each in volumes if (found := _compared(each, disks)) is not None and found.lost_s > _VOLUME_S]
    )
    if most is not None:
        yield _finding(most, "Look at volume manager, encryption and snapshots.")


class _Compared(NamedTuple):
    """Latencies of two devices, one on the other, in the moments of which both logs tell."""

    upper: Device
    lower: Device
    above_s: float
    below_s: float
    chosen: Flags

    @property
    def lost_s(self) -> float:
        return self.above_s - self.below_s


def _compared(upper: Device, lowers: Sequence[Device]) -> _Compared | None:
    """A device with the one that it lies on by the letter; None where there is none, or both share no moment."""
    for lower in lowers:
        if lies_on(upper, lower):
            both = worked(upper) & np.isfinite(upper.values("latency_s")) & np.isfinite(onto(upper, lower, "latency_s"))
            if both.any():
                return _Compared(upper, lower, upper.mean("latency_s", both), latency_below(upper, lower, both), both)
    return None


def _most(found: Sequence[_Compared]) -> _Compared | None:
    return max(found, key=lambda each: each.lost_s, default=None)


def _finding(found: _Compared, action: str) -> Finding:
    upper, lower, chosen = found.upper, found.lower, found.chosen
    took, below = time(found.above_s), time(found.below_s)
    return Finding(
        "Q6",
        upper.name,
        f"it takes {took}, and {lower.name} below it {below}: the difference is lost between them",
        Severity.NOTE,
        0.7,
        (seen(upper, f"{took} above, {below} below.", chosen),),
        None,
        "the two logs cover different times",
        (Remedy(action, ("fltmc instances",)),),
    )


RULE = Rule(
    "Q6",
    "no time lost between layers",
    Kind.CHECK,
    (Need((Layer.GUEST_DISK, Layer.GUEST_VOLUME), ("latency_s",), DISK_COLLECT),),
    examine,
)
