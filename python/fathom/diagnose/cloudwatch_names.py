"""Which volume, instance or database each of CloudWatch's series is about.

An answer names the resource in its labels only, and only where the query's labels do or where it asked for several.
Series of one metric whose labels name nothing are told apart by what the query calls them; where that does not show
which metrics belong to one volume, they are refused: their mean would be of no volume.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from fathom.diagnose.metrics import Layer

if TYPE_CHECKING:
    from fathom.diagnose.cloudwatch import Line
    from fathom.diagnose.source import Source

REMEDY = (
    "write the volume's id into the labels, in the file or in the query: `fathom record --print aws` shows such a query"
)
_VOLUME = re.compile(r"\b((?:vol|fs)-[0-9a-f]{8,17})\b")
_INSTANCE = re.compile(r"\b(i-[0-9a-f]{8,17})\b")
_DATABASE = re.compile(r"DBInstanceIdentifier[\"':=\s]+([A-Za-z][\w-]*)")


@dataclass(frozen=True)
class Query:
    """A line whose metric is known.

    Attributes:
        line: as in the log.
        metric: CloudWatch's name of it.
        layer: what it is measured on.
        words: the label without metric and statistic.
    """

    line: Line
    metric: str
    layer: Layer
    words: str

    @property
    def resource(self) -> str | None:
        """The identifier in the label; a volume's may stand beside that of the instance it is attached to."""
        of_volume = (_VOLUME, _INSTANCE) if self.layer is Layer.CLOUD_VOLUME else (_INSTANCE, _VOLUME)
        found = (pattern.search(self.line.label) for pattern in (*of_volume, _DATABASE))
        return next((each[1] for each in found if each), None)

    @property
    def name(self) -> str | None:
        """What the label says beside metric and statistic."""
        return " ".join(self.words.split()).strip(" -_/|:,;()[]") or None

    @property
    def key(self) -> tuple[str, str | None]:
        """Metric and resource, as far as the label tells it."""
        return self.metric, self.resource or self.name


def named(source: Source, queries: Sequence[Query]) -> Iterator[tuple[Line, str, str | None]]:
    """Line, metric and resource of each; None where the log names none and has one only.

    Raises:
        LogError: the log has a metric of several resources, and nothing tells which metrics belong together.
    """
    queries = _paged(queries)
    name_of = {layer: _names(source, [each for each in queries if each.layer is layer]) for layer in Layer}
    seen: dict[tuple[str, str | None], list[Query]] = {}
    for each in queries:
        name = each.resource or name_of[each.layer](each)
        same = seen.setdefault((each.metric, name), [])
        if any(_overlap(each, other) for other in same):
            source.notes.skip("metrics", "the same metric of the same resource again", 1, each.line.label[:80])
            continue
        same.append(each)
        yield each.line, each.metric, name


def _names(source: Source, queries: Sequence[Query]) -> Callable[[Query], str | None]:
    """What names the resources of one layer whose labels hold no identifier."""
    unnamed = [each for each in queries if each.resource is None]
    twice = _twice(unnamed, _nothing)
    if twice is None:
        return _nothing
    found = next((each for each in (_label, _suffix, _id) if _tells_apart(each, unnamed)), None)
    if found is None:
        first, second = map(_called, twice)
        raise source.error(
            f"{twice[0].metric} is there twice for the same times ({first} and {second}), and the labels do not tell "
            "which metrics are of one volume",
            REMEDY,
            entry=second,
        )
    source.notes.fact("note", "the labels hold no volume id: volumes are called by what labels or Ids differ in")
    return found


def _paged(queries: Iterable[Query]) -> list[Query]:
    """The pages of a long answer repeat a query's Id and label: its points belong together."""
    found: dict[tuple[str, str, str], Query] = {}
    alone = []
    for each in queries:
        key = (each.line.id, each.line.label, each.metric)
        if not each.line.id:
            alone.append(each)
        elif key in found:
            before = found[key].line
            found[key] = replace(found[key], line=replace(before, points=[*before.points, *each.line.points]))
        else:
            found[key] = each
    return [*found.values(), *alone]


def _nothing(_: Query) -> None:
    return None


def _label(query: Query) -> str | None:
    return query.name


def _suffix(query: Query) -> str | None:
    """`reads_data` and `writes_data` are of one volume."""
    return query.line.id.partition("_")[2] or None


def _id(query: Query) -> str | None:
    return query.line.id or None


def _tells_apart(name_of: Callable[[Query], str | None], queries: Sequence[Query]) -> bool:
    """Whether names differ wherever a metric is there twice, and join the metrics of one volume.

    Names that all differ join none. That is right only where one metric is all there is.
    """
    if _twice(queries, name_of):
        return False
    metrics: dict[str | None, set[str]] = {}
    for each in queries:
        metrics.setdefault(name_of(each), set()).add(each.metric)
    return len({each.metric for each in queries}) == 1 or max(map(len, metrics.values())) > 1


def _twice(queries: Sequence[Query], name_of: Callable[[Query], str | None]) -> tuple[Query, Query] | None:
    """The first two that are of one metric and name for the same times."""
    groups: dict[tuple[str, str | None], list[Query]] = {}
    for each in queries:
        groups.setdefault((each.metric, name_of(each)), []).append(each)
    pairs = (pair for group in groups.values() for pair in combinations(group, 2))
    return next((pair for pair in pairs if _overlap(*pair)), None)


def _overlap(one: Query, other: Query) -> bool:
    """Whether both have a value for one time."""
    times = {time for time, value in one.line.points if value is not None}
    return any(time in times for time, value in other.line.points if value is not None)


def _called(query: Query) -> str:
    return query.line.id or query.line.label[:80]
