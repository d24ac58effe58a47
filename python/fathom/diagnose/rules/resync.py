"""D37: vSAN rebuilds or moves data, and requests of virtual machines wait behind that.

Labels of the performance service (vSAN Management API, VsanPerformanceManager): iopsResyncRead and iopsRecWrite are
resync traffic, "including policy change, repair, maintenance mode / evacuation and rebalance" (VMware Cloud Foundation
Operations, metrics of vSAN). Congestion is the back-pressure of disk groups, 0 to 255; vSAN warns from 200 on (Broadcom
knowledge base 315572, 326870).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import FEWEST, middle
from fathom.diagnose.evidence.maintenance import slower
from fathom.diagnose.evidence.words import number, seen
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import Kind, Need, Rule
from fathom.finding import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags, Floats
    from fathom.diagnose.evidence.system import System

_METRICS = ("resync_read_iops", "resync_write_iops")
_PART = 0.1
"""Resync requests from which they are load, as a part of those of virtual machines."""
_PACE = Remedy(
    "See why vSAN moves data: a host or disk that is away, maintenance mode, a changed policy, rebalancing. Let a "
    "repair end; put planned moves into quiet hours, or limit their pace (Resync Throttling).",
    ("esxcli vsan debug resync summary get", "esxcli vsan health cluster list"),
    "While it is slower, data stays without its redundancy for longer.",
    "Resync IOPS are 0, and latency is as before.",
)


def examine(system: System) -> Iterator[Finding]:
    """Of what virtual machines use, what is slower while vSAN resyncs."""
    for back in system.of(Layer.HOST_KERNEL):
        for client in system.nearest if any(back.has(metric) for metric in _METRICS) else ():
            moved = _moved(client, back)
            ran = moved >= _PART * client.values("iops")
            follows = slower(client, ran, np.isfinite(moved) & ~ran)
            if follows is None or ran.sum() < FEWEST or not (np.isfinite(moved) & ~ran).any():
                continue
            harm = of_storage(system, client)
            yield Finding(
                "D37",
                client.name,
                f"vSAN rebuilds or moves data, and requests to {client.name} wait behind it.",
                harm.severity,
                0.7,
                (follows, _said(client, back, moved, ran), *_congested(client, ran)),
                harm.sentence,
                "the load of virtual machines rises in these times as well, and explains the latency",
                (_PACE,),
            )
            return


def _moved(client: Device, back: Device) -> Floats:
    """Resync requests per second of a part of vSAN, at the moments of what machines use."""
    each = np.array([onto(client, back, metric) for metric in _METRICS])
    total: Floats = np.where(np.isfinite(each).any(axis=0), np.nansum(each, axis=0), np.nan)
    return total


def _said(client: Device, back: Device, moved: Floats, ran: Flags) -> Evidence:
    own = number(middle(client.values("iops")[ran]))
    words = f"{number(middle(moved[ran]))} resync requests/s in {back.name} beside {own} of virtual machines"
    return seen(client, f"{words}, {number(middle(moved[~ran]))} otherwise.", ran)


def _congested(client: Device, ran: Flags) -> Iterator[Evidence]:
    level = middle(client.values("congestion")[ran])
    if level >= 1:
        words = f"vSAN slows requests down before its disk groups: congestion {number(level)} of 255, then."
        yield seen(client, words, ran)


RULE = Rule(
    "D37",
    "vSAN resync",
    Kind.LOAD,
    (
        Need(
            (Layer.HOST_KERNEL,),
            _METRICS,
            "vSAN's performance service: VsanPerfQueryPerf of cluster-domclient and cluster-domcompmgr, as JSON",
        ),
    ),
    examine,
)
