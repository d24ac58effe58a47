"""Tables as CSV, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io

from fathom.report.document import Table

Value = str | float | int | bool | None

_INTERVAL = "interval"
"""The last word of the key of a column of intervals."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def safe_field(value: Value) -> Value:
    """A text that a spreadsheet would take for a formula gets an apostrophe before it; numbers stay numbers."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def exported(table: Table) -> list[tuple[str, list[Value]]]:
    """The columns as they are exported, name and values: an interval is two of numbers, its low and its high end."""
    found: list[tuple[str, list[Value]]] = []
    for index, column in enumerate(table.columns):
        cells = [row[index] for row in table.rows]
        if column.key.endswith(_INTERVAL):
            before = column.key.removesuffix(_INTERVAL)
            for end, name in enumerate(("low", "high")):
                found.append((f"{before}{name}", [None if cell.ends is None else cell.ends[end] for cell in cells]))
        else:
            found.append((column.key, [cell.value for cell in cells]))
    return found


def csv_bytes(table: Table) -> bytes:
    """The table with its keys as head and full precision; what was not measured is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = exported(table)
    writer.writerow([safe_field(name) for name, _ in columns])
    writer.writerows(
        [safe_field(value) for value in row] for row in zip(*(values for _, values in columns), strict=True)
    )
    return text.getvalue().encode()
