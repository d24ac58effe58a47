"""What the logs tell of the place where a slow disk's time goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fathom.finding import Evidence, Remedy


@dataclass(frozen=True)
class Located:
    """Where the time is: the end of a sentence, what shows it and what to do.

    Attributes:
        where: the end of a sentence about the disk.
        evidence: what shows it.
        remedies: what to do.
        sure: how sure it is that users wait there, 0 to 1.
        covers: names of other disks that it tells of as well.
    """

    where: str
    evidence: tuple[Evidence, ...]
    remedies: tuple[Remedy, ...]
    sure: float = 0.55
    covers: frozenset[str] = frozenset()
