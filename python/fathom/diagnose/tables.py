"""Tables with a line of names, as databases, clouds and spreadsheets export them: comma, semicolon, tab or bar between
columns, or columns that are aligned above a line of dashes.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from fathom.diagnose import aligned
from fathom.diagnose.source import encoding_of

if TYPE_CHECKING:
    from fathom.diagnose.source import Head, Source

SEPARATORS = (",", ";", "\t", "|")
TIMES = (
    "time", "timestamp", "now", "ts", "sample_time", "snapshot_time", "collection_time", "collection_date",
    "capture_time", "capture_date", "datetime", "date_time", "date", "time (utc)", "timestamp (utc)", "captured_at",
    "log_time", "checkdate", "collected_at", "current_timestamp", "clock_timestamp", "snap_time", "ctime", "epoch",
)  # fmt: skip
"""Names of columns that hold the time of a row, the surest first, in lower case; also without the low lines."""


class Row(NamedTuple):
    """One row.

    Attributes:
        line: 1-based, of its end.
        cells: name in lower case to text without white space around it; all columns of the head.
        names: the head's, the same list for all rows below it: what follows from a head is found once for each.
    """

    line: int
    cells: Mapping[str, str]
    names: list[str]


def names_in(line: str) -> tuple[str, list[str]] | None:
    """Separator and names of a line that may be a head: at least two names and no number; None for others."""
    best: tuple[str, list[str]] | None = None
    for separator in SEPARATORS:
        try:
            cells = next(csv.reader([line], delimiter=separator, skipinitialspace=True))
        except (csv.Error, StopIteration):
            continue
        names = [cell.strip().strip('"').casefold() for cell in cells]
        words = len(names) >= 2 and not any(re.fullmatch(r"-?[\d.,:]+", name) for name in names)
        if words and (best is None or len(names) > len(best[1])):
            best = (separator, names)
    return best


def head_of(head: Head, needed: Sequence[set[str]]) -> tuple[int, str, list[str]] | None:
    """The first line among the first 30 that names all columns of one of the sets: position, separator and names."""
    for place, line in enumerate(head.lines[:30]):
        found = names_in(line.lstrip("\ufeff"))
        if found and any(names <= set(found[1]) for names in needed):
            return place, *found
    for place, line in enumerate(aligned.taken_apart(head.lines[:30])):
        cells = [cell.strip().casefold() for cell in line.split(aligned.SEPARATOR)]
        if any(names <= set(cells) for names in needed):
            return place, aligned.SEPARATOR, cells
    return None


def rows(source: Source, needed: Sequence[set[str]], remedy: str) -> Iterator[Row]:
    """All rows below the head; a repeated header starts a new table, other lines that do not fit are noted.

    Args:
        source: the log.
        needed: sets of names, of which the head has at least one whole.
        remedy: what to do where there is no such head.

    Raises:
        LogError: there is no head, or quotes are not balanced.
    """
    head = source.head()
    found = head_of(head, needed)
    if found is None:
        wanted = " or ".join(", ".join(sorted(names)) for names in needed)
        raise source.error(f"no line names the columns {wanted}", remedy, line=1)
    place, separator, names = found
    with source.open() as file, source.reading():
        text = io.TextIOWrapper(file, encoding_of(head.data) or "cp1252", errors="replace", newline="")
        lines = whole_lines(source, text)
        lines = _unwrapped(source, lines)
        lines = aligned.taken_apart(lines) if separator == aligned.SEPARATOR else lines
        table = csv.reader(islice(lines, place + 1, None), delimiter=separator, skipinitialspace=True)
        while True:
            try:
                cells = next(table)
            except StopIteration:
                return
            except csv.Error as problem:
                line = place + 1 + int(table.line_num)
                raise source.error(f"no table: {problem}", "export it again", line=line) from None
            line = place + 1 + int(table.line_num)
            row = [cell.strip() for cell in cells]
            if (again := _named(row, needed)) is not None:
                names = again
            elif len(row) == len(names) and not _ruler(row):
                yield Row(line, dict(zip(names, row, strict=True)), names)
            elif any(row) and not _ruler(row) and not _around(row):
                source.notes.skip("lines", "not as many cells as the head", 1, f"line {line}: {','.join(row)[:60]}")


def whole_lines(source: Source, text: Iterable[str]) -> Iterator[str]:
    """Lines for `csv`, and a word where the last one has no end.

    NUL is no text: csv refuses it, and a damaged line should cost a line.
    """
    line = "\n"
    for line in text:
        yield line.replace("\0", "\ufffd")
    if not line.endswith(("\n", "\r")):
        source.unended(None)


WRAPPED_RULER = re.compile(r"[-,;|\t ]*-{2,}[-,;|\t ]*")
"""Of dashes below a head; two follow each other where sqlcmd wraps lines, at 80 letters unless told otherwise."""


def _unwrapped(source: Source, lines: Iterable[str]) -> Iterator[str]:
    """The lines; wrapped ones are an error: the tables among them would be lost."""
    above = False
    for number, line in enumerate(lines, 1):
        ruler = WRAPPED_RULER.fullmatch(line.rstrip("\r\n")) is not None
        if ruler and above:
            raise source.error("the lines of this table are wrapped", "sqlcmd with -W -w 65535", line=number)
        above = ruler
        yield line


_AROUND = re.compile(r"\(\d+ \w+\)|.*\(\w+ \d+ ?s\)")
"""What psql writes around a table: how many rows it has, and \\watch's title."""


def _around(cells: Sequence[str]) -> bool:
    return len(cells) == 1 and _AROUND.fullmatch(cells[0]) is not None


def _named(cells: Sequence[str], needed: Sequence[set[str]]) -> list[str] | None:
    """The names in lower case where a row is a head; None for others. No name begins with a digit, as times do."""
    if not cells or cells[0][:1].isdigit():
        return None
    names = [cell.casefold() for cell in cells]
    return names if any(wanted <= set(names) for wanted in needed) else None


def _ruler(cells: Sequence[str]) -> bool:
    """The line of dashes below the head, of sqlcmd or psql."""
    return any(cells) and all(not cell.strip("-+") for cell in cells)


def time_column(source: Source, names: Collection[str], remedy: str, line: int) -> str:
    """The name of the column that holds the time.

    Raises:
        LogError: there is none.
    """
    for name in TIMES:
        for form in (name, name.replace("_", "")):
            if form in names:
                return form
    raise source.error("no column holds the time", remedy, line=line)
