"""Repeated snapshots of PostgreSQL's statistics views as CSV: `psql --csv` in a loop, each row with the time (`now()`).

One file may hold several views, each below its own header.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fathom.diagnose import postgresql, tables
from fathom.diagnose.importer import Importer
from fathom.diagnose.snapshots import Snapshots, Stamped
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows

_REMEDY = "`fathom record --print postgresql` shows the command; it needs the column now"
_NEEDED = tuple(postgresql.COLUMNS.values())


def recognise(head: Head) -> float:
    """A table with the columns of one of the views."""
    return 0.9 if tables.head_of(head, _NEEDED) else 0.0


def read(source: Source) -> Iterator[Block]:
    """Growth from look to look; sessions and their waits as they were."""
    rows, snapshots, views = Rows(), Snapshots(source, _stamped), postgresql.Views(None)
    sessions: list[Mapping[str, Any]] = []
    looked: int | None = None
    for row, view, stamped in _viewed(source):
        time = snapshots.time(stamped)
        if time is None:
            continue
        if view == "pg_stat_activity":
            if looked is not None and time != looked:
                views.add(rows, looked, view, sessions)
                sessions = []
            sessions.append(row.cells)
            looked = time
        elif view is not None:
            views.add(rows, time, view, [row.cells])
        yield from rows.take_if()
    if looked is not None:
        views.add(rows, looked, "pg_stat_activity", sessions)
    yield from rows.take()
    source.notes.fact("note", views.untimed)


_WHOSE = ("pid", "datname", "backend_type", "object", "context", "state", "wait_event_type", "wait_event")
"""Columns that tell the rows of one view and moment apart."""


def _viewed(source: Source) -> Iterator[tuple[tables.Row, str | None, Stamped]]:
    """All rows, with their view and their stamps."""
    names: list[str] = []
    for row in tables.rows(source, _NEEDED, _REMEDY):
        if row.names is not names:
            names, view = row.names, postgresql.view_of(row.names)
            column = tables.time_column(source, row.cells, _REMEDY, row.line)
        key = (view, *(row.cells.get(name) for name in _WHOSE))
        yield row, view, Stamped(row.line, row.cells[column], key)


def _stamped(source: Source) -> Iterator[Stamped]:
    return (stamped for _, _, stamped in _viewed(source))


IMPORTER = Importer(
    "postgresql", "PostgreSQL statistics views, snapshots as CSV", recognise, read, "fathom record --print postgresql",
    looks=True,
)  # fmt: skip
