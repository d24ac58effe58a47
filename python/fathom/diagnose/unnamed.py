"""Samples of cloud volumes that their files do not name: told apart by the folders the files are in.

`aws cloudwatch get-metric-statistics` answers with one metric and without the volume. Files of two volumes look like
two files of one; as one, their samples would be averaged into a volume that does not exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.cloudwatch_names import REMEDY
from fathom.diagnose.metrics import Layer

if TYPE_CHECKING:
    from fathom.diagnose.facts import LogNotes
    from fathom.diagnose.source import Source
    from fathom.diagnose.table import Block, Series

_FORMATS = {"cloudwatch", "cloudwatch-csv"}
_LAYERS = {Layer.CLOUD_VOLUME, Layer.CLOUD_INSTANCE, Layer.HOST}
_SAME = 1e-9
"""Relative difference of values that are the same figure, exported twice."""


@dataclass(frozen=True)
class _Part:
    """Samples of one series of one file, and the folder's name once it is needed."""

    source: Source
    block: Block
    folder: str | None = None

    @property
    def key(self) -> tuple[Series, str | None]:
        return self.block.series[0], self.folder


class Unnamed:
    """Keeps the samples without a name until all logs are read."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []

    def take(self, source: Source, block: Block) -> bool:
        """Whether the block is without a name, and therefore kept."""
        first = block.series[0]
        mine = source.notes.format in _FORMATS and first.layer in _LAYERS and (first.host or first.device) is None
        if mine:
            self._parts.append(_Part(source, block))
        return mine

    def named(self, notes: Iterable[LogNotes]) -> Iterator[Block]:
        """All of them; by their folders where files of several hold one metric for the same times.

        Raises:
            LogError: files of one folder hold one metric for the same times, with other values.
        """
        parts = self._parts
        if _conflict(parts) is not None:
            names = _folders(parts, notes)
            parts = [_Part(each.source, each.block, names[_folder(each.source.notes)]) for each in parts]
        if conflict := _conflict(parts):
            before, after = conflict
            metric = after.block.series[0].metric.replace("_", " ")
            raise after.source.error(
                f"{metric} at the same times as in {before.source.path}, with other values, and neither names its "
                "volume",
                f"keep one folder per volume, or {REMEDY}",
            )
        for name in dict.fromkeys(each.folder for each in parts if each.folder is not None):
            first = next(each.source for each in parts if each.folder == name)
            first.notes.fact("note", f"files that name no volume are of {name}, by the folder they are in")
        yield from (_renamed(each.block, each.folder) for each in parts)


def _conflict(parts: Sequence[_Part]) -> tuple[_Part, _Part] | None:
    """The first two that hold other values of one series at the same time."""
    groups: dict[tuple[Series, str | None], list[_Part]] = {}
    for each in parts:
        groups.setdefault(each.key, []).append(each)
    pairs = (pair for group in groups.values() for pair in combinations(group, 2))
    return next((pair for pair in pairs if _differ(*pair)), None)


def _differ(one: _Part, other: _Part) -> bool:
    if one.source is other.source:
        return False
    _, left, right = np.intersect1d(one.block.times_ns, other.block.times_ns, return_indices=True)
    before, after = one.block.values[left, 0], other.block.values[right, 0]
    known = np.isfinite(before) & np.isfinite(after)
    return not np.allclose(before[known], after[known], rtol=_SAME, atol=0.0)


def _folders(parts: Sequence[_Part], notes: Iterable[LogNotes]) -> dict[Path, str]:
    """What to call each folder: the only volume that is described in it, else its own name."""
    found = list(dict.fromkeys(_folder(each.source.notes) for each in parts))
    described: dict[Path, set[str]] = {}
    for each in notes:
        if each.format == "aws-volumes":
            described.setdefault(_folder(each), set()).update(fact.subject for fact in each.facts if fact.subject)
    names = [each.name for each in found]
    called = {each: each.name if each.name and names.count(each.name) == 1 else str(each) for each in found}
    only = {each: next(iter(volumes)) for each, volumes in described.items() if len(volumes) == 1}
    return {each: only.get(each, called[each]) for each in found}


def _folder(notes: LogNotes) -> Path:
    return Path(notes.path).resolve().parent


def _renamed(block: Block, name: str | None) -> Block:
    if name is None:
        return block
    series = tuple(
        each._replace(host=name) if each.layer is Layer.HOST else each._replace(device=name) for each in block.series
    )
    return block._replace(series=series)
