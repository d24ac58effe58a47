"""What a rule's file declares, and how rules are found: every file of the folder `rules` is one."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from fathom.diagnose.metrics import Layer

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System
    from fathom.finding import Finding


class Kind(StrEnum):
    """What a rule's findings are."""

    CHECK = "check"
    """On the log itself: what it can prove."""
    CAUSE = "cause"
    """What limits the storage."""
    LOAD = "load"
    """The load itself explains the latency: a backup, a check, checkpoints."""
    CONTEXT = "context"
    """What explains a load or a number, and is no limit."""
    ELSEWHERE = "elsewhere"
    """The wait is not in the storage."""


@dataclass(frozen=True)
class Need:
    """Metrics of which one must be there, in one of the layers.

    Attributes:
        layers: where.
        metrics: any of them is enough.
        collect: how to record them.
    """

    layers: tuple[Layer, ...]
    metrics: tuple[str, ...]
    collect: str

    def met(self, system: System) -> bool:
        """Whether the logs hold it."""
        return any(device.get(metric) is not None for device in system.of(*self.layers) for metric in self.metrics)


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        id: stable between versions: "D1".
        title: what it finds, a few words.
        kind: what its findings are.
        needs: all must be met, else the rule is not asked and the counters are listed as missing.
        examine: findings about a system; reads only, never raises on data.
    """

    id: str
    title: str
    kind: Kind
    needs: tuple[Need, ...]
    examine: Callable[[System], Iterator[Finding]]


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule, in the order of their identifiers; a file that cannot be imported stops the program."""
    from fathom.diagnose import rules as folder

    names = [f"{folder.__name__}.{found.name}" for found in pkgutil.iter_modules(folder.__path__)]
    found: list[Rule] = [importlib.import_module(name).RULE for name in names]
    return tuple(sorted(found, key=_order))


def _order(rule: Rule) -> tuple[str, int]:
    parts = re.fullmatch(r"([A-Z]+)(\d+)", rule.id)
    return (parts[1], int(parts[2])) if parts else (rule.id, 0)


DISKS = (Layer.GUEST_DISK, Layer.GUEST_VOLUME)
VOLUMES = (*DISKS, Layer.CLOUD_VOLUME)
DISK_COLLECT = "fathom record on Linux, or perfmon PhysicalDisk(*)\\* (fathom record --print windows)"
RATE = Need(VOLUMES, ("iops",), DISK_COLLECT)
LATENCY = Need(VOLUMES, ("latency_s",), DISK_COLLECT)
_PATH = (*VOLUMES, Layer.VIRTUAL_DISK, Layer.HOST_KERNEL, Layer.HOST_DEVICE, Layer.DATABASE_FILE)
PATH_RATE = Need(_PATH, ("iops",), DISK_COLLECT)
PATH_RATE_OR_QUEUE = Need(_PATH, ("iops", "outstanding_mean", "outstanding"), DISK_COLLECT)
PATH_LATENCY = Need(_PATH, ("latency_s",), DISK_COLLECT)
WAITS = Need(
    (Layer.DATABASE_WAIT,),
    ("wait_s_per_s", "active_sessions"),
    "wait statistics: fathom record --print sqlserver or --print postgresql",
)
QUEUE = Need(VOLUMES, ("outstanding", "outstanding_mean"), DISK_COLLECT)
"""Needs that most rules share."""
