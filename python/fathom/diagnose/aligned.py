"""Tables whose columns are aligned by spaces above a line of dashes, as SQL Server Management Studio saves results.

The dashes show where each column begins and ends, whatever spaces its cells hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

SEPARATOR = "\x1f"
"""Between the cells of a line that was taken apart: no cell holds it."""
_RULER = re.compile(r"-{2,}(?: -+)+\s*$")
_Span = tuple[int, int | None]


def taken_apart(lines: Iterable[str]) -> Iterator[str]:
    """As many lines as given: those of such tables with `SEPARATOR` between their cells, others as they are."""
    before: str | None = None
    columns: Sequence[_Span] = ()
    for line in lines:
        ruler = _RULER.match(line)
        if ruler is not None:
            starts = [match.start() for match in re.finditer("-+", line)]
            columns = list(zip(starts, [*(start - 1 for start in starts[1:]), None], strict=True))
        if before is not None:
            yield _cells(before, columns)
        if not line.strip():
            columns = ()
        before = line
    if before is not None:
        yield _cells(before, columns)


def _cells(line: str, columns: Sequence[_Span]) -> str:
    if not columns or not line.strip():
        return line
    end = "\n" if line.endswith("\n") else ""
    return SEPARATOR.join(line.lstrip("\ufeff")[start:stop].strip() for start, stop in columns) + end
