"""Tables as CSV, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io

from fathom.report.document import Table

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def safe_field(value: str | float | int | bool | None) -> str | float | int | bool | None:
    """A text that a spreadsheet would take for a formula gets an apostrophe before it; numbers stay numbers."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def csv_bytes(table: Table) -> bytes:
    """The table with its keys as head and full precision; what was not measured is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([safe_field(column.key) for column in table.columns])
    writer.writerows([[safe_field(cell.value) for cell in row] for row in table.rows])
    return text.getvalue().encode()
