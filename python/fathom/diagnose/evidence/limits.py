"""Known limits of volumes, instances and queues: the tables of `data/limits.toml`, and a file of the user's."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import TYPE_CHECKING

from fathom.diagnose.evidence import limits_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_CAPS = ("volume", "instance", "link")
KERNELS = {"-aws": "aws", ".amzn": "aws", "-azure": "azure", "-gcp": "gcp", "-gke": "gcp"}
"""Marks in the release of a kernel that a cloud builds for its machines."""


@dataclass(frozen=True)
class Queue:
    """A queue that takes so many requests at once. `scope`: "device", "adapter" or "log"."""

    name: str
    depth: int
    scope: str
    source: str


@dataclass(frozen=True)
class Cap:
    """Limits of a volume, an instance or a link; None where it has none of that kind.

    Attributes:
        cloud: who alone sells it.
        credits: whether such a volume has burst credits, whose balance its cloud records; None where it may.
        most_iops: what it never passes, beside a limit on throughput by which it is told.
        types: the cloud's names of the types of volume that have it; none where any may.
        stated: whether it is the user's, of a file.
    """

    name: str
    kind: str
    source: str
    iops: float | None = None
    bytes_per_s: float | None = None
    cloud: str | None = None
    credits: bool | None = None
    types: Sequence[str] = ()
    most_iops: float | None = None
    stated: bool = False


@dataclass(frozen=True)
class Tier:
    """A kind of storage and the latency that it should keep, seconds."""

    name: str
    target_s: float
    source: str


@dataclass(frozen=True)
class Limits:
    """All tables."""

    queues: tuple[Queue, ...]
    caps: tuple[Cap, ...]
    tiers: tuple[Tier, ...]

    def queue(self, level: float, tolerance: float, *scopes: str) -> Queue | None:
        """The queue whose depth is nearest to a number of outstanding requests, within the tolerance."""
        near = [(abs(level - each.depth), each.depth, each) for each in self.queues
                if each.scope in scopes and abs(level - each.depth) <= tolerance]  # fmt: skip
        return min(near, key=lambda found: found[:2])[2] if near else None

    def where(self, kernels: Iterable[str]) -> Limits:
        """Those that hosts with these kernels can meet: a cloud's own kernels have a mark in their release."""
        ours = {cloud for each in kernels for mark, cloud in KERNELS.items() if mark in each}
        return replace(self, caps=tuple(each for each in self.caps if not ours or each.cloud in {None, *ours}))

    def cap(self, metric: str, rate: float, kind: str = "volume", within: float = 0.03) -> Cap | None:
        """The cap on `iops` or `bytes_per_s` nearest to a rate, within 3 %."""
        return next(iter(self.near(metric, rate, kind, within)), None)

    def near(
        self, metric: str, rate: float, kind: str, within: float, *, credited: bool = False, of_type: str | None = None
    ) -> list[Cap]:
        """All caps near a rate, the nearest first. `credited`: whether the log has a balance of burst credits;
        `of_type`: the volume's type, where it is known.
        """
        found = []
        for each in self.caps:
            limit = getattr(each, metric)
            if each.credits not in {None, credited} or (of_type and each.types and of_type not in each.types):
                continue
            if each.kind == kind and limit and abs(rate / limit - 1) <= within:
                found.append((abs(rate / limit - 1), each.name, each))
        return [each for _, _, each in sorted(found, key=lambda one: one[:2])]

    @staticmethod
    def holds(cap: Cap, iops: float, bytes_per_s: float) -> bool:
        """Whether a volume with this cap can do as much: neither of its limits is exceeded."""
        pairs = ((cap.iops or cap.most_iops, iops), (cap.bytes_per_s, bytes_per_s))
        return all(limit is None or not rate > 1.05 * limit for limit, rate in pairs)

    def target_s(self, name: str) -> float:
        """Latency that a tier should keep."""
        return next(each.target_s for each in self.tiers if each.name == name)


def load(extra: Path | None = None) -> Limits:
    """The limits that come with the program, and those of a file.

    Raises:
        UsageError: the file cannot be read or is not such a table.
    """
    text = (files("fathom.diagnose") / "data" / "limits.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    if extra is not None:
        added = limits_file.read(extra)
        for table in tables:
            own = [row | {"stated": True} if table in _CAPS else row for row in added.get(table, [])]
            tables[table] = [*own, *tables[table]]
    return Limits(
        tuple(Queue(**row) for row in tables["queue"]),
        tuple(Cap(kind=kind, **row) for kind in _CAPS for row in tables[kind]),
        tuple(Tier(**row) for row in tables["tier"]),
    )
