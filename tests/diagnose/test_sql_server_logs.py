"""Snapshots of SQL Server's views as people export them: with separators of thousands, of other tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathom.diagnose import log as reader
from fathom.diagnose.numbers import whole_number

SAMPLE = Path(__file__).parent / "samples" / "sql_server.csv"


@pytest.mark.parametrize("sign", [".", ",", "\u00a0", "\u202f", "'"])
def test_thousands_are_read_as_such(tmp_path: Path, sign: str) -> None:
    """A count of five digits has one separator, and looks like a number with parts."""
    log = tmp_path / "grouped.tsv"
    lines = []
    for line in SAMPLE.read_text(encoding="utf-8").splitlines():
        cells = [f"{int(cell):,}".replace(",", sign) if cell.isdigit() else cell for cell in line.split(",")]
        lines.append("\t".join(cells))
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with reader.read([SAMPLE]) as plain, reader.read([log]) as grouped:
        assert grouped.series.equals(plain.series)
        assert grouped.notes[0].skipped == plain.notes[0].skipped


def test_a_cell_without_a_number_is_named(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(SAMPLE.read_text(encoding="utf-8").replace(",54000", ",54.5 s").replace(",4000,", ",NULL,"))
    with reader.read([log]) as found:
        skipped = {each.what: each for each in found.notes[0].skipped}
    assert skipped["numbers"].count == 1
    assert skipped["numbers"].example == 'line 4: io_stall_read_ms "54.5 s"'


@pytest.mark.parametrize(
    ("text", "count"),
    [("1.234.567,00", 1234567), ("1234.000", 1234), ("0.123", None), ("1.23", None), ("1.234,567", None), ("", None)],
)
def test_a_count_has_no_parts(text: str, count: int | None) -> None:
    assert whole_number(text) == count
